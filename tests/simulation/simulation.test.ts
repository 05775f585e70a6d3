/**
 * `npm run test:simulation`: new seeds (SIMULATION_HISTORIES), every seed that has ever failed, and the
 * same history twice. What they must find is in tests/mutations/edits: `npm run test:mutations`.
 */
import { expect, test } from 'vitest'
import { mostFaultSteps, suiteHistories } from './budget.ts'
import { simulate } from './lanes.ts'
import { readKept } from './steps/kept.ts'
import { tours } from './steps/tours.ts'

const failed = readKept().map(({ seed, found }, kept) => ({ seed, found, kept }))

/** What to read first where a check finds something. */
const describeProblems = (problems: Awaited<ReturnType<typeof simulate>>['problems']) =>
  problems.map(({ flag, positions, text }) => `${flag} --only ${positions.join(',')}\n${text}`)

test('no history of new seeds breaks a promise', async () => {
  const seed = Math.floor(Math.random() * 1e9)
  const { problems, histories, steps, requests, took_ms, counts } = await simulate({ seed, histories: suiteHistories })
  const an_hour = Math.round((histories / took_ms) * 3_600_000)
  console.log(`seed ${seed}: ${histories} histories (${an_hour} an hour), ${steps} steps, ${requests} requests`, counts)
  expect(describeProblems(problems)).toEqual([])
  expect(histories).toBe(suiteHistories)
  for (const kind of ['crash', 'power loss', 'lost memory', 'full', 'lost request', 'repeated request'])
    expect(counts[kind]).toBeGreaterThan(0)
})

test.each(failed)('seed $seed, which showed that $found, breaks none now', async ({ seed, kept }) => {
  const { texts } = await simulate({ seed, kept, histories: 1 })
  expect(texts.filter((text) => text.includes('\nFOUND by '))).toEqual([])
})

test('the same seed is the same history, byte for byte, in another process', async () => {
  for (const seed of [3, 12]) {
    const [one, other] = await Promise.all([simulate({ seed, histories: 1 }), simulate({ seed, histories: 1 })])
    expect(one.texts[0]?.split('\n').length).toBeGreaterThan(20)
    expect(one.texts).toEqual(other.texts)
  }
})

test('the tours, which do everything once, break none', async () => {
  const { problems, histories, counts } = await simulate({ seed: 1, tour: 0, histories: tours.length, lanes: 1 })
  expect(describeProblems(problems)).toEqual([])
  expect(histories).toBe(tours.length)
  for (const kind of ['crash', 'power loss', 'full']) expect(counts[kind]).toBeGreaterThan(0)
})

test('a history that shows a fault is reduced to a few steps', async () => {
  const { problems } = await simulate({
    ...{ seed: 1, tour: 0, histories: tours.length, mutation: 'consent_not_compared', lanes: 1 },
  })
  const [problem] = problems
  expect(problem).toBeDefined()
  expect(problem!.positions.length, problem!.text).toBeLessThanOrEqual(mostFaultSteps)
})
