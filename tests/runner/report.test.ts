import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { addUp, maxUnsteady, type StepResult } from './outcome.ts'
import { findProblems, type Report, readReport, type TestOutcome } from './report.ts'
import type { Step } from './steps.ts'

const file = (name: string, status: string, ...tests: [name: string, status: string][]) => ({
  name: join(process.cwd(), name),
  status,
  startTime: 0,
  endTime: 1,
  assertionResults: tests.map(([fullName, status]) => ({ fullName, status })),
})

function readWritten(text: string): Report {
  const path = join(temporaryDirectory(), 'report.json')
  writeFileSync(path, text)
  return readReport(path)
}

const readFiles = (...testResults: object[]) => readWritten(JSON.stringify({ testResults }))

test('a report has the tests of its files; a file that failed by itself is one, and one that ran twice is numbered', () => {
  const report = readFiles(
    file('a.test.ts', 'passed', ['adds', 'passed'], ['waits', 'skipped'], ['in depth', 'pending']),
    file('a.test.ts', 'failed', ['adds', 'failed']),
    file('b.test.ts', 'failed'),
  )
  expect(report).toEqual({
    status: 'read',
    tests: [
      { file: 'a.test.ts', name: 'a.test.ts > adds', outcome: 'passed' },
      { file: 'a.test.ts', name: 'a.test.ts > waits', outcome: 'skipped' },
      { file: 'a.test.ts', name: 'a.test.ts > adds (2)', outcome: 'failed' },
      { file: 'b.test.ts', name: 'b.test.ts (the file itself)', outcome: 'failed' },
    ],
  })
})

test.for([
  ['', 'its report is not one that vitest writes'],
  ['{"testResults":', 'its report is not one that vitest writes'],
  ['{}', 'its report is not one that vitest writes'],
  ['{"testResults":[]}', 'its report has no test'],
  ['{"testResults":[{"name":"a","status":"passed","assertionResults":[]}]}', 'its report has no test'],
])('a run whose report is %j has not passed, whatever its exit code', ([text = '', problem = '']) => {
  const report = readWritten(text)
  expect(findProblems({ exitCode: 0, report, minimumTests: 0 })).toEqual([problem])
  expect(findProblems({ exitCode: 3, report, minimumTests: 0 })).toEqual(['its exit code is 3', problem])
})

test('a run without a report, with a failed test, or with fewer tests than there are has not passed', () => {
  const missing = readReport(join(temporaryDirectory(), 'none.json'))
  expect(findProblems({ exitCode: 0, report: missing, minimumTests: 0 })).toEqual(['there is no report'])
  const one = readFiles(file('a.test.ts', 'passed', ['adds', 'passed']))
  expect(findProblems({ exitCode: 0, report: one, minimumTests: 1 })).toEqual([])
  expect(findProblems({ exitCode: 0, report: one, minimumTests: 2 })).toEqual(['1 tests passed, and it has at least 2'])
  const failed = readFiles(file('a.test.ts', 'failed', ['adds', 'failed']))
  expect(findProblems({ exitCode: 0, report: failed, minimumTests: 0 })).toEqual(['1 of its tests failed'])
})

const suite: Step = { name: 'npm run test:soak', command: ['npm'], suite: 'test:soak' }
const plain: Step = { name: 'biome ci .', command: ['biome'] }
const install: Step = { name: '.ci/install', command: ['.ci/install'], leavesOut: 'the tests in Firefox' }

function tests(...outcomes: TestOutcome['outcome'][]): Report {
  const listed = outcomes.map((outcome, index) => ({ file: 'a.test.ts', name: `a.test.ts > ${index}`, outcome }))
  return { status: 'read', tests: listed }
}

const three = tests('passed', 'passed', 'passed')

function add(...results: [Step, StepResult | undefined][]) {
  const ran = results.filter((entry): entry is [Step, StepResult] => entry[1] !== undefined)
  return addUp(
    results.map(([step]) => step),
    new Map(ran.map(([{ name }, result]) => [name, result])),
  )
}

