import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '#foundation/json.ts'
import { compareEntries, differences } from './differences.ts'

test('values are compared by their path', () => {
  const before = { a: 1, b: { c: [1, 2] }, gone: true }
  const after = { a: 1, b: { c: [1, 3, 4] }, fresh: null }
  expect(differences(before, after)).toEqual([
    { path: 'a', kind: 'same', before: 1, after: 1 },
    { path: 'b.c.0', kind: 'same', before: 1, after: 1 },
    { path: 'b.c.1', kind: 'changed', before: 2, after: 3 },
    { path: 'b.c.2', kind: 'added', after: 4 },
    { path: 'gone', kind: 'removed', before: true },
    { path: 'fresh', kind: 'added', after: null },
  ])
})

test('an object that becomes a list, a text or empty has changed as a whole', () => {
  expect(differences({ a: { b: 1 } }, { a: [1] })).toMatchObject([{ path: 'a', kind: 'changed' }])
  expect(differences({ a: { b: 1 } }, { a: 'b' })).toMatchObject([{ path: 'a', kind: 'changed' }])
  expect(differences({ a: {} }, { a: {} })).toMatchObject([{ path: 'a', kind: 'same' }])
})

test('a value differs from itself in nothing, and from another in something', () => {
  const json = fc.jsonValue() as fc.Arbitrary<Json>
  fc.assert(
    fc.property(json, json, (one, other) => {
      expect(differences(one, one).every(({ kind }) => kind === 'same')).toBe(true)
      const isEqual = JSON.stringify(one) === JSON.stringify(other)
      if (!isEqual && JSON.stringify(sorted(one)) !== JSON.stringify(sorted(other))) {
        expect(differences(one, other).some(({ kind }) => kind !== 'same')).toBe(true)
      }
    }),
  )
})

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, field]) => [name, sorted(field)]),
  )
}

test('entries are compared part by part; a body that is not JSON is a text', () => {
  const entry = {
    method: 'POST',
    path: '/v1/placements',
    status: 200,
    reason_code: null,
    duration_ms: 1,
    key: 'sk_test' as const,
    request_headers: { host: 'a' },
    request_body: '{"a":1}',
    response_headers: {},
    response_body: '{"b":1}',
  }
  const parts = compareEntries(entry, { ...entry, status: 400, request_body: '{', response_body: null })
  const changed = parts.map(({ title, differences }) => [title, differences.filter(({ kind }) => kind !== 'same')])
  expect(changed).toEqual([
    ['Summary', [{ path: 'status', kind: 'changed', before: 200, after: 400 }]],
    ['Request headers', []],
    ['Request body', [{ path: '', kind: 'changed', before: { a: 1 }, after: '{' }]],
    ['Response headers', []],
    ['Response body', [{ path: 'b', kind: 'removed', before: 1 }]],
  ])
})
