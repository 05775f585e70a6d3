/** What a sandbox reports of its whole state, read by the control plane while nothing else happens. */

import type { ChainEntry } from './acknowledged.ts'
import type { Client } from './client.ts'
import { type Project, projects } from './steps.ts'

export interface Facts {
  placements: PlacementFact[]
  beacons: BeaconFact[]
  consents: ConsentFact[]
  chains: Map<Project, ChainEntry[]>
  lines: { client_id: string; metric: string; count: number }[]
  settings: { client_id: Project; config_revision: number }[]
}

export interface PlacementFact {
  slot_id: string
  client_id: Project
  session_id: string
  fill: boolean | null
  format: string | null
  campaign_id: string | null
  created_at_ms: number
  decided_at_ms: number | null
}

export interface BeaconFact {
  slot_id: string
  client_id: string
  beacon_id: string
  event: string
  verdict: 'accepted' | 'duplicate' | 'rejected'
  would_bill: boolean
  metric: string | null
  occurred_at_ms: number
  received_at_ms: number
}

export interface ConsentFact {
  client_id: Project
  session_id: string
  revision: number
  is_current: boolean
  lifecycle_state: string
  semantic_targeting: boolean
  prompt_shared: boolean
  expires_at_ms: number
}

const most = 1_000

export async function readFacts(client: Client): Promise<{ facts: Facts; text: string }> {
  const texts: string[] = []
  const read = async <Body>(path: string): Promise<Body> => {
    const { status, body } = await client.read(`/_sandbox/${path}`)
    const text = body.toString('utf8')
    if (status !== 200) throw new Error(`GET ${path} is answered with ${status}: ${text}`)
    texts.push(text)
    return JSON.parse(text) as Body
  }
  const list = async <Item>(path: string) => (await read<{ items: Item[] }>(`${path}?limit=${most}`)).items
  const chains: Facts['chains'] = new Map()
  for (const project of projects) {
    const { entries } = await read<{ entries: ChainEntry[] }>(`projects/${project}/evidence`)
    chains.set(project, entries)
  }
  // The checkpoints of the chains have the time of the reading.
  texts.length = 0
  const facts = {
    placements: await list<PlacementFact>('placements'),
    beacons: await list<BeaconFact>('beacons'),
    consents: await list<ConsentFact>('consent'),
    chains,
    lines: (await read<Pick<Facts, 'lines'>>('billing')).lines,
    settings: await list<Facts['settings'][number]>('projects'),
  }
  return { facts, text: JSON.stringify([texts, [...chains]]) }
}
