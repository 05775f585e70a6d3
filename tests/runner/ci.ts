/**
 * What `.ci/run` does after it has installed the checkout: runs the steps of the plan, two lanes at a time, and prints what they
 * came to; the last line is `N passed, N failed`, alone. Exits 1 unless everything passed.
 *
 * Files with a failed test run a second time, by themselves: a test that passes then is listed as unsteady, not hidden.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { measureSlowness, watchUsage } from './machine.ts'
import { addUp, type StepResult } from './outcome.ts'
import { type Report, readReport } from './report.ts'
import { everyChange, listSteps, maxRunProcessors_s, type Plan, type Step, wholePlan } from './steps.ts'
import { suites } from './suites.ts'

const checkout = join(import.meta.dirname, '../..')

/** With more files than these that fail, the change is broken, and a second run of all of them would only say so again. */
const maxFilesAgain = 10

/** Above this many times its budget a run fails. */
const maxTimesBudget = 2

/**
 * How much the suites go through here; by itself each does more. Of long lists of cases a run takes every third, another third
 * with each commit; random histories and mutated inputs have new seeds.
 */
const amounts = {
  SVC_TEST_SHARE: `${(countCommits() % 3) + 1}/3`,
  SIMULATION_HISTORIES: '120',
  PAUSES_ROWS: '200000',
  FUZZ_SECONDS: '5',
  SOAK_MINUTES: '1',
}

/** Where the text of a step goes. */
type Print = (text: string) => void

/**
 * Runs the steps of a plan. Resolves to the lines to print last, and whether everything passed.
 *
 * @param folder an existing one, for reports
 */
export async function runPlan(
  plan: Plan,
  folder: string,
  print: Print = printNow,
): Promise<{ lines: string[]; isPassed: boolean }> {
  const slowness = measureSlowness()
  const started_at = performance.now()
  const watch = watchUsage()
  const results = new Map<string, StepResult>()
  const run = async (steps: readonly Step[], print: Print) => {
    for (const step of steps) results.set(step.name, await runStep(step, folder, print))
  }
  await run(plan.first, print)
  await runLanes(plan.lanes, { folder, print, run })
  await run(plan.last, print)
  const { processors_s } = watch.end()
  const steps = listSteps(plan)
  const { passed, failures, unsteady, leftOut } = addUp(steps, results)
  failures.push(...findOverspent(steps, folder, { processors_s, slowness }))
  const lines = [
    ...leftOut,
    ...(plan.leftOut ?? []).map(({ name }) => `left out: ${name} (CI_ALL=1 .ci/run)`),
    ...unsteady.map((name) => `unsteady, passed the second time: ${name}`),
    ...failures,
    `of long lists of cases: SVC_TEST_SHARE=${amounts.SVC_TEST_SHARE}; each suite by itself goes through all`,
    describeCost({ processors_s, slowness, seconds: (performance.now() - started_at) / 1000 }),
    `${passed} passed, ${failures.length} failed`,
  ]
  return { lines, isPassed: failures.length === 0 }
}

interface LaneOptions {
  folder: string
  print: Print
  run: (steps: readonly Step[], print: Print) => Promise<void>
}

/** The first lane prints as it goes; what the others print follows when all have ended. A lane that fails ends alone. */
async function runLanes(lanes: readonly (readonly Step[])[], { folder, print, run }: LaneOptions): Promise<void> {
  const ends = lanes.map(async (steps, index) => {
    const log = index === 0 ? null : createWriteStream(join(folder, `lane-${index}.log`))
    await run(steps, log === null ? print : (text) => log.write(text))
    if (log !== null) {
      log.end()
      await once(log, 'close')
    }
  })
  for (const [index, end] of (await Promise.allSettled(ends)).entries()) {
    if (end.status === 'rejected') print(`A lane ended early: ${end.reason}\n`)
    const log = join(folder, `lane-${index}.log`)
    if (existsSync(log)) print(readFileSync(log, 'utf8'))
  }
}

