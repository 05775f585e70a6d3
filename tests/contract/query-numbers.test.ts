/** Numbers in a query string are decimal digits, in every endpoint that has one. */
import { expect, test } from 'vitest'
import type { z } from 'zod'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { stage } from '#tests/http/stage.ts'

const endpoints: readonly Endpoint[] = Object.values(contract)

/** Query parameters that parse a number. */
const numbers = endpoints.flatMap(({ id, query }) =>
  Object.entries((query as z.ZodObject | undefined)?.shape ?? {})
    .filter(([, schema]) => typeof (schema as z.ZodType).safeParse('200').data === 'number')
    .map(([name, schema]) => [`${id} ${name}`, schema as z.ZodType] as const),
)

test('there are some', () => {
  expect(numbers.map(([name]) => name)).toEqual(
    expect.arrayContaining(['decisions.get wait_ms', 'beacons.list limit', 'events.stream since_seq']),
  )
})

test.each(numbers)('%s accepts only decimal digits', (name, schema) => {
  for (const text of ['', ' ', '0x10', '0b1', '1e3', '1.0', '+200', ' 200', '200 ', 'Infinity', '٣']) {
    expect([text, schema.safeParse(text).success]).toEqual([text, false])
  }
  // A wait of any length is clamped (A22).
  expect(schema.safeParse('9'.repeat(16)).success).toBe(name.endsWith(' wait_ms'))
  expect(schema.parse('200')).toBe(200)
  expect(schema.parse('200'.padStart(30, '0'))).toBe(200)
  expect(schema.parse(200)).toBe(200)
})

test('anything else is refused with the expected form', async () => {
  await using on = await stage()
  const call = { as: 'sk_test_sandbox_demo', params: { slot_id: 'slot_00000000001' } }
  for (const wait_ms of ['', '0x10', '1e3']) {
    const { status, body } = await on.api.refuse('decisions.get', { ...call, query: { wait_ms } })
    expect([status, body.reason_code]).toEqual([400, 'schema_invalid'])
    expect(body.fields).toEqual([
      { path: 'wait_ms', message: 'is malformed', expected: 'a whole number in decimal digits, such as 50' },
    ])
  }
  expect((await on.api.refuse('decisions.get', { ...call, query: { wait_ms: 0 } })).status).toBe(404)
})

test.each([
  ['0', 200, false],
  ['5000', 200, false],
  ['5001', 200, true],
  ['9'.repeat(30), 200, true],
  ['9'.repeat(600), 200, true],
  ['-1', 400, false],
  [`-${'9'.repeat(30)}`, 400, false],
  ['4999.5', 400, false],
  ['5000.5', 400, false],
])('a wait of %s ms, in the query or the body, is %i, clamped: %s', async (wait_ms, status, isClamped) => {
  await using on = await stage()
  const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
  const turn = '"client_id":"proj_demo","session_id":"s1","job_type":"chat"'
  for (const [query, body] of [
    [`?wait_ms=${wait_ms}`, `{${turn}}`],
    ['', `{${turn},"wait_ms":${wait_ms}}`],
  ] as const) {
    const response = await fetch(`${on.sandbox.url}/v1/placements${query}`, { method: 'POST', headers, body })
    const warnings = response.headers.get('x-sandbox-warning') ?? ''
    expect([query, response.status, warnings.includes('wait_ms_clamped')]).toEqual([query, status, isClamped])
  }
})
