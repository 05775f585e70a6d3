/** The tables of a store on PostgreSQL, with the methods that read them. */
import type { ClockRow, FaultState } from '../store.ts'
import type { Head } from './batch/head.ts'
import { beaconTable } from './beacons.ts'
import { billingTable } from './billing.ts'
import { callbackTable } from './callbacks.ts'
import { consentTable } from './consent.ts'
import { eventTable } from './events.ts'
import { evidenceTable } from './evidence.ts'
import type { Connection } from './group-commit.ts'
import { placementTable } from './placements.ts'
import { projectTable } from './projects.ts'
import { requestTable } from './requests.ts'
import { findMeta } from './rows.ts'

/** Opens the tables over a connection. @param mayCache whether changes of other nodes would be noticed */
export function openTables(
  connection: Connection,
  { event_limit, journal_limit }: { event_limit: number; journal_limit: number },
  { head, mayCache }: { head: () => Head; mayCache: () => boolean },
) {
  const events = eventTable(connection, event_limit, head)
  const projects = projectTable(connection, mayCache)
  const placements = placementTable(connection, projects)
  const requests = requestTable(connection, journal_limit, head)
  const methods = {
    ...projects.methods,
    ...consentTable(connection),
    ...placements.methods,
    ...callbackTable(connection),
    ...beaconTable(connection, placements),
    ...billingTable(connection, projects),
    ...evidenceTable(connection),
    ...requests.methods,
    ...events.methods,
    findClock: () => findMeta<ClockRow>(connection, 'clock'),
    findFaults: () => findMeta<FaultState>(connection, 'faults'),
  }
  return { events, projects, requests, methods }
}
