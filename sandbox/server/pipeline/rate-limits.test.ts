import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Bucket, parseRateLimit, type RateLimit, rateHeaders, take } from './rate-limits.ts'

const fivePerSecond: RateLimit = { per_ms: 0.005, burst: 10, label: 'default' }

function drain(limit: RateLimit, times: number, now_ms: number, bucket?: Bucket) {
  let last = take(limit, bucket, now_ms)
  for (let count = 1; count < times; count++) last = take(limit, last.bucket, now_ms)
  return last
}

describe('take', () => {
  test('a new key has its whole burst, then is rejected', () => {
    expect(take(fivePerSecond, undefined, 0)).toEqual({
      allowed: true,
      bucket: { tokens: 9, at_ms: 0 },
      remaining: 9,
      retry_after_s: 0,
      reset_s: 1,
    })
    expect(drain(fivePerSecond, 10, 0)).toMatchObject({ allowed: true, remaining: 0, reset_s: 2 })
    expect(drain(fivePerSecond, 11, 0)).toMatchObject({ allowed: false, remaining: 0, retry_after_s: 1, reset_s: 2 })
  })

  test('tokens are refilled over time, up to the burst', () => {
    const { bucket } = drain(fivePerSecond, 10, 0)
    expect(take(fivePerSecond, bucket, 199).allowed).toBe(false)
    expect(take(fivePerSecond, bucket, 200)).toMatchObject({ allowed: true, remaining: 0 })
    expect(take(fivePerSecond, bucket, 3_600_000)).toMatchObject({ allowed: true, remaining: 9 })
  })

  test('a rejected request takes no token', () => {
    const { bucket } = drain(fivePerSecond, 100, 0)
    expect(take(fivePerSecond, bucket, 200).allowed).toBe(true)
  })

  test('Retry-After is exact: rejected a second before, allowed then', () => {
    const slow = parseRateLimit('1/min') as RateLimit
    const { bucket } = take(slow, undefined, 0)
    const refused = take(slow, bucket, 1_000)
    expect(refused).toMatchObject({ allowed: false, retry_after_s: 59 })
    expect(take(slow, refused.bucket, 59_999).allowed).toBe(false)
    expect(take(slow, refused.bucket, 60_000).allowed).toBe(true)
  })

  test('a clock that is moved back neither refills nor locks the key', () => {
    const { bucket } = drain(fivePerSecond, 10, 1_000_000)
    const back = take(fivePerSecond, bucket, 0)
    expect(back.allowed).toBe(false)
    expect(take(fivePerSecond, back.bucket, 200).allowed).toBe(true)
  })

  test('in any window at most the burst and the refilled tokens pass', () => {
    const steps = fc.array(fc.nat(400), { maxLength: 200 })
    fc.assert(
      fc.property(steps, (waits) => {
        let now_ms = 0
        let bucket: Bucket | undefined
        let passed = 0
        for (const wait of waits) {
          now_ms += wait
          const taken = take(fivePerSecond, bucket, now_ms)
          bucket = taken.bucket
          if (taken.allowed) passed++
          expect(taken.remaining).toBeGreaterThanOrEqual(0)
          expect(taken.allowed ? 0 : 1).toBeLessThanOrEqual(taken.retry_after_s)
          const later = take(fivePerSecond, taken.bucket, now_ms + taken.retry_after_s * 1_000)
          if (!taken.allowed) expect(later.allowed).toBe(true)
        }
        expect(passed).toBeLessThanOrEqual(fivePerSecond.burst + now_ms * fivePerSecond.per_ms + 1e-6)
      }),
    )
  })

  test('fractions of tokens add up', () => {
    const limit: RateLimit = { per_ms: 0.1, burst: 1, label: 'default' }
    let { bucket } = take(limit, undefined, 0)
    for (let now_ms = 1; now_ms < 10; now_ms++) bucket = take(limit, bucket, now_ms).bucket
    expect(take(limit, bucket, 10).allowed).toBe(true)
  })
})

describe('parseRateLimit', () => {
  test.each([
    ['5/s', 5 / 1_000, 10],
    ['1/min', 1 / 60_000, 1],
    ['100/m', 100 / 60_000, 200],
    ['3600/h', 0.001, 7_200],
  ])('%s', (text, per_ms, burst) => {
    expect(parseRateLimit(text)).toEqual({ per_ms, burst, label: 'default' })
  })

  test('off', () => {
    expect(parseRateLimit('off')).toBe('off')
  })

  test.each(['', '5', '0/s', '-1/s', '1.5/s', '5/d', '5 / s', 'OFF', '5/s\n'])('%j shows a correct example', (text) => {
    expect(() => parseRateLimit(text)).toThrow(RangeError)
    expect(() => parseRateLimit(text)).toThrow(
      'is not a rate limit. Write a count and a unit: 5/s, 100/m, 3600/h, or off.',
    )
  })
})

test('headers name the policy, its quota and window, what is left and when the bucket is full', () => {
  expect(rateHeaders(fivePerSecond, 7, 1)).toEqual({
    ratelimit: '"default";r=7;t=1',
    'ratelimit-policy': '"default";q=10;w=2',
  })
  const beacons = parseRateLimit('1/min', 'beacons') as RateLimit
  expect(rateHeaders(beacons, 0, 60)).toEqual({
    ratelimit: '"beacons";r=0;t=60',
    'ratelimit-policy': '"beacons";q=1;w=60',
  })
})
