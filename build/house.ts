/**
 * Counts how the product is written: `npm run house`, or `npm run house -- ROOM` for the places in one room, such as
 * sandbox/store. The goals are in docs/architecture.md.
 */
import { type Routine, readRoutines } from '#tests/architecture/routines.ts'
import { lineOf, readSources, type SyntaxNode } from '#tests/architecture/source.ts'
import { bareFiles, compoundFiles } from '#tests/architecture/subjects.ts'

const [room] = process.argv.slice(2)
const sources = readSources('src', 'sandbox').filter(({ path }) => !/\.test\.tsx?$/.test(path))
const wanted = room === undefined ? sources : sources.filter(({ path }) => path.startsWith(room))
if (wanted.length === 0) {
  console.error(`There is no file in ${room}. A room is a folder of src or sandbox, such as sandbox/store.`)
  process.exit(1)
}

const routines = wanted.flatMap(readRoutines)
const lines = wanted.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b)
const total = lines.reduce((sum, count) => sum + count, 0)
const casts = wanted.flatMap(({ nodes, text, path }) =>
  nodes.filter((node) => isCast(node, text)).map(({ start }) => `${path}:${lineOf(text, start)}`),
)
const counts: readonly (readonly [string, string | number, string, readonly string[]])[] = [
  ['lines', total, '', []],
  ['files', lines.length, '', []],
  ['median file, lines', lines[lines.length >> 1] ?? 0, '120 to 160', []],
  ...places('files over 300 lines', '35', longFiles()),
  ...places('files with two subjects', '0', compoundFiles(wanted)),
  ...places(
    'small files with one importer',
    '0',
    bareFiles(sources).filter((at) => room === undefined || at.startsWith(room)),
  ),
  ['names of functions', routines.length, '', []],
  ...places('names in Of', '40', named(routines.filter(({ name }) => /[a-z]Of$/.test(name)))),
  ...places('functions over 60 lines', '40', named(routines.filter(({ lines }) => lines > 60))),
  ...places('functions over 80 lines', '0', named(routines.filter(({ lines }) => lines > 80))),
  ...places('complexity over 15', '0', named(routines.filter(({ complexity }) => complexity > 15))),
  ...places('more than four parameters', '0', named(routines.filter(({ parameters }) => parameters > 4))),
  ['casts per 1,000 lines', ((casts.length / total) * 1_000).toFixed(1), 'at most 6', casts],
]

for (const [what, count, goal, found] of counts) {
  console.log(`${what.padEnd(32)}${String(count).padStart(8)}   ${goal}`.trimEnd())
  if (room !== undefined) for (const at of found) console.log(`  ${at}`)
}

function places(what: string, most: string, found: readonly string[]) {
  return [[what, found.length, most === '0' ? 'none' : `at most ${most}`, found] as const]
}

function named(found: readonly Routine[]): string[] {
  return found.map(({ path, line, name, lines, complexity, parameters }) => {
    return `${path}:${line} ${name}: ${lines} lines, complexity ${complexity}, ${parameters} parameters`
  })
}

function longFiles(): string[] {
  return wanted
    .filter(({ text }) => text.split('\n').length > 301)
    .map(({ path, text }) => `${path}: ${text.split('\n').length - 1}`)
}

/** Casts to a type: `as const` and `satisfies` claim nothing. */
function isCast({ type, typeAnnotation }: SyntaxNode, text: string): boolean {
  if (type !== 'TSAsExpression') return false
  const { start, end } = typeAnnotation as { start: number; end: number }
  return text.slice(start, end) !== 'const'
}
