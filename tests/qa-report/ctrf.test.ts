/** CTRF: valid by the schema of its authors, and nothing of a run is lost in it. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createReporters } from '#qa/report/reporters.ts'
import type { RunResult } from '#qa/result.ts'
import { everything, failedItem, item, run, started_at_ms } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

const schema = z.fromJSONSchema(JSON.parse(readFileSync(new URL('ctrf.schema.json', import.meta.url), 'utf8')))

async function readCtrf(result: RunResult) {
  const tools = testTools()
  await reportRun(createReporters(['ctrf=qa.ctrf.json'], tools), result)
  const document = JSON.parse(tools.files.get('qa.ctrf.json')!)
  expect(schema.safeParse(document).error?.message).toBeUndefined()
  return document
}

test('a run with one of everything is valid, and its counts are those of its tests', async () => {
  const result = everything()
  const { results } = await readCtrf(result)
  const count = (status: string) => results.tests.filter((each: { status: string }) => each.status === status).length
  expect(results.tests).toHaveLength(result.cases.length)
  expect(results.summary).toEqual({
    tests: result.cases.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    pending: count('pending'),
    other: 0,
    suites: 8,
    start: started_at_ms,
    stop: started_at_ms + 1_234,
    duration: 1_234,
  })
  expect(results.summary).toMatchObject({ passed: 16, failed: 6, skipped: 3, pending: 1 })
})

test('a failed test in full', async () => {
  const { results } = await readCtrf(run([failedItem({ tags: ['beacons'], matrix: { format: 'clip' } })]))
  expect(results.tests).toEqual([
    {
      testId: 'beacons/a beacon bills once',
      executionId: 'beacons/a beacon bills once#1',
      name: 'a beacon bills once [format=clip]',
      status: 'failed',
      duration: 34,
      start: started_at_ms,
      stop: started_at_ms + 34,
      suite: ['beacons'],
      message: 'beacon visible, again: body.verdict: expected duplicate, actual accepted',
      trace: expect.stringContaining('hint      The same event of one slot counts once.'),
      rawStatus: 'failed',
      tags: ['beacons'],
      filePath: 'suites/beacons.yaml',
      line: 30,
      parameters: { format: 'clip' },
      stdout: ['POST /v1/placements → 200 in 4 ms', 'POST /v1/beacons → 202 in 4 ms'],
      steps: [
        { name: 'placement', status: 'passed' },
        { name: 'beacon visible, again', status: 'failed' },
        { name: 'ledger', status: 'pending' },
      ],
      extra: { curl: ["curl -sS 'http://127.0.0.1:4010/v1/beacons'"] },
    },
  ])
})

test('a run that looked at nothing is valid, and not healthy', async () => {
  const { results } = await readCtrf(run([]))
  expect(results.summary).toMatchObject({ tests: 0, passed: 0, failed: 0 })
  expect(results.environment.healthy).toBe(false)
  expect(results.environment.extra.problems).toEqual(['Nothing was checked: no case could be judged.'])
  expect((await readCtrf(run([item()]))).results.environment.healthy).toBe(true)
  expect((await readCtrf(run([item()], { interrupted: 'SIGINT' }))).results.environment.healthy).toBe(false)
  expect((await readCtrf(run([item(), failedItem()]))).results.environment.healthy).toBe(false)
})

test('the schema refuses what readers would not understand', async () => {
  const document = await readCtrf(everything())
  const wrong = (change: (copy: typeof document) => void) => {
    const copy = structuredClone(document)
    change(copy)
    return schema.safeParse(copy).success
  }
  expect(wrong(() => {})).toBe(true)
  expect(wrong((copy) => (copy.results.tests[0].suite = 'beacons'))).toBe(false)
  expect(wrong((copy) => (copy.results.tests[0].duration = 1.5))).toBe(false)
  expect(wrong((copy) => (copy.results.tests[0].status = 'broken'))).toBe(false)
  expect(wrong((copy) => (copy.results.tests[0].more = true))).toBe(false)
  expect(wrong((copy) => delete copy.results.summary.other)).toBe(false)
  expect(wrong((copy) => delete copy.reportFormat)).toBe(false)
})
