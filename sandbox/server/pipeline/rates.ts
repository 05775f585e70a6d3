/** One token bucket per key and rate class (A20), in memory or in the store that nodes share. */
import type { RateClass } from '#contract/endpoint.ts'
import { ApiError } from '#contract/errors.ts'
import type { RateTake, RateTaken, SharedStore } from '#store/nodes.ts'
import type { ProjectRow } from '#store/store.ts'
import {
  type Bucket,
  defaults,
  parseRateLimit,
  type RateLimit,
  rateHeaders,
  refusal,
  type Take,
  take,
} from './rate-limits.ts'

export interface Rates {
  /**
   * Takes one token from the bucket of a key; a promise where the buckets are in the store.
   * @throws ApiError 429 with Retry-After and the RateLimit headers
   */
  take(rate: RateClass, key: { key_id: number; project: ProjectRow }, now_ms: number): void | Promise<void>
  /** Fills every bucket again. */
  clear(): Promise<void>
}

type TakeOne = (bucket: string, limit: RateLimit, now_ms: number) => void | Promise<void>

/** `override` is the limit that the sandbox was started with: it wins over every project's own limits. */
export function createRates(override: RateLimit | 'off' | null, shared: SharedStore | null): Rates {
  const parsed = new Map<string, RateLimit | 'off'>()
  const { takeOne, clear } = shared === null ? ownBuckets() : sharedBuckets(shared)
  return {
    take(rate, { key_id, project }, now_ms) {
      const limit = override ?? findLimit(project.settings.rate_limits[rate], rate)
      if (limit !== 'off') return takeOne(`${key_id} ${rate}`, limit, now_ms)
    },
    clear,
  }

  function findLimit(text: string | null, rate: RateClass): RateLimit | 'off' {
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
