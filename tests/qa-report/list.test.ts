/** The reporters for people: plain lines in a pipe, a line that is redrawn on a terminal, failures in full at the end. */

import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { diffValues, exchangeLine } from '#qa/report/failure.ts'
import { createReporters } from '#qa/report/reporters.ts'
import type { Paint } from '#qa/report/text.ts'
import type { RunResult } from '#qa/result.ts'
import { createTerminalScreen } from '#tests/cli/terminal-screen.ts'
import { chooseStyle, streamText } from '#text/terminal.ts'
import { check, everything, exchange, failedItem, hostile, item, run, step } from './results.ts'
import { reportRun, testTools } from './sinks.ts'

async function readList(result: RunResult, withSuites = true): Promise<string> {
  const tools = testTools()
  await reportRun(createReporters([], tools), result, withSuites)
  expect(tools.err()).toBe('')
  return tools.out()
}

test('all is well: a line a suite, and the totals', async () => {
  const cases = [item(), item({ name: 'another' }), item({ suite: 'consent', name: 'denied', duration_ms: 1_900 })]
  expect(await readList(run(cases))).toBe(`svc qa  3 cases
against a fresh sandbox 0.1.0 at http://127.0.0.1:4010, test key

✓ beacons  2 passed  24 ms
✓ consent  1 passed  1.90 s

Cases   3 passed
Checks  6
Time    1.92 s of cases, run in 1.23 s
`)
})

test('a failure: by name at once, in full at the end', async () => {
  const cases = [
    failedItem(),
    item(),
    item({
      suite: 'clock',
      name: 'moves',
      outcome: 'not_applicable',
      reason: 'needs a sandbox',
      steps: [],
      duration_ms: 0,
    }),
  ]
  expect(await readList(run(cases))).toBe(`svc qa  3 cases
against a fresh sandbox 0.1.0 at http://127.0.0.1:4010, test key

✗ beacons  1 failed, 1 passed  46 ms
    ✗ a beacon bills once  34 ms
- clock    1 not applicable

1 failure

✗ beacons › a beacon bills once
  suites/beacons.yaml:30:5

  beacon visible, again  suites/beacons.yaml:36:9
  POST /v1/beacons → 202 in 4 ms
    body.verdict  suites/beacons.yaml:39:13
      expected  duplicate
      actual    accepted
      hint      The same event of one slot counts once.
  repeat it with
curl -sS 'http://127.0.0.1:4010/v1/beacons'

Not applicable here
  1  needs a sandbox

Cases   1 failed, 1 passed, 1 not applicable of 3
Checks  6, 1 failed
Time    46 ms of cases, run in 1.23 s
`)
})

test('without the sizes of suites the same lines come at the end', async () => {
  const result = everything()
  const lines = (text: string) =>
    text
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' '))
      .toSorted()
  expect(lines(await readList(result, false))).toEqual(lines(await readList(result, true)))
})

test('a suite is printed as soon as its last case has ended, not before', async () => {
  const tools = testTools()
  const reporter = createReporters(['list'], tools)
  const cases = [item(), item({ suite: 'consent' }), item({ name: 'last' })]
  const { target, svc_version, started_at_ms } = run([])
  const suites = [
    { name: 'beacons', cases: 2 },
    { name: 'consent', cases: 1 },
  ]
  await reporter.start?.({ target, svc_version, started_at_ms, cases: 3, suites })
  await reporter.case?.(cases[0]!)
  expect(tools.out()).not.toContain('passed')
  await reporter.case?.(cases[1]!)
  expect(tools.out()).toContain('✓ consent')
  expect(tools.out()).not.toContain('beacons')
  await reporter.case?.(cases[2]!)
  expect(tools.out()).toContain('✓ beacons  2 passed')
})

