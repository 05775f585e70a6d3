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

test.each(numbers)('%s accepts only decimal digits', (_, schema) => {
  for (const text of ['', ' ', '0x10', '0b1', '1e3', '1.0', '+200', ' 200', '200 ', 'Infinity', '9'.repeat(16), '٣']) {
    expect([text, schema.safeParse(text).success]).toEqual([text, false])
  }
  expect(schema.parse('200')).toBe(200)
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
