/**
 * The shipped suites of `svc qa` that need no browser, on one sandbox of this process: what the API responds to each kind of
 * request. The other tests of this folder are about what a suite cannot see: races, storage, audit, the control plane.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { failureLines } from '#qa/report/failure.ts'
import { plain } from '#qa/report/text.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { runCases, withoutBrowser } from '#tests/mutations/suites.ts'
import { startSandbox } from './stage.ts'

const suites = Map.groupBy(withoutBrowser, ({ suite }) => suite.name)
const reports: unknown[] = []
let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 1, report: (error) => reports.push(error) })
})
afterAll(async () => {
  await sandbox.close()
  expect(reports).toEqual([])
})

test.each([...suites])('%s', async (_, planned) => {
  const { cases } = await runCases(planned, sandbox, { bail: false, step_timeout_ms: 60_000 })
  const others = cases.filter(({ outcome }) => outcome !== 'passed')
  expect(others.map((item) => failureLines(item, plain).join('\n'))).toEqual([])
  expect(cases).toHaveLength(planned.length)
})
