/** An integration with the client and types of @hey-api/openapi-ts. */
import { createClient, createConfig } from './hey-api/client'
import {
  beaconsList,
  beaconsSend,
  browserActivate,
  clockFreeze,
  clockSet,
  consentSet,
  decisionsGet,
  placementsCreate,
} from './hey-api/sdk.gen'
import type { AcceptCode, PlacementRequest, ReasonCode } from './hey-api/types.gen'

const placement: PlacementRequest = {
  client_id: 'proj_demo',
  session_id: 'interop-hey-api',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
}

export async function integrate(baseUrl: string) {
  const client = createClient(
    createConfig({ baseUrl, auth: ({ scheme }) => (scheme === 'bearer' ? 'sk_test_sandbox_demo' : undefined) }),
  )

  const page = { Origin: 'http://localhost:3000' }
  const activation = await browserActivate({ client, headers: page, body: { publishable_key: 'pk_test_sandbox_demo' } })
  const { client_id, session_id } = placement
  const purposes = { semantic_targeting: true, prompt_shared: false }
  const consent = await consentSet({
    client: createClient(createConfig({ baseUrl, headers: page, auth: () => activation.data?.activation_token })),
    body: { client_id, session_id, purposes },
  })

  const placed = await placementsCreate({ client, body: placement, query: { wait_ms: 1_000 } })
  const slot_id = placed.data?.slot_id ?? ''
  const polled = await decisionsGet({ client, path: { slot_id }, query: { wait_ms: 1_000 } })
  const decision = polled.data?.decision
  if (!decision?.fill) throw new Error(`no fill: ${decision?.no_fill_reason}`)
  const { asset_token } = decision

  const accepted: AcceptCode[] = []
  for (const event of ['render', 'click'] as const) {
    const measurements = { visible_ratio: 1 }
    const body = { beacon_id: `interop-${event}`, asset_token, event, occurred_at_ms: Date.now(), measurements }
    const { data } = await beaconsSend({ client, body, throwOnError: true })
    accepted.push(data.reason_code)
  }

  const refused = await placementsCreate({ client, body: { ...placement, client_id: 'proj_other' } })
  const missing = await decisionsGet({ client, path: { slot_id: 'slot_00000000000' } })
  const reasons: (ReasonCode | undefined)[] = [refused.error?.reason_code, missing.error?.reason_code]

  const sandbox = createClient(createConfig({ baseUrl }))
  const clock = await clockFreeze({ client: sandbox })
  const listed = await beaconsList({ client: sandbox, query: { limit: 10 } })

  return {
    consent: consent.data?.authoritative_consent.lifecycle_state,
    polled: polled.data?.status,
    format: decision.format,
    accepted,
    reasons,
    statuses: [refused.response?.status, missing.response?.status],
    frozen: clock.data?.frozen,
    listed: listed.data?.items.map(({ event, verdict }) => [event, verdict]),
  }
}

/** What a compiler must refuse. Never called. */
export function mistakes(asset_token: string) {
  const beacon = { beacon_id: 'interop-mistake', asset_token, event: 'render' } as const
  return [
    // @ts-expect-error: a beacon has a time
    beaconsSend({ body: beacon }),
    // @ts-expect-error: the time is a text
    beaconsSend({ body: { ...beacon, occurred_at: 1 } }),
    // @ts-expect-error: no such event
    beaconsSend({ body: { ...beacon, event: 'seen', occurred_at_ms: 1 } }),
    // @ts-expect-error: no such format
    placementsCreate({ body: { ...placement, overrides: { allowed_formats: ['poster'] } } }),
    // @ts-expect-error: the session is missing
    placementsCreate({ body: { client_id: 'proj_demo', job_type: 'chat' } }),
    // @ts-expect-error: the time is missing, so the body is not optional
    clockSet({}),
  ]
}
