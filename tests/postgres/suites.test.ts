/** The built-in QA suites against two nodes on one database. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { runCases, withoutBrowser } from '#tests/mutations/suites.ts'
import { serverVariable } from './shared-store.ts'

test('every case that needs no browser passes, while another node serves the same database', async () => {
  const namespace = randomBytes(8).toString('hex')
  const options = { store: process.env[serverVariable]!, namespace, demands_token: false }
  await using one = await startSandbox(options)
  await using _other = await startSandbox(options)
  const { cases } = await runCases(withoutBrowser, one, { bail: false, step_timeout_ms: 60_000 })
  const others = cases.filter(({ outcome }) => outcome !== 'passed')
  // With their steps: which of them failed, and how.
  expect(others).toEqual([])
  expect(cases.length).toBeGreaterThanOrEqual(250)
})
