/** An integration with the class of swagger-typescript-api. */
import {
  type AcceptCode,
  Api,
  type ErrorBody,
  type HttpResponse,
  type PlacementRequest,
} from './swagger-typescript-api/api'

const placement: PlacementRequest = {
  client_id: 'proj_demo',
  session_id: 'interop-swagger-typescript-api',
  job_type: 'chat',
  overrides: { allowed_formats: ['banner'] },
}

function createApi(baseUrl: string, token: string) {
  return new Api({ baseUrl, securityWorker: () => ({ headers: { authorization: `Bearer ${token}` } }) })
}

export async function integrate(baseUrl: string) {
  const { v1 } = createApi(baseUrl, 'sk_test_sandbox_demo')

  const page = { headers: { Origin: 'http://localhost:3000' } }
  const activation = await v1.browserActivate({ publishable_key: 'pk_test_sandbox_demo' }, page)
  const { client_id, session_id } = placement
  const purposes = { semantic_targeting: true, prompt_shared: false }
  const pageApi = createApi(baseUrl, activation.data.activation_token)
  const consent = await pageApi.v1.consentSet({ client_id, session_id, purposes }, page)

  const placed = await v1.placementsCreate(placement, { wait_ms: 1_000 })
  const polled = await v1.decisionsGet(placed.data.slot_id, { wait_ms: 1_000 })
  const { decision } = polled.data
  if (!decision?.fill) throw new Error(`no fill: ${decision?.no_fill_reason}`)
  const { asset_token } = decision

  const accepted: AcceptCode[] = []
  for (const event of ['render', 'click'] as const) {
    const measurements = { visible_ratio: 1 }
    const body = { beacon_id: `interop-${event}`, asset_token, event, occurred_at_ms: Date.now(), measurements }
    accepted.push((await v1.beaconsSend(body)).data.reason_code)
  }

  // A failure is thrown, as the response with its error.
  const failure = (thrown: HttpResponse<unknown, ErrorBody>) => thrown
  const refused = await v1.placementsCreate({ ...placement, client_id: 'proj_other' }).catch(failure)
  const missing = await v1.decisionsGet('slot_00000000000').catch(failure)

  // Programs on the same host need no token, so its request has no credential.
  const { sandbox: open } = new Api({ baseUrl })
  const clock = await open.clockFreeze()
  const listed = await open.beaconsList({ limit: 10 })

  return {
    consent: consent.data.authoritative_consent.lifecycle_state,
    polled: polled.data.status,
    format: decision.format,
    accepted,
    reasons: [refused.error.reason_code, missing.error.reason_code],
    statuses: [refused.status, missing.status],
    frozen: clock.data.frozen,
    listed: listed.data.items.map(({ event, verdict }) => [event, verdict]),
  }
}

/** What a compiler must refuse. Never called. */
export function mistakes(baseUrl: string, asset_token: string) {
  const { v1, sandbox } = new Api({ baseUrl })
  const beacon = { beacon_id: 'interop-mistake', asset_token, event: 'render' } as const
  return [
    // @ts-expect-error: a beacon has a time
    v1.beaconsSend(beacon),
    // @ts-expect-error: the time is a text
    v1.beaconsSend({ ...beacon, occurred_at: 1 }),
    // @ts-expect-error: no such event
    v1.beaconsSend({ ...beacon, event: 'seen', occurred_at_ms: 1 }),
    // @ts-expect-error: no such format
    v1.placementsCreate({ ...placement, overrides: { allowed_formats: ['poster'] } }),
    // @ts-expect-error: the session is missing
    v1.placementsCreate({ client_id: 'proj_demo', job_type: 'chat' }),
    // @ts-expect-error: the time is missing, so the body is not optional
    sandbox.clockSet(),
  ]
}
