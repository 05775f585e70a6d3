/**
 * Sends the beacons of one render instance: one POST each, with an id that makes retries collapse.
 *
 * fetch with keepalive, because sendBeacon cannot send JSON across origins without a credentialed preflight. Network
 * errors and 5xx are tried again with back-off, 429 only as Retry-After says, any other 4xx never.
 */
import type { BeaconEvent, BeaconRequest, Measurements } from '../../../src/contract/v1/beacons.ts'
import { type JsonAnswer, pause, requestJson } from './request.ts'

const backoff_ms = [500, 1_000, 2_000]
/** Later than this the beacon would be stale. */
const longest_wait_ms = 240_000

export interface BeaconOptions {
  base_url: string
  /** The credential, as late as possible: the frame brings it. */
  token: () => string | null
  /** Asked before every try; a beacon that is no longer permitted is dropped. */
  isPermitted: () => boolean
  now: () => number
  asset_token: string
  slot_id: string | undefined
  instance_id: string
  consent_revision: number
  told: (event: BeaconEvent, accepted: boolean, reason_code: string) => void
}

export interface Beacons {
  /** Sends one beacon; `count` numbers those of a kind that repeats. */
  send(event: BeaconEvent, measurements: Measurements, count?: number): void
  /** Ends the waits between tries: the page may be about to go. */
  flush(): void
  /** Flushes, and tries nothing again after that. */
  close(): void
}

export function openBeacons(options: BeaconOptions): Beacons {
  const closing = new AbortController()
  let flushing = new AbortController()
  let seq = 0

  /** A wait that the server ordered is never cut short, except to give up. */
  const flush = (): void => {
    flushing.abort()
    flushing = new AbortController()
  }

  const deliver = async (beacon: BeaconRequest, event: BeaconEvent): Promise<void> => {
    const told = (accepted: boolean, reason_code: string): void => options.told(event, accepted, reason_code)
    for (let tries = 0; ; tries += 1) {
      if (!options.isPermitted()) return
      const token = options.token()
      if (token === null) return told(false, 'credential_missing')
      const { ok, status, reason_code, retry_after_ms } = await post(options.base_url, token, beacon)
      const isOrdered = retry_after_ms !== undefined
      const isTemporary = status === 0 || status >= 500 || (status === 429 && isOrdered)
      const delay = retry_after_ms ?? backoff_ms[tries] ?? 0
      if (!isTemporary || tries >= backoff_ms.length || closing.signal.aborted || delay > longest_wait_ms) {
        return told(ok, reason_code)
      }
      await pause(delay, (isOrdered ? closing : flushing).signal)
      if (closing.signal.aborted && isOrdered) return told(false, reason_code)
    }
  }

  return {
    send: (event, measurements, count) => {
      const { instance_id, asset_token, slot_id, consent_revision } = options
      void deliver(
        {
          beacon_id: `${instance_id}:${event}${count === undefined ? '' : `:${count}`}`,
          asset_token,
          event,
          occurred_at_ms: options.now(),
          render_instance_id: instance_id,
          seq: seq++,
          consent_revision,
          measurements,
          slot_id,
        },
        event,
      )
    },
    flush,
    close: () => {
      closing.abort()
      flush()
    },
  }
}

type PostAnswer = Pick<JsonAnswer, 'ok' | 'status' | 'reason_code' | 'retry_after_ms'>

/** Status 0 is no answer at all. */
function post(base_url: string, token: string, body: BeaconRequest): Promise<PostAnswer> {
  return requestJson(`${base_url}/v1/beacons`, { body, token, keepalive: true }).catch(() => ({
    ok: false,
    status: 0,
    reason_code: 'network_error',
    retry_after_ms: undefined,
  }))
}
