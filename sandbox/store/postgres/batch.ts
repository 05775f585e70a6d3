/**
 * The rows of one transaction: rows that its writes need, loaded together under the locks of their projects, and rows
 * that they add. A write is a function on these rows in memory, so many of them cost two round trips: one to lock and
 * load, one to store. Each sees what earlier writes in the same batch have added.
 *
 * Over 400 lines because loading, overlaying and storing have to be read together.
 */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import { chainHash, genesis, type Sha256Hex } from '#contract/resources/evidence.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import { decisionColumns, withMeasurements } from '../rows.ts'
import { type CapGuard, type EventRow, type EvidenceDraft, type IntervalGuard, StorageError } from '../store.ts'
import { byId, type Link, type Value } from './open.ts'

/** The rows that a write needs. The named projects, and the projects of the slots, are locked until the commit. */
export interface Needs {
  projects?: readonly number[]
  /** Sessions, which are created when missing, with their newest consent. */
  sessions?: readonly SessionName[]
  slots?: readonly number[]
  /** Beacons that billing judges, and whether the slot has one of that beacon_id. */
  beacons?: readonly { slot_id: number; beacon_id: string }[]
  caps?: readonly CapGuard[]
  activations?: readonly number[]
}

interface SessionName {
  project_id: number
  session_id: string
}

interface LoadedSlot {
  id: number
  job_id: number
  project_id: number
  session: number | null
  decided_at_ms: number | null
  facts: string
}

interface LoadedSession {
  id: number
  newest: ConsentRecord | null
}

export interface Loaded {
  generation: number
  heads: ReadonlyMap<number, { seq: number; hash: string }>
  sessions: ReadonlyMap<string, LoadedSession>
  slots: ReadonlyMap<number, LoadedSlot>
  judged: ReadonlyMap<number, readonly AcceptedBeacon[]>
  beaconIds: ReadonlySet<string>
  /** Fills that count towards a cap, as far as its most; for an interval, the jobs near it and whether each was filled. */
  fills: ReadonlyMap<string, number>
  nearJobs: ReadonlyMap<string, readonly NearJob[]>
  origins: ReadonlyMap<number, string | null>
}

export interface NearJob {
  id: number
  is_filled: boolean
}

type Row = Record<string, Value>

/** Tables that batches add rows to, each in one statement. */
const added = ['consent', 'job', 'slot', 'callback', 'activation', 'beacon', 'aside_beacon'] as const
type AddedTable = (typeof added)[number]

/** The notifications to other nodes, sent with the commit. */
type Notice = 'projects' | 'clock' | 'faults'

const sessionName = ({ project_id, session_id }: SessionName) => `${project_id} ${session_id}`
const beaconName = (slot_id: number, beacon_id: string) => `${slot_id} ${beacon_id}`

function capName(cap: CapGuard): string {
  return cap.kind === 'interval'
    ? `interval ${cap.job_id} ${cap.jobs}`
    : `fills ${cap.project_id} ${cap.session_id} ${cap.since_ms} ${cap.most}`
}

/* Loading */

