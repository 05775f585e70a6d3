/** The first round trip of a transaction: locks and loads the rows that its writes need. */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import { genesis } from '#contract/resources/evidence.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import { type StoredProject, withMeasurements } from '../../rows.ts'
import type { CapGuard, IntervalGuard } from '../../store.ts'
import type { ChainHead } from '../../writes/evidence.ts'
import type { Needs, SessionName } from '../../writes/transaction.ts'
import { keyColumns, type MetaName, projectColumns, type StoredKey } from '../rows.ts'
import type { Link, Value } from '../servers/link.ts'
import { byId } from '../servers/open.ts'

export interface LoadedSlot {
  id: number
  job_id: number
  project_id: number
  session_id: string | null
  decided_at_ms: number | null
  facts: string
}

interface LoadedSession {
  id: number
  newest: ConsentRecord | null
}

export interface Loaded {
  heads: ReadonlyMap<number, ChainHead>
  sessions: ReadonlyMap<string, LoadedSession>
  slots: ReadonlyMap<number, LoadedSlot>
  judged: ReadonlyMap<number, readonly AcceptedBeacon[]>
  beaconIds: ReadonlySet<string>
  /** Fills that count towards a cap, as far as its most; for an interval, the jobs near it and whether each was filled. */
  fills: ReadonlyMap<string, number>
  nearJobs: ReadonlyMap<string, readonly NearJob[]>
  origins: ReadonlyMap<number, string | null>
  callbacks: ReadonlyMap<number, number>
  projects: ReadonlyMap<number, StoredProject>
  keys: ReadonlyMap<number, StoredKey>
  lastIds: { project: number; api_key: number }
  /** The clock and the fault rules, as JSON. */
  values: ReadonlyMap<MetaName, string>
}

export interface NearJob {
  id: number
  is_filled: boolean
}

export const nameSession = ({ project_id, session_id }: SessionName) => `${project_id} ${session_id}`
export const nameBeacon = (slot_id: number, beacon_id: string) => `${slot_id} ${beacon_id}`

export function nameCap(cap: CapGuard): string {
  return cap.kind === 'interval'
    ? `interval ${cap.job_id} ${cap.jobs}`
    : `fills ${cap.project_id} ${cap.session_id} ${cap.since_ms} ${cap.most} ${cap.campaign_id ?? ''}`
}

/**
 * Locks and loads what writes need, in one round trip: every statement is sent before the first result is awaited, in
 * this order, since each sees what was committed before it and the first one locks.
 */
export async function loadBatch(link: Link, needs: readonly Needs[], maxJudged: number): Promise<Loaded> {
  const wanted = mergeNeeds(needs)
  const [heads, sessions, slots, beacons, origins, callbacks, registry, values, caps] = await Promise.all([
    loadChains(link, wanted),
    loadSessions(link, wanted.sessions),
    loadSlots(link, wanted.slots),
    loadBeacons(link, wanted.beacons, maxJudged),
    lockOrigins(link, wanted.activations),
    loadCallbacks(link, wanted.callbacks),
    loadRegistry(link, wanted),
    loadValues(link, wanted.values),
    Promise.all(wanted.caps.map((cap) => loadCap(link, cap))),
  ])
  return {
    ...{ heads, sessions, slots, ...beacons, origins, callbacks, values },
    ...registry,
    fills: new Map(caps.flatMap(({ name, fills }) => (fills === null ? [] : [[name, fills]]))),
    nearJobs: new Map(caps.flatMap(({ name, jobs }) => (jobs === null ? [] : [[name, jobs]]))),
  }
}

type Wanted = Required<Needs>

function mergeNeeds(needs: readonly Needs[]): Wanted {
  const unique = <Item>(pick: (need: Needs) => readonly Item[] | undefined): Item[] => [
    ...new Set(needs.flatMap((need) => pick(need) ?? [])),
  ]
  const beacons = unique((need) => need.beacons)
  return {
    projects: unique((need) => need.projects),
    projectRows: unique((need) => need.projectRows),
    keys: unique((need) => need.keys),
    values: unique((need) => need.values),
    sessions: [...new Map(unique((need) => need.sessions).map((name) => [nameSession(name), name])).values()],
    slots: [...new Set([...unique((need) => need.slots), ...beacons.map(({ slot_id }) => slot_id)])],
    beacons,
    caps: [...new Map(unique((need) => need.caps).map((cap) => [nameCap(cap), cap])).values()],
    activations: unique((need) => need.activations),
    callbacks: unique((need) => need.callbacks),
  }
}

/** Resolves to the generation of the state, which nothing replaces until the commit. */
export async function lockState(link: Link): Promise<number> {
  const [state] = await link.query<{ generation: number }>('SELECT generation FROM state FOR KEY SHARE')
  return state?.generation ?? -1
}

