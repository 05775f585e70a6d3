/**
 * Sends the beacons of one render instance: one POST each, with an id that makes retries collapse.
 *
 * Uses fetch with keepalive, because sendBeacon cannot send JSON across origins without a credentialed preflight.
 * Network errors and 5xx are retried with back-off, 429 only after its Retry-After, any other 4xx never. While the browser
 * is offline an attempt would be wasted, so the next one waits until it is online.
 */
import type { BeaconEvent, BeaconRequest, Measurements } from '../../../src/contract/resources/beacons.ts'
import { pause, requestJson } from './renderer.ts'

const backoff_ms = [500, 1_000, 2_000]
/** After a longer wait the beacon would be stale. */
const max_wait_ms = 240_000

const noResponse = { ok: false, status: 0, reason_code: 'network_error', retry_after_ms: null }

interface BeaconOptions {
  base_url: string
  /** Returns the credential. Called as late as possible: the frame sends it. */
  token: () => string | null
  /** Called before every attempt; a beacon that is no longer permitted is dropped. */
  isPermitted: () => boolean
  now: () => number
  asset_token: string
  slot_id: string | undefined
  instance_id: string
  consent_revision: number
  /** Called with the final result of each beacon. */
  onResult: (event: BeaconEvent, accepted: boolean, reason_code: string) => void
}

export function openBeacons(options: BeaconOptions) {
  const closing = new AbortController()
  let flushing = new AbortController()
  let seq = 0

  /**
   * Ends the waits between attempts: the page may be about to close. A wait that the server asked for is only ended to
   * give up.
   */
  const flush = (): void => {
    flushing.abort()
    flushing = new AbortController()
  }

  const deliver = async (beacon: BeaconRequest & { event: BeaconEvent }): Promise<void> => {
    const report = (accepted: boolean, reason_code: string): void =>
      options.onResult(beacon.event, accepted, reason_code)
    for (let attempts = 0; ; attempts += 1) {
      if (!options.isPermitted()) return
      const token = options.token()
      if (token === null) return report(false, 'credential_missing')
      const request = { body: beacon, token, keepalive: true }
      const response = await requestJson(`${options.base_url}/v1/beacons`, request).catch(() => noResponse)
      const { ok, status, reason_code, retry_after_ms } = response
      const isOrdered = retry_after_ms !== null
      const isTemporary = status === 0 || status >= 500 || (status === 429 && isOrdered)
      const delay = retry_after_ms ?? (navigator.onLine ? backoff_ms[attempts] : max_wait_ms) ?? 0
      if (!isTemporary || attempts >= backoff_ms.length || closing.signal.aborted || delay > max_wait_ms) {
        return report(ok, reason_code)
      }
      await pause(delay, (isOrdered ? closing : flushing).signal)
      if (closing.signal.aborted && isOrdered) return report(false, reason_code)
    }
  }

  addEventListener('online', flush, { signal: closing.signal })

  return {
    /** Sends one beacon; `count` numbers repeated ones, such as heartbeats. */
    send: (event: BeaconEvent, measurements: Measurements, count?: number): void => {
      const { instance_id, asset_token, slot_id, consent_revision } = options
      void deliver({
        beacon_id: `${instance_id}:${event}${count === undefined ? '' : `:${count}`}`,
        asset_token,
        event,
        occurred_at_ms: options.now(),
        render_instance_id: instance_id,
        seq: seq++,
        consent_revision,
        measurements,
        slot_id,
      })
    },
    flush,
    /** Flushes, and retries nothing after that. */
    close: (): void => {
      closing.abort()
      flush()
    },
  }
}