/** Locks and loads what writes need, in one round trip. `begin` starts the transaction. */
export async function loadBatch(link: Link, needs: readonly Needs[], maxJudged: number): Promise<Loaded> {
  const unique = <Item>(of: (need: Needs) => readonly Item[] | undefined): Item[] => [
    ...new Set(needs.flatMap((need) => of(need) ?? [])),
  ]
  const slotIds = [
    ...new Set([...unique((need) => need.slots), ...unique((need) => need.beacons?.map((b) => b.slot_id))]),
  ]
  const projectIds = unique((need) => need.projects)
  const names = new Map(unique((need) => need.sessions).map((name) => [sessionName(name), name]))
  const beacons = unique((need) => need.beacons)
  const caps = new Map(unique((need) => need.caps).map((cap) => [capName(cap), cap]))
  const activationIds = unique((need) => need.activations)
  const none = Promise.resolve([])

  const stateRows = link.query<{ generation: number }>('SELECT generation FROM state FOR KEY SHARE')
  const heads =
    projectIds.length + slotIds.length === 0
      ? none
      : link.query<{ project_id: number; seq: number; hash: Buffer | null }>(
          `SELECT project_id, seq, hash FROM chain WHERE project_id = ANY($1::bigint[]) OR project_id IN
           (SELECT job.project_id FROM slot JOIN job ON job.id = slot.job_id WHERE slot.id = ANY($2::bigint[]))
           ORDER BY project_id FOR UPDATE`,
          [projectIds, slotIds],
        )
  const ids = [...names.values()].map(({ project_id }) => project_id)
  const texts = [...names.values()].map(({ session_id }) => session_id)
  const created =
    names.size === 0
      ? none
      : link.run(
          `INSERT INTO session (project_id, session_id) SELECT wanted.project_id, wanted.session_id
           FROM unnest($1::bigint[], $2::text[]) wanted (project_id, session_id)
           WHERE NOT EXISTS (SELECT 1 FROM session
             WHERE session.project_id = wanted.project_id AND session.session_id = wanted.session_id)
           ON CONFLICT DO NOTHING`,
          [ids, texts],
        )
  const sessions = names.size === 0 ? none : link.query<StoredSession>(sessionsWanted, [ids, texts])
  const slots =
    slotIds.length === 0
      ? none
      : link.query<LoadedSlot>(
          `SELECT slot.id, slot.job_id, slot.decided_at_ms, job.project_id, job.session, job.facts
           FROM slot JOIN job ON job.id = slot.job_id WHERE slot.id = ANY($1::bigint[])`,
          [slotIds],
        )
  const beaconSlots = [...new Set(beacons.map(({ slot_id }) => slot_id))]
  const judged =
    beacons.length === 0
      ? none
      : link.query<StoredJudged>(
          `SELECT judged.* FROM unnest($1::bigint[]) wanted (slot_id) CROSS JOIN LATERAL
           (SELECT slot_id, id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
            WHERE beacon.slot_id = wanted.slot_id AND event <> 'heartbeat' ${byId} LIMIT $2) judged`,
          [beaconSlots, maxJudged],
        )
  const taken =
    beacons.length === 0
      ? none
      : link.query<{ slot_id: number; beacon_id: string }>(
          `SELECT beacon.slot_id, beacon.beacon_id FROM unnest($1::bigint[], $2::text[]) wanted (slot_id, beacon_id)
           JOIN beacon ON beacon.slot_id = wanted.slot_id AND beacon.beacon_id = wanted.beacon_id`,
          [beacons.map((beacon) => beacon.slot_id), beacons.map((beacon) => beacon.beacon_id)],
        )
  const origins =
    activationIds.length === 0
      ? none
      : link.query<{ id: number; origin: string | null }>(
          'SELECT id, origin FROM activation WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
          [activationIds],
        )
  const capped = [...caps].map(([name, cap]) => loadCap(link, name, cap))

  const [[state], headRows, , sessionRows, slotRows, judgedRows, takenRows, originRows, capRows] = await Promise.all([
    stateRows,
    heads,
    created,
    sessions,
    slots,
    judged,
    taken,
    origins,
    Promise.all(capped),
  ])
  const judgedOf = new Map<number, AcceptedBeacon[]>(beaconSlots.map((slot_id) => [slot_id, []]))
  for (const { slot_id, ...beacon } of judgedRows) judgedOf.get(slot_id)?.push(withMeasurements(beacon))
  return {
    generation: state?.generation ?? -1,
    heads: new Map(
      headRows.map(({ project_id, seq, hash }) => [project_id, { seq, hash: hash?.toString('hex') ?? genesis }]),
    ),
    sessions: new Map(sessionRows.map((row) => [sessionName(row), { id: row.session, newest: newestOf(row) }])),
    slots: new Map(slotRows.map((row) => [row.id, row])),
    judged: judgedOf,
    beaconIds: new Set(takenRows.map(({ slot_id, beacon_id }) => beaconName(slot_id, beacon_id))),
    fills: new Map(capRows.flatMap(({ name, fills }) => (fills === null ? [] : [[name, fills]]))),
    nearJobs: new Map(capRows.flatMap(({ name, jobs }) => (jobs === null ? [] : [[name, jobs]]))),
    origins: new Map(originRows.map(({ id, origin }) => [id, origin])),
  }
}

