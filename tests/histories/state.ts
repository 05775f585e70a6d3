/** The state of a sandbox as its control plane reports it, read while nothing else happens. Lists begin with the oldest. */

export interface State {
  slots: StateSlot[]
  beacons: StateBeacon[]
  consents: StateConsent[]
  /** By project. */
  chains: Map<string, ChainEntry[]>
  /** By project: the number of the last change of its settings. */
  revisions: Map<string, number>
  callbacks: { slot_id: string; status: string }[]
  /** Of all projects, with `client_id` null, or of one. */
  reports: { client_id: string | null; report: BillingReport }[]
  /** Of this state, since it began or replaced another one. */
  events: { seq: number; type: string; slot_id: string | null; data?: { beacon_id?: string } }[]
  /** Everything that was left undone has been given its time, and `events` has all there are. */
  isFinal: boolean
}

export interface StateSlot {
  slot_id: string
  job_id: string
  client_id: string
  session_id: string | null
  /** null: not decided. */
  fill: boolean | null
  format: string | null
  created_at_ms: number
  decided_at_ms: number | null
}

export interface StateBeacon {
  slot_id: string
  client_id: string
  beacon_id: string
  event: string
  verdict: 'accepted' | 'duplicate' | 'rejected'
  reason_code: string
  would_bill: boolean
  metric: string | null
  occurred_at_ms: number
  received_at_ms: number
}

export interface StateConsent {
  client_id: string
  session_id: string
  revision: number
  is_current: boolean
  lifecycle_state: string
  semantic_targeting: boolean
}

export interface ChainEntry {
  seq: number
  entry: string
  hash: string
}

export interface BillingReport {
  lines: { client_id: string; metric: string; count: number }[]
  not_counted: { reasons: { reason_code: string; count: number }[] }
}

/**
 * Reads all but events and callbacks. @param get responds with the body of a path below /_sandbox/
 * @param reported the projects whose own reports are read beside that of all
 */
export async function readState(
  get: <Body>(path: string) => Promise<Body>,
  projects: readonly string[],
  reported: readonly string[] = projects,
): Promise<State> {
  const list = <Item>(path: string) => readList<Item>(get, path)
  const chains: State['chains'] = new Map()
  for (const project of projects) chains.set(project, await readChain(project, get))
  const settings = await list<{ client_id: string; config_revision: number }>('projects')
  const state: State = {
    slots: await list<StateSlot>('placements'),
    beacons: await list<StateBeacon>('beacons'),
    consents: await list<StateConsent>('consent'),
    chains,
    revisions: new Map(settings.map(({ client_id, config_revision }) => [client_id, config_revision])),
    callbacks: [],
    reports: [{ client_id: null, report: await get('billing') }],
    ...{ events: [], isFinal: false },
  }
  for (const client_id of reported) {
    state.reports.push({ client_id, report: await get(`billing?client_id=${client_id}`) })
  }
  return state
}

/** Reads a list of the control plane, the oldest first. */
export async function readList<Item>(get: <Body>(path: string) => Promise<Body>, path: string): Promise<Item[]> {
  const items: Item[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: { items: Item[]; next_cursor: string | null } = await get(`${path}?limit=1000${next}`)
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items.reverse()
}

async function readChain(project: string, get: <Body>(path: string) => Promise<Body>): Promise<ChainEntry[]> {
  const entries: ChainEntry[] = []
  for (let after: number | null = 0; after !== null; ) {
    const part: { entries: ChainEntry[]; next_seq: number | null } = await get(
      `projects/${project}/evidence?limit=1000&checkpoint=false&after_seq=${after}`,
    )
    entries.push(...part.entries.map(({ seq, entry, hash }) => ({ seq, entry, hash })))
    after = part.next_seq
  }
  return entries
}
