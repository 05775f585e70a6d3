/**
 * Rates: one token bucket per key and rate class, on the sandbox clock (A20). In memory, or in the store that nodes share.
 * Pure functions: the caller keeps the bucket and provides the time.
 */
import type { RateClass } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import { limits } from '#contract/limits.ts'
import { unitsMs } from '#foundation/duration.ts'
import type { RateTake, RateTaken, SharedStore } from '#store/nodes.ts'
import type { ProjectRow } from '#store/store.ts'

export interface RateLimit {
  /** Tokens per millisecond. */
  per_ms: number
  /** The most tokens that the bucket holds. */
  burst: number
  /** The name of the policy in the RateLimit headers. */
  label: string
}

export interface Rates {
  /**
   * Takes one token from the bucket of a key; a promise where the buckets are in the store.
   * @throws ApiError 429 with Retry-After and the RateLimit headers
   */
  take(rate: RateClass, key: { key_id: number; project: ProjectRow }, now_ms: number): void | Promise<void>
  /** Fills every bucket again. */
  clear(): Promise<void>
}

export interface Bucket {
  tokens: number
  at_ms: number
}

interface Take {
  allowed: boolean
  /** The bucket to keep. */
  bucket: Bucket
  /** Whole tokens left. */
  remaining: number
  /** Seconds until one token is available: 0 when allowed, otherwise at least 1. */
  retry_after_s: number
  /** Seconds until the bucket is full again. */
  reset_s: number
}

type TakeOne = (bucket: string, limit: RateLimit, now_ms: number) => void | Promise<void>

/** `override` is the limit that the sandbox was started with: it wins over every project's own limits. */
export function createRates(override: RateLimit | 'off' | null, shared: SharedStore | null): Rates {
  const parsed = new Map<string, RateLimit | 'off'>()
  const { takeOne, clear } = shared === null ? ownBuckets() : sharedBuckets(shared)
  return {
    take(rate, { key_id, project }, now_ms) {
      const limit = override ?? limitOf(project.settings.rate_limits[rate], rate)
      if (limit !== 'off') return takeOne(`${key_id} ${rate}`, limit, now_ms)
    },
    clear,
  }

  function limitOf(text: string | null, rate: RateClass): RateLimit | 'off' {
    if (text === null) return defaults[rate]
    const name = `${rate} ${text}`
    const known = parsed.get(name)
    if (known !== undefined) return known
    const limit = parseRateLimit(text, rate)
    parsed.set(name, limit)
    return limit
  }
}

function ownBuckets(): { takeOne: TakeOne; clear: Rates['clear'] } {
  const buckets = new Map<string, Bucket>()
  return {
    takeOne(name, limit, now_ms) {
      const taken = take(limit, buckets.get(name), now_ms)
      buckets.set(name, taken.bucket)
      if (!taken.allowed) throw rateLimited(limit, taken)
    },
    clear: async () => buckets.clear(),
  }
}

interface Waiting {
  limit: RateLimit
  resolve(): void
  reject(error: unknown): void
}

/** Requests that arrive while tokens are being taken share the next round trip, whatever their buckets. */
function sharedBuckets(shared: SharedStore): { takeOne: TakeOne; clear: Rates['clear'] } {
  let waiting = new Map<string, { take: RateTake; requests: Waiting[] }>()
  let isTaking = false

  const takeAll = async () => {
    isTaking = true
    while (waiting.size > 0) {
      const turn = [...waiting.values()]
      waiting = new Map()
      try {
        const taken = await shared.takeRates(turn.map((each) => each.take))
        for (const [index, { requests }] of turn.entries()) share(requests, taken[index]!)
      } catch (error) {
        for (const { requests } of turn) for (const { reject } of requests) reject(error)
      }
    }
    isTaking = false
  }

  return {
    takeOne: (bucket, limit, now_ms) =>
      new Promise<void>((resolve, reject) => {
        const { per_ms, burst } = limit
        const group = waiting.get(bucket) ?? { take: { bucket, count: 0, per_ms, burst, now_ms }, requests: [] }
        // If a project's settings changed between two requests, the later ones apply.
        Object.assign(group.take, { per_ms, burst })
        group.take.count++
        group.take.now_ms = Math.max(group.take.now_ms, now_ms)
        group.requests.push({ limit, resolve, reject })
        waiting.set(bucket, group)
        if (!isTaking) void takeAll()
      }),
    clear: () => shared.clearRates(),
  }
}

/** The earliest requests get the tokens. */
function share(requests: readonly Waiting[], { granted, tokens }: RateTaken): void {
  for (const [index, { limit, resolve, reject }] of requests.entries()) {
    if (index < granted) resolve()
    else reject(rateLimited(limit, refusal(limit, tokens)))
  }
}

function rateLimited(limit: RateLimit, { remaining, retry_after_s, reset_s }: Omit<Take, 'allowed' | 'bucket'>) {
  return new ApiError('rate_limited', {
    retry_after_s,
    headers: { 'retry-after': String(retry_after_s), ...rateHeaders(limit, remaining, reset_s) },
  })
}

const defaults: Record<RateClass, RateLimit> = {
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
function refusal(limit: RateLimit, tokens: number): Omit<Take, 'allowed' | 'bucket'> {
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
