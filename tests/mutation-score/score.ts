/**
 * `npm run mutation-score [-- FILE...] [--report FILE]`: makes each small change to the areas of areas.ts, such as `<=` for `<` or a
 * condition left out, and runs the tests beside them. Exits 1 when an area is below its share, and when a change of the rules
 * that no test notices is not explained in explained.ts. `--report` keeps Stryker's report, which names the tests that reach
 * each change.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { installTools } from '#tests/interop/tools.ts'
import { type Area, areas, areasVariable } from './areas.ts'
import { explained } from './explained.ts'
import { judgeMutants, percent, type Report, type Verdict } from './verdict.ts'

const root = join(import.meta.dirname, '../..')
/** What the tests of the rules load. */
const sources = [
  ...[
    'package.json',
    'sandbox',
    'src',
    'fixtures',
    'tests/recorded-writes.ts',
    'tests/market.ts',
    'tests/mutation-score',
    'tests/reliability',
  ],
  ...['tests/temporary.ts', 'build'],
]

const scope = areas.flatMap(({ files }) => files)
const { values, positionals } = parseArgs({ allowPositionals: true, options: { report: { type: 'string' } } })
const chosen = positionals.map((file) => toPosix(relative(root, resolve(file))))
const unknown = chosen.filter((file) => !scope.includes(file))
if (unknown.length > 0) {
  console.error(`In no area: ${unknown.join(', ')}. Choose from:\n${scope.join('\n')}`)
  process.exit(2)
}
const files = chosen.length === 0 ? scope : chosen

// Ctrl-C ends the tool, and then the copy is removed.
process.on('SIGINT', () => {})
const report = await testMutants(files)
process.exitCode = 0
for (const area of areas) {
  const own = area.files.filter((file) => files.includes(file))
  if (own.length === 0) continue
  const verdict = judgeMutants(report, own, explained)
  process.stdout.write(describeVerdict(area, verdict))
  const isExplained = !area.isExplained || (verdict.unexplained.length === 0 && verdict.stale.length === 0)
  if (percent(verdict) < area.least || !isExplained) process.exitCode = 1
}

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
    const about = areas.filter((area) => area.files.some((file) => mutate.includes(file))).map(({ name }) => name)
    const child = spawn(process.execPath, [stryker, 'run'], {
      cwd: copy,
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, [areasVariable]: about.join() },
    })
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

function describeVerdict(
  { name, least, isExplained }: Area,
  { files: scores, survivors, unexplained, stale, ...score }: Verdict,
): string {
  const lines = scores.map(
    (each) => `${each.file.padEnd(36)} ${percent(each).toFixed(1).padStart(5)} %  ${each.noticed} of ${each.total}`,
  )
  if (isExplained && unexplained.length > 0)
    lines.push('', 'No test notices these, and tests/mutation-score/explained.ts does not say why:')
  for (const { file, line, mutator, code, becomes } of isExplained ? unexplained : []) {
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
    `mutation score of ${name} ${percent(score).toFixed(1)} %, at least ${least} %: ${score.noticed} of ${score.total} mutants noticed, ${survivors.length} survived, ${explainedCount} explained`,
    '',
  )
  return `${lines.join('\n')}\n`
}

function toPosix(path: string): string {
  return path.replaceAll('\\', '/')
}
