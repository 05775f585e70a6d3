import { describe, expect, test } from 'vitest'
import type { FaultDraft } from '#contract/resources/sandbox/faults.ts'
import {
  completeRule,
  countMatch,
  drawLatency,
  type FaultRequest,
  findSecretField,
  matchesRequest,
  needsDetails,
  pathMatches,
  resolveError,
  rewriteFields,
} from './faults.ts'

type Draft = FaultDraft

/** Any function that distinguishes texts. */
const hash = (text: string) => `hash of ${text}`

const rule = (draft: Draft) => completeRule(draft, hash)

const request: FaultRequest = {
  method: 'POST',
  path: '/v1/placements',
  key: 'sk_test_sandbox_demo',
  session_id: 'sess_1',
  formats: ['banner', 'native'],
}

/** Returns which of `count` matching requests a rule breaks. */
function countMet(draft: Draft, count: number): number[] {
  let counted = { matched: 0, injected: 0 }
  const met: number[] = []
  for (let index = 0; index < count; index++) {
    const next = countMatch(rule(draft), counted)
    if (next.isInjected) met.push(index)
    counted = next.count
  }
  expect(counted).toEqual({ matched: count, injected: met.length })
  return met
}

describe('a rule matches', () => {
  test.each<[Draft, boolean]>([
    [{}, true],
    [{ method: 'POST' }, true],
    [{ method: 'GET' }, false],
    [{ path: '/v1/' }, true],
    [{ path: '/v1/placements' }, true],
    [{ path: '/v1/placements/' }, false],
    [{ path: '/*/place*ts' }, true],
    [{ path: '/v1/*jobs' }, false],
    [{ path: '/*/place' }, false],
    [{ path: '/placements' }, false],
    [{ key: 'sk_test_' }, true],
    [{ key: 'sk_live_' }, false],
    [{ key: 'sk_test_sandbox_demo' }, true],
    [{ key: 'sk_test_sand' }, true],
    [{ key: 'sk_test_sandbox_other' }, false],
    [{ key: 'sk_test_sandbox_dome' }, false],
    [{ key: 'sk_test_sandbox_demo_2' }, false],
    [{ session_id: 'sess_1' }, true],
    [{ session_id: 'sess' }, false],
    [{ format: 'native' }, true],
    [{ format: 'clip' }, false],
    [{ method: 'POST', path: '/v1', key: 'sk_', session_id: 'sess_1', format: 'banner' }, true],
    [{ method: 'POST', path: '/v1', key: 'pk_', session_id: 'sess_1', format: 'banner' }, false],
  ])('%o: %s', (draft, expected) => {
    expect(matchesRequest(rule(draft), request, hash)).toBe(expected)
  })

  test('a request without a key, unless the rule names one', () => {
    expect(matchesRequest(rule({ key: 'sk_' }), { ...request, key: null }, hash)).toBe(false)
  })
})

describe('a rule breaks', () => {
  test('every matching request by default', () => {
    expect(countMet({}, 4)).toEqual([0, 1, 2, 3])
  })

  test('as many as `times`, after as many as `after`', () => {
    expect(countMet({ times: 2 }, 5)).toEqual([0, 1])
    expect(countMet({ after: 2 }, 5)).toEqual([2, 3, 4])
    expect(countMet({ after: 1, times: 2 }, 5)).toEqual([1, 2])
  })

  test('the same requests for the same seed, others for another seed, and about the share of `rate`', () => {
    const met = countMet({ rate: 0.3, seed: 7 }, 1000)
    expect(countMet({ rate: 0.3, seed: 7 }, 1000)).toEqual(met)
    expect(countMet({ rate: 0.3, seed: 8 }, 1000)).not.toEqual(met)
    expect(met.length).toBeGreaterThan(250)
    expect(met.length).toBeLessThan(350)
    expect(countMet({ rate: 0 }, 100)).toEqual([])
  })
})

test('a rule has all fields, those that were not named by default', () => {
  expect(rule({ path: '/v1/' })).toEqual({
    path: '/v1/',
    effect: 'error',
    served: false,
    retry_after_s: 1,
    retry_after_format: 'seconds',
    latency_ms: 0,
    rate: 1,
    seed: 1,
    after: 0,
  })
})

test('a rule keeps only the hash of a key', () => {
  expect(rule({ key: 'sk_test_' }).key).toEqual({ shown: 'sk_test_', length: 8, sha256: null })
  const { key } = rule({ key: 'sk_test_sandbox_demo' })
  expect(key).toMatchObject({ length: 20, sha256: 'hash of sk_test_sandbox_demo' })
  expect(key?.shown).not.toContain('demo')
})

test.each<[Draft, string | null]>([
  [{ path: '/v1/', session_id: 'sess_1', rewrite: { status: 'ready' } }, null],
  [{}, null],
  [{ path: '/v1/sk_test_sandbox_demo' }, 'path'],
  [{ session_id: 'sk_test_sandbox_demo' }, 'session_id'],
  [{ path: '/v1/', rewrite: { token: 'sk_test_sandbox_demo' } }, 'rewrite'],
])('the secret of %j is in %s', (draft, field) => {
  expect(findSecretField(draft)).toBe(field)
})

