/**
 * Sends the beacons of one render instance: one POST each, with an id that makes retries collapse.
 *
 * fetch with keepalive, because sendBeacon cannot send JSON across origins without a credentialed preflight. Network
 * errors and 5xx are tried again with back-off, 429 only as Retry-After says, any other 4xx never.
 */
import type { BeaconEvent, BeaconRequest, Measurements } from '../../../src/contract/v1/beacons.ts'
import { requestJson } from './request.ts'

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
  const waits = new Map<() => void, boolean>()
  let seq = 0
  let isClosed = false

  const wait = (ms: number, isOrdered: boolean): Promise<void> =>
    new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        waits.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      waits.set(end, isOrdered)
    })
  /** A wait that the server ordered is never cut short, except to give up. */
  const flush = (): void => {
    for (const [end, isOrdered] of waits) if (isClosed || !isOrdered) end()
  }

  const deliver = async (beacon: BeaconRequest, event: BeaconEvent): Promise<void> => {
    const told = (accepted: boolean, reason_code: string): void => options.told(event, accepted, reason_code)
    for (let tries = 0; ; tries += 1) {
      if (!options.isPermitted()) return
      const token = options.token()
      if (token === null) return told(false, 'credential_missing')
      const answer = await post(options.base_url, token, beacon, options.now)
      if ('accepted' in answer) return told(answer.accepted, answer.reason_code)
      const delay = answer.retry_after_ms ?? backoff_ms[tries]
      if (delay === undefined || tries >= backoff_ms.length || isClosed || delay > longest_wait_ms) {
        return told(false, answer.reason_code)
      }
      const isOrdered = answer.retry_after_ms !== undefined
      await wait(delay, isOrdered)
      if (isClosed && isOrdered) return told(false, answer.reason_code)
    }
  }

  return {
    send: (event, measurements, count) => {
      const beacon: BeaconRequest = {
        beacon_id: `${options.instance_id}:${event}${count === undefined ? '' : `:${count}`}`,
        asset_token: options.asset_token,
        event,
        occurred_at_ms: options.now(),
        render_instance_id: options.instance_id,
        seq: seq++,
        consent_revision: options.consent_revision,
        measurements,
        ...(options.slot_id === undefined ? {} : { slot_id: options.slot_id }),
      }
      void deliver(beacon, event)
    },
    flush,
    close: () => {
      isClosed = true
      flush()
    },
  }
}

type PostAnswer =
  | { accepted: boolean; reason_code: string }
  | { retry_after_ms: number | undefined; reason_code: string }

async function post(base_url: string, token: string, beacon: BeaconRequest, now: () => number): Promise<PostAnswer> {
  try {
    const { ok, status, reason_code, retry_after } = await requestJson(`${base_url}/v1/beacons`, {
      body: beacon,
      token,
      keepalive: true,
    })
    const retry_after_ms = retryAfter(retry_after, now())
    const isTemporary = status >= 500 || (status === 429 && retry_after_ms !== undefined)
    return isTemporary ? { retry_after_ms, reason_code } : { accepted: ok, reason_code }
  } catch {
    return { retry_after_ms: undefined, reason_code: 'network_error' }
  }
}

/** Retry-After as milliseconds from now: whole seconds, or an HTTP date. */
export function retryAfter(header: string | null, now_ms: number): number | undefined {
  if (header === null) return undefined
  const wait_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms
  return Number.isNaN(wait_ms) ? undefined : Math.max(0, wait_ms)
}