/** Waits for the projects that writes need, and locks them until the commit. */
export function lockChains(link: Link, needs: readonly Needs[]): Promise<unknown> {
  return loadChains(link, mergeNeeds(needs))
}

async function loadChains(link: Link, { projects, slots }: Wanted): Promise<Loaded['heads']> {
  if (projects.length + slots.length === 0) return new Map()
  const rows = await link.query<{ project_id: number; seq: number; hash: Buffer | null }>(
    `SELECT project_id, seq, hash FROM chain WHERE project_id = ANY($1::bigint[]) OR project_id IN
     (SELECT job.project_id FROM slot JOIN job ON job.id = slot.job_id WHERE slot.id = ANY($2::bigint[]))
     ORDER BY project_id FOR UPDATE`,
    [projects, slots],
  )
  return new Map(rows.map(({ project_id, seq, hash }) => [project_id, { seq, hash: hash?.toString('hex') ?? genesis }]))
}

async function loadSessions(link: Link, names: readonly SessionName[]): Promise<Loaded['sessions']> {
  if (names.length === 0) return new Map()
  const wanted = [names.map(({ project_id }) => project_id), names.map(({ session_id }) => session_id)]
  const rows = await link.query<StoredSession>(
    `WITH added AS (INSERT INTO session (project_id, session_id) SELECT wanted.project_id, wanted.session_id
       FROM unnest($1::bigint[], $2::text[]) wanted (project_id, session_id)
       WHERE NOT EXISTS (SELECT 1 FROM session
         WHERE session.project_id = wanted.project_id AND session.session_id = wanted.session_id)
       ON CONFLICT DO NOTHING RETURNING id, project_id, session_id)
     ${sessionsWanted} UNION ALL SELECT added.*, ${consentColumns.replaceAll(/\w+/g, 'NULL')} FROM added`,
    wanted,
  )
  return new Map(rows.map((row) => [nameSession(row), { id: row.session, newest: toNewestConsent(row) }]))
}

