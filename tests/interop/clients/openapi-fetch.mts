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

  const page = { Origin: 'http://localhost:3000' }
  // Without the secret key, which no page has.
  const browser = createClient<paths>({ baseUrl })
  const key = { publishable_key: 'pk_test_sandbox_demo' }
  const activation = await browser.POST('/v1/browser/activate', { body: key, params: { header: page } })
  const { client_id, session_id } = placement
  const consent = await browser.POST('/v1/consent', {
    headers: { ...page, authorization: `Bearer ${activation.data?.activation_token}` },
    body: { client_id, session_id, purposes: { semantic_targeting: true, prompt_shared: false } },
  })

  const placed = await api.POST('/v1/placements', { body: placement, params: { query: { wait_ms: 1_000 } } })
  const slot_id = placed.data?.slot_id ?? ''
  const polled = await api.GET('/v1/decisions/{slot_id}', { params: { path: { slot_id }, query: { wait_ms: 1_000 } } })
  const decision = polled.data?.decision
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
    consent: consent.data?.authoritative_consent.lifecycle_state,
    polled: polled.data?.status,
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
    // @ts-expect-error: the time is a text
    api.POST('/v1/beacons', { body: { ...beacon, occurred_at: 1 } }),
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
