/** What a sandbox reports of its whole state, read by the control plane while nothing else happens. */

import type { ChainEntry } from '../acknowledged.ts'
import type { Client } from '../clients/client.ts'
import { type Project, projects } from '../steps/steps.ts'

export interface Facts {
  placements: PlacementFact[]
  beacons: BeaconFact[]
  consents: ConsentFact[]
  chains: Map<Project, ChainEntry[]>
  billing: BillingFact
  /** The report of one project. */
  ofProject: { client_id: Project; billing: BillingFact }
  settings: { client_id: Project; config_revision: number }[]
}

export interface BillingFact {
  lines: { client_id: string; metric: string; count: number }[]
  not_counted: { reasons: { reason_code: string; count: number }[] }
}

export interface PlacementFact {
  job_id: string
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
  client_id: Project
  beacon_id: string
  event: string
  verdict: 'accepted' | 'duplicate' | 'rejected'
  reason_code: string
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

/** @param client_id the project whose own report is read */
export async function readFacts(client: Client, client_id: Project): Promise<{ facts: Facts; text: string }> {
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
    billing: await read<BillingFact>('billing'),
    ofProject: { client_id, billing: await read<BillingFact>(`billing?client_id=${client_id}`) },
    settings: await list<Facts['settings'][number]>('projects'),
  }
  return { facts, text: JSON.stringify([texts, [...chains]]) }
}
