/** TAP and JSON, read back, and what every reporter has. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { createReporters } from '#qa/report/reporters.ts'
import type { RunResult } from '#qa/result.ts'
import { check, everything, failedItem, hostile, item, run, screenshot, step } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

async function written(name: string, result: RunResult): Promise<string> {
  const tools = testTools()
  await reportRun(createReporters([name], tools), result)
  return tools.out()
}

interface Point {
  isOk: boolean
  number: number
  description: string
  skip: string | null
  diagnostics: unknown
}

/** A reader of TAP 14 that accepts nothing but what the format defines. */
function readTap(text: string): { points: Point[]; plan: number; bail_out: string | null } {
  const lines = text.split('\n')
  expect(lines.shift()).toBe('TAP version 14')
  expect(lines.pop()).toBe('')
  const points: Point[] = []
  let plan = -1
  let bail_out: string | null = null
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const point = /^(not )?ok (\d+) - ((?:[^#\\]|\\[#\\])*?)(?: # SKIP ((?:[^#\\]|\\[#\\])*))?$/.exec(line)
    const bail = /^Bail out! (.+)$/.exec(line)
    if (point !== null) {
      const [, not, number, description = '', skip = null] = point
      points.push({ isOk: not === undefined, number: Number(number), description, skip, diagnostics: null })
    } else if (line === '  ---') {
      const end = lines.indexOf('  ...')
      const block = lines.splice(0, end + 1).slice(0, -1)
      for (const indented of block) expect(indented).toMatch(/^( {2}|$)/)
      points.at(-1)!.diagnostics = parse(block.map((indented) => indented.slice(2)).join('\n'))
    } else if (bail !== null) bail_out = bail[1]!
    else {
      expect(line).toMatch(/^1\.\.\d+( # SKIP .+)?$/)
      plan = Number(line.slice(3).split(' ')[0])
    }
  }
  return { points, plan, bail_out }
}

test('tap: numbered points, a plan, what is skipped and why', async () => {
  const result = everything()
  const { points, plan, bail_out } = readTap(await written('tap', result))
  expect(plan).toBe(result.cases.length)
  expect(points.map(({ number }) => number)).toEqual(result.cases.map((_, index) => index + 1))
  expect(points.map(({ isOk }) => isOk)).toEqual(result.cases.map(({ outcome }) => outcome !== 'failed'))
  expect(points.filter(({ skip }) => skip !== null).map(({ description, skip }) => `${description}: ${skip}`)).toEqual([
    'control: clock can be set: needs a sandbox: the target is a service',
    'control: faults can be set: needs a sandbox: the target is a service',
    'control: scenario can be set: needs a sandbox: the target is a service',
    'limits: the rate limit answers 429: not run: stopped after 4 failures (--bail 4)',
  ])
  expect(bail_out).toBeNull()
})

test('tap: a failure carries its values as YAML', async () => {
  const { points } = readTap(await written('tap', run([failedItem()])))
  expect(points[0]!.diagnostics).toEqual({
    message: 'A check failed',
    severity: 'fail',
    at: 'suites/beacons.yaml:30:5',
    duration_ms: 34,
    steps: [
      {
        step: 'beacon visible, again',
        at: 'suites/beacons.yaml:36:9',
        failures: [
          {
            subject: 'body.verdict',
            expected: 'duplicate',
            actual: 'accepted',
            hint: 'The same event of one slot counts once.',
          },
        ],
        exchange: 'POST /v1/beacons → 202 in 4 ms',
        curl: "curl -sS 'http://127.0.0.1:4010/v1/beacons'",
      },
    ],
  })
})

test('tap: names with # and \\ and line ends stay one point', async () => {
  const { points } = readTap(await written('tap', run([item({ name: 'a # SKIP \\ b\nnot ok 2' })])))
  expect(points).toMatchObject([{ isOk: true, description: 'beacons: a \\# SKIP \\\\ b not ok 2', skip: null }])
})

test('tap: an interrupted run bails out, after the cases that were never reported', async () => {
  const tools = testTools()
  const reporter = createReporters(['tap'], tools)
  const cases = [item(), item({ name: 'second', id: 'beacons/second', outcome: 'not_run', reason: 'interrupted' })]
  const { target, svc_version, started_at_ms } = run([])
  await reporter.start?.({ target, svc_version, started_at_ms, cases: 2 })
  await reporter.case?.(cases[0]!)
  await reporter.end?.(run(cases, { interrupted: 'SIGINT' }))
  expect(tools.out()).toBe(`TAP version 14
ok 1 - beacons: a visible beacon is accepted
ok 2 - beacons: second # SKIP not run: interrupted
1..2
Bail out! Interrupted by SIGINT
`)
})

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

test.each(['list', 'dot', 'junit', 'json', 'tap', 'html', 'markdown', 'ctrf', 'sarif'])(
  '%s has the reason that the response of a failed step gives',
  async (name) => {
    const cases = [failedItem({ steps: [unseen] })]
    expect((await written(name, run(cases))).replaceAll(/\s+/g, ' ')).toContain(reason)
  },
)
