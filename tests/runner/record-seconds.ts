/**
 * Writes tests/seconds.json, by which the files that take longest start first: `node tests/runner/record-seconds.ts FOLDER`, with the
 * reports that a run has left in `SVC_TEST_REPORTS=FOLDER`. Files of suites without a report keep their seconds.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSeconds } from './report.ts'

const [folder = '.'] = process.argv.slice(2)
const record = join(import.meta.dirname, '../seconds.json')
const longest: Record<string, number> = {}
const reported = new Set<string>()
for (const report of readdirSync(folder).filter((name) => /^[a-z]+\.json$/.test(name))) {
  for (const [file, seconds] of readSeconds(join(folder, report))) {
    reported.add(file)
    if (seconds > 3) longest[file] = Math.max(seconds, longest[file] ?? 0)
  }
}
for (const [file, seconds] of Object.entries(JSON.parse(readFileSync(record, 'utf8')) as Record<string, number>)) {
  if (!reported.has(file) && existsSync(file)) longest[file] = seconds
}
const sorted = Object.entries(longest).toSorted(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(record, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
