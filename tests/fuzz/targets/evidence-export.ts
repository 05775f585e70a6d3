/** Exports of evidence, JSON lines that are signed: `svc evidence verify FILE`. */
import { createExportReader, parseLine } from '#commands/evidence/export-file.ts'
import { check, checkPlainLine, type FuzzTarget } from '../target.ts'

/** What each manifest was signed over: the whole file before it. */
const signed = new Map<string, string>()

export const target: FuzzTarget = {
  max_bytes: 6_000,
  words: [
    ...[
      '{"line":"entry"',
      '{"line":"checkpoint"',
      '{"line":"manifest"',
      '{"line":"end","chains":0}',
      '"client_id":"',
      '"seq":1',
    ],
    ...['"previous_hash":"', '"signature":"', '\ufeff', '\r\n', '\n', '"entries":0', '"head":null'],
  ],
  run(bytes) {
    const reader = createExportReader(null)
    const lines = splitLines(bytes)
    for (const { line, isWhole } of lines) {
      const parsed = parseLine(line.toString('utf8'))
      check(parsed === null || JSON.stringify(parsed) === line.toString('utf8'), 'a line has two spellings')
      if (!reader.add(line, isWhole)) break
    }
    const { ok, line, chains } = reader.finish()
    check(ok === (line === null), 'a file is right and wrong')
    check(line === null || (line >= 1 && line <= lines.length + 1), `line ${line} is outside of the file`)
    for (const { problem, broken_at } of chains) {
      check((problem === null) === (broken_at === null), 'a chain is broken without a problem')
      if (problem !== null) checkPlainLine(problem)
    }
    if (!ok) return
    const text = bytes.toString('latin1')
    const manifest = text.slice(text.lastIndexOf('\n', text.length - 2) + 1)
    const known = signed.get(manifest) ?? text
    check(known === text, 'a file was changed, and its manifest is said to hold')
    signed.set(manifest, text)
  },
}

function splitLines(bytes: Buffer): { line: Buffer; isWhole: boolean }[] {
  const lines: { line: Buffer; isWhole: boolean }[] = []
  let start = 0
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    lines.push({ line: bytes.subarray(start, end), isWhole: true })
    start = end + 1
  }
  if (start < bytes.length) lines.push({ line: bytes.subarray(start), isWhole: false })
  return lines
}
