import { expect, test } from 'vitest'
import { listNeeds, viewability } from '#contract/viewability.ts'
import { createFloodCheck, readFrameMessage } from './messages.ts'

const ready = {
  t: 'ready',
  nonce: 'n',
  media_type: 'image',
  width: 300,
  height: 250,
  view_needs: listNeeds(false, viewability),
  beacon_token: null,
  server_time_ms: 1_790_000_000_000,
}

test.each([
  ready,
  { t: 'rendered' },
  { t: 'resize', height: 120 },
  { t: 'click', user_activated: true },
  { t: 'media', state: 'playing', position_ms: 0, duration_ms: 6_000, muted: true },
  { t: 'error', code: 'creative_failed' },
])('%j is read', (message) => {
  expect(readFrameMessage(message, 'n')).toEqual(message)
})

test.each([
  null,
  'rendered',
  [],
  {},
  { t: 'toString' },
  { t: 'navigate', url: 'https://evil.example' },
  { ...ready, nonce: 'another' },
  { ...ready, beacon_token: 1 },
  { ...ready, view_needs: undefined },
  { ...ready, server_time_ms: 'now' },
  { t: 'resize', height: Number.POSITIVE_INFINITY },
  { t: 'resize', height: -1 },
  { t: 'media', state: 'rewinding', position_ms: 0, duration_ms: 1, muted: true },
  { t: 'error', code: 'x'.repeat(300) },
])('%j is ignored', (message) => {
  expect(readFrameMessage(message, 'n')).toBe(null)
})

test('more than twenty messages within a second are a flood', () => {
  const isFlood = createFloodCheck()
  const verdicts = Array.from({ length: 21 }, (_, i) => isFlood(i * 10))
  expect(verdicts.indexOf(true)).toBe(20)
  expect(isFlood(2_000)).toBe(false)
})
