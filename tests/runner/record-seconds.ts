/**
 * Writes tests/seconds.json, by which the files that take longest start first: `node tests/runner/record-seconds.ts FOLDER`, with the
 * reports that a run has left in `SVC_TEST_REPORTS=FOLDER`.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSeconds } from './report.ts'

const [folder = '.'] = process.argv.slice(2)
const longest: Record<string, number> = {}
for (const report of readdirSync(folder).filter((name) => /^[a-z]+\.json$/.test(name))) {
  for (const [file, seconds] of readSeconds(join(folder, report))) {
    if (seconds > 3) longest[file] = Math.max(seconds, longest[file] ?? 0)
  }
}
const sorted = Object.entries(longest).toSorted(([a], [b]) => (a < b ? -1 : 1))
writeFileSync(join(import.meta.dirname, '../seconds.json'), `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
