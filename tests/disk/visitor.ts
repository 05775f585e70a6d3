/** A client with one connection: sends requests one after the other, and hands over what each response acknowledges. */
import { Client } from 'undici'
import type { ConsentStored } from '#contract/resources/consent.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { Acknowledgement } from './known.ts'

export interface Answer {
  method: string
  path: string
  status: number
  request_id: string
  text: string
  /** Null when it acknowledges nothing. */
  acknowledged: Acknowledgement | null
}

export interface Visitor {
  /** Each of them resolves to false when the connection was lost. */
  send(method: string, path: string, options?: SendOptions): Promise<Answer | null>
  /** A placement, and the beacons of a decision that fills. */
  turn(session_id: string): Promise<boolean>
  consent(session_id: string, isGranted: boolean): Promise<boolean>
  settings(client_id: string): Promise<boolean>
  /** Creates a token of the control plane and revokes it, or not. */
  token(name: string, isRevoked: boolean): Promise<boolean>
  /** Why the last request had no response; null when it had one. */
  readonly lost: unknown
  close(): Promise<void>
}

interface SendOptions {
  body?: object
  /** Returns what a response with a status of 2xx acknowledges. */
  learn?: (text: string) => Acknowledgement | null
}

const json = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }

export function createVisitor(url: string, onAnswer: (answer: Answer) => void): Visitor {
  const client = new Client(url)
  let beacons = 0
  let lost: unknown = null
  const name = Math.random().toString(36).slice(2)

  return {
    ...{ send, turn, consent, settings, token, close: () => client.destroy() },
    get lost() {
      return lost
    },
  }

  async function send(method: string, path: string, { body, learn }: SendOptions = {}): Promise<Answer | null> {
    let answer: Answer
    try {
      const text = body === undefined ? undefined : JSON.stringify(body)
      const headers = path.startsWith('/v1/') ? json : { 'content-type': 'application/json' }
      const reply = await client.request({ method: method as 'GET', path, headers, body: text ?? null })
      const content = await reply.body.text()
      const isDone = reply.statusCode >= 200 && reply.statusCode < 300
      answer = {
        ...{ method, path, status: reply.statusCode, request_id: String(reply.headers['x-request-id']), text: content },
        acknowledged: isDone && learn !== undefined ? learn(content) : null,
      }
    } catch (error) {
      const isLost = error instanceof Error && ('code' in error || error.name === 'SocketError')
      if (!isLost) throw error
      lost = error
      return null
    }
    onAnswer(answer)
    return answer
  }

  async function turn(session_id: string): Promise<boolean> {
    const placed = await send('POST', '/v1/placements', {
      body: { client_id: 'proj_demo', session_id, job_type: 'chat', prompt: { topic: 'garden tools' } },
      learn: (text) => {
        const { slot_id, decision } = JSON.parse(text) as PlacementResponse
        return decision === null ? null : { kind: 'placement', slot_id, isFilled: decision.fill }
      },
    })
    if (placed === null) return false
    if (placed.status !== 200) return true
    const { slot_id, decision } = JSON.parse(placed.text) as PlacementResponse
    if (decision === null || !decision.fill) return true
    for (const event of ['render', 'visible']) {
      const beacon_id = `${name}-${++beacons}`
      const { asset_token } = decision
      const measurements = event === 'visible' ? { measurements: { visible_ratio: 1, visible_ms: 2_000 } } : {}
      const sent = await send('POST', '/v1/beacons', {
        body: { beacon_id, asset_token, event, occurred_at_ms: Date.now(), ...measurements },
        learn: () => ({ kind: 'beacon', slot_id, beacon_id }),
      })
      if (sent === null) return false
    }
    return true
  }

  async function consent(session_id: string, isGranted: boolean): Promise<boolean> {
    const decision = isGranted ? 'personalized' : 'denied'
    const answer = await send('POST', '/v1/consent', {
      body: { client_id: 'proj_demo', session_id, decision },
      learn: (text) => {
        const { authoritative_consent } = JSON.parse(text) as ConsentStored
        return { kind: 'consent', session_id, revision: authoritative_consent.revision }
      },
    })
    return answer !== null
  }

  async function settings(client_id: string): Promise<boolean> {
    const answer = await send('PATCH', `/_sandbox/projects/${client_id}`, {
      body: { rate_limits: { default: `${1_000 + (beacons % 7)}/s` } },
      learn: (text) => {
        const { config_revision } = JSON.parse(text) as { config_revision: number }
        return { kind: 'settings', client_id, revision: config_revision }
      },
    })
    return answer !== null
  }

  async function token(token_name: string, isRevoked: boolean): Promise<boolean> {
    const created = await send('POST', '/_sandbox/tokens', {
      body: { name: token_name },
      learn: () => ({ kind: 'token', name: token_name, isRevoked: false }),
    })
    if (created?.status !== 201 || !isRevoked) return created !== null
    const path = `/_sandbox/tokens/${token_name}/revoke`
    const learn = () => ({ kind: 'token', name: token_name, isRevoked: true }) as const
    return (await send('POST', path, { body: {}, learn })) !== null
  }
}
