/**
 * Runs a suite, and ends with what is true of it: `node tests/runner/run.ts SUITE [words for vitest]`, as the scripts of
 * package.json do. What vitest ends with is not enough: libraries have hooks that end its process with 0, and a run without
 * tests, or with fewer than there are, has not shown anything. So the report is read too.
 *
 * The last lines say how many tests passed and what the run used. `SVC_TEST_REPORTS=FOLDER` keeps report and usage there.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureSlowness, type Usage, watchUsage } from './machine.ts'
import { countTests, findProblems, type Report, readReport } from './report.ts'
import { isSuite, type SuiteName, suites } from './suites.ts'

const checkout = join(import.meta.dirname, '../..')

/** Resolves to the exit code: 0 when the tests ran, were as many as there are, and all passed. */
async function runSuite(suite: SuiteName, words: readonly string[]): Promise<number> {
  const kept = process.env.SVC_TEST_REPORTS
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'svc-report-'))
  const name = `${suite.replace('test:', '')}${process.env.SVC_TEST_REPORT_SUFFIX ?? ''}`
  const reportFile = join(folder, `${name}.json`)
  try {
    const slowness = measureSlowness()
    const started_at = performance.now()
    const watch = watchUsage()
    const exitCode = await runVitest(suite, words, reportFile)
    const usage = watch.end()
    const report = readReport(reportFile)
    const isPart = words.some((word) => !/^--(reporter|outputFile)\b/.test(word))
    const problems = findProblems({ exitCode, report, minimumTests: isPart ? 0 : suites[suite].minimumTests })
    console.log(describeRun({ suite, report, usage, slowness, seconds: (performance.now() - started_at) / 1000 }))
    for (const problem of problems) console.log(`npm run ${suite} failed: ${problem}.`)
    if (kept !== undefined) writeFileSync(join(folder, `${name}.usage.json`), JSON.stringify({ ...usage, slowness }))
    if (problems.length === 0) return 0
    return exitCode === 0 ? 1 : exitCode
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves to its exit code. An interrupt reaches it from the terminal; it ends its workers first, and is waited for. */
async function runVitest(suite: SuiteName, words: readonly string[], reportFile: string): Promise<number> {
  const mode = suite === 'test' ? [] : ['--mode', suite.replace('test:', '')]
  const hasReporter = words.some((word) => word.startsWith('--reporter'))
  const reporters = [...(hasReporter ? [] : ['--reporter=default']), '--reporter=json']
  const vitest = join(checkout, 'node_modules/vitest/vitest.mjs')
  const args = [vitest, 'run', ...mode, ...reporters, `--outputFile.json=${reportFile}`, ...words]
  const env = { ...process.env, SVC_SUITE: suite }
  const child = spawn(process.execPath, args, { cwd: checkout, env, stdio: 'inherit' })
  const ignore = () => {}
  const pass = () => child.kill('SIGTERM')
  process.on('SIGINT', ignore).on('SIGTERM', pass)
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  process.off('SIGINT', ignore).off('SIGTERM', pass)
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal])
}

interface DescribedRun {
  suite: SuiteName
  report: Report
  usage: Usage
  slowness: number
  seconds: number
}

function describeRun({ suite, report, usage, slowness, seconds }: DescribedRun): string {
  const tests = report.status === 'read' ? report.tests : []
  const skipped = countTests(tests, 'skipped')
  const counts = `${countTests(tests, 'passed')} passed, ${countTests(tests, 'failed')} failed`
  const { processors_s, memory_bytes, browsers, processes } = usage
  const used =
    processors_s === null
      ? 'processors: not measured on this system'
      : `processors: ${Math.round(processors_s)} s, of ${suites[suite].processors_s}; memory: ${(memory_bytes / 1e9).toFixed(1)} GB; at most ${browsers} browsers and ${processes} other processes`
  return [
    '',
    skipped === 0 ? counts : `${counts}, ${skipped} skipped`,
    `${used}; ${Math.round(seconds)} s in all`,
    `A fixed piece of work took ${slowness.toFixed(2)} times as long as on the computer that the figures are for.`,
  ].join('\n')
}

const [suite = '', ...words] = process.argv.slice(2)
if (isSuite(suite)) process.exitCode = await runSuite(suite, words)
else {
  console.error(`There is no suite ${suite}. There are: ${Object.keys(suites).join(', ')}.`)
  process.exitCode = 2
}
