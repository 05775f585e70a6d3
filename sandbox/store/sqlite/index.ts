/**
 * The SQLite adapter: the store's methods over named prepared statements, every write in a group commit. Longer than most
 * files, because the port has one method a line and this is the one place where they meet their tables.
 */
import type { BeaconListRow, BeaconRow, CapGuard, NewSlot, SlotRow, Store, UnacceptedBeaconRow } from '../store.ts'
import { beaconStatements } from './beacons.ts'
import { type ChainHash, chainStatements } from './chain.ts'
import { backgroundCheckpoints } from './checkpoints.ts'
import { clockStatements } from './clock.ts'
import { eventStatements } from './events.ts'
import { exchangeStatements } from './exchanges.ts'
import { faultStatements } from './faults.ts'
import { groupCommit } from './group-commit.ts'
import { quickCheck } from './integrity.ts'
import { migrations } from './migrations.ts'
import { openDatabase } from './open.ts'
import { overwrite } from './overwrite.ts'
import { projectStatements } from './projects.ts'
import { applySeed, clearAll, type Seed } from './seed.ts'
import { sessionStatements } from './sessions.ts'
import { slotStatements } from './slots.ts'
import { stateMethods } from './states.ts'

export interface SqliteStoreOptions {
  /** A file, or `:memory:`. */
  path: string
  pid: number
  seed: Seed
  now_ms: number
  /** Most exchanges the journal keeps; 0 turns it off. */
  journal_limit: number
  /** Most events that are kept. */
  event_limit: number
  chainHash: ChainHash
  /** Told of failures that no request can answer for. */
  report: (error: unknown) => void
}

export interface SqliteStore extends Store {
  /** The catalogue in force. */
  readonly catalogue_id: number
  /** Where an older database was copied before it was migrated. */
  readonly backup: string | null
}

