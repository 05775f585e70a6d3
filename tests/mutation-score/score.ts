/**
 * `npm run mutation-score [-- FILE...] [--report FILE]`: makes each small change to the rules, such as `<=` for `<` or a condition left out, and
 * runs the tests beside them. Exits 1 below 90 %, and when a change that no test notices is not explained in explained.ts.
 * `--report` keeps Stryker's report, which names the tests that reach each change.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installTools } from '#tests/interop/tools.ts'
import { explained } from './explained.ts'
import { judgeMutants, percent, type Report, type Verdict } from './verdict.ts'

const root = join(import.meta.dirname, '../..')
/** Percent. */
const leastScore = 90

/** What the tests of the rules load. */
const sources = ['package.json', 'sandbox', 'src', 'fixtures', 'tests/recorded-writes.ts', 'tests/mutation-score']

/** transaction.ts has types alone. */
const scope = globSync('sandbox/{domain,store/writes}/*.ts', {
  cwd: root,
  exclude: ['**/*.test.ts', '**/transaction.ts'],
})
  .map(toPosix)
  .sort()
const { values, positionals } = parseArgs({ allowPositionals: true, options: { report: { type: 'string' } } })
const chosen = positionals.map((file) => toPosix(relative(root, resolve(file))))
const unknown = chosen.filter((file) => !scope.includes(file))
if (unknown.length > 0) {
  console.error(`Not among the rules: ${unknown.join(', ')}. Choose from:\n${scope.join('\n')}`)
  process.exit(2)
}
const files = chosen.length === 0 ? scope : chosen

// Ctrl-C ends the tool, and then the copy is removed.
process.on('SIGINT', () => {})
const report = await testMutants(files)
const verdict = judgeMutants(report, files, explained)
process.stdout.write(describeVerdict(verdict))
const isGood = percent(verdict) >= leastScore && verdict.unexplained.length === 0 && verdict.stale.length === 0
process.exitCode = isGood ? 0 : 1

/** Runs Stryker on a copy of the sources, and returns its report. */
async function testMutants(mutate: readonly string[]): Promise<Report> {
  const manifest = join(import.meta.dirname, 'mutation-tools.json')
  const tools = await installTools(tmpdir(), {}, manifest, 'mutation-score')
  const copy = mkdtempSync(join(tmpdir(), 'svc-mutation-score-'))
  try {
    for (const source of sources) cpSync(join(root, source), join(copy, source), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'), 'junction')
    writeFileSync(join(copy, 'stryker.config.json'), JSON.stringify(strykerOptions(mutate)))
    const stryker = join(tools, 'node_modules/@stryker-mutator/core/bin/stryker.js')
    const child = spawn(process.execPath, [stryker, 'run'], { cwd: copy, stdio: ['ignore', 'inherit', 'inherit'] })
    const [status] = await once(child, 'exit')
    if (status !== 0) throw new Error('The mutants could not be tested: the tool says why, above.')
    if (values.report !== undefined) cpSync(join(copy, 'report.json'), values.report)
    return JSON.parse(readFileSync(join(copy, 'report.json'), 'utf8')) as Report
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

function strykerOptions(mutate: readonly string[]): object {
  return {
    mutate,
    // In the copy, which is removed.
    inPlace: true,
    plugins: ['./tests/mutation-score/rules-runner.ts'],
    testRunner: 'rules',
    coverageAnalysis: 'perTest',
    concurrency: availableParallelism(),
    // Far above the slowest test, on a machine that does other work too.
    timeoutMS: 60_000,
    disableTypeChecks: false,
    reporters: process.stdout.isTTY ? ['json', 'progress'] : ['json'],
    jsonReporter: { fileName: 'report.json' },
    logLevel: 'warn',
    warnings: { slow: false },
  }
}

function describeVerdict({ files: scores, survivors, unexplained, stale, ...score }: Verdict): string {
  const lines = scores.map(
    (each) => `${each.file.padEnd(36)} ${percent(each).toFixed(1).padStart(5)} %  ${each.noticed} of ${each.total}`,
  )
  if (unexplained.length > 0)
    lines.push('', 'No test notices these, and tests/mutation-score/explained.ts does not say why:')
  for (const { file, line, mutator, code, becomes } of unexplained) {
    lines.push(`${file}:${line} ${mutator}`, `  - ${code}`, `  + ${becomes}`)
  }
  if (stale.length > 0)
    lines.push('', 'These entries of tests/mutation-score/explained.ts fit another number of survivors:')
  for (const { explanation, found } of stale) {
    const { in: file, code, becomes, count = 1 } = explanation
    lines.push(`${file}: ${found} instead of ${count}`, `  - ${code}`, `  + ${becomes}`)
  }
  const explainedCount = survivors.length - unexplained.length
  lines.push(
    '',
    `mutation score ${percent(score).toFixed(1)} %: ${score.noticed} of ${score.total} mutants noticed, ${survivors.length} survived, ${explainedCount} explained`,
  )
  return `${lines.join('\n')}\n`
}

function toPosix(path: string): string {
  return path.replaceAll('\\', '/')
}
