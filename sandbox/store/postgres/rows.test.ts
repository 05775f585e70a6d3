import { expect, test } from 'vitest'
import { shareReads } from './rows.ts'

test('rows requested while a read is under way share the next one, which later requests do not join', async () => {
  const asked: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const find = shareReads(async (keys: readonly number[]) => {
    asked.push(keys)
    await new Promise<void>((resolve) => ends.push(resolve))
    return new Map(keys.filter((key) => key > 0).map((key) => [key, `row ${key}`]))
  })
  const first = find(1)
  await expect.poll(() => ends.length).toBe(1)
  const others = [find(2), find(-1), find(2)]
  ends[0]!()
  expect(await first).toBe('row 1')
  await expect.poll(() => ends.length).toBe(2)
  const late = find(2)
  ends[1]!()
  expect(await Promise.all(others)).toEqual(['row 2', null, 'row 2'])
  await expect.poll(() => ends.length).toBe(3)
  ends[2]!()
  await late
  expect(asked).toEqual([[1], [2, -1], [2]])
})

test('a failed read fails for the requests that share it, and not for later ones', async () => {
  let attempts = 0
  const find = shareReads(async (keys: readonly number[]) => {
    if (++attempts === 1) throw new Error('lost')
    return new Map(keys.map((key) => [key, key]))
  })
  const [one, other] = await Promise.allSettled([find(1), find(2)])
  expect([one.status, other.status]).toEqual(['rejected', 'rejected'])
  expect(await find(1)).toBe(1)
})
