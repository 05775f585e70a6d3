/**
 * Sends the beacons of one placement: one POST each, with an id that makes retries collapse. A placement may be mounted many
 * times, by a list that reuses its rows for example: each event is sent once.
 *
 * Uses fetch with keepalive, because sendBeacon cannot send JSON across origins without a credentialed preflight. Browsers
 * allow 64 KiB of keepalive requests for all scripts of a page, so every second attempt goes without. Only the service's own
 * response counts: offline pages, blockers and login pages return 200 too.
 */
import type { BeaconEvent, BeaconRequest, Measurements } from '#contract/resources/beacons.ts'
import { isObject } from '#foundation/json.ts'
import { isPageVisible } from '../dom.ts'
import type { Renderer } from '../renderer.ts'
import type { JsonResponse, requestJson } from '../request.ts'

/** Attempts that get a response: 5xx, 429 with Retry-After, or one that is not the service's. */
const maxAttempts = 4
const minWaitMs = 400
/** While there is no network the waits grow up to this one. */
const maxWaitMs = 16_000
/** Later the beacon would be stale. */
const maxAgeMs = 240_000
/** Undelivered beacons of a page. */
const maxQueued = 100

export type BeaconQueue = ReturnType<typeof openBeaconQueue>

/** Opens what all beacons of a page share: their number, and the end of their waits. */
export function openBeaconQueue({ pause }: Renderer) {
  let waking = new AbortController()
  let listening = new AbortController()
  let count = 0
  let isLeaving = false

  /** Ends the waits that the service has not asked for. */
  const flush = (): void => {
    waking.abort()
    waking = new AbortController()
  }
  const listen = (): void => {
    listening = new AbortController()
    const { signal } = listening
    addEventListener('online', flush, { signal })
    const leave = (): void => {
      isLeaving = true
      flush()
    }
    addEventListener('pagehide', leave, { signal })
    const comeBack = (): void => {
      isLeaving = false
    }
    addEventListener('pageshow', comeBack, { signal })
    const flushHidden = (): void => {
      if (!isPageVisible()) flush()
    }
    document.addEventListener('visibilitychange', flushHidden, { signal })
  }
  return {
    pause,
    isFull: (): boolean => count >= maxQueued,
    /** Whether the page is being left: what is sent now must outlive it. */
    isLeaving: (): boolean => isLeaving,
    /** Waits between attempts. What was sent while the page was left is not sent at once again: it has probably arrived. */
    wait: (ms: number, isOrdered: boolean): Promise<void> =>
      pause(ms, isOrdered || isLeaving ? undefined : waking.signal),
    /** Watches the page until every delivery has ended. */
    add: (delivery: Promise<void>): void => {
      count += 1
      if (count === 1) listen()
      void delivery.then(() => {
        count -= 1
        if (!count) listening.abort()
      })
    },
  }
}

interface DeliveryOptions {
  requestJson: typeof requestJson
  base_url: string
  /** Returns the credentials to try, best first. Called as late as possible: the frame sends one. */
  tokens: () => (string | null | undefined)[]
  /** Whether consent still permits beacons. Called before every attempt; a beacon that is no longer permitted is dropped. */
  isPermitted: () => boolean
  /** Whether the page's Content-Security-Policy has blocked requests to the service. */
  isBlocked: () => boolean
  now: () => number
  /** Called with the time of a response of the service that refused a beacon for its time, Unix epoch milliseconds. */
  correctTime: (server_time_ms: number) => void
  asset_token: string
  slot_id: string | undefined
  turn_id: string | undefined
  instance_id: string
  consent_revision: number
  /** Called with the final result of each beacon. */
  onResult: (event: BeaconEvent, accepted: boolean, reason_code: string) => void
}

type Beacon = BeaconRequest & { event: BeaconEvent; occurred_at_ms: number }

