/**
 * Adds up the steps of .ci/run. Each argument is `name=exit code=report`, the report a JSON file of vitest or nothing.
 *
 * A test that two steps run is counted once, and is failed when it failed in either. Tests that no step runs, because they
 * are skipped, count as failed: test:postgres leaves out those of tests/http that are about files, which npm test runs. A
 * step that failed although no test of its report did (a build, a linter, an error outside of tests) counts as one.
 */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

const outcomes = new Map()
const failures = []

for (const argument of process.argv.slice(2)) {
  const [step, code, report] = argument.split('=')
  const tests = report === '' ? [] : readTests(report)
  for (const { name, outcome } of tests) {
    const before = outcomes.get(name)
    if (before === 'failed' || (before === 'passed' && outcome === 'skipped')) continue
    outcomes.set(name, outcome)
  }
  if (code !== '0' && !tests.some(({ outcome }) => outcome === 'failed')) failures.push(`${step}: exit code ${code}`)
}

if (outcomes.size === 0) failures.push('no test ran')
for (const [name, outcome] of outcomes) if (outcome !== 'passed') failures.push(`${outcome}: ${name}`)
for (const failure of failures) console.log(failure)

const passed = [...outcomes.values()].filter((outcome) => outcome === 'passed').length
process.exitCode = failures.length === 0 ? 0 : 1
console.log(`${passed} passed, ${failures.length} failed`)

/** The tests of a report. A file that failed before its first test is one failed test. */
function readTests(report) {
  if (!existsSync(report)) return []
  return JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(process.cwd(), name)
    const seen = new Map()
    const tests = assertionResults.map(({ fullName, status }) => {
      const ordinal = (seen.get(fullName) ?? 0) + 1
      seen.set(fullName, ordinal)
      const outcome = status === 'passed' || status === 'failed' ? status : 'skipped'
      return { name: `${file} > ${fullName}${ordinal === 1 ? '' : ` (${ordinal})`}`, outcome }
    })
    const isBroken = status === 'failed' && !tests.some(({ outcome }) => outcome === 'failed')
    return isBroken ? [...tests, { name: `${file} (the file itself)`, outcome: 'failed' }] : tests
  })
}
