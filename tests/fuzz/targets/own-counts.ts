/** Files of an integrator's own counts for `svc beacons reconcile`: CSV, TSV, JSON lines. */

import { decodeOwnFile } from '#reconciliation/file-bytes.ts'
import { parseOwnFile } from '#reconciliation/own-file.ts'
import { OwnFileError } from '#reconciliation/own-file-error.ts'
import { readOwnReport } from '#reconciliation/own-report.ts'
import { check, type FuzzTarget, readOrRefuse } from '../target.ts'

export const target: FuzzTarget = {
  max_bytes: 2_000,
  words: [
    ...['slot_id', 'session_id', 'asset_token', 'day', 'views', 'impressions', 'clicks', 'event', 'count', 'timestamp'],
    ...[
      '2026-01-31',
      '2026-01-31T12:00:00Z',
      '1764000000000',
      '"a""b"',
      '\r\n',
      '\t',
      ';',
      "'=1",
      '1,000',
      '1.204,00',
      '28.11.2026',
      'sep=;',
      'Total',
      '|',
      'yes',
      '{"day":',
      '{"rows":[',
      '"totals":{"views":',
      '[["day","views"],[',
      '21-Oct-26',
      '2026年10月21日',
      'Average',
    ],
  ],
  run(bytes) {
    const decoded = readOrRefuse(() => decodeOwnFile(bytes), OwnFileError)
    if (decoded === null) return
    const { text } = decoded
    const file = readOrRefuse(() => parseOwnFile(text), OwnFileError)
    if (file === null) return
    const lines = text.split(/\r\n|\r|\n/).length
    for (const { line, cells } of file.rows) {
      if (file.kind !== 'json') check(line >= 1 && line <= lines, `line ${line} is outside of the file`)
      // Arrays may be shorter than their header, as lines of CSV may.
      if (file.kind === 'jsonl') check(cells.length === file.names.length, 'a row has other cells than its names')
    }
    const report = readOrRefuse(() => readOwnReport(file), OwnFileError)
    for (const { counts, key, time_ms } of report?.counts.rows ?? []) {
      check(key !== '', 'a key is empty')
      check(time_ms === null || Number.isFinite(time_ms), 'a time is no number')
      for (const count of Object.values(counts)) check(Number.isSafeInteger(count) && count >= 0, `a count is ${count}`)
    }
  },
}
