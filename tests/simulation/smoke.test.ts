/** A few histories in `npm test`; `npm run test:simulation` runs them for minutes. */
import { expect, test } from 'vitest'
import { simulate } from './lanes.ts'

test('histories of requests, faults and crashes break no promise', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const { problems, texts, histories } = await simulate({ seed, histories: 2, lanes: 1 })
  expect(
    problems.map(({ text }) => text),
    `npm run simulate -- --seed ${seed}`,
  ).toEqual([])
  expect(histories).toBe(2)
  expect(texts).toEqual([])
})
