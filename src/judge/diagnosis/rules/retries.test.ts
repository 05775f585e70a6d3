/** Which requests count as the same, and how long a response asks to wait. */
import { expect, test } from 'vitest'
import type { JournaledExchange } from '#diagnosis/exchange.ts'
import { findInVain, findRepetitions, findTooSoon, readWaitMs } from './retries.ts'

const noon = 1_769_860_800_000
let exchanges = 0

function exchange(status: number, at_ms: number, more: Partial<JournaledExchange> = {}): JournaledExchange {
  return {
    request_id: `req_${++exchanges}`,
    at_ms,
    method: 'POST',
    path: '/v1/placements',
    status,
    reason_code: null,
    duration_ms: 1,
    key: 'sk_test',
    key_id: null,
    client_id: 'proj_demo',
    session_id: 's1',
    slot_id: null,
    request_headers: {},
    response_headers: {},
    request_body: null,
    response_body: null,
    ...more,
  }
}

test('Retry-After is read in seconds and as a date', () => {
  const after = (text: string) => readWaitMs(exchange(429, noon, { response_headers: { 'retry-after': text } }))
  expect(after('2')).toBe(2_000)
  expect(after('Sat, 31 Jan 2026 12:00:05 GMT')).toBe(5_000)
  expect(after('Sat, 31 Jan 2026 11:00:00 GMT')).toBe(0)
  expect(after('soon')).toBe(0)
})

test('a request that was refused unread equals one that was read, by the length of its texts', () => {
  const unread = { session_id: 's1', prompt: { topic: '[removed: 6 characters]', text: '[removed: 20 characters]' } }
  const read = (topic: string) => ({ prompt: { text: '[removed: 20 characters]', topic }, session_id: 's1' })
  const limited = exchange(429, noon, { request_body: unread, response_headers: { 'retry-after': '1' } })
  const next = (topic: string) => exchange(200, noon + 10, { request_body: read(topic) })
  expect(findTooSoon([limited, next('coffee')])).toHaveLength(1)
  expect(findTooSoon([limited, next('travels')])).toEqual([])
  expect(findTooSoon([limited, exchange(200, noon + 995, { request_body: read('coffee') })])).toEqual([])
})

test('a request that is sent again with a new token, after the old one expired, is not in vain', () => {
  const expired = exchange(401, noon, { reason_code: 'activation_token_expired' })
  expect(findInVain([expired, exchange(200, noon + 10)])).toEqual([])
  expect(findInVain([expired, exchange(400, noon + 10)])).toEqual([])
  expect(findInVain([expired, exchange(401, noon + 10)])).toHaveLength(1)
})

test('another session, field or route is another request', () => {
  const failed = exchange(400, noon, { request_body: { session_id: 's1' } })
  const next = (request_body: object, more: Partial<JournaledExchange> = {}) => ({
    ...exchange(400, noon + 10, { request_body }),
    ...more,
  })
  expect(findInVain([failed, next({ session_id: 's1' })])).toHaveLength(1)
  expect(findRepetitions([failed, next({ session_id: 's2' })])).toEqual([])
  expect(findRepetitions([failed, next({ session_id: 's1', job_type: 'chat' })])).toEqual([])
  expect(findRepetitions([failed, next({ session_id: 's1' }, { path: '/v1/jobs' })])).toEqual([])
})