async function loadSlots(link: Link, ids: readonly number[]): Promise<Loaded['slots']> {
  if (ids.length === 0) return new Map()
  const rows = await link.query<LoadedSlot>(
    `SELECT slot.id, slot.job_id, slot.decided_at_ms, job.project_id, session.session_id, job.facts
     FROM slot JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
     WHERE slot.id = ANY($1::bigint[])`,
    [ids],
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/** Loads the beacons of slots that billing judges, and which of the wanted ones are stored already. */
async function loadBeacons(
  link: Link,
  beacons: Wanted['beacons'],
  maxJudged: number,
): Promise<Pick<Loaded, 'judged' | 'beaconIds'>> {
  if (beacons.length === 0) return { judged: new Map(), beaconIds: new Set() }
  const slotIds = [...new Set(beacons.map(({ slot_id }) => slot_id))]
  const rows = await link.query<StoredJudged | StoredBeaconId>(
    `SELECT NULL AS beacon_id, judged.* FROM unnest($1::bigint[]) wanted (slot_id) CROSS JOIN LATERAL
     (SELECT slot_id, id, event, occurred_at_ms, received_at_ms, measurements FROM beacon
      WHERE beacon.slot_id = wanted.slot_id AND event <> 'heartbeat' ${byId} LIMIT $2) judged
     UNION ALL SELECT beacon.beacon_id, beacon.slot_id, NULL, NULL, NULL, NULL, NULL
     FROM unnest($3::bigint[], $4::text[]) wanted (slot_id, beacon_id)
     JOIN beacon ON beacon.slot_id = wanted.slot_id AND beacon.beacon_id = wanted.beacon_id`,
    [slotIds, maxJudged, beacons.map(({ slot_id }) => slot_id), beacons.map(({ beacon_id }) => beacon_id)],
  )
  const judged = new Map<number, AcceptedBeacon[]>(slotIds.map((slot_id) => [slot_id, []]))
  const beaconIds = new Set<string>()
  for (const row of rows) {
    if (row.beacon_id !== null) {
      beaconIds.add(nameBeacon(row.slot_id, row.beacon_id))
      continue
    }
    const { slot_id, beacon_id: _, ...beacon } = row
    judged.get(slot_id)?.push(withMeasurements(beacon))
  }
  return { judged, beaconIds }
}

async function lockOrigins(link: Link, ids: readonly number[]): Promise<Loaded['origins']> {
  if (ids.length === 0) return new Map()
  const rows = await link.query<{ id: number; origin: string | null }>(
    'SELECT id, origin FROM activation WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE',
    [ids],
  )
  return new Map(rows.map(({ id, origin }) => [id, origin]))
}

async function loadCallbacks(link: Link, ids: readonly number[]): Promise<Loaded['callbacks']> {
  if (ids.length === 0) return new Map()
  const rows = await link.query<{ id: number; project_id: number }>(
    'SELECT id, project_id FROM callback WHERE id = ANY($1::bigint[])',
    [ids],
  )
  return new Map(rows.map(({ id, project_id }) => [id, project_id]))
}

type Registry = Pick<Loaded, 'projects' | 'keys' | 'lastIds'>

/** Loads projects and keys, and the largest numbers of both. */
async function loadRegistry(link: Link, { projectRows, keys }: Wanted): Promise<Registry> {
  if (projectRows.length + keys.length === 0) return { projects: new Map(), keys: new Map(), lastIds: noIds }
  const ids = projectRows.filter((wanted) => typeof wanted === 'number')
  const clientIds = projectRows.filter((wanted) => typeof wanted === 'string')
  const [projects, keyRows, [lastIds]] = await Promise.all([
    link.query<StoredProject>(
      `SELECT ${projectColumns} FROM project WHERE id = ANY($1::bigint[]) OR client_id = ANY($2::text[])
       OR id IN (SELECT project_id FROM api_key WHERE api_key.id = ANY($3::bigint[]))`,
      [ids, clientIds, keys],
    ),
    link.query<StoredKey>(`SELECT ${keyColumns} FROM api_key WHERE id = ANY($1::bigint[])`, [keys]),
    link.query<Loaded['lastIds']>(
      `SELECT (SELECT coalesce(max(id), 0) FROM project) AS project, (SELECT coalesce(max(id), 0) FROM api_key) AS api_key`,
    ),
  ])
  return {
    projects: new Map(projects.map((row) => [row.id, row])),
    keys: new Map(keyRows.map((row) => [row.id, row])),
    lastIds: lastIds ?? noIds,
  }
}

const noIds = { project: 0, api_key: 0 }

async function loadValues(link: Link, names: readonly MetaName[]): Promise<Loaded['values']> {
  if (names.length === 0) return new Map()
  const rows = await link.query<{ name: MetaName; value: string }>(
    'SELECT name, value FROM meta WHERE name = ANY($1::text[])',
    [names],
  )
  return new Map(rows.map(({ name, value }) => [name, value]))
}

type StoredJudged = Omit<AcceptedBeacon, 'measurements'> & {
  slot_id: number
  measurements: string | null
  beacon_id: null
}

interface StoredBeaconId {
  slot_id: number
  beacon_id: string
}

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

export const consentColumns =
  'id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms'

/** Sessions by project and name, with their newest consent. */
export const sessionsWanted = `
  SELECT session.id AS session, session.project_id, session.session_id, newest.*
  FROM unnest($1::bigint[], $2::text[]) wanted (project_id, session_id)
  JOIN session ON session.project_id = wanted.project_id AND session.session_id = wanted.session_id
  LEFT JOIN LATERAL (SELECT ${consentColumns} FROM consent
    WHERE consent.session = session.id ORDER BY revision DESC LIMIT 1) newest ON true`

/** Returns the newest consent of a session; null when it has none. */
export function toNewestConsent({
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

export function nearJobsValues({ project_id, session_id, job_id, jobs }: IntervalGuard): Value[] {
  return [project_id, session_id, job_id, jobs]
}

export async function countCampaignFills(
  read: Link['query'],
  { project_id, session_id, campaign_id }: { project_id: number; session_id: string | null; campaign_id: string },
  since_ms: number,
): Promise<number> {
  const [row] = await read<{ fills: number }>(
    `SELECT count(*) AS fills FROM job JOIN slot ON slot.job_id = job.id LEFT JOIN session ON session.id = job.session
      WHERE job.project_id = $1 AND ($2::text IS NULL OR session.session_id = $2) AND slot.campaign_id = $3
      AND slot.decided_at_ms >= $4`,
    [project_id, session_id, campaign_id, since_ms],
  )
  return row?.fills ?? 0
}

async function loadCap(link: Pick<Link, 'query'>, cap: CapGuard) {
  const name = nameCap(cap)
  if (cap.kind === 'interval') {
    return { name, fills: null, jobs: await link.query<NearJob>(capQueries.nearJobs, nearJobsValues(cap)) }
  }
  const { project_id, session_id, since_ms, most, campaign_id } = cap
  if (campaign_id !== undefined)
    return { name, fills: await countCampaignFills(link.query, { ...cap, campaign_id }, since_ms), jobs: null }
  const [row] = await (session_id === null
    ? link.query<{ fills: number }>(capQueries.projectFills, [project_id, since_ms, most])
    : link.query<{ fills: number }>(capQueries.sessionFills, [project_id, session_id, since_ms, most]))
  return { name, fills: row?.fills ?? 0, jobs: null }
}
