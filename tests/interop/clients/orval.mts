/** An integration with the functions and types of orval, over fetch. */
import {
  type AcceptCode,
  beaconsList,
  beaconsSend,
  browserActivate,
  clockFreeze,
  clockSet,
  consentSet,
  decisionsGet,
  type PlacementRequest,
  placementsCreate,
  type ReasonCode,
} from './orval/api'
import { service } from './orval-fetch'

const placement: PlacementRequest = {
  client_id: 'proj_demo',
  session_id: 'interop-orval',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
}

export async function integrate(baseUrl: string) {
  service.url = baseUrl
  const secret = { headers: { authorization: 'Bearer sk_test_sandbox_demo' } }

  const page = { Origin: 'http://localhost:3000' }
  const activation = await browserActivate({ publishable_key: 'pk_test_sandbox_demo' }, { headers: page })
  if (activation.status !== 200) throw new Error(activation.data.message)
  const { client_id, session_id } = placement
  const consent = await consentSet(
    { client_id, session_id, purposes: { semantic_targeting: true, prompt_shared: false } },
    { headers: { ...page, authorization: `Bearer ${activation.data.activation_token}` } },
  )
  if (consent.status !== 200) throw new Error(consent.data.message)

  const placed = await placementsCreate(placement, { wait_ms: 1_000 }, secret)
  if (placed.status !== 200) throw new Error(placed.data.message)
  const polled = await decisionsGet(placed.data.slot_id, { wait_ms: 1_000 }, secret)
  if (polled.status !== 200) throw new Error(polled.data.message)
  const { decision } = polled.data
  if (!decision?.fill) throw new Error(`no fill: ${decision?.no_fill_reason}`)
  const { asset_token } = decision

  const accepted: AcceptCode[] = []
  for (const event of ['render', 'click'] as const) {
    const measurements = { visible_ratio: 1 }
    const body = { beacon_id: `interop-${event}`, asset_token, event, occurred_at_ms: Date.now(), measurements }
    const sent = await beaconsSend(body, secret)
    if (sent.status !== 200) throw new Error(sent.data.message)
    accepted.push(sent.data.reason_code)
  }

  const refused = await placementsCreate({ ...placement, client_id: 'proj_other' }, undefined, secret)
  const missing = await decisionsGet('slot_00000000000', undefined, secret)
  if (refused.status === 200 || missing.status === 200) throw new Error('both must fail')
  const reasons: ReasonCode[] = [refused.data.reason_code, missing.data.reason_code]

  const clock = await clockFreeze()
  const listed = await beaconsList({ limit: 10 })

  return {
    consent: consent.data.authoritative_consent.lifecycle_state,
    polled: polled.data.status,
    format: decision.format,
    accepted,
    reasons,
    statuses: [refused.status, missing.status],
    frozen: clock.status === 200 && clock.data.frozen,
    listed: listed.status === 200 ? listed.data.items.map(({ event, verdict }) => [event, verdict]) : [],
  }
}

/** What a compiler must refuse. Never called. */
export function mistakes(asset_token: string) {
  const beacon = { beacon_id: 'interop-mistake', asset_token, event: 'render' } as const
  return [
    // @ts-expect-error: a beacon has a time
    beaconsSend(beacon),
    // @ts-expect-error: the time is a text
    beaconsSend({ ...beacon, occurred_at: 1 }),
    // @ts-expect-error: no such event
    beaconsSend({ ...beacon, event: 'seen', occurred_at_ms: 1 }),
    // @ts-expect-error: no such format
    placementsCreate({ ...placement, overrides: { allowed_formats: ['poster'] } }),
    // @ts-expect-error: the session is missing
    placementsCreate({ client_id: 'proj_demo', job_type: 'chat' }),
    // @ts-expect-error: the time is missing, so the body is not optional
    clockSet(),
  ]
}
