/** The state after a history: as a node reports it by the control plane, and as another one exports it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { encodeId } from '#contract/ids.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Project, projects } from './projects.ts'

export interface FinalSlot {
  slot_id: string
  client_id: string
  session_id: string | null
  /** null: not decided. */
  fill: boolean | null
  format: string | null
}

export interface FinalBeacon {
  slot_id: string
  beacon_id: string
  event: string
}

export interface FinalConsent {
  client_id: string
  session_id: string
  revision: number
  lifecycle_state: string
  semantic_targeting: boolean
}

export interface ChainEntry {
  seq: number
  entry: string
  hash: string
}

export interface FinalState {
  slots: FinalSlot[]
  /** Accepted ones. */
  beacons: FinalBeacon[]
  consents: FinalConsent[]
  chains: Map<Project, ChainEntry[]>
  /** By project: the number of the last change of its settings. */
  revisions: Map<Project, number>
  callbacks: { slot_id: string; status: string }[]
}

export interface ExportedState extends FinalState {
  events: { seq: number; type: string; slot_id: string | null }[]
}

/** Reads the whole state by the control plane of a node. */
export async function readState(url: string, token: string): Promise<FinalState> {
  const read = <Body>(path: string) => get<Body>(`${url}/_sandbox/${path}`, token)
  const list = async <Item>(path: string): Promise<Item[]> => {
    const items: Item[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const page: { items: Item[]; next_cursor: string | null } = await read(`${path}limit=1000${next}`)
      items.push(...page.items)
      cursor = page.next_cursor
    }
    return items
  }
  const chains: FinalState['chains'] = new Map()
  for (const project of projects) chains.set(project, await readChain(project, read))
  const settings = await list<{ client_id: Project; config_revision: number }>('projects?')
  return {
    slots: await list<FinalSlot>('placements?'),
    beacons: await list<FinalBeacon>('beacons?verdict=accepted&'),
    consents: await list<FinalConsent>('consent?'),
    chains,
    revisions: new Map(settings.map(({ client_id, config_revision }) => [client_id, config_revision])),
    callbacks: await list('callbacks?'),
  }
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

async function readChain(project: Project, read: <Body>(path: string) => Promise<Body>): Promise<ChainEntry[]> {
  const entries: ChainEntry[] = []
  for (let after: number | null = 0; after !== null; ) {
    const part: { entries: ChainEntry[]; next_seq: number | null } = await read(
      `projects/${project}/evidence?limit=1000&checkpoint=false&after_seq=${after}`,
    )
    entries.push(...part.entries.map(({ seq, entry, hash }) => ({ seq, entry, hash })))
    after = part.next_seq
  }
  return entries
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
  const consents = all<Omit<FinalConsent, 'semantic_targeting'> & { semantic_targeting: number }>(
    `SELECT client_id, session_id, revision, state AS lifecycle_state, semantic_targeting FROM consent
     JOIN session ON session.id = consent.session JOIN project ON project.id = session.project_id`,
  )
  const chains = projects.map((project): [Project, ChainEntry[]] => [
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
      all<{ client_id: Project; config_revision: number }>('SELECT client_id, config_revision FROM project').map(
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
