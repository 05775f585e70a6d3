/**
 * Rate limits: token buckets on the sandbox clock (A20). Pure functions: the caller keeps the bucket and provides the
 * time.
 */
import type { RateClass } from '#contract/endpoint.ts'
import { limits } from '#contract/limits.ts'
import { unitsMs } from '#foundation/duration.ts'

export interface RateLimit {
  /** Tokens per millisecond. */
  per_ms: number
  /** The most tokens that the bucket holds. */
  burst: number
  /** The name of the policy in the RateLimit headers. */
  label: string
}

export interface Bucket {
  tokens: number
  at_ms: number
}

export interface Take {
  allowed: boolean
  bucket: Bucket
  /** Whole tokens left. */
  remaining: number
  /** Seconds until one token is available: 0 when allowed, otherwise at least 1. */
  retry_after_s: number
  /** Seconds until the bucket is full again. */
  reset_s: number
}

export const defaults: Record<RateClass, RateLimit> = {
  default: toLimit('default'),
  beacons: toLimit('beacons'),
  activate: toLimit('activate'),
}

function toLimit(label: RateClass): RateLimit {
  const { per_second, burst } = limits.rate[label]
  return { per_ms: per_second / 1000, burst, label }
}

/** Rounding may leave a sum of fractions short of a whole token. */
const tolerance = 1e-9

/** Takes one token. A missing bucket is full. A clock that was moved back refills nothing and continues from there. */
export function take(limit: RateLimit, bucket: Bucket | undefined, now_ms: number): Take {
  const elapsed_ms = bucket === undefined ? 0 : Math.max(0, now_ms - bucket.at_ms)
  const filled = Math.min(limit.burst, (bucket?.tokens ?? limit.burst) + elapsed_ms * limit.per_ms)
  const allowed = filled >= 1 - tolerance
  const tokens = allowed ? Math.max(0, filled - 1) : filled
  return {
    allowed,
    bucket: { tokens, at_ms: now_ms },
    remaining: Math.floor(tokens + tolerance),
    retry_after_s: allowed ? 0 : Math.max(1, seconds(1 - filled, limit)),
    reset_s: seconds(limit.burst - tokens, limit),
  }
}

/** Returns the header values of a request that found less than one token. */
export function refusal(limit: RateLimit, tokens: number): Omit<Take, 'allowed' | 'bucket'> {
  return {
    remaining: Math.floor(tokens + tolerance),
    retry_after_s: Math.max(1, seconds(1 - tokens, limit)),
    reset_s: seconds(limit.burst - tokens, limit),
  }
}

const units = { s: unitsMs.s, m: unitsMs.m, min: unitsMs.m, h: unitsMs.h } as const

/**
 * Parses `5/s`, `1/min`, `100/m`, `3600/h` or `off`. The burst is twice the count, so that a client can catch up; a count
 * of 1 has a burst of 1, so that the second request in a row is rejected.
 * @throws RangeError with a correct example
 */
export function parseRateLimit(text: string, label = 'default'): RateLimit | 'off' {
  if (text === 'off') return 'off'
  const match = /^([1-9][0-9]{0,6})\/(s|m|min|h)$/.exec(text)
  if (match === null) {
    throw new RangeError(
      `${JSON.stringify(text)} is not a rate limit. Write a count and a unit: 5/s, 100/m, 3600/h, or off.`,
    )
  }
  const count = Number(match[1])
  const unit = match[2] as keyof typeof units
  return { per_ms: count / units[unit], burst: count === 1 ? 1 : 2 * count, label }
}

/**
 * Returns the `RateLimit` and `RateLimit-Policy` fields of the IETF draft (draft-ietf-httpapi-ratelimit-headers): `q` tokens in
 * a window of `w` seconds, `r` left now, full again in `t` seconds.
 */
export function rateHeaders(limit: RateLimit, remaining: number, reset_s: number): Record<string, string> {
  return {
    ratelimit: `"${limit.label}";r=${remaining};t=${reset_s}`,
    'ratelimit-policy': `"${limit.label}";q=${limit.burst};w=${Math.max(1, seconds(limit.burst, limit))}`,
  }
}

/** Returns the whole seconds until that many tokens are added. */
function seconds(tokens: number, limit: RateLimit): number {
  return Math.max(0, Math.ceil(tokens / limit.per_ms / 1_000 - tolerance))
}
