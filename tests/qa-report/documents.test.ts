/** JSON, read back, and what every reporter has. */
import { expect, test } from 'vitest'
import { createReporters } from '#qa/report/reporters.ts'
import type { RunResult } from '#qa/result.ts'
import { check, everything, failedItem, hostile, item, run, screenshot, step } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

async function written(name: string, result: RunResult): Promise<string> {
  const tools = testTools()
  await reportRun(createReporters([name], tools), result)
  return tools.out()
}

test('json: the whole result, with totals', async () => {
  const result = everything()
  const document = JSON.parse(await written('json', result))
  expect(document.totals).toMatchObject({ cases: 26, failed: 6, passed: 16, not_applicable: 3, not_run: 1 })
  expect(document.cases.length).toBe(26)
  const last = document.cases.at(-1)
  expect([last.name, last.steps[0].exchanges[0].response_body]).toEqual([`text ${hostile}`, hostile])
  for (const field of ['target', 'svc_version', 'started_at_ms', 'duration_ms', 'interrupted'] as const) {
    expect(document[field]).toEqual(result[field])
  }
})

test('json: screenshots as base64, and the PNG is unchanged', async () => {
  const shot = screenshot('banner')
  const document = JSON.parse(await written('json', run([item({ steps: [step({ screenshots: [shot] })] })])))
  const [{ png_base64, ...facts }] = document.cases[0].steps[0].screenshots
  expect(facts).toEqual({ name: 'banner', width: 300, height: 120 })
  expect(Uint8Array.from(Buffer.from(png_base64, 'base64'))).toEqual(shot.png)
})

test('json: fields always come in the same order', async () => {
  const turned = <T>(value: T): T => {
    if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(turned) as T
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, field]) => [name, turned(field)]),
    ) as T
  }
  const result = run([failedItem()])
  const other = turned(result)
  expect(Object.keys(other)[0]).not.toBe(Object.keys(result)[0])
  expect(await written('json', other)).toBe(await written('json', result))
})

test('json: one line in a pipe, indented in a file', async () => {
  const tools = testTools()
  await reportRun(createReporters(['json=qa.json'], tools), run([item()]))
  expect(tools.files.get('qa.json')).toMatch(/^\{\n {2}"svc_version": "0.1.0",\n {2}"target": \{\n/)
  expect(await written('json', run([item()]))).toMatch(/^\{"svc_version":"0.1.0","target":\{.*\}\n$/)
})

const reason = 'BELOW_THRESHOLD: the view is below the viewability threshold'
const unseen = step({
  title: 'beacon visible',
  outcome: 'failed',
  checks: [
    check({ subject: 'billing.would_bill', passed: false, expected: true, actual: false, response_reason: reason }),
  ],
})

test.each(['list', 'junit', 'json', 'html', 'markdown', 'ctrf', 'sarif'])(
  '%s has the reason that the response of a failed step gives',
  async (name) => {
    const cases = [failedItem({ steps: [unseen] })]
    expect((await written(name, run(cases))).replaceAll(/\s+/g, ' ')).toContain(reason)
  },
)