type StoredJudged = Omit<AcceptedBeacon, 'measurements'> & { slot_id: number; measurements: string | null }

interface StoredSession extends SessionName {
  session: number
  id: number | null
  revision: number
  state: ConsentRecord['state']
  source: ConsentRecord['source']
  semantic_targeting: number
  prompt_shared: number
  extras: string
  updated_at_ms: number
  expires_at_ms: number
}

const consentColumns =
  'id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms'

/** Sessions by project and name, with their newest consent. */
export const sessionsWanted = `
  SELECT session.id AS session, session.project_id, session.session_id, newest.*
  FROM unnest($1::bigint[], $2::text[]) wanted (project_id, session_id)
  JOIN session ON session.project_id = wanted.project_id AND session.session_id = wanted.session_id
  LEFT JOIN LATERAL (SELECT ${consentColumns} FROM consent
    WHERE consent.session = session.id ORDER BY revision DESC LIMIT 1) newest ON true`

/** Returns the newest consent of a session; null when it has none. */
export function newestOf({
  session: _,
  project_id: __,
  session_id: ___,
  id,
  ...row
}: StoredSession): ConsentRecord | null {
  if (id === null) return null
  return { ...row, id, semantic_targeting: row.semantic_targeting === 1, prompt_shared: row.prompt_shared === 1 }
}

/** The queries of countFills and filledWithin, as statements that the batch shares. */
export const capQueries = {
  sessionFills: `SELECT count(*) AS fills FROM (SELECT 1 FROM session JOIN job ON job.session = session.id
    JOIN slot ON slot.job_id = job.id WHERE session.project_id = $1 AND session.session_id = $2
    AND slot.format IS NOT NULL AND slot.decided_at_ms >= $3 LIMIT $4) found`,
  projectFills: `SELECT count(*) AS fills FROM (SELECT 1 FROM slot JOIN job ON job.id = slot.job_id
    WHERE job.project_id = $1 AND slot.format IS NOT NULL AND slot.decided_at_ms >= $2 LIMIT $3) found`,
  nearJobs: `SELECT near.id, EXISTS (SELECT 1 FROM slot WHERE slot.job_id = near.id AND slot.format IS NOT NULL) AS is_filled
    FROM session CROSS JOIN LATERAL (
      (SELECT job.id FROM job WHERE job.session = session.id AND job.id < $3 ORDER BY job.id DESC LIMIT $4) UNION ALL
      (SELECT job.id FROM job WHERE job.session = session.id AND job.id > $3 ORDER BY job.id LIMIT $4)) near
    WHERE session.project_id = $1 AND session.session_id = $2`,
}

/** The parameters of `nearJobs`. */
export function nearTo({ project_id, session_id, job_id, jobs }: IntervalGuard): Value[] {
  return [project_id, session_id, job_id, jobs]
}

async function loadCap(link: Pick<Link, 'query'>, name: string, cap: CapGuard) {
  if (cap.kind === 'interval') {
    return { name, fills: null, jobs: await link.query<NearJob>(capQueries.nearJobs, nearTo(cap)) }
  }
  const { project_id, session_id, since_ms, most } = cap
  const [row] = await (session_id === null
    ? link.query<{ fills: number }>(capQueries.projectFills, [project_id, since_ms, most])
    : link.query<{ fills: number }>(capQueries.sessionFills, [project_id, session_id, since_ms, most]))
  return { name, fills: row?.fills ?? 0, jobs: null }
}

/* The batch */

/** A fill of this batch, which counts towards caps of later writes in it. */
interface NewFill {
  project_id: number
  session_id: string | null
  job_id: number
  decided_at_ms: number
}

