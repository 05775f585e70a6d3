import { expect, test } from 'vitest'
import { runnerProblem } from './runner-version.ts'

test.each([
  ['vitest', '3.2.0', null],
  ['vitest', '4.0.0-beta.1', null],
  ['vitest', '10.0.0', null],
  ['vitest', '3.1.4', 'svc-sandbox/vitest needs vitest 3.2 or later; this is 3.1.4.'],
  ['@playwright/test', '1.49.1', null],
  ['@playwright/test', '1.48.2', 'svc-sandbox/playwright needs @playwright/test 1.49 or later; this is 1.48.2.'],
  ['testcontainers', '10.28.0', 'svc-sandbox/testcontainers needs testcontainers 11.0 or later; this is 10.28.0.'],
] as const)('%s %s: %s', (name, version, problem) => {
  expect(runnerProblem(name, version)).toBe(problem)
})
