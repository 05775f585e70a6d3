/** A few histories in `npm test`; `npm run test:simulation` runs them for minutes. */
import { expect, test } from 'vitest'
import { simulate } from './lanes.ts'

test('histories of requests, faults and crashes break no model', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const { problems, texts, histories } = await simulate({ seed, histories: 200, limit_ms: 3_000, lanes: 1 })
  expect(
    problems.map(({ text }) => text),
    `npm run simulate -- --seed ${seed}`,
  ).toEqual([])
  expect(histories).toBeGreaterThan(0)
  expect(texts).toEqual([])
})
