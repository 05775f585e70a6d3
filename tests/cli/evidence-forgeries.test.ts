/** Forgeries of an exported file: each is refused with the right key, at its first wrong line. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createExportReader } from '#commands/evidence/export-file.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
/** The lines of a small export, of one made before it, and the key. */
let lines: string[]
let older: string[]
let key: string

beforeAll(async () => {
  cli = await startTestCli()
  const exported = async () => (await cli.svc('evidence export')).stdout.trimEnd().split('\n')
  await cli.svc('placements create --format banner')
  await cli.svc('placements create --client-id proj_other')
  older = await exported()
  await cli.svc('sandbox clock advance 1m')
  await cli.svc('beacons send --event render')
  await cli.svc('placements create --format banner')
  lines = await exported()
  key = (JSON.parse(lines.at(-1)!) as { public_key: string }).public_key
})
afterAll(() => cli[Symbol.asyncDispose]())

/** Returns the first wrong line of a file, or null. */
function firstWrongLine(file: Buffer | string) {
  const reader = createExportReader(key)
  const bytes = Buffer.from(file)
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start)
    if (!reader.add(bytes.subarray(start, end === -1 ? undefined : end), end !== -1) || end === -1) break
    start = end + 1
  }
  const { ok, line, chains } = reader.finish()
  expect(ok).toBe(line === null)
  if (line !== null) expect(chains.at(-1)!.problem).toMatch(new RegExp(`^Line ${line}: \\S.*\\w`))
  return line
}

const file = (of: readonly string[]) => of.map((line) => `${line}\n`).join('')

/** Every forgery by name, with the line at which it has to be found at the latest. */
function* forgeries(): Generator<[name: string, file: string, latest: number]> {
  const count = lines.length
  for (const [index, line] of lines.entries()) {
    const number = index + 1
    const respelled = (text: string) => file(lines.with(index, text))
    yield [`line ${number} removed`, file(lines.toSpliced(index, 1)), count]
    yield [`line ${number} twice`, file(lines.toSpliced(index, 0, line)), number + 1]
    yield [`cut before line ${number}`, file(lines.slice(0, index)), number]
    yield [`cut in line ${number}`, file(lines.slice(0, index)) + line.slice(0, 9), number]
    yield [`blank line before ${number}`, file(lines.toSpliced(index, 0, '')), number]
    yield [`CR LF at ${number}`, respelled(`${line}\r`), number]
    yield [`a space at ${number}`, respelled(` ${line}`), number]
    yield [`a byte order mark at ${number}`, respelled(`\ufeff${line}`), number]
    if (index + 1 < count)
      yield [`${number} swapped`, file(lines.with(index, lines[number]!).with(number, line)), number + 1]
    const fields = Object.entries(JSON.parse(line) as Record<string, unknown>)
    yield [`names of ${number} reversed`, respelled(JSON.stringify(Object.fromEntries(fields.toReversed()))), number]
    yield [`a field added to ${number}`, respelled(line.replace(/}$/, ',"more":1}')), number]
    for (const [name, value] of fields) {
      const at = `${name} of ${number}`
      const text = `${JSON.stringify(name)}:${JSON.stringify(value)}`
      yield [`${at} removed`, respelled(JSON.stringify({ ...Object.fromEntries(fields), [name]: undefined })), number]
      yield [`${at} given twice`, respelled(line.replace(text, () => `${text},${text}`)), number]
      yield [`${at} given before`, respelled(line.replace(text, () => `"${name}":0,${text}`)), number]
      yield [`${at} spaced`, respelled(line.replace(text, () => text.replace(':', ': '))), number]
      const others = [null, '', 0, 1, 'x', ...(typeof value === 'number' ? [value + 1, -value, value + 0.5] : [])]
      if (typeof value === 'string') others.push(`${value}A`, value.slice(0, -1), value.toUpperCase())
      for (const other of others.filter((candidate) => candidate !== value))
        yield [`${at} is ${other}`, respelled(JSON.stringify({ ...Object.fromEntries(fields), [name]: other })), count]
      if (typeof value !== 'number') continue
      for (const spelling of [`${value}.0`, `${value}e0`, `-${value}`, `0${value}`, `"${value}"`])
        yield [`${at} as ${spelling}`, respelled(line.replace(text, `"${name}":${spelling}`)), number]
    }
  }
  const manifest = lines.at(-1)!
  yield ['an older export before', file([...older, ...lines]), older.length + 1]
  yield ['an older export after', file([...lines, ...older]), count + 1]
  yield ['the manifest of an older export', file([...lines.slice(0, -1), older.at(-1)!]), count]
  yield ['the manifest with older chains', file([...older.slice(0, -1), manifest]), count]
  for (const project of ['proj_demo', 'proj_other', 'proj_strict']) {
    const isOf = (line: string) => (JSON.parse(line) as { client_id: string }).client_id === project
    const mixed = [...older.filter(isOf), ...lines.filter((line) => !isOf(line))]
    yield [`an older ${project}`, file(mixed), count]
    yield [`${project} removed`, file(lines.filter((line) => !isOf(line))), count]
    yield [
      `${project} last`,
      file([...lines.slice(0, -1).filter((line) => !isOf(line)), ...lines.filter(isOf), manifest]),
      count,
    ]
    const chains = (JSON.parse(manifest) as { chains: { client_id: string }[] }).chains
    const adapted = { ...JSON.parse(manifest), chains: chains.filter(({ client_id }) => client_id !== project) }
    const rest = lines.slice(0, -1).filter((line) => !isOf(line))
    yield [`${project} removed, the manifest adapted`, file([...rest, JSON.stringify(adapted)]), count]
    yield [`${project} removed, an end line`, file([...rest, '{"line":"end","chains":2}']), count]
  }
  yield ['nothing', '', 1]
  yield ['no line break at the end', file(lines).slice(0, -1), count]
  yield ['another line break at the end', `${file(lines)}\n`, count + 1]
}

test('every forgery is refused at its first wrong line', () => {
  expect(firstWrongLine(file(lines))).toBeNull()
  expect(firstWrongLine(file(older))).toBeNull()
  const accepted: string[] = []
  let count = 0
  for (const [name, forged, latest] of forgeries()) {
    if (forged === file(lines)) continue
    count++
    const line = firstWrongLine(forged)
    if (line === null || line > latest) accepted.push(`${name}: ${line}, not ${latest}`)
  }
  expect(accepted).toEqual([])
  expect(count).toBeGreaterThan(300)
})

test('every byte is covered: no flipped bit verifies', () => {
  const bytes = Buffer.from(file(lines))
  const accepted: string[] = []
  for (let at = 0; at < bytes.length; at++) {
    const forged = Buffer.from(bytes)
    forged[at]! ^= 1 << (at % 8)
    if (firstWrongLine(forged) === null) accepted.push(`byte ${at}`)
  }
  expect(accepted).toEqual([])
})

test('an export in the earlier format is named, with how to export again', () => {
  const reader = createExportReader(null)
  for (const line of [...lines.slice(0, -1), '{"line":"end","chains":3}']) reader.add(Buffer.from(line), true)
  expect(reader.finish().chains.at(-1)!.problem).toBe(
    `Line ${lines.length}: This is an export in the earlier format, which has no signed manifest. Export it again: svc evidence export FILE`,
  )
})
