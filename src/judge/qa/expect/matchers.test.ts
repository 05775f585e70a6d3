import { expect, test } from 'vitest'
import type { Json } from '#foundation/json.ts'
import { describeExpected, matches, operators } from './operators.ts'

const holding: [Json, Json | undefined][] = [
  ['a', 'a'],
  [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
  [{ a: { $gt: 1 } }, { a: 2 }],
  [{ $gte: 1, $lt: 3 }, 2],
  [{ $lte: 2 }, 2],
  [{ $near: [10, 2] }, 12],
  [{ $matches: '^req_' }, 'req_1'],
  [{ $one_of: ['a', { $gt: 3 }] }, 4],
  [{ $type: ['integer', 'null'] }, 3],
  [{ $type: 'array' }, []],
  [{ $length: { $gte: 2 } }, [1, 2]],
  [{ $length: 1 }, { a: 1 }],
  [{ $contains: 'b' }, 'abc'],
  [{ $contains: { a: 1 } }, [{ a: 1 }, 2]],
  [{ $contains: { a: { $type: 'string' } } }, { a: 'x', b: 2 }],
  [{ $not: { $contains: 'prompt' } }, 'nothing'],
  [{ $exists: false }, undefined],
  [{ $exists: true }, null],
  [{ $text: { $contains: 'deep', $not: { $contains: 'secret' } } }, { a: [{ b: 'deep' }] }],
  [{ $each: { $type: 'string' } }, ['a', 'b']],
]

const failing: [Json, Json | undefined][] = [
  ['1', 1],
  [null, undefined],
  [{ a: 1 }, { a: 1, b: 2 }],
  [[1, 2], [1]],
  [{ $gt: 1 }, '2'],
  [{ $gte: 1, $lt: 3 }, 3],
  [{ $near: [10, 2] }, 13],
  [{ $matches: '^req_' }, 7],
  [{ $one_of: ['a'] }, 'b'],
  [{ $type: 'integer' }, 1.5],
  [{ $type: 'object' }, []],
  [{ $length: 1 }, 5],
  [{ $contains: { a: 1 } }, { a: 2 }],
  [{ $not: 3 }, 3],
  [{ $exists: true }, undefined],
  [{ $text: { $not: { $contains: 'secret' } } }, { a: ['a secret'] }],
  [{ $text: { $not: { $contains: 'secret' } } }, undefined],
  [{ $each: 1 }, { a: 1 }],
  [{ $unknown: 1 }, 1],
]

test.each(holding)('%j holds for %j', (expected, actual) => expect(matches(expected, actual)).toBe(true))
test.each(failing)('%j does not hold for %j', (expected, actual) => expect(matches(expected, actual)).toBe(false))

test('every operator is tried here both ways', () => {
  const names = (cases: typeof holding) => Object.keys(operators).filter((name) => JSON.stringify(cases).includes(name))
  expect(names(holding)).toEqual(Object.keys(operators))
  expect(names(failing)).toEqual(Object.keys(operators).filter((name) => name !== '$lte'))
})

test.each([
  [{ $matches: '^(a+)+$' }],
  [{ $not: { $matches: '^(a|a)*$' } }],
  [{ $each: { $one_of: ['x', { $matches: '(?=(a+)+b)a' }] } }],
  [{ $text: { $matches: '("?a*)*c' } }],
])('%j is ended on a text that it would take for ever on', (expected) => {
  const text = `${'a'.repeat(60)}!`
  expect(() => matches(expected, '$each' in expected ? [text] : text)).toThrow(/took longer than 500 ms/)
})

test('operators are described in words, literals are unchanged', () => {
  expect(describeExpected({ $gt: 1, $lt: 3 })).toBe('greater than 1 and less than 3')
  expect(describeExpected({ $each: { $not: 'a' } })).toBe('a list in which each is not a')
  expect(describeExpected({ a: 1 })).toEqual({ a: 1 })
})
