/** What a request does and what its response says, in the terms of a history. */
import type { Action, Outcome } from '#tests/histories/history.ts'
import type { KnownSlot } from '../acknowledged.ts'
import type { Received, Sent } from '../virtual/network.ts'
import { readBody } from './arrival.ts'

interface SentBody {
  client_id: string
  session_id: string
  wait_ms?: number
  consent?: { semantic_targeting: boolean }
  overrides?: { frequency_cap?: { session?: number; prompt_interval?: number } }
  decision: string
  asset_token: string
  beacon_id: string
  event: string
  measurements?: { visible_ratio: number; visible_ms: number }
}

/** Returns null for what is no operation of a history, such as a beacon with a token that nobody was given. */
export function readAction({ method, path, body }: Sent, slots: readonly KnownSlot[]): Action | null {
  const slot_id = /^\/v1\/decisions\/([^/?]+)/.exec(path)?.[1]
  if (slot_id !== undefined) return { kind: 'poll', slot_id, wait_ms: 0 }
  const isObject = typeof body === 'string' && body.startsWith('{')
  const project = /^\/_sandbox\/projects\/([^/]+)$/.exec(path)?.[1]
  if (project !== undefined) return isObject && method === 'PATCH' ? { kind: 'settings', project, change: body } : null
  if (!isObject || method !== 'POST') return null
  return readPosted(path, JSON.parse(body) as SentBody, slots)
}

function readPosted(path: string, body: SentBody, slots: readonly KnownSlot[]): Action | null {
  const { client_id, session_id: session } = body
  if (path === '/v1/consent') return { kind: 'consent', project: client_id, session, decision: body.decision }
  if (path === '/v1/placements') {
    const { session: most = null, prompt_interval: interval = null } = body.overrides?.frequency_cap ?? {}
    return {
      ...{ kind: 'place', project: client_id, session, wait_ms: body.wait_ms ?? 0 },
      consent: body.consent?.semantic_targeting ?? null,
      caps: { session: most, interval },
    }
  }
  const slot = path === '/v1/beacons' ? slots.find(({ asset_token }) => asset_token === body.asset_token) : undefined
  if (slot === undefined) return null
  const { beacon_id, event, measurements } = body
  return { kind: 'beacon', slot_id: slot.slot_id, beacon_id, event, measurements }
}

/** Returns what a response acknowledges; null where the write may or may not have happened, or did not. */
export function readOutcome({ kind }: Action, received: Received): Outcome | null {
  const { status, headers } = received
  const isRead = kind === 'place' || kind === 'poll'
  // A response that a fault has altered is not that of the placement.
  if (status >= 300 || (isRead && (status !== 200 || headers['x-sandbox-fault'] !== undefined))) return null
  const slot_ids = headers['x-sandbox-slot-ids']?.split(', ')
  const body = readBody<object>(received)
  return { kind: 'done', body: slot_ids === undefined ? body : { ...body, slot_ids } }
}
