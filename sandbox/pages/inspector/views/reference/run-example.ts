/** Runs an example of the contract with values of this sandbox. */
import { isObject, type Json } from '#foundation/json.ts'
import { call } from '../../data/api.ts'
import { pageSender, parseBody, type Send, type Sent, serverSender } from '../../data/send.ts'

/** The values of this sandbox that an example needs. */
export interface Ground {
  key_id: string | null
  client_id: string
  publishable_key: string
}

/** Returns the values of path parameters that exist in this sandbox: the newest ones. A parameter without one is ''. */
export async function newestParams(names: readonly string[], client_id: string): Promise<Record<string, string>> {
  const params: Record<string, string> = {}
  for (const name of names) params[name] = await newest(name, client_id)
  return params
}

async function newest(name: string, client_id: string): Promise<string> {
  if (name === 'client_id') return client_id
  if (name === 'slot_id' || name === 'job_id' || name === 'session_id') {
    const { items } = await call('placements.list', { query: { limit: 1 } })
    return items[0]?.[name] ?? ''
  }
  if (name === 'request_id') {
    const { items } = await call('requests.list', { query: { limit: 1 } })
    return items[0]?.request_id ?? ''
  }
  return ''
}

/** Requests a placement and loads its frame, as an integration does before it sends a beacon. */
async function prepareFill(send: Send, client_id: string): Promise<{ asset_token: string; slot_id: string }> {
  const body = JSON.stringify({ client_id, session_id: `example-${Date.now()}`, job_type: 'chat' })
  const sent = await send({ method: 'POST', path: '/v1/placements', body })
  const response = parseBody(sent)
  const placement = response?.placement
  if (!isObject(placement) || typeof placement.asset_token !== 'string') return { asset_token: '', slot_id: '' }
  await send({ method: 'GET', path: `/v1/render/${placement.asset_token}` })
  return { asset_token: placement.asset_token, slot_id: String(response?.slot_id) }
}

/** Returns a body with the identifiers and times of this sandbox. */
export async function groundedBody(body: Json, ground: Ground, send: Send): Promise<Json> {
  const text = JSON.stringify(body)
  const fill = text.includes('ast_example') ? await prepareFill(send, ground.client_id) : null
  const { now_ms } = await call('clock.show')
  const walk = (value: Json, name: string): Json => {
    if (name === 'client_id') return ground.client_id
    if (name === 'asset_token' && fill !== null) return fill.asset_token
    if (name === 'slot_id' && fill !== null) return fill.slot_id
    if (name === 'publishable_key') return ground.publishable_key
    if (name === 'beacon_id') return `example-${crypto.getRandomValues(new Uint32Array(2)).join('-')}`
    if (name === 'occurred_at_ms') return now_ms
    if (name === 'occurred_at') return new Date(now_ms).toISOString()
    if (name === 'expires_at_ms') return now_ms + 86400000
    if (Array.isArray(value)) return value.map((item) => walk(item, ''))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, walk(inner, field)]))
  }
  return walk(body, '')
}

/** Runs a call: as a page where only pages may, through the control plane for its own endpoints, else as a server. */
export async function runExample(
  { method, path, body }: { method: string; path: string; body: string },
  { key_id }: Ground,
): Promise<Sent> {
  const request = { method, path, ...(body.trim() === '' ? {} : { body }) }
  if (path.startsWith('/_sandbox/') || path === '/v1/browser/activate') return pageSender(null)(request)
  return serverSender(key_id)(request)
}
