/**
 * The integration under test: what a backend does for one turn. Replace it with your own, or start from it.
 *
 * It never throws, because an ad problem must not become a problem of the turn. The clock is a parameter, so that a
 * test moves it.
 */
export interface Service {
  base_url: string
  client_id: string
  secret_key: string
  /** Unix epoch milliseconds. */
  now(): number
  sleep(ms: number): Promise<void>
}

export interface Turn {
  session_id: string
  job_type: 'chat' | 'code' | 'image' | 'voice' | 'agent'
  formats: ('banner' | 'clip' | 'native')[]
  topic?: string
  /** The user's consent; null when they were not asked. */
  consent: { semantic_targeting: boolean; prompt_shared: boolean } | null
}

/** What a page needs to show a placement. */
export interface Slot {
  slot_id: string
  asset_token: string
  label: string
  frame_url: string
  /** After this time it must be neither shown nor reported. Unix epoch milliseconds. */
  consent_expires_at_ms: number
}

export type BeaconEvent = 'render' | 'visible' | 'click' | 'play_started' | 'play_completed'

/** How long a turn waits for its slot, and how often it polls. */
const patience_ms = 5_000
const poll_every_ms = 250

/** Requests the slot of a turn. Null for anything but a fill that can be shown. */
export async function sponsoredSlot(service: Service, turn: Turn): Promise<Slot | null> {
  if (turn.consent === null) return null
  const deadline = service.now() + patience_ms
  const request = {
    client_id: service.client_id,
    session_id: turn.session_id,
    job_type: turn.job_type,
    consent: turn.consent,
    overrides: { allowed_formats: turn.formats },
    ...(turn.consent.semantic_targeting && turn.topic !== undefined ? { prompt: { topic: turn.topic } } : {}),
  }
  let response = await send(service, 'POST', '/v1/placements?wait_ms=0', request, deadline)
  // Pending is not no-fill: poll until it is decided.
  while (response?.status === 'pending' && service.now() < deadline) {
    await service.sleep(poll_every_ms)
    response = await send(service, 'GET', `/v1/decisions/${response.slot_id}`, undefined, deadline)
  }
  return response?.status === 'ready' ? slotOf(response, service.now()) : null
}

/** Reports an event of a slot; true if the service accepted it. Each event of a slot has one id, so it counts once. */
export async function report(
  service: Service,
  slot: Slot,
  event: BeaconEvent,
  measurements?: object,
): Promise<boolean> {
  const occurred_at_ms = service.now()
  if (occurred_at_ms >= slot.consent_expires_at_ms) return false
  const { slot_id, asset_token } = slot
  const beacon = { beacon_id: `${slot_id}:${event}`, slot_id, asset_token, event, occurred_at_ms, measurements }
  const answer = await send(service, 'POST', '/v1/beacons', beacon, occurred_at_ms + patience_ms)
  return answer?.accepted === true
}

function slotOf({ slot_id, decision, placement, authoritative_consent: consent }: Answer, now: number): Slot | null {
  if (slot_id === undefined || decision?.fill !== true || !placement) return null
  if (consent?.lifecycle_state !== 'granted' || consent.expires_at_ms <= now) return null
  return {
    slot_id,
    asset_token: decision.asset_token,
    label: placement.ad_label_text,
    frame_url: placement.render.frame_url,
    consent_expires_at_ms: consent.expires_at_ms,
  }
}

/** The fields of the service's responses that are used here. Other responses may have none of them. */
interface Answer {
  status?: string
  slot_id?: string
  decision?: { fill: boolean; asset_token: string } | null
  placement?: { ad_label_text: string; render: { frame_url: string } } | null
  authoritative_consent?: { lifecycle_state: string; expires_at_ms: number }
  accepted?: boolean
}

/** One call, retried after a 429 if its Retry-After ends before the deadline. Null for every other failure. */
async function send(
  service: Service,
  method: string,
  path: string,
  body: object | undefined,
  deadline: number,
): Promise<Answer | null> {
  for (;;) {
    const response = await fetch(new URL(path, service.base_url), {
      method,
      headers: {
        authorization: `Bearer ${service.secret_key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(patience_ms),
    }).catch(() => null)
    if (response === null) return null
    if (response.ok) return response.json().catch(() => null) as Promise<Answer | null>
    const wait_ms = response.status === 429 ? retryAfter(response.headers) : null
    if (wait_ms === null || service.now() + wait_ms > deadline) return null
    await service.sleep(wait_ms)
  }
}

/** Milliseconds; null when the header is missing or cannot be read. A date counts from the service's own Date. */
function retryAfter(headers: Headers): number | null {
  const header = headers.get('retry-after')
  if (header === null) return null
  if (/^\d+$/.test(header)) return Number(header) * 1_000
  const wait_ms = Date.parse(header) - Date.parse(headers.get('date') ?? '')
  return Number.isNaN(wait_ms) ? null : Math.max(0, wait_ms)
}
