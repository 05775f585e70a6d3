/** Token buckets per key and rate class, on the sandbox clock (A20). */
import type { RateClass } from '../../src/contract/endpoint.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { limits } from '../../src/contract/limits.ts'
import { type Bucket, parseRateLimit, type RateLimit, rateHeaders, take } from '../domain/rate.ts'
import type { ProjectRow } from '../store/store.ts'

export interface Rates {
  /** Takes one token from the bucket of a key. @throws ApiError 429 with Retry-After and the RateLimit headers */
  take(rate: RateClass, key: { key_id: number; project: ProjectRow }, now_ms: number): void
  /** Fills every bucket again. */
  clear(): void
}

/** `override` is the limit that the sandbox was started with: it wins over every project's own limits. */
export function createRates(override: RateLimit | 'off' | null): Rates {
  const buckets = new Map<string, Bucket>()
  const parsed = new Map<string, RateLimit | 'off'>()
  return {
    take(rate, { key_id, project }, now_ms) {
      const limit = override ?? limitOf(project.settings.rate_limits[rate], rate)
      if (limit === 'off') return
      const name = `${key_id} ${rate}`
      const taken = take(limit, buckets.get(name), now_ms)
      buckets.set(name, taken.bucket)
      if (taken.allowed) return
      throw new ApiError('rate_limited', {
        retry_after_s: taken.retry_after_s,
        headers: {
          'retry-after': String(taken.retry_after_s),
          ...rateHeaders(limit, taken.remaining, taken.reset_s),
        },
      })
    },
    clear: () => buckets.clear(),
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

const defaults: Record<RateClass, RateLimit> = {
  default: toLimit('default'),
  beacons: toLimit('beacons'),
  activate: toLimit('activate'),
}

function toLimit(label: RateClass): RateLimit {
  const { per_second, burst } = limits.rate[label]
  return { per_ms: per_second / 1000, burst, label }
}
