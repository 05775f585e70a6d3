/** The tables of a database, whose writes share a group commit. */
import type Database from 'better-sqlite3'
import type { ClockAndFaultStore, ClockRow, FaultState, StoreOptions } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import { beaconTable } from './beacons.ts'
import { callbackTable } from './callbacks.ts'
import { consentTable } from './consent.ts'
import { eventTable } from './events.ts'
import { evidenceTable } from './evidence.ts'
import { type Connection, groupCommit } from './group-commit.ts'
import { placementTable } from './placements.ts'
import { projectTable } from './projects.ts'
import { requestTable } from './requests.ts'
import { metaValue } from './rows.ts'

export type Tables = ReturnType<typeof openTables>

/** `onCommit` is called after each commit, with its number of writes. */
export function openTables(
  db: Database.Database,
  { event_limit, journal_limit, sha256Hex, onTransaction = () => {} }: StoreOptions,
  onCommit: (writes: number) => void,
) {
  const connection = groupCommit(db, {
    measured: onTransaction,
    beforeCommit() {
      requests.write()
      events.prune()
    },
    afterCommit(writes) {
      requests.committed()
      onCommit(writes)
      events.announce()
    },
    afterRollback() {
      clearCaches()
      events.reload()
      requests.rolledBack()
    },
  })
  const events = eventTable(connection, event_limit)
  const consent = consentTable(connection)
  const projects = projectTable(connection, () => placements.clear())
  const callbacks = callbackTable(connection)
  const placements = placementTable(connection, { projects, consent })
  const beacons = beaconTable(connection, { placements, consent })
  const evidence = evidenceTable(connection, placements, sha256Hex)
  const values = valueTable(connection)
  const requests = requestTable(connection, projects, journal_limit)
  const transaction: Transaction = {
    ...projects.transaction,
    ...consent.transaction,
    ...placements.transaction,
    ...callbacks.transaction,
    ...beacons.transaction,
    ...evidence.transaction,
    ...values.transaction,
    appendEvent: events.append,
  }
  const methods = {
    ...projects.methods,
    ...consent.methods,
    ...placements.methods,
    ...callbacks.methods,
    ...beacons.methods,
    ...evidence.methods,
    ...requests.methods,
    ...events.methods,
    ...values.methods,
  }

  return { connection, events, requests, transaction, methods, clearCaches }

  function clearCaches(): void {
    for (const table of [projects, consent, placements, beacons, evidence]) table.clear()
  }
}

/** The clock and the fault rules: each is one value of the table `meta`, missing until the first change. */
function valueTable({ db, read }: Connection) {
  const clock = metaValue<ClockRow>(db, 'clock')
  const faults = metaValue<FaultState>(db, 'faults')
  const transaction = {
    findClock: clock.find,
    saveClock: clock.save,
    findFaults: faults.find,
    saveFaults: faults.save,
  } satisfies Partial<Transaction>
  const methods: Omit<ClockAndFaultStore, keyof WriteMethods> = {
    findClock: async () => read(clock.find),
    findFaults: async () => read(faults.find),
  }
  return { transaction, methods }
}