test('values of several lines are shown as a difference, long ones cut', async () => {
  const long = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`member_${index}`, index]))
  const text = await readList(
    run([
      failedItem({
        steps: [
          step({
            outcome: 'failed',
            exchanges: [],
            checks: [
              check({ subject: 'body', passed: false, expected: { ...long, member_30: 'x' }, actual: long }),
              check({ subject: 'contract', passed: false, expected: 'the schema of placements.create', actual: long }),
              check({ subject: 'body.note', passed: false, expected: '', actual: 'w'.repeat(900) }),
            ],
          }),
        ],
      }),
    ]),
  )
  expect(text).toContain(`    body
      - expected  + actual
        … 29 equal lines
          "member_28": 28,
          "member_29": 29,
      -   "member_30": "x",
      +   "member_30": 30,
          "member_31": 31,
          "member_32": 32,
        … 28 equal lines
`)
  expect(text).toMatch(/"member_38": 38,\n +… 22 more lines: --reporter html=qa.html has them\n/)
  expect(text).toContain('expected  ""\n')
  expect(text).toMatch(/actual {4}w{500}… \(900 characters\)\n/)
})

test('a request without a response names the cause once, after the time', () => {
  const lost = exchange({ status: 0, error: 'no response came: ECONNRESET', duration_ms: 88 })
  expect(exchangeLine(lost)).toBe('POST /v1/placements → no response in 88 ms: ECONNRESET')
})

test('the order of fields is no difference', () => {
  const expected = { format: 'clip', render: { width: 12, kind: 'x' }, items: [{ b: 1, a: 2 }] }
  const actual = { items: [{ a: 2, b: 1 }], render: { kind: 'x', width: 13 }, format: 'clip' }
  expect(diffValues(expected, actual)?.filter(({ kind }) => kind === 'expected' || kind === 'actual')).toEqual([
    { kind: 'expected', text: '    "width": 12' },
    { kind: 'actual', text: '    "width": 13' },
  ])
})

test('the two values of a field stand together', () => {
  const expected = { format: 'clip', gone: 1, width: 12 }
  const actual = { image: 'x', format: 'banner', label: 'y', width: 300, height: 250 }
  expect(diffValues(expected, actual)?.map(({ kind, text }) => `${kind} ${text.trim()}`)).toEqual([
    'same {',
    'actual "image": "x",',
    'expected "format": "clip",',
    'actual "format": "banner",',
    'actual "label": "y",',
    'expected "width": 12,',
    'actual "width": 300,',
    'actual "height": 250',
    'expected "gone": 1',
    'same }',
  ])
})

test('values of thousands of lines are compared without a wait', () => {
  const long = (of: string) =>
    Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`member_${index}`, `${of} ${index}`]))
  const diff = diffValues(long('expected'), long('actual'))
  expect(diff?.slice(1, 5).map(({ kind, text }) => `${kind} ${text.trim()}`)).toEqual([
    'expected "member_0": "expected 0",',
    'actual "member_0": "actual 0",',
    'expected "member_1": "expected 1",',
    'actual "member_1": "actual 1",',
  ])
  expect(diff).toHaveLength(10_002)
})

test('of many failed attempts the first is printed in full', async () => {
  const attempts = [1, 2, 3, 4].map((attempt) =>
    attempt === 2 ? item({ attempt, name: 'a beacon bills once' }) : failedItem({ attempt }),
  )
  const text = await readList(run(attempts))
  expect(text).toContain('    ✗ a beacon bills once  3 times  102 ms\n')
  expect(text.match(/repeat it with/g)).toHaveLength(1)
  expect(text).toContain('  failed again in attempts 3, 4\n')
  expect(text).toContain('Passed in one attempt, failed in another\n  beacons/a beacon bills once: failed 3 of 4\n')
})

test('an interrupted run says so', async () => {
  const text = await readList(run([item()], { interrupted: 'SIGINT' }))
  expect(text).toContain('\nInterrupted by SIGINT: the run is incomplete.\nCases   1 passed\n')
})