/** Returns what sends an event of a placement, unless it was sent before, and returns whether it is new. `count` numbers repeated ones. */
export function openBeacons(queue: BeaconQueue, options: DeliveryOptions) {
  const { instance_id, asset_token, slot_id, turn_id, consent_revision, onResult } = options
  const sent = new Set<string>()
  /** When each beacon that has no result yet happened, by the monotonic clock. */
  const times = new Map<string, number>()
  /** When the monotonic clock began, by the first beacon that the service accepted. */
  let epoch_ms: number | undefined

  async function deliver(beacon: Beacon): Promise<void> {
    const { event } = beacon
    const stale_at = performance.now() + maxAgeMs
    let refused = 0
    for (let attempts = 1; options.isPermitted(); attempts += 1) {
      const tokens = options.tokens().filter((token) => token)
      const token = tokens[refused] ?? tokens[0]
      if (!token) return onResult(event, false, 'credential_missing')
      const keepalive = attempts % 2 === 1 || queue.isLeaving() || !isPageVisible()
      const request = options.requestJson(`${options.base_url}/v1/beacons`, { body: beacon, token, keepalive })
      const response = await request.catch(() => null)
      const verdict = readVerdict(response)
      if (!response) {
        // The event about a blocked request follows its failure.
        await queue.pause(0, undefined)
        if (options.isBlocked()) return onResult(event, false, 'csp_blocked')
      }
      // Another credential may still be valid.
      if (response?.status === 401 && tokens[++refused]) continue
      const wait_ms = nextWaitMs(response, attempts)
      const isLate = performance.now() + (response ? wait_ms : 0) > stale_at
      if (verdict.isFinal || isLate || (response && attempts >= maxAttempts)) {
        return conclude(beacon, response, verdict)
      }
      await queue.wait(wait_ms, response?.retry_after_ms != null)
    }
  }

  /**
   * Reports the result. A beacon from the future, since the user's clock went ahead, is stamped again once: as long after an earlier
   * one of the ad as it happened, else by the service's time, which is in whole seconds.
   */
  function conclude(beacon: Beacon, response: JsonResponse | null, verdict: Verdict): void | Promise<void> {
    const { beacon_id, event } = beacon
    const happened_at = times.get(beacon_id)
    const server_time_ms = response?.date_ms
    times.delete(beacon_id)
    if (verdict.isAccepted && happened_at) epoch_ms ??= beacon.occurred_at_ms - happened_at
    if (verdict.reason_code !== 'beacon_in_future' || !server_time_ms || !happened_at) {
      return onResult(event, verdict.isAccepted, verdict.reason_code)
    }
    options.correctTime(server_time_ms)
    return deliver({
      ...beacon,
      occurred_at_ms: Math.round((epoch_ms ?? server_time_ms - performance.now()) + happened_at),
    })
  }

  return (event: BeaconEvent, measurements: Measurements, count?: number): boolean => {
    const beacon_id = `${instance_id}:${event}${count === undefined ? '' : `:${count}`}`
    if (sent.has(beacon_id)) return false
    const beacon = {
      beacon_id,
      asset_token,
      event,
      occurred_at_ms: options.now(),
      render_instance_id: instance_id,
      seq: sent.size,
      consent_revision,
      measurements,
      slot_id,
      ...(turn_id !== undefined && { metadata: { turn_id } }),
    }
    sent.add(beacon_id)
    times.set(beacon_id, performance.now())
    if (queue.isFull()) onResult(event, false, 'queue_full')
    else queue.add(deliver(beacon))
    return true
  }
}

function nextWaitMs(response: JsonResponse | null, attempts: number): number {
  if (!response && !navigator.onLine) return maxAgeMs
  return response?.retry_after_ms ?? Math.min(minWaitMs * 2 ** (attempts - 1), maxWaitMs)
}

interface Verdict {
  isFinal: boolean
  isAccepted: boolean
  reason_code: string
}

function readVerdict(response: JsonResponse | null): Verdict {
  const isAccepted = false
  if (!response) return { isFinal: false, isAccepted, reason_code: 'network_error' }
  const { ok, status, body, reason_code, retry_after_ms } = response
  if (status >= 500 || (status === 429 && retry_after_ms !== null)) return { isFinal: false, isAccepted, reason_code }
  // The service signs an accepted beacon with its contract version, and an error with its reason.
  const isOurs = isObject(body) && (ok ? /beacon/.test(`${body.contract_version}`) : !!body.reason_code)
  return isOurs
    ? { isFinal: true, isAccepted: ok && body.accepted === true, reason_code }
    : { isFinal: false, isAccepted, reason_code: 'response_not_from_service' }
}
