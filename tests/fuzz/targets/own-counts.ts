/** Files of an integrator's own counts for `svc billing reconcile`: CSV, TSV, JSON lines. */

import { OwnFileError, parseOwnFile } from '#reconciliation/own-file.ts'
import { readOwnReport } from '#reconciliation/reconciliation.ts'
import { check, checkSame, type FuzzTarget, readOrRefuse } from '../target.ts'

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
      'yes',
      '{"day":',
    ],
  ],
  run(bytes) {
    const text = bytes.toString('utf8')
    const file = readOrRefuse(() => parseOwnFile(text), OwnFileError)
    if (file === null) return
    for (const { line, cells } of file.rows) {
      check(line >= 1 && line <= text.split(/\r\n|\r|\n/).length, `line ${line} is outside of the file`)
      if (file.kind !== 'jsonl') check(cells.size <= file.names.length, 'a row has more cells than the header')
    }
    if (file.kind === 'csv')
      checkCells(
        text,
        file.rows.map(({ cells }) => [...cells.values()]),
      )
    const report = readOrRefuse(() => readOwnReport(file, new Map()), OwnFileError)
    for (const { counts, key, time_ms } of report?.counts.rows ?? []) {
      check(key !== '', 'a key is empty')
      check(time_ms === null || Number.isFinite(time_ms), 'a time is no number')
      for (const count of Object.values(counts)) check(Number.isSafeInteger(count) && count >= 0, `a count is ${count}`)
    }
  },
}

/** Compares with another reading of RFC 4180, character by character. */
function checkCells(text: string, rows: readonly unknown[][]): void {
  const header = /^[^\r\n]*/.exec(text.trimStart())![0]
  const separator = header.split(';').length > header.split(',').length ? ';' : ','
  const [head, ...others] = readCsv(text, separator)
  // Two unnamed columns are one key of a map.
  if (head === undefined || new Set(head.map((name) => name.trim())).size < head.length) return
  const unguarded = others.map((row) => row.map((cell) => (/^'[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell)))
  checkSame(rows, unguarded, 'the cells')
}

function readCsv(text: string, separator: string): string[][] {
  const rows: string[][] = [['']]
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const row = rows.at(-1)!
    const character = text[at]!
    const isEnd = character === '\n' || character === '\r'
    if (quoted && character === '"' && text[at + 1] === '"') at++
    else if (quoted && character === '"') {
      quoted = false
      continue
    }
    if (!quoted && character === '"' && (text[at - 1] === separator || /^[\r\n]?$/.test(text[at - 1] ?? '')))
      quoted = true
    else if (!quoted && character === separator) row.push('')
    else if (!quoted && isEnd) {
      if (character === '\r' && text[at + 1] === '\n') at++
      rows.push([''])
    } else row[row.length - 1] += character
  }
  return rows.filter((row) => row.length > 1 || row[0] !== '')
}