test('a rule needs the details of a request for its session and its formats', () => {
  expect(needsDetails(rule({ path: '/v1/', method: 'POST' }))).toBe(false)
  expect(needsDetails(rule({ session_id: 'sess_1' }))).toBe(true)
  expect(needsDetails(rule({ format: 'clip' }))).toBe(true)
})

describe('latency', () => {
  const drawn = (draft: Draft) => Array.from({ length: 500 }, (_, matched) => drawLatency(rule(draft), matched))

  test('is fixed', () => {
    expect(new Set(drawn({ latency_ms: 80 }))).toEqual(new Set([80]))
  })

  test('is uniform between its bounds', () => {
    const waits = drawn({ latency_ms: 100, latency_max_ms: 300 })
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(100)
    expect(Math.max(...waits)).toBeLessThanOrEqual(300)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(150)
  })

  test('is log-normal around its median, at most a minute', () => {
    const waits = drawn({ latency_ms: 100, latency_sigma: 1 }).toSorted((a, b) => a - b)
    expect(waits[250]).toBeGreaterThan(80)
    expect(waits[250]).toBeLessThan(125)
    expect(waits.at(-1)).toBeGreaterThan(500)
    expect(Math.max(...drawn({ latency_ms: 60_000, latency_sigma: 4 }))).toBe(60_000)
  })

  test('is the same for the same seed', () => {
    const draft = { latency_ms: 1, latency_max_ms: 1000, seed: 3 }
    expect(drawn(draft)).toEqual(drawn(draft))
    expect(drawn(draft)).not.toEqual(drawn({ ...draft, seed: 4 }))
  })

  test('is the same in every version: a test of an integrator may depend on its seed', () => {
    const draft = { latency_ms: 100, seed: 3 }
    expect(drawn({ ...draft, latency_max_ms: 300 }).slice(0, 5)).toEqual([105, 274, 292, 250, 161])
    expect(drawn({ ...draft, latency_sigma: 1 }).slice(0, 5)).toEqual([81, 69, 127, 200, 56])
  })
})

describe('the error of a rule', () => {
  test.each<[Draft, number, string]>([
    [{}, 503, 'injected_fault'],
    [{ status: 429 }, 429, 'rate_limited'],
    [{ status: 500 }, 500, 'internal_error'],
    [{ status: 502 }, 502, 'injected_fault'],
    [{ status: 400 }, 400, 'injected_fault'],
    [{ reason_code: 'beacon_stale' }, 400, 'beacon_stale'],
    [{ status: 418, reason_code: 'key_unknown' }, 418, 'key_unknown'],
  ])('%o: %i %s', (draft, status, reason_code) => {
    expect(resolveError(rule(draft))).toEqual({ status, reason_code })
  })
})

describe('a rewritten response', () => {
  const response = { status: 'ready', decision: { fill: true } }

  test('has other fields, and the original is unchanged', () => {
    expect(rewriteFields(response, { status: 'later', 'decision.fill': null, extra: { a: 1 } })).toEqual({
      status: 'later',
      decision: { fill: null },
      extra: { a: 1 },
    })
    expect(response).toEqual({ status: 'ready', decision: { fill: true } })
  })

  test('has the last of two values for one field', () => {
    expect(rewriteFields(response, { extra: 1, '.extra': 2 })).toEqual({ ...response, extra: 2 })
  })

  test('is unchanged when the path does not exist', () => {
    expect(rewriteFields(response, { 'placement.render.x': 1, 'status.x': 1 })).toEqual(response)
    expect(rewriteFields(null, { a: 1 })).toBeNull()
  })

  test('cannot reach a prototype', () => {
    rewriteFields(response, { '__proto__.polluted': true })
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })
})

test.each([
  ['/v1/beacons', '/v1/beacons', true],
  ['/v1/be', '/v1/beacons', true],
  ['beacons', '/v1/beacons', false],
  ['*', '/v1/beacons', true],
  ['*beacons', '/v1/beacons', true],
  ['/v1/*', '/v1/', true],
  ['/v1/*/', '/v1/', false],
  ['/v1/*s', '/v1/beacons?wait_ms=1', false],
  ['/v1/*?wait_ms=*', '/v1/placements?wait_ms=1', true],
  ['/*/b*n*s', '/v1/beacons', true],
  ['/*/b*s*s', '/v1/beacons', false],
  ['/v1/b*acons*acons', '/v1/beacons', false],
  ['/v1/*x*s', '/v1/beacons', false],
  ['/v1/*cons*s', '/v1/beacons', false],
  ['/v1/*aba*bab*', '/v1/abab', false],
  ['/v1/*aba*bab*', '/v1/ababab', true],
])('the path %s and %s: %s', (pattern, path, expected) => {
  expect(pathMatches(pattern, path)).toBe(expected)
})