test('nothing off the wire steers the terminal', async () => {
  expect(hostile).toContain('\u001b')
  expect(await readList(everything())).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
})

test('on a terminal a line at the foot follows the run, and leaves nothing behind', async () => {
  const tools = testTools({ is_terminal: true, columns: 60 })
  const screen = createTerminalScreen(60, 24)
  const both = {
    ...tools,
    stdout: { ...tools.stdout, write: (text: string) => screen.write(streamText(text, true).replaceAll('\n', '\r\n')) },
  }
  both.progress = {
    ...tools.progress,
    write: (text: string) => screen.write(streamText(text, true).replaceAll('\n', '\r\n')),
  }
  const foot = () =>
    screen
      .lines()
      .findLast((line) => line.trim() !== '')
      ?.trimEnd()
  const reporter = createReporters(['list'], both)
  const { target, svc_version, started_at_ms } = run([])
  const cases = [failedItem(), item({ name: `a case with a name that is longer than the line ${'-'.repeat(60)}` })]
  await reporter.start?.({ target, svc_version, started_at_ms, cases: 2, suites: [{ name: 'beacons', cases: 2 }] })
  expect(foot()).toBe(' 0/2  0 s')
  tools.pass(1_500)
  await reporter.begin?.(cases[0]!)
  expect(foot()).toBe(' 0/2  1 s  beacons/a beacon bills once')
  tools.pass(61_000)
  await reporter.case?.(cases[0]!)
  expect(foot()).toBe(' 1/2  1 failed  1 min 2 s')
  tools.pass(100)
  await reporter.begin?.(cases[1]!)
  expect(foot()).toMatch(/^ 1\/2 {2}1 failed {2}1 min 2 s {2}beacons\/a case with .*…$/)
  expect(foot()!.length).toBeLessThan(60)
  await reporter.case?.(cases[1]!)
  await reporter.end?.(run(cases))
  expect(screen.lines().join('\n')).not.toContain('1/2')
  expect(foot()).toMatch(/^Time {4}.+ of cases, run in 1\.23 s$/)
})

test('the times of the suites add up to that of the cases, beside the time of the run', async () => {
  const cases = [item({ duration_ms: 400 }), item({ duration_ms: 467 }), item({ suite: 'rates', duration_ms: 3_420 })]
  const out = await readList(run(cases, { duration_ms: 1_550 }))
  expect(out.match(/✓.*|Time.*/g)).toEqual([
    '✓ beacons  2 passed  867 ms',
    '✓ rates    1 passed  3.42 s',
    'Time    4.29 s of cases, run in 1.55 s',
  ])
})

test('a value of the matrix is in words, and only where the name does not contain it', async () => {
  const rows = [
    { matrix: { size: { max_width: 300, formats: ['banner', 'clip'] } }, name: 'it fits' },
    { matrix: { row: { name: 'small', width: 1 } }, name: 'a small one fits' },
    { matrix: { row: { status: 404, reason: 'not_found' } }, name: 'not_found is 404' },
  ]
  const out = await readList(run(rows.map((given) => failedItem(given))))
  expect(out.match(/^ {4}✗ .*(?= {2}34)/gm)).toEqual([
    '    ✗ it fits [size=max_width 300, formats banner+clip]',
    '    ✗ a small one fits',
    '    ✗ not_found is 404',
  ])
})

test('colours change nothing else: a style of the command line is a paint', async () => {
  const tools = testTools()
  const paint: Paint = chooseStyle({ write: () => {}, is_terminal: false, columns: undefined }, 'always', {})
  await reportRun(
    createReporters(['list'], {
      ...tools,
      stdout: { ...tools.stdout, paint, write: (text) => tools.stdout.write(streamText(text, true)) },
    }),
    everything(),
  )
  expect(tools.out()).toContain('\u001b[31m✗\u001b[39m')
  expect(stripVTControlCharacters(tools.out())).toBe(await readList(everything()))
})