test('steps that passed add up; an installer that failed leaves out what it would have installed', () => {
  const outcome = add([suite, { exitCode: 0, report: three }], [plain, { exitCode: 0 }], [install, { exitCode: 100 }])
  expect(outcome).toEqual({ passed: 3, failures: [], unsteady: [], leftOut: ['left out: the tests in Firefox'] })
})

test('a suite without a test is left out where what it needs could not be installed, and only there', () => {
  const needing = { ...suite, needs: install.name }
  const empty = { exitCode: 1, report: readFiles() }
  const other: [Step, StepResult] = [
    { ...suite, name: 'npm run test:fuzz' },
    { exitCode: 0, report: three },
  ]
  expect(add(other, [install, { exitCode: 1 }], [needing, empty])).toMatchObject({
    failures: [],
    leftOut: ['left out: the tests in Firefox', 'left out: npm run test:soak'],
  })
  expect(add(other, [install, { exitCode: 0 }], [needing, empty]).failures).toHaveLength(2)
  expect(add(other, [install, { exitCode: 1 }], [needing, { exitCode: 0 }]).failures).toEqual([
    'npm run test:soak: there is no report',
  ])
})

test('a step with nothing to show fails by name: no report, an empty one, a dead lane, fewer tests, failures behind a 0', () => {
  const empty = readFiles()
  const rows: [StepResult | undefined, string[]][] = [
    [{ exitCode: 0 }, ['npm run test:soak: there is no report', 'no test ran']],
    [{ exitCode: 0, report: empty }, ['npm run test:soak: its report has no test', 'no test ran']],
    [undefined, ['npm run test:soak: did not run', 'no test ran']],
    [{ exitCode: 0, report: tests('passed') }, ['npm run test:soak: 1 tests passed, and it has at least 3']],
    [{ exitCode: 0, report: tests('passed', 'failed') }, ['failed: a.test.ts > 1']],
    [{ exitCode: 1, report: three }, ['npm run test:soak: its exit code is 1']],
    [{ exitCode: 0, report: tests('passed', 'passed', 'passed', 'skipped') }, ['skipped: a.test.ts > 3']],
  ]
  for (const [result, failures] of rows) expect(add([suite, result]).failures).toEqual(failures)
  expect(add([suite, { exitCode: 0, report: three }], [plain, { exitCode: 2 }]).failures).toEqual([
    'biome ci .: its exit code is 2',
  ])
})

test('a test that passes only the second time is named; more than three of them are a failure', () => {
  const again = (report: Report, exitCode = 0) => ({
    exitCode: 1,
    report: tests('passed', 'failed', 'passed'),
    again: { exitCode, report },
  })
  expect(add([suite, again(three)])).toMatchObject({ passed: 3, failures: [], unsteady: ['a.test.ts > 1'] })
  expect(add([suite, again(tests('passed', 'failed', 'passed'), 1)])).toMatchObject({
    failures: ['failed: a.test.ts > 1'],
    unsteady: [],
  })
  // The second run lost the test that had failed, or said nothing: it has not passed.
  expect(add([suite, again(tests('passed'))]).failures).toContain('failed: a.test.ts > 1')
  expect(add([suite, again(readFiles())]).failures).toContain('failed: a.test.ts > 1')
  const many = Array.from({ length: maxUnsteady + 1 }, () => 'failed' as const)
  const all = many.map(() => 'passed' as const)
  const outcome = add([suite, { exitCode: 1, report: tests(...many), again: { exitCode: 0, report: tests(...all) } }])
  expect(outcome.failures).toEqual(['4 tests passed only the second time, and at most 3 may'])
})

test('a test that two steps run is counted once, and passes only where neither failed it', () => {
  const other: Step = { ...suite, name: 'npm run test:fuzz' }
  const skipped = tests('skipped', 'passed', 'passed', 'passed')
  const all = tests('passed', 'passed', 'passed', 'passed')
  expect(add([suite, { exitCode: 0, report: skipped }], [other, { exitCode: 0, report: all }])).toMatchObject({
    passed: 4,
    failures: [],
  })
  const failed = tests('passed', 'passed', 'passed', 'failed')
  expect(add([suite, { exitCode: 0, report: all }], [other, { exitCode: 1, report: failed }])).toMatchObject({
    passed: 3,
    failures: ['failed: a.test.ts > 3'],
  })
})
