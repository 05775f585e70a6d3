import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { runPlan } from './ci.ts'
import { findFilesInDepth, inDepth } from './depth.ts'
import { everyChange, listSteps, type Step } from './steps.ts'
import { suites } from './suites.ts'

const checkout = join(import.meta.dirname, '../..')

const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}

test('each script that runs tests goes through the runner, which ends with what is true of them', () => {
  const names = Object.keys(scripts).filter((name) => /^test\b/.test(name))
  expect(names.toSorted()).toEqual(Object.keys(suites).toSorted())
  for (const name of names) expect(scripts[name]).toBe(`node tests/runner/run.ts ${name}`)
  // Whatever else starts vitest has an exit code of its own to care for.
  const others = Object.entries(scripts).filter(([name, script]) => !names.includes(name) && script.includes('vitest'))
  expect(others).toEqual([])
})

test('each file with tests in depth has a suite that runs them', () => {
  const run = Object.values(inDepth).flatMap(findFilesInDepth)
  expect(run.toSorted()).toEqual(findFilesInDepth('{src,sandbox,tests}/**/*.test.{ts,tsx}').toSorted())
  expect(run.length).toBeGreaterThan(10)
})

function start(...words: string[]) {
  const env = { ...process.env, SVC_FAILING_TEST: '1', SVC_TESTS_PID: '', VITEST: undefined }
  return spawnSync(process.execPath, words, { cwd: checkout, env, encoding: 'utf8' })
}

test('npm test with one failing test ends with a code that is not 0, and so did vitest itself', () => {
  const run = start('tests/runner/run.ts', 'test')
  expect(run.stdout).toMatch(/^0 passed, \d failed$/m)
  expect(run.stdout).toContain('npm run test failed: its exit code is 1.')
  expect(run.stdout).toMatch(/^npm run test failed: \d of its tests failed\.$/m)
  expect(run.status).toBe(1)
})

test('what the configuration imports starts no process and hooks on none', () => {
  const script = `
    const hooked = () => process.eventNames().map((event) => [event, process.listenerCount(event)])
    const before = hooked()
    await import(${JSON.stringify(join(checkout, 'vitest.config.ts'))})
    console.log(JSON.stringify({ before, after: hooked(), left: process.getActiveResourcesInfo() }))`
  const { stdout } = start('--input-type=module', '-e', script)
  const { before, after, left } = JSON.parse(stdout)
  expect(after).toEqual(before)
  // An Immediate is of the loader of modules, and gone by itself.
  expect(left.filter((kind: string) => !/^(Pipe|TTY|File|FS|Immediate)/.test(kind))).toEqual([])
})

const node = (name: string, script: string): Step => ({ name, command: [process.execPath, '-e', script] })
const writes = (text: string) =>
  `fs.writeFileSync(process.env.SVC_TEST_REPORTS + '/soak' + process.env.SVC_TEST_REPORT_SUFFIX + '.json', ${JSON.stringify(text)})`
const report = (...statuses: string[]) =>
  JSON.stringify({
    testResults: [
      {
        name: join(checkout, 'a.test.ts'),
        status: statuses.includes('failed') ? 'failed' : 'passed',
        assertionResults: statuses.map((status, index) => ({ fullName: `test ${index}`, status })),
      },
    ],
  })

const suite = (script: string): Step => ({ ...node('npm run test:soak', script), suite: 'test:soak' })
const passing = suite(writes(report('passed', 'passed', 'passed')))

async function runSteps(lanes: Step[][], last: Step[] = []) {
  const { lines, isPassed } = await runPlan({ first: [], lanes, last }, temporaryDirectory(), () => {})
  return { isPassed, last: lines.at(-1), lines }
}

test('a run whose steps pass ends with their tests alone on a line', async () => {
  const { isPassed, last, lines } = await runSteps([[passing], [node('biome', '0')]])
  expect({ isPassed, last }).toEqual({ isPassed: true, last: '3 passed, 0 failed' })
  expect(lines.at(-2)).toMatch(/^processors: .+, of 3000; \d+ minutes; a fixed piece of work took [\d.]+ times as long/)
})

test('a run for each change names the suites that it leaves out, and has every other step', () => {
  const suitesOf = (steps: readonly Step[] = []) => steps.flatMap(({ suite }) => suite ?? [])
  const kept = listSteps(everyChange)
  expect(everyChange.leftOut?.at(-1)?.name).toBe('npm run bench:check')
  expect([...suitesOf(everyChange.leftOut), ...suitesOf(kept)].toSorted()).toEqual(Object.keys(suites).toSorted())
  const usual = ['test', 'test:evals', 'test:pages', 'test:processes', 'test:simulation', 'test:disk']
  expect(suitesOf(kept)).toEqual(usual)
  const checks = kept.filter(({ suite }) => suite === undefined).map(({ name }) => name)
  expect(checks).toEqual(['biome ci .', 'tsc --noEmit', 'node build/docs/generate.ts --check'])
})

test('a step that is left out is named in the last lines', async () => {
  const { lines } = await runPlan(
    { first: [passing], lanes: [], last: [], leftOut: [node('npm run test:pages', '0')] },
    temporaryDirectory(),
    () => {},
  )
  expect(lines).toContain('left out: npm run test:pages (CI_ALL=1 .ci/run)')
})

test.for<[string, Step[][], string]>([
  ['no report', [[suite('0')]], 'npm run test:soak: there is no report'],
  ['an empty report', [[suite(writes('{"testResults":[]}'))]], 'npm run test:soak: its report has no test'],
  ['failures behind a 0', [[suite(writes(report('passed', 'failed')))]], 'failed: a.test.ts > test 1'],
  ['a step that kills itself', [[passing], [node('tsc', 'process.kill(process.pid, 9)')]], 'tsc: its exit code is 128'],
  [
    'a program that is not there',
    [[passing, { name: 'tsc', command: ['no-such-program'] }]],
    'tsc: its exit code is 127',
  ],
  ['a lane that dies', [[passing], [{ name: 'tsc', command: ['\0'] }, node('biome', '0')]], 'biome: did not run'],
])('a run with %s fails, and names the step', async ([, lanes, line]) => {
  const { isPassed, lines, last } = await runSteps(lanes)
  expect(lines).toContain(line)
  expect(isPassed).toBe(false)
  expect(last).toMatch(/^\d passed, [1-9] failed$/)
})