/** Opens, migrates and seeds. Throws OpenError when the file cannot be used. */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  const opened = openDatabase(options.path, options.pid)
  const { db } = opened
  let { catalogue } = db.transaction(() => applySeed(db, options.seed, options.now_ms))()

  const projects = projectStatements(db)
  const sessions = sessionStatements(db)
  const slots = slotStatements(db, projects.project)
  const beacons = beaconStatements(db)
  const chain = chainStatements(db, options.chainHash)
  const events = eventStatements(db, options.event_limit)
  const exchanges = exchangeStatements(db, options.journal_limit)
  const clock = clockStatements(db)
  const faults = faultStatements(db)
  const demand = db.prepare('SELECT demand FROM catalogue WHERE id = ?').pluck()

  const checkpoints = options.path === ':memory:' ? null : backgroundCheckpoints(db, options.path, options.report)
  const { write, read, nudge, flush, runExclusive, withOtherConnection, close } = groupCommit(db, {
    beforeCommit() {
      exchanges.write()
      events.prune()
    },
    afterCommit(writes) {
      exchanges.committed()
      checkpoints?.committed(writes)
      events.announce()
    },
    afterRollback() {
      projects.forget()
      chain.forget()
      events.forget()
      sessions.forget()
      slots.forget()
      beacons.forget()
      exchanges.forget()
    },
  })
  let closed = false
  const generation = { count: 0, event_seq: 0 }
  const { close: closeStates, ...states } = stateMethods({
    db,
    path: options.path,
    pid: options.pid,
    runExclusive,
    open: (path) => openSqliteStore({ ...options, path }),
    replaced(at_ms) {
      catalogue = applySeed(db, options.seed, at_ms).catalogue
      events.catchUp(events.lastSeq())
      startGeneration(events.append(generationEvent('sandbox.restored', at_ms)))
    },
    committed() {
      // Every page has been written, which is worth a checkpoint where there are many.
      const pages = db.pragma('page_count', { simple: true }) as number
      checkpoints?.committed(pages)
      events.announce()
    },
    failed() {
      forgetRows()
      events.forget()
    },
  })

  return {
    ...states,
    path: options.path,
    schema_version: migrations.length,
    get catalogue_id() {
      return catalogue
    },
    backup: opened.backup,

    findKey: async (hash) => read(() => projects.findKey(hash)),
    keyById: async (id) => read(() => projects.keyById(id)),
    findProject: async (client_id) => read(() => projects.byClientId(client_id)),
    projectById: async (id) => read(() => projects.project(id)),
    listProjects: async () => projects.list(),
    insertProject: (client_id, settings, keys, at_ms) => write(() => projects.insert(client_id, settings, keys, at_ms)),
    saveSettings: (id, expected_revision, settings) =>
      write(() => {
        slots.forget()
        return projects.saveSettings(id, expected_revision, settings)
      }),
    listKeys: async (project_id, query) =>
      toPage(
        read(() => projects.listKeys(project_id, query)),
        query.limit,
        (key) => key.id,
      ),
    insertKey: (project_id, key, at_ms) => write(() => projects.insertKey(project_id, key, at_ms)),
    revokeKey: (id, at_ms) => write(() => projects.revokeKey(id, at_ms)),
    findActivation: async (id) => read(() => projects.findActivation(id)),
    insertActivation: (row, at_ms) =>
      write(() => {
        projects.insertActivation(row, at_ms)
        events.append({ type: 'browser.activated', at_ms, project_id: row.project_id, slot_id: null, ref: row.id })
      }),
    pinOrigin: (id, origin) => write(() => projects.pinOrigin(id, origin)),

    latestConsent: async (project_id, session_id) => read(() => sessions.latestConsent(project_id, session_id)),
    listConsent: async (query) =>
      toPage(
        read(() => sessions.listConsent(query)),
        query.limit,
        (consent) => consent.id,
      ),
    saveConsent: (consent) => write(() => saveConsent(consent)),

    createJob: (job, newSlots, consent, caps) =>
      write(() => {
        if (!caps.every((cap) => permits(cap, fillsIn(newSlots)))) return false
        if (consent !== null && saveConsent(consent) === null) return false
        const session = job.session_id === null ? null : sessions.ensure(job.project_id, job.session_id)
        slots.insert(job, session, newSlots)
        for (const slot of newSlots) {
          const type = slot.decision === null ? 'job.created' : 'placement.decided'
          if (slot.evidence !== null) chain.append(job.project_id, slot.id, slot.evidence)
          events.append({ type, at_ms: job.created_at_ms, project_id: job.project_id, slot_id: slot.id, ref: slot.id })
        }
        return true
      }),
    bindDecision: (slot_id, decision, evidence, caps) =>
      write(() => {
        const isFill = decision.outcome.status === 'filled'
        if (isFill && !caps.every((cap) => permits(cap, 1))) return 'capped'
        if (!slots.bind(slot_id, decision)) return 'decided'
        const { project } = slots.find(slot_id)!
        chain.append(project.id, slot_id, evidence)
        events.append({
          type: 'placement.decided',
          at_ms: decision.decided_at_ms,
          project_id: project.id,
          slot_id,
          ref: slot_id,
        })
        return 'bound'
      }),
    findSlot: async (id) => read(() => slots.find(id)),
    pendingSlots: async () => slots.pending(),
    recordFrame: (slot_id, at_ms, token) =>
      write(() => {
        slots.firstFrame(slot_id, at_ms)
        projects.insertActivation(token, at_ms)
        events.append({ type: 'frame.loaded', at_ms, project_id: token.project_id, slot_id, ref: slot_id })
      }),
    replaceAssetToken: (slot_id, hash, evidence) =>
      write(() => {
        slots.replaceHash(slot_id, hash)
        chain.append(slots.find(slot_id)!.project.id, slot_id, evidence)
      }),

    countFills: async (scope, since_ms, most) => read(() => countFills(scope, since_ms, most)),
    filledWithin: async (project_id, session_id, jobs) => read(() => filledWithin(project_id, session_id, jobs)),

    beaconsOf: async (slot_id) => read(() => beacons.bySlot(slot_id)),
    findBeacon: async (slot_id, beacon_id) => read(() => beacons.find(slot_id, beacon_id)),
    beaconById: async (id) => read(() => beacons.byId(id)),
    unacceptedBeaconById: async (id) => read(() => beacons.unacceptedById(id)),
    recordBeacon: (beacon, project_id, evidence) =>
      write(() => {
        if (!beacons.insert(beacon)) return null
        chain.append(project_id, beacon.slot_id, evidence)
        events.append({
          type: 'beacon.accepted',
          at_ms: beacon.received_at_ms,
          project_id,
          slot_id: beacon.slot_id,
          ref: beacon.id,
        })
        return beacons.judged(beacon.slot_id)
      }),
    recordUnaccepted: (beacon) =>
      write(() => {
        beacons.insertUnaccepted(beacon)
        events.append({
          type: beacon.verdict === 'duplicate' ? 'beacon.duplicate' : 'beacon.rejected',
          at_ms: beacon.received_at_ms,
          project_id: beacon.project_id,
          slot_id: beacon.slot_id,
          ref: beacon.id,
        })
      }),

    listSlots: async (query) => toPage(slots.list(query), query.limit, (slot) => slot.id),
    listBeacons: async (query) => {
      const rows: BeaconListRow[] = [
        ...beacons.list(query).map((beacon) => toAccepted(beacon)),
        ...beacons.listUnaccepted(query).map((beacon) => toUnaccepted(beacon)),
      ]
      rows.sort((a, b) => b.beacon.id - a.beacon.id)
      return toPage(rows.slice(0, query.limit + 1), query.limit, (row) => row.beacon.id)
    },
    slotsWithBeacons: async (query) =>
      read(() => beacons.slotIds(query)).map((id) => ({
        slot: slots.find(id) as SlotRow,
        beacons: beacons.countable(id),
      })),
    countUnaccepted: async (query) => read(() => beacons.countUnaccepted(query)),
    unacceptedBeaconsOf: async (slot_id) => read(() => beacons.unacceptedBySlot(slot_id)),
    evidenceOf: async (slot_id) => read(() => chain.bySlot(slot_id)),
    listEvidence: async (query) =>
      toPage(
        read(() => chain.list(query)),
        query.limit,
        (entry) => entry.id,
      ),
    evidence: async (project_id, after_seq, limit) => read(() => chain.after(project_id, after_seq, limit)),
    catalogue: async (id) => (demand.get(id) as string | undefined) ?? null,

    appendExchange(row) {
      if (closed) return
      // Of a project that a reset or a restore has taken away meanwhile.
      const isOrphan = row.project_id !== null && !projects.exists(row.project_id)
      if (exchanges.push(isOrphan ? { ...row, project_id: null } : row)) nudge()
    },
    findExchange: async (id) => {
      flush()
      return exchanges.find(id)
    },
    listExchanges: async (query) => {
      flush()
      return exchanges.list(query)
    },
    readExchanges: async (query) => {
      flush()
      return exchanges.read(query)
    },
    countExchanges: async (query) => {
      flush()
      return exchanges.count(query)
    },
    journal: exchanges.status,

    findClock: async () => read(clock.find),
    saveClock: (row, at_ms) =>
      write(() => {
        clock.save(row)
        events.append({ type: 'clock.changed', at_ms, project_id: null, slot_id: null, ref: row.frozen_at_ms })
      }),

    findFaults: async () => read(faults.find),
    saveFaults: (state) => write(() => faults.save(state())),

    appendEvent: (event) => write(() => void events.append(event)),
    events: async (after_seq, limit) => read(() => events.after(after_seq, limit)),
    lastEventSeq: events.lastSeq,
    eventSeqBefore: async (at_ms) => read(() => events.seqBefore(at_ms)),
    eventLog: events.status,
    onEvents: events.listen,

    integrityProblems: async () => read(() => quickCheck(db)),

    reset: (at_ms) => (options.path === ':memory:' ? resetMemory(at_ms) : resetFile(at_ms)),
    stateGeneration: () => ({ ...generation }),
    largestId: lastId,
    close: async () => {
      if (closed) return
      closed = true
      await close()
      checkpoints?.close()
      closeStates()
      opened.close()
    },
  }

  /** No file that a copy could be laid over: row by row, which costs less in memory. */
  function resetMemory(at_ms: number): Promise<void> {
    return write(() => {
      clearAll(db)
      catalogue = applySeed(db, options.seed, at_ms).catalogue
      events.catchUp(events.lastSeq())
      startGeneration(events.append(generationEvent('sandbox.reset', at_ms)))
    })
  }

  function resetFile(at_ms: number): Promise<void> {
    return withOtherConnection(async () => {
      const pages = db.pragma('page_count', { simple: true }) as number
      const fresh = { catalogue, event_seq: 0 }
      await overwrite(db, options, (image) => {
        fresh.catalogue = applySeed(image, options.seed, at_ms).catalogue
        const log = eventStatements(image, options.event_limit)
        log.catchUp(events.lastSeq())
        fresh.event_seq = log.append(generationEvent('sandbox.reset', at_ms))
      })
      catalogue = fresh.catalogue
      events.forget()
      startGeneration(fresh.event_seq)
      // The file keeps its size until then.
      checkpoints?.committed(pages)
      events.announce()
    })
  }

  /** Every row has been replaced, and the event of that number says so: nothing of the rows before is remembered. */
  function startGeneration(event_seq: number): void {
    forgetRows()
    exchanges.clear()
    generation.count++
    generation.event_seq = event_seq
  }

  function forgetRows(): void {
    projects.forget()
    sessions.forget()
    slots.forget()
    beacons.forget()
    chain.forget()
  }

  /** Whether a cap leaves room for that many fills. */
  function permits(cap: CapGuard, fills: number): boolean {
    if (fills === 0) return true
    return cap.kind === 'interval'
      ? !filledWithin(cap.project_id, cap.session_id, cap.jobs)
      : countFills(cap, cap.since_ms, cap.most) + fills <= cap.most
  }

  function countFills(
    scope: { project_id: number; session_id: string | null },
    since_ms: number,
    most: number,
  ): number {
    if (scope.session_id === null) return slots.countFills({ project_id: scope.project_id }, since_ms, most)
    const session = sessions.idOf(scope.project_id, scope.session_id)
    return session === null ? 0 : slots.countFills({ session }, since_ms, most)
  }

  function filledWithin(project_id: number, session_id: string, jobs: number): boolean {
    const session = sessions.idOf(project_id, session_id)
    return session !== null && slots.filledWithin(session, jobs)
  }

  function saveConsent(consent: Parameters<Store['saveConsent']>[0]) {
    const record = sessions.saveConsent(consent)
    if (record === null) return null
    if (consent.evidence !== null) chain.append(consent.project_id, null, consent.evidence)
    events.append({
      type: 'consent.changed',
      at_ms: record.updated_at_ms,
      project_id: consent.project_id,
      slot_id: null,
      ref: record.id,
    })
    return record
  }

  function toAccepted(beacon: BeaconRow): BeaconListRow {
    return { kind: 'accepted', beacon, slot: slots.find(beacon.slot_id) as SlotRow }
  }

  function toUnaccepted(beacon: UnacceptedBeaconRow): BeaconListRow {
    return { kind: 'unaccepted', beacon, slot: beacon.slot_id === null ? null : slots.find(beacon.slot_id) }
  }

  function lastId(): number {
    const tables = ['activation', 'consent', 'job', 'slot', 'beacon', 'aside_beacon', 'exchange']
    const largest = tables.map((table) => `SELECT max(id) AS id FROM ${table}`).join(' UNION ALL ')
    return (db.prepare(`SELECT coalesce(max(id), 0) FROM (${largest})`).pluck().get() as number) ?? 0
  }
}

function generationEvent(type: 'sandbox.reset' | 'sandbox.restored', at_ms: number) {
  return { type, at_ms, project_id: null, slot_id: null, ref: null }
}

function fillsIn(slots: readonly NewSlot[]): number {
  return slots.filter((slot) => slot.decision?.outcome.status === 'filled').length
}

function toPage<Row>(rows: Row[], limit: number, idOf: (row: Row) => number) {
  const shown = rows.slice(0, limit)
  return { rows: shown, next: rows.length > limit ? idOf(shown.at(-1)!) : null }
}
