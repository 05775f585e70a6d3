import { expect, test } from 'vitest'
import type { Json } from '#foundation/json.ts'
import { expressionsIn, substitute, VariableError } from './variables.ts'

const known: Record<string, Json> = {
  now_ms: 1_769_860_800_000,
  p: { body: { slot_ids: ['slot_a', 'slot_b'], 'x-y': true, format: null } },
  name: 'shoes & hats',
}
const fill = (value: Json) => substitute(value, async (name) => known[name])

test('a value that is one variable keeps its type', async () => {
  expect(
    await fill({ a: '{{now_ms}}', b: '{{ p.body.slot_ids }}', c: ['{{p.body.x-y}}'], d: '{{p.body.format}}' }),
  ).toEqual({
    a: 1_769_860_800_000,
    b: ['slot_a', 'slot_b'],
    c: [true],
    d: null,
  })
})

test('within text it becomes text, in names of fields too', async () => {
  expect(await fill({ '{{name}}': '/v1/{{p.body.slot_ids.1}}?at={{now_ms}}' })).toEqual({
    'shoes & hats': '/v1/slot_b?at=1769860800000',
  })
})

test('times are moved, and written in other ways', async () => {
  expect(await fill('{{now_ms - 301s}}')).toBe(1_769_860_499_000)
  expect(await fill('{{now_ms + 1m - 500}}')).toBe(1_769_860_859_500)
  expect(await fill('{{now_ms - 1d | iso}}')).toBe('2026-01-30T12:00:00.000Z')
  expect(await fill('{{now_ms | seconds}}')).toBe(1_769_860_800)
  expect(await fill('{{name | encoded}}')).toBe('shoes%20%26%20hats')
})

test('a missing value is reported by its path', async () => {
  await expect(fill('{{p.body.slot_id}}')).rejects.toThrow(
    new VariableError('The variable p.body.slot_id does not exist.'),
  )
  await expect(fill('{{nobody}}')).rejects.toThrow('The variable nobody has no value here.')
  await expect(fill('{{name + 1}}')).rejects.toThrow('needs a number')
})

test('what cannot be read is no expression', () => {
  expect(expressionsIn('{{a.b}} {{1+1}} {{a | shout}}').map((each) => each?.name ?? null)).toEqual(['a', null, null])
})