export class Batch {
  readonly rows = new Map<AddedTable, Row[]>()
  /** By identifier: the last renewal of a consent, the first load of a frame, the last hash of an asset token. */
  readonly renewals = new Map<number, Row>()
  readonly firstFrames = new Map<number, Row>()
  readonly assetHashes = new Map<number, Row>()
  readonly bindings: Row[] = []
  readonly droppedTopics: Row[] = []
  readonly pinned: Row[] = []
  readonly evidence: Row[] = []
  readonly events: Omit<EventRow, 'seq'>[] = []
  readonly decided: number[] = []
  readonly notices = new Set<Notice>()
  readonly heads = new Map<number, { seq: number; hash: string }>()
  readonly loaded: Loaded
  private readonly sha256Hex: Sha256Hex
  private readonly newest = new Map<string, ConsentRecord>()
  private readonly newSlots = new Map<number, LoadedSlot>()
  private readonly beaconIds = new Set<string>()
  private readonly judged = new Map<number, AcceptedBeacon[]>()
  private readonly fills: NewFill[] = []
  private readonly jobs: (SessionName & { id: number })[] = []
  private readonly origins = new Map<number, string>()

  constructor(loaded: Loaded, sha256Hex: Sha256Hex) {
    this.loaded = loaded
    this.sha256Hex = sha256Hex
  }

  add(table: AddedTable, row: Row): void {
    const rows = this.rows.get(table)
    if (rows === undefined) this.rows.set(table, [row])
    else rows.push(row)
  }

  appendEvent(event: Omit<EventRow, 'seq'>): void {
    this.events.push(event)
  }

  /** Appends an entry to the chain of a project, which must be locked. */
  appendEvidence(project_id: number, slot_id: number | null, draft: EvidenceDraft): void {
    const head = this.heads.get(project_id) ?? this.loaded.heads.get(project_id)
    if (head === undefined) throw replaced()
    const seq = head.seq + 1
    const entry = draft.build(seq)
    const hash = chainHash(head.hash, entry, this.sha256Hex)
    const { kind, ref, at_ms } = draft
    this.evidence.push({
      id: this.evidence.length + 1,
      ...{ project_id, seq, kind, ref, slot_id, at_ms, entry },
      hash: `\\x${hash}`,
    })
    this.heads.set(project_id, { seq, hash })
  }

  sessionId(name: SessionName): number {
    const session = this.loaded.sessions.get(sessionName(name))
    if (session === undefined) throw replaced()
    return session.id
  }

  newestConsent(name: SessionName): ConsentRecord | null {
    const key = sessionName(name)
    return this.newest.get(key) ?? this.loaded.sessions.get(key)?.newest ?? null
  }

  setNewestConsent(name: SessionName, record: ConsentRecord): void {
    this.newest.set(sessionName(name), record)
  }

  slot(id: number): LoadedSlot | null {
    return this.newSlots.get(id) ?? this.loaded.slots.get(id) ?? null
  }

  /** Replaces a slot as later writes of the batch see it. */
  setSlot(slot: LoadedSlot): void {
    this.newSlots.set(slot.id, slot)
  }

  addJob(job: SessionName & { id: number }): void {
    this.jobs.push(job)
  }

  addFill(fill: NewFill): void {
    this.fills.push(fill)
  }

  /** Whether a cap leaves room for this number of fills. */
  permits(cap: CapGuard, fills: number): boolean {
    if (fills === 0) return true
    const name = capName(cap)
    const { project_id, session_id } = cap
    if (cap.kind === 'interval') {
      const ofSession = this.jobs.filter((job) => job.project_id === project_id && job.session_id === session_id)
      const near = new Map((this.loaded.nearJobs.get(name) ?? []).map(({ id, is_filled }) => [id, is_filled]))
      for (const { id } of ofSession) near.set(id, false)
      for (const { job_id } of this.fills) if (near.has(job_id)) near.set(job_id, true)
      const jobs = [...near].toSorted(([one], [other]) => one - other)
      const before = jobs.filter(([id]) => id < cap.job_id).slice(-cap.jobs)
      const after = jobs.filter(([id]) => id > cap.job_id).slice(0, cap.jobs)
      return ![...before, ...after].some(([, is_filled]) => is_filled)
    }
    const { since_ms, most } = cap
    const more = this.fills.filter(
      (fill) =>
        fill.project_id === project_id &&
        (session_id === null || fill.session_id === session_id) &&
        fill.decided_at_ms >= since_ms,
    )
    return (this.loaded.fills.get(name) ?? 0) + more.length + fills <= most
  }

