import { expect, test } from 'vitest'
import { pathMatches } from './request-match.ts'

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
])('the path %s and %s: %s', (pattern, path, expected) => {
  expect(pathMatches(pattern, path)).toBe(expected)
})
