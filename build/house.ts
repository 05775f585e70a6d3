/**
 * Counts how product and tests are written: `npm run house`, or `npm run house -- ROOM` for the places in one room, such as
 * sandbox/store or tests/http. The goals are in docs/architecture.md.
 */
import { type Routine, readRoutines } from '#tests/architecture/routines.ts'
import { countSizes } from '#tests/architecture/sizes.ts'
import { lineOf, readSources, type Source, type SyntaxNode } from '#tests/architecture/source.ts'
import { bareFiles, compoundFiles } from '#tests/architecture/subjects.ts'

/** What is counted, its goal (null: none), and where it is. */
interface Count {
  what: string
  count: number | string
  goal: string
  places: readonly string[]
}

const [room = ''] = process.argv.slice(2)
const sources = readSources('src', 'sandbox', 'tests')
const isTest = ({ path }: Source) => path.startsWith('tests/') || /\.test\.tsx?$/.test(path)
const product = sources.filter((source) => !isTest(source))
const tests = sources.filter(isTest)
const [wanted, wantedTests] = [product, tests].map((all) => all.filter(({ path }) => path.startsWith(room)))
if (wanted!.length + wantedTests!.length === 0) {
  console.error(`There is no file in ${room}. A room is a folder of src, sandbox or tests, such as sandbox/store.`)
  process.exit(1)
}
if (room === '') {
  print(
    'lines',
    countSizes().map(({ what, lines, goal }) => ({
      what,
      count: lines,
      goal: goal === null ? '' : `at most ${goal}`,
      places: [],
    })),
  )
}
if (wanted!.length > 0) print('product', countProduct(wanted!))
if (wantedTests!.length > 0) print('tests', countTests(wantedTests!))

function countProduct(files: readonly Source[]): Count[] {
  const routines = files.flatMap(readRoutines)
  const casts = files.flatMap(({ nodes, text, path }) =>
    nodes.filter((node) => isCast(node, text)).map(({ start }) => `${path}:${lineOf(text, start)}`),
  )
  const bare = bareFiles(product).filter((place) => place.startsWith(room))
  return [
    ...countFiles(files, '35'),
    listed('files with two subjects', '0', compoundFiles(files)),
    listed('small files with one importer', '0', bare),
    ...countRoutines(routines, { of: '40', long: '40' }),
    listed('functions over 80 lines', '0', describeAll(routines.filter(({ lines }) => lines > 80))),
    listed('complexity over 15', '0', describeAll(routines.filter(({ complexity }) => complexity > 15))),
    listed('more than four parameters', '0', describeAll(routines.filter(({ parameters }) => parameters > 4))),
    {
      what: 'casts per 1,000 lines',
      count: ((casts.length / countLines(files)) * 1_000).toFixed(1),
      goal: 'at most 6',
      places: casts,
    },
  ]
}

/** The body of a test counts as a function. That of a `describe` does not: it is a list of them. */
function countTests(files: readonly Source[]): Count[] {
  const routines = files.flatMap((source) => [...readRoutines(source), ...readTestBodies(source)])
  return [...countFiles(files, '60'), ...countRoutines(routines, { of: '60', long: '60' })]
}

function countFiles(files: readonly Source[], mostLong: string): Count[] {
  const lines = files.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b)
  const long = files.flatMap(({ text, path }) => {
    const count = text.split('\n').length - 1
    return count > 300 ? [`${path}: ${count}`] : []
  })
  return [
    { what: 'lines', count: countLines(files), goal: '', places: [] },
    { what: 'files', count: files.length, goal: '', places: [] },
    { what: 'median file, lines', count: lines[lines.length >> 1] ?? 0, goal: '', places: [] },
    listed('files over 300 lines', mostLong, long),
  ]
}

function countRoutines(routines: readonly Routine[], { of, long }: { of: string; long: string }): Count[] {
  return [
    { what: 'names of functions', count: routines.length, goal: '', places: [] },
    listed('names in Of', of, describeAll(routines.filter(({ name }) => /[a-z]Of$/.test(name)))),
    listed('functions over 60 lines', long, describeAll(routines.filter(({ lines }) => lines > 60))),
  ]
}

/** Returns the callbacks of `test(...)`, `it(...)` and their variants, by the title of the test. */
function readTestBodies({ path, text, nodes }: Source): Routine[] {
  return nodes.flatMap((node): Routine[] => {
    if (node.type !== 'CallExpression') return []
    const { callee, arguments: given } = node as unknown as { callee: SyntaxNode; arguments: SyntaxNode[] }
    if (!/^(test|it)\b/.test(text.slice(callee.start, callee.end as number))) return []
    const body = given.find(({ type }) => /^(Arrow)?FunctionExpression$/.test(type))
    if (body === undefined) return []
    const lines = text.slice(body.start, body.end as number).split('\n').length
    const name = text.slice(given[0]!.start, given[0]!.end as number).slice(0, 60)
    return [{ path, name, line: lineOf(text, node.start), lines, complexity: 1, parameters: 0 }]
  })
}

function print(title: string, counts: readonly Count[]): void {
  console.log(title)
  for (const { what, count, goal, places } of counts) {
    console.log(`  ${what.padEnd(32)}${String(count).padStart(8)}   ${goal}`.trimEnd())
    if (room !== '') for (const place of places) console.log(`    ${place}`)
    else if (title === 'tests') printFolders(places)
  }
}

/** Those of tests, by the folder below `tests`. */
function printFolders(places: readonly string[]): void {
  const folders = Map.groupBy(places, (place) => place.split('/').slice(0, 2).join('/'))
  const counts = [...folders].map(([folder, { length }]) => `${folder} ${length}`).toSorted()
  if (counts.length > 0) console.log(`    ${counts.join(', ')}`)
}

function listed(what: string, most: string, places: readonly string[]): Count {
  return { what, count: places.length, goal: most === '0' ? 'none' : `at most ${most}`, places }
}

function describeAll(found: readonly Routine[]): string[] {
  return found.map(({ path, line, name, lines, complexity, parameters }) => {
    return `${path}:${line} ${name}: ${lines} lines, complexity ${complexity}, ${parameters} parameters`
  })
}

function countLines(files: readonly Source[]): number {
  return files.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
}

/** Casts to a type: `as const` and `satisfies` claim nothing. */
function isCast({ type, typeAnnotation }: SyntaxNode, text: string): boolean {
  if (type !== 'TSAsExpression') return false
  const { start, end } = typeAnnotation as { start: number; end: number }
  return text.slice(start, end) !== 'const'
}