  /** Adds a beacon to its slot; null when the slot has one with that beacon_id, or is gone. */
  addBeacon(slot_id: number, beacon_id: string, beacon: AcceptedBeacon): readonly AcceptedBeacon[] | null {
    const name = beaconName(slot_id, beacon_id)
    if (this.slot(slot_id) === null || this.loaded.beaconIds.has(name) || this.beaconIds.has(name)) return null
    this.beaconIds.add(name)
    const present = this.judged.get(slot_id) ?? this.loaded.judged.get(slot_id) ?? []
    const next = beacon.event === 'heartbeat' ? [...present] : [...present, beacon]
    this.judged.set(slot_id, next)
    return next
  }

  /** Returns the origin that a beacon token is bound to; undefined when there is no such token. */
  originOf(id: number): string | null | undefined {
    return this.origins.get(id) ?? this.loaded.origins.get(id)
  }

  pin(id: number, origin: string): void {
    this.origins.set(id, origin)
    this.pinned.push({ id, origin })
  }
}

/** The rows of a write are gone: the whole state was replaced after it was requested. */
export function replaced(): StorageError {
  return new StorageError(new Error('the state was replaced in the meantime'), 'write', 1)
}

/* Storing */

/**
 * Sends everything that a batch changed except evidence and events, whose numbers depend on the head. Nothing is
 * awaited here.
 */
export function storeRows(link: Link, batch: Batch): Promise<unknown>[] {
  const sent: Promise<unknown>[] = []
  const send = (text: string, rows: readonly Row[]) => {
    if (rows.length > 0) sent.push(link.run(text, [jsonOf(rows)]))
  }
  for (const table of added) {
    send(`INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $1)`, batch.rows.get(table) ?? [])
  }
  send(
    `UPDATE consent SET extras = new.extras, updated_at_ms = new.updated_at_ms, expires_at_ms = new.expires_at_ms
     FROM json_populate_recordset(NULL::consent, $1) new WHERE consent.id = new.id`,
    [...batch.renewals.values()],
  )
  send(
    `UPDATE slot SET (${decided}) = (SELECT ${decided.replaceAll(/\w+/g, 'new.$&')})
     FROM json_populate_recordset(NULL::slot, $1) new WHERE slot.id = new.id`,
    batch.bindings,
  )
  send(
    'UPDATE job SET facts = new.facts FROM json_populate_recordset(NULL::job, $1) new WHERE job.id = new.id',
    batch.droppedTopics,
  )
  send(
    `UPDATE slot SET first_frame_at_ms = new.first_frame_at_ms FROM json_populate_recordset(NULL::slot, $1) new
     WHERE slot.id = new.id AND slot.first_frame_at_ms IS NULL`,
    [...batch.firstFrames.values()],
  )
  send(
    `UPDATE slot SET asset_token_hash = new.asset_token_hash FROM json_populate_recordset(NULL::slot, $1) new
     WHERE slot.id = new.id`,
    [...batch.assetHashes.values()],
  )
  send(
    'UPDATE activation SET origin = new.origin FROM json_populate_recordset(NULL::activation, $1) new WHERE activation.id = new.id',
    batch.pinned,
  )
  const chains = [...batch.heads].map(([project_id, { seq, hash }]) => ({ project_id, seq, hash: `\\x${hash}` }))
  send(
    'UPDATE chain SET seq = new.seq, hash = new.hash FROM json_populate_recordset(NULL::chain, $1) new WHERE chain.project_id = new.project_id',
    chains,
  )
  return sent
}

const decided = decisionColumns.join(', ')

/** Returns rows as a JSON text that PostgreSQL accepts: it supports neither U+0000 nor halves of surrogate pairs. */
export function jsonOf(rows: readonly Row[]): string {
  const text = JSON.stringify(rows)
  if (!text.includes('\\u')) return text
  return JSON.stringify(rows, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value,
  )
}

/** Returns bytes, or the bytes of a text, in the form of such a JSON text. */
export function bytesOf(value: Uint8Array | string): string {
  return `\\x${Buffer.from(value as Uint8Array).toString('hex')}`
}
