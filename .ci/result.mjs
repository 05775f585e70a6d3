/**
 * Adds up the steps of .ci/run: `node result.mjs FOLDER`, where the file `steps` has a line `name=exit code=report` for each,
 * the report a JSON file of vitest, `<report>.json`, or nothing; `left-out` has lines that are printed. With
 * `--failed-files FILE` prints the files of a report that failed. With `--seconds FOLDER` writes tests/seconds.json, by which the
 * longest files start first.
 *
 * A test that two steps run is counted once, and is failed when it failed in either. Tests that no step runs, because they
 * are skipped, count as failed: test:postgres leaves out those of tests/http that are about files, which npm test runs. A
 * step that failed although no test of its report did (a build, a linter, an error outside of tests) counts as one.
 *
 * What ran again, `<report>-again.json`, counts as the second time says; a test that failed first and passed then is listed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const [first, second] = process.argv.slice(2)
if (first === '--failed-files') {
  const failed = readTests(second).filter(({ outcome }) => outcome === 'failed')
  for (const file of new Set(failed.map(({ file }) => file))) console.log(file)
} else if (first === '--seconds') writeSeconds(second)
else addUp(first)

function addUp(folder) {
  const outcomes = new Map()
  const failures = []
  const unsteady = []
  for (const line of readFileSync(join(folder, 'steps'), 'utf8').trim().split('\n')) {
    const [step, code, report] = line.split('=')
    const again = readTests(join(folder, `${report}-again.json`))
    const replaced = new Set(again.map(({ file }) => file))
    const tests = new Map(again.map(({ name, outcome }) => [name, outcome]))
    for (const { file, name, outcome } of readTests(join(folder, `${report}.json`))) {
      if (!replaced.has(file)) tests.set(name, outcome)
      else if (outcome === 'failed' && tests.get(name) !== 'failed') unsteady.push(name)
    }
    for (const [name, outcome] of tests) {
      const before = outcomes.get(name)
      if (before === 'failed' || (before === 'passed' && outcome === 'skipped')) continue
      outcomes.set(name, outcome)
    }
    if (code !== '0' && ![...tests.values()].includes('failed')) failures.push(`${step}: exit code ${code}`)
  }

  if (outcomes.size === 0) failures.push('no test ran')
  for (const [name, outcome] of outcomes) if (outcome !== 'passed') failures.push(`${outcome}: ${name}`)
  const leftOut = join(folder, 'left-out')
  if (existsSync(leftOut)) process.stdout.write(readFileSync(leftOut, 'utf8'))
  for (const name of unsteady) console.log(`unsteady, passed the second time: ${name}`)
  for (const failure of failures) console.log(failure)

  const passed = [...outcomes.values()].filter((outcome) => outcome === 'passed').length
  process.exitCode = failures.length === 0 ? 0 : 1
  console.log(`${passed} passed, ${failures.length} failed`)
}

/**
 * The tests of a report. A file that failed before its first test is one failed test. A file that ran in several
 * projects, such as two browsers, is there several times: its tests are numbered on.
 */
function readTests(report) {
  if (!existsSync(report)) return []
  const seen = new Map()
  return JSON.parse(readFileSync(report, 'utf8')).testResults.flatMap(({ name, status, assertionResults }) => {
    const file = relative(process.cwd(), name)
    const tests = assertionResults.map(({ fullName, status }) => {
      const name = `${file} > ${fullName}`
      const ordinal = (seen.get(name) ?? 0) + 1
      seen.set(name, ordinal)
      const outcome = status === 'passed' || status === 'failed' ? status : 'skipped'
      return { file, name: ordinal === 1 ? name : `${name} (${ordinal})`, outcome }
    })
    const isBroken = status === 'failed' && !tests.some(({ outcome }) => outcome === 'failed')
    return isBroken ? [...tests, { file, name: `${file} (the file itself)`, outcome: 'failed' }] : tests
  })
}

/** Writes how long each file took, of those over 3 seconds. */
function writeSeconds(folder) {
  const seconds = {}
  for (const report of readdirSync(folder).filter((name) => /^[a-z]+\.json$/.test(name))) {
    for (const { name, startTime, endTime } of JSON.parse(readFileSync(join(folder, report), 'utf8')).testResults) {
      const took_s = Math.round((endTime - startTime) / 1000)
      const file = relative(process.cwd(), name)
      if (took_s > 3) seconds[file] = Math.max(took_s, seconds[file] ?? 0)
    }
  }
  const sorted = Object.entries(seconds).toSorted(([a], [b]) => (a < b ? -1 : 1))
  writeFileSync('tests/seconds.json', `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
