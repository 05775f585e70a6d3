import { expect, test } from 'vitest'
import { buildNextEntry } from './evidence.ts'

test('an entry of a chain follows its head', () => {
  const draft = { kind: 'beacon' as const, ref: 40, at_ms: 5_000, build: (seq: number) => `entry ${seq}` }
  const head = { seq: 6, hash: 'before ' }
  expect(buildNextEntry(head, draft, (text) => `hash of ${text}`)).toEqual({
    seq: 7,
    entry: 'entry 7',
    hash: 'hash of before entry 7',
  })
})
