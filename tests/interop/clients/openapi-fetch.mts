/** An integration with the types of openapi-typescript and the client openapi-fetch. */
import createClient from 'openapi-fetch'
import type { components, paths } from './openapi-typescript.ts'

type Schemas = components['schemas']

const secret = { authorization: 'Bearer sk_test_sandbox_demo' }
const placement: Schemas['PlacementRequest'] = {
  client_id: 'proj_demo',
  session_id: 'interop-openapi-fetch',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
}

export async function integrate(baseUrl: string) {
  const api = createClient<paths>({ baseUrl, headers: secret })

  const placed = await api.POST('/v1/placements', { body: placement, params: { query: { wait_ms: 1_000 } } })
  const decision = placed.data?.decision
  if (!decision?.fill) throw new Error(`no fill: ${decision?.no_fill_reason}`)
  const { asset_token } = decision

  const accepted: Schemas['AcceptCode'][] = []
  for (const event of ['render', 'click'] as const) {
    const measurements = { visible_ratio: 1 }
    const body = { beacon_id: `interop-${event}`, asset_token, event, occurred_at_ms: Date.now(), measurements }
    const sent = await api.POST('/v1/beacons', { body })
    if (sent.data === undefined) throw new Error(sent.error.message)
    accepted.push(sent.data.reason_code)
  }

  const refused = await api.POST('/v1/placements', { body: { ...placement, client_id: 'proj_other' } })
  const missing = await api.GET('/v1/decisions/{slot_id}', { params: { path: { slot_id: 'slot_00000000000' } } })
  const reasons: (Schemas['ReasonCode'] | undefined)[] = [refused.error?.reason_code, missing.error?.reason_code]

  const sandbox = createClient<paths>({ baseUrl })
  const clock = await sandbox.POST('/_sandbox/clock/freeze')
  const listed = await sandbox.GET('/_sandbox/beacons', { params: { query: { limit: 10 } } })

  return {
    format: decision.format,
    accepted,
    reasons,
    statuses: [refused.response.status, missing.response.status],
    frozen: clock.data?.frozen,
    listed: listed.data?.items.map(({ event, verdict }) => [event, verdict]),
  }
}

/** What a compiler must refuse. Never called. */
export function mistakes(baseUrl: string, asset_token: string) {
  const api = createClient<paths>({ baseUrl })
  const beacon = { beacon_id: 'interop-mistake', asset_token, event: 'render' } as const
  return [
    // @ts-expect-error: a beacon has a time
    api.POST('/v1/beacons', { body: beacon }),
    // @ts-expect-error: no such event
    api.POST('/v1/beacons', { body: { ...beacon, event: 'seen', occurred_at_ms: 1 } }),
    // @ts-expect-error: no such format
    api.POST('/v1/placements', { body: { ...placement, overrides: { allowed_formats: ['poster'] } } }),
    // @ts-expect-error: the session is missing
    api.POST('/v1/placements', { body: { client_id: 'proj_demo', job_type: 'chat' } }),
    // @ts-expect-error: the time is missing, so the body is not optional
    api.POST('/_sandbox/clock/set'),
    // @ts-expect-error: no such path
    api.GET('/v1/decision'),
  ]
}
