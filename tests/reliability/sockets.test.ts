/** What is written on one socket: responses in the order of their requests, one each, whatever else arrives. */
import { expect, test } from 'vitest'
import { asked, key, stage } from '#tests/http/stage.ts'
import { listStatuses } from './wire.ts'

const garbage = '\x01 not HTTP\r\n\r\n'

function post(path: string, headers: string, body = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body}`
}

const chunked = 'transfer-encoding: chunked'
const placement = JSON.stringify(asked({ overrides: { allowed_formats: ['clip'] } }))
const whole = post('/v1/placements', `content-length: ${placement.length}`, placement)

test('a request that has its response gets no second one when the rest of it is not HTTP', async () => {
  await using on = await stage()
  const tooLarge = post('/v1/beacons', chunked, `2328\r\n${'x'.repeat(9_000)}\r\n`)
  expect(await listStatuses(on.sandbox.url, [tooLarge, 'zz\r\n'])).toEqual([413])
  const unknown = post('/v1/nowhere', chunked, '5\r\nhello\r\n')
  expect(await listStatuses(on.sandbox.url, [unknown, 'zz\r\n'])).toEqual([404])
  const elsewhere = unknown.replace('host: localhost', 'host: a.example')
  expect(await listStatuses(on.sandbox.url, [elsewhere, 'zz\r\n'])).toEqual([421])
})

test('what is not HTTP, or too large a head, gets one response', async () => {
  await using on = await stage()
  expect(await listStatuses(on.sandbox.url, [garbage])).toEqual([400])
  expect(await listStatuses(on.sandbox.url, [garbage + garbage])).toEqual([400])
  expect(await listStatuses(on.sandbox.url, [`GET / HTTP/1.1\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`])).toEqual([431])
  expect(await listStatuses(on.sandbox.url, [post('/v1/placements', chunked, 'zz\r\n')])).toEqual([400])
  const expecting = post('/v1/placements', `expect: a miracle\r\ncontent-length: ${placement.length}`, placement)
  expect(await listStatuses(on.sandbox.url, [expecting, garbage])).toEqual([200, 400])
})

test('an error behind requests under way waits for their responses', async () => {
  await using on = await stage()
  await on.api.accept('faults.add', { body: { effect: 'delay', latency_ms: 60 } })
  const broken = post('/v1/placements', chunked, 'zz\r\n')
  expect(await listStatuses(on.sandbox.url, [whole + garbage])).toEqual([200, 400])
  expect(await listStatuses(on.sandbox.url, [whole + whole + broken])).toEqual([200, 200, 400])
  const unknown = whole.replace('/placements', '/none')
  expect(await listStatuses(on.sandbox.url, [whole + unknown + garbage])).toEqual([200, 404, 400])
})