async function runStep(step: Step, folder: string, print: Print): Promise<StepResult> {
  const exitCode = await runCommand({ step, words: [], suffix: '', folder, print })
  if (step.suite === undefined) return { exitCode }
  const report = readStepReport(step, folder, '')
  const files = findFailedFiles(report)
  if (files.length === 0 || files.length > maxFilesAgain) return { exitCode, report }
  const suffix = '-again'
  const again = await runCommand({ step, words: ['--', ...files], suffix, folder, print })
  return { exitCode, report, again: { exitCode: again, report: readStepReport(step, folder, suffix) } }
}

interface Run {
  step: Step
  words: readonly string[]
  /** Of the names of what it leaves in the folder. */
  suffix: string
  folder: string
  print: Print
}

/** Resolves to the exit code; 128 for a command that a signal ended, 127 for one that cannot be started. */
async function runCommand({ step, words, suffix, folder, print }: Run): Promise<number> {
  const [program = '', ...args] = [...step.command, ...words]
  print(`\n== ${[program, ...args].join(' ')}\n`)
  const started_at = performance.now()
  const child = spawn(program, args, {
    cwd: checkout,
    env: { ...process.env, ...amounts, SVC_TEST_REPORTS: folder, SVC_TEST_REPORT_SUFFIX: suffix },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // The linter writes colours and links even where nobody sees them.
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => print(stripVTControlCharacters(text)))
  const code = await new Promise<number>((resolve) => {
    child.on('error', (error) => {
      print(`${error.message}\n`)
      resolve(127)
    })
    child.on('close', (code) => resolve(code ?? 128))
  })
  print(`${Math.round((performance.now() - started_at) / 1000)} s, exit code ${code}\n`)
  return code
}

function readStepReport({ suite }: Step, folder: string, suffix: string): Report {
  return readReport(join(folder, `${suite?.replace('test:', '')}${suffix}.json`))
}

function findFailedFiles(report: Report): string[] {
  if (report.status === 'unreadable') return []
  return [...new Set(report.tests.filter(({ outcome }) => outcome === 'failed').map(({ file }) => file))]
}

interface Cost {
  processors_s: number | null
  slowness: number
}

/** Returns the run and its suites that used more than twice their budget, as it is on this computer. */
function findOverspent(steps: readonly Step[], folder: string, { processors_s, slowness }: Cost): string[] {
  const spent: [name: string, used_s: number | null, budget_s: number][] = [
    ['the whole run', processors_s, maxRunProcessors_s],
  ]
  for (const { name, suite } of steps) {
    const file = join(folder, `${suite?.replace('test:', '')}.usage.json`)
    if (suite !== undefined && existsSync(file)) {
      const usage = JSON.parse(readFileSync(file, 'utf8')) as { processors_s: number | null }
      spent.push([name, usage.processors_s, suites[suite].processors_s])
    }
  }
  return spent
    .filter(([, used_s, budget_s]) => used_s !== null && used_s > maxTimesBudget * budget_s * Math.max(1, slowness))
    .map(([name, used_s, budget_s]) => `${name}: used ${Math.round(used_s!)} s of processors, of ${budget_s}`)
}

/** Returns the number of commits up to this one; that of the days so far where the checkout has none. */
function countCommits(): number {
  const { stdout } = spawnSync('git', ['rev-list', '--count', 'HEAD'], { cwd: checkout, encoding: 'utf8' })
  return Number.parseInt(stdout ?? '', 10) || Math.floor(Date.now() / 86_400_000)
}

function describeCost({ processors_s, slowness, seconds }: Cost & { seconds: number }): string {
  const used = processors_s === null ? 'not measured on this system' : `${Math.round(processors_s)} s`
  return `processors: ${used}, of ${maxRunProcessors_s}; ${Math.round(seconds / 60)} minutes; a fixed piece of work took ${slowness.toFixed(2)} times as long as on the computer that the figures are for`
}

function printNow(text: string): void {
  process.stdout.write(text)
}

if (process.argv[1] === import.meta.filename) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-ci-'))
  try {
    const { lines, isPassed } = await runPlan(process.env.CI_ALL === '1' ? wholePlan : everyChange, folder)
    console.log(`\n== result\n${lines.join('\n')}`)
    process.exitCode = isPassed ? 0 : 1
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
