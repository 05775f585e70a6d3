/** Reports of an earlier run for `--compare-with`: CTRF and JSON. */
import { changesText, compareRuns, readEarlierRun } from '#qa/report/changes.ts'
import { QaError } from '#qa/result.ts'
import { looseValue } from '../loose-json.ts'
import { check, checkLine, type FuzzTarget, readOrRefuse } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 1_000,
  words: [
    '"cases"',
    '"id"',
    '"outcome"',
    '"passed"',
    '"failed"',
    '"results"',
    '"tests"',
    '"name"',
    '"status"',
    '"testId"',
    '"suite"',
  ],
  run(bytes) {
    const earlier = readOrRefuse(() => readEarlierRun(looseValue(bytes), 'last.json'), QaError)
    if (earlier === null) return
    const changes = compareRuns(earlier, [])
    checkLine(changesText(changes))
    const failed = [...earlier.endings.values()].filter((ending) => ending === 'failed')
    check(changes.not_judged.length === failed.length, 'a case that failed is missing')
  },
}
