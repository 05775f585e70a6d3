/** The first round trip of a transaction: locks and loads the rows that its writes need. */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import { genesis } from '#contract/resources/evidence.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import { withMeasurements } from '../../rows.ts'
import type { CapGuard, IntervalGuard } from '../../store.ts'
import type { ChainHead } from '../../writes/evidence.ts'
import type { Needs, SessionName } from '../../writes/transaction.ts'
import { byId, type Link, type Value } from '../open.ts'

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
  generation: number
  heads: ReadonlyMap<number, ChainHead>
  sessions: ReadonlyMap<string, LoadedSession>
  slots: ReadonlyMap<number, LoadedSlot>
  judged: ReadonlyMap<number, readonly AcceptedBeacon[]>
  beaconIds: ReadonlySet<string>
  /** Fills that count towards a cap, as far as its most; for an interval, the jobs near it and whether each was filled. */
  fills: ReadonlyMap<string, number>
  nearJobs: ReadonlyMap<string, readonly NearJob[]>
  origins: ReadonlyMap<number, string | null>
  /** The projects of callbacks. */
  callbacks: ReadonlyMap<number, number>
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
    : `fills ${cap.project_id} ${cap.session_id} ${cap.since_ms} ${cap.most}`
}

/** Locks and loads what writes need, in one round trip. `begin` starts the transaction. */
export async function loadBatch(link: Link, needs: readonly Needs[], maxJudged: number): Promise<Loaded> {
  const unique = <Item>(of: (need: Needs) => readonly Item[] | undefined): Item[] => [
    ...new Set(needs.flatMap((need) => of(need) ?? [])),
  ]
  const slotIds = [
    ...new Set([...unique((need) => need.slots), ...unique((need) => need.beacons?.map((b) => b.slot_id))]),
  ]
  const projectIds = unique((need) => need.projects)
  const names = new Map(unique((need) => need.sessions).map((name) => [nameSession(name), name]))
  const beacons = unique((need) => need.beacons)
  const caps = new Map(unique((need) => need.caps).map((cap) => [nameCap(cap), cap]))
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
          `SELECT slot.id, slot.job_id, slot.decided_at_ms, job.project_id, session.session_id, job.facts
           FROM slot JOIN job ON job.id = slot.job_id LEFT JOIN session ON session.id = job.session
           WHERE slot.id = ANY($1::bigint[])`,
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
  const callbackIds = unique((need) => need.callbacks)
  const callbacks =
    callbackIds.length === 0
      ? none
      : link.query<{ id: number; project_id: number }>(
          'SELECT id, project_id FROM callback WHERE id = ANY($1::bigint[])',
          [callbackIds],
        )
  const capped = [...caps].map(([name, cap]) => loadCap(link, name, cap))

  const [[state], headRows, , sessionRows, slotRows, judgedRows, takenRows, originRows, callbackRows, capRows] =
    await Promise.all([
      stateRows,
      heads,
      created,
      sessions,
      slots,
      judged,
      taken,
      origins,
      callbacks,
      Promise.all(capped),
    ])
  const judgedBySlot = new Map<number, AcceptedBeacon[]>(beaconSlots.map((slot_id) => [slot_id, []]))
  for (const { slot_id, ...beacon } of judgedRows) judgedBySlot.get(slot_id)?.push(withMeasurements(beacon))
  return {
    generation: state?.generation ?? -1,
    heads: new Map(
      headRows.map(({ project_id, seq, hash }) => [project_id, { seq, hash: hash?.toString('hex') ?? genesis }]),
    ),
    sessions: new Map(sessionRows.map((row) => [nameSession(row), { id: row.session, newest: toNewestConsent(row) }])),
    slots: new Map(slotRows.map((row) => [row.id, row])),
    judged: judgedBySlot,
    beaconIds: new Set(takenRows.map(({ slot_id, beacon_id }) => nameBeacon(slot_id, beacon_id))),
    fills: new Map(capRows.flatMap(({ name, fills }) => (fills === null ? [] : [[name, fills]]))),
    nearJobs: new Map(capRows.flatMap(({ name, jobs }) => (jobs === null ? [] : [[name, jobs]]))),
    origins: new Map(originRows.map(({ id, origin }) => [id, origin])),
    callbacks: new Map(callbackRows.map(({ id, project_id }) => [id, project_id])),
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

/** The parameters of `nearJobs`. */
export function nearJobsValues({ project_id, session_id, job_id, jobs }: IntervalGuard): Value[] {
  return [project_id, session_id, job_id, jobs]
}

async function loadCap(link: Pick<Link, 'query'>, name: string, cap: CapGuard) {
  if (cap.kind === 'interval') {
    return { name, fills: null, jobs: await link.query<NearJob>(capQueries.nearJobs, nearJobsValues(cap)) }
  }
  const { project_id, session_id, since_ms, most } = cap
  const [row] = await (session_id === null
    ? link.query<{ fills: number }>(capQueries.projectFills, [project_id, since_ms, most])
    : link.query<{ fills: number }>(capQueries.sessionFills, [project_id, session_id, since_ms, most]))
  return { name, fills: row?.fills ?? 0, jobs: null }
}
