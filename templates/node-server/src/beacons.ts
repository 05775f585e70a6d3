/** Beacons of clients that do not use render.js, forwarded with this server's credential. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, Call } from './service.ts'

/** The fields of a beacon. Any other field is the client's mistake, and the service would refuse the whole beacon. */
const members = [
  'beacon_id',
  'asset_token',
  'event',
  'occurred_at',
  'occurred_at_ms',
  'slot_id',
  'render_instance_id',
  'seq',
  'consent_revision',
  'measurements',
  'metadata',
] as const

const most_tries = 3
const longest_wait_s = 10

/** A beacon with only the fields of a beacon; the rest of `body` is dropped. */
export function readBeacon(body: unknown): Record<string, unknown> {
  const given = (body ?? {}) as Record<string, unknown>
  return Object.fromEntries(members.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])))
}

/**
 * Sends a beacon, with retries: after no response or a 5xx, and after a 429 only if it has a Retry-After. The same `beacon_id`
 * counts once, so a retry cannot bill twice. Any other 4xx is final.
 */
export async function forwardBeacon(call: Call, beacon: object): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await call('POST', '/v1/beacons', beacon)
    const wait_s = tries === most_tries ? null : retryAfter(answer, tries)
    if (wait_s === null) return answer
    await sleep(wait_s * 1_000)
  }
}

/** Seconds until the next attempt, or null for none. */
function retryAfter({ status, headers }: Answer, tries: number): number | null {
  const header = headers.get('retry-after')
  if (header === null) return status >= 500 ? tries * 0.25 : null
  if (status !== 429 && status < 500) return null
  const seconds = Number(header)
  const now = Date.parse(headers.get('date') ?? '') || Date.now()
  const wait_s = Number.isNaN(seconds) ? (Date.parse(header) - now) / 1_000 : seconds
  return wait_s >= 0 && wait_s <= longest_wait_s ? wait_s : null
}
