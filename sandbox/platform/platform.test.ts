import { expect, test } from 'vitest'
import { createPlatform } from './platform.ts'

const signingKey = new Uint8Array(32)

test('nodes that share a database never give the same identifier, also after one has seen a larger one', () => {
  const platforms = [0, 1, 63].map((node) => createPlatform({ signingKey, node: () => node }))
  const ids = platforms.flatMap((platform) => Array.from({ length: 1_000 }, () => platform.newId()))
  platforms[1]!.seenId(Math.max(...ids) + 5)
  ids.push(...platforms.map((platform) => platform.newId()))
  expect(new Set(ids).size).toBe(3_003)
  expect(new Set(ids.slice(0, 1_000).map((id) => id % 64))).toEqual(new Set([0]))
})

test('identifiers of a node grow', () => {
  const platform = createPlatform({ signingKey, node: () => 7 })
  const ids = Array.from({ length: 500 }, () => platform.newId())
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(ids.every((id) => id % 64 === 7)).toBe(true)
})
