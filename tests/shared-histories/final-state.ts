/** The state after a history: as a node reports it by the control plane, and as another one exports it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { encodeId } from '#contract/ids.ts'
import { type ChainEntry, readList, readState, type State } from '#tests/histories/state.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { projects } from './projects.ts'

/** What an export has of a state. */
export interface ExportedState extends Pick<State, 'chains' | 'revisions' | 'callbacks' | 'events'> {
  slots: Pick<State['slots'][number], 'slot_id' | 'client_id' | 'session_id' | 'fill' | 'format'>[]
  /** Accepted ones. */
  beacons: Pick<State['beacons'][number], 'slot_id' | 'beacon_id' | 'event'>[]
  consents: Omit<State['consents'][number], 'is_current'>[]
}

/** Reads the whole state by the control plane of a node, but for the events, which come from an export. */
export async function readReported(url: string, token: string, { events }: ExportedState): Promise<State> {
  const read = <Body>(path: string) => get<Body>(`${url}/_sandbox/${path}`, token)
  return { ...(await readState(read, projects)), callbacks: await readList(read, 'callbacks'), events, isFinal: true }
}

/** Returns what one node exports and another one does not report, or the other way round. */
export function compareStates(exported: ExportedState, reported: State): string[] {
  const texts = ({ slots, beacons, consents, chains, revisions, callbacks }: ExportedState) => ({
    slots: slots.map(({ slot_id, client_id, session_id, fill, format }) =>
      [slot_id, client_id, session_id, fill, format].join(' '),
    ),
    beacons: beacons.map(({ slot_id, beacon_id, event }) => [slot_id, beacon_id, event].join(' ')),
    consents: consents.map(({ client_id, session_id, revision, lifecycle_state, semantic_targeting }) =>
      [client_id, session_id, revision, lifecycle_state, semantic_targeting].join(' '),
    ),
    chains: [...chains].flatMap(([project, chain]) => chain.map(({ seq, hash }) => [project, seq, hash].join(' '))),
    revisions: [...revisions].map((pair) => pair.join(' ')),
    callbacks: callbacks.map(({ slot_id, status }) => [slot_id, status].join(' ')),
  })
  const accepted = reported.beacons.filter(({ verdict }) => verdict === 'accepted')
  const [one, other] = [texts(exported), texts({ ...reported, beacons: accepted })]
  return (Object.keys(one) as (keyof typeof one)[]).flatMap((name) => {
    const [mine, theirs] = [new Set(one[name]), new Set(other[name])]
    const only = [...one[name], ...other[name]].find((text) => !mine.has(text) || !theirs.has(text))
    return only === undefined ? [] : [`two nodes report different ${name}: ${only}`]
  })
}

/** Resolves when no slot waits for its decision and no callback for its delivery, at the latest after that time. */
export async function untilQuiet(url: string, token: string, patience_ms: number): Promise<void> {
  for (const started = performance.now(); performance.now() - started < patience_ms; await pause(200)) {
    const pending = await get<{ items: unknown[] }>(`${url}/_sandbox/placements?decided=false&limit=1`, token)
    const callbacks = await get<{ items: { status: string }[] }>(`${url}/_sandbox/callbacks?limit=1000`, token)
    const isOpen = callbacks.items.some(({ status }) => status === 'waiting' || status === 'retrying')
    if (pending.items.length === 0 && !isOpen) return
  }
}

/** What a node reports as a failure is tried again: the faults have ended. */
async function get<Body>(url: string, token: string): Promise<Body> {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url, { headers: { 'x-sandbox-token': token }, signal: AbortSignal.timeout(60_000) })
    const text = await response.text()
    if (response.status === 200) return JSON.parse(text) as Body
    if (response.status < 500 || attempt === 20) throw new Error(`GET ${url}: ${response.status} ${text.slice(0, 500)}`)
    await pause(200)
  }
}

/** Exports the state from a node, and reads the file. */
export async function readExport(url: string, token: string): Promise<ExportedState> {
  const response = await fetch(`${url}/_sandbox/export`, {
    headers: { 'x-sandbox-token': token },
    signal: AbortSignal.timeout(60_000),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  if (response.status !== 200) throw new Error(`GET export: ${response.status} ${bytes.toString('utf8').slice(0, 500)}`)
  const file = join(temporaryDirectory(), 'export.db')
  writeFileSync(file, gunzipSync(bytes))
  const db = new Database(file, { readonly: true })
  try {
    return readDatabase(db)
  } finally {
    db.close()
  }
}

function readDatabase(db: Database.Database): ExportedState {
  const all = <Row>(text: string, ...values: unknown[]) => db.prepare<unknown[], Row>(text).all(...values)
  const slots = all<{
    id: number
    client_id: string
    session_id: string | null
    decided: number
    format: string | null
  }>(
    `SELECT slot.id, client_id, session_id, decided_at_ms IS NOT NULL AS decided, slot.format FROM slot
     JOIN job ON job.id = job_id JOIN project ON project.id = job.project_id LEFT JOIN session ON session.id = job.session`,
  )
  const beacons = all<{ slot_id: number; beacon_id: string; event: string }>(
    'SELECT slot_id, beacon_id, event FROM beacon',
  )
  const consents = all<Omit<ExportedState['consents'][number], 'semantic_targeting'> & { semantic_targeting: number }>(
    `SELECT client_id, session_id, revision, state AS lifecycle_state, semantic_targeting FROM consent
     JOIN session ON session.id = consent.session JOIN project ON project.id = session.project_id`,
  )
  const chains = projects.map((project): [string, ChainEntry[]] => [
    project,
    all<ChainEntry & { hash: Buffer }>(
      `SELECT seq, entry, hash FROM evidence JOIN project ON project.id = project_id WHERE client_id = ? ORDER BY seq`,
      project,
    ).map(({ seq, entry, hash }) => ({ seq, entry, hash: Buffer.from(hash).toString('hex') })),
  ])
  const slotName = (id: number) => encodeId('slot', id)
  return {
    slots: slots.map(({ id, client_id, session_id, decided, format }) => ({
      ...{ slot_id: slotName(id), client_id, session_id, format },
      fill: decided === 0 ? null : format !== null,
    })),
    beacons: beacons.map(({ slot_id, beacon_id, event }) => ({ slot_id: slotName(slot_id), beacon_id, event })),
    consents: consents.map((row) => ({ ...row, semantic_targeting: row.semantic_targeting === 1 })),
    chains: new Map(chains),
    revisions: new Map(
      all<{ client_id: string; config_revision: number }>('SELECT client_id, config_revision FROM project').map(
        ({ client_id, config_revision }) => [client_id, config_revision],
      ),
    ),
    callbacks: all<{ id: number; status: string }>('SELECT id, status FROM callback').map(({ id, status }) => ({
      slot_id: slotName(id),
      status,
    })),
    events: all<{ seq: number; type: string; slot_id: number | null }>(
      'SELECT seq, type, slot_id FROM event ORDER BY seq',
    ).map((event) => ({ ...event, slot_id: event.slot_id === null ? null : slotName(event.slot_id) })),
  }
}
