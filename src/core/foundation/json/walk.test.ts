import { expect, test } from 'vitest'
import { parseExactly } from './exact-numbers.ts'
import { contractPath, mapJson, walkJson } from './walk.ts'

test('every value is visited with its path, outer ones first, in the order of the text', () => {
  const visited = [...walkJson({ a: [1, { b: null }], c: 'x' })].map(({ name, path }) => `${name} ${path.join('.')}`)
  expect(visited).toEqual([' ', 'a a', 'a a.0', 'a a.1', 'b a.1.b', 'c c'])
})

test('a value can be left out with all that is in it', () => {
  const visited = [...walkJson({ a: { b: 1 }, c: 2 }, ({ name }) => name !== 'a')].map(({ name }) => name)
  expect(visited).toEqual(['', 'a', 'c'])
})

test('a value that nests deeper than the stack is walked', () => {
  let deep: unknown = 7
  for (let level = 0; level < 100_000; level++) deep = [deep]
  const last = [...walkJson(deep)].at(-1)
  expect([last?.value, last?.path.length]).toEqual([7, 100_000])
})

test('a number that only its text has exactly is one value, and stays it in a copy', () => {
  const exact = parseExactly('{"id":12345678901234567890}')
  expect([...walkJson(exact)]).toHaveLength(2)
  expect(JSON.stringify(mapJson(exact, (value) => value))).toBe('{"id":12345678901234567890}')
})

test('a copy has what replaces its values, and keeps a field named __proto__', () => {
  const copy = mapJson(JSON.parse('{"a":[1,"x"],"__proto__":{"b":2}}'), (value, { name, path }) =>
    typeof value === 'number' ? `${name} ${contractPath(path)}` : value,
  )
  expect(JSON.stringify(copy)).toBe('{"a":["a a[]","x"],"__proto__":{"b":"b __proto__.b"}}')
})
