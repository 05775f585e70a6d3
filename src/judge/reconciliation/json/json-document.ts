/**
 * Finds the rows of a JSON document: a list of objects, or of arrays below a header, wherever programs put it. Beside it stand
 * totals, which are held against the rows, and other lists. Where two lists could be the rows, none is chosen.
 */
import { flattenRows } from '#contract/separated.ts'
import { isObject } from '#foundation/json.ts'
import { findMetric } from '../column-words.ts'
import { countKnownColumns, type Mapping } from '../columns.ts'
import { OwnFileError } from '../own-file-error.ts'
import { listTotals, refusePage, type StatedTotals } from './beside-rows.ts'

interface JsonTable {
  /** The names of its columns, in order. */
  names: readonly string[]
  rows: readonly { line: number; cells: readonly unknown[] }[]
}

interface JsonDocument extends JsonTable {
  totals: readonly StatedTotals[]
  /** Other lists with rows, by their paths: they are not read. */
  other_lists: readonly string[]
}

/** Returns the rows of a JSON document. @param map columns that are named by their user @throws OwnFileError */
export function readDocument(whole: object, map: readonly Mapping[]): JsonDocument {
  const finder: Finder = {
    countKnown: (names) => countKnownColumns(names, map),
    headers: [...findHeaders(whole, maxDepth)],
  }
  const all = [...findLists(whole, { path: [], around: [] }, finder)]
  // What `-o json` prints: a list of placements has others inside.
  const lists = isObject(whole) && Array.isArray(whole.items) ? all.filter(({ path }) => path === 'items') : all
  const chosen = chooseList(lists, isObject(whole) ? readRoot(whole, finder) : null)
  const { names, rows, around } = chosen
  for (const each of around) refusePage(each, rows.length)
  const totals = around.flatMap((each) => listTotals(each, names))
  const isTotal = (path: string) => totals.some(({ name }) => path === name || path.endsWith(`.${name}`))
  // A list of the names of the columns is read.
  const isHeader = (each: JsonList) => each.names.includes('name') && each.rows.length === names.length
  // Those in a row are columns of it.
  const isOther = ({ path, rows }: JsonList) =>
    chosen.path !== '' && path !== '' && path !== chosen.path && rows.length > 0
  return {
    ...{ names, rows, totals },
    other_lists: lists
      .filter((each) => isOther(each) && !isHeader(each) && !isTotal(each.path))
      .map(({ path }) => path),
  }
}

/** Returns objects as rows: the fields of objects in them have dotted names. */
export function tabulate(read: readonly { line: number; value: object }[]): JsonTable {
  const { names, rows } = flattenRows(
    read.map(({ value }) => value),
    false,
  )
  return {
    names,
    rows: rows.map((cells, index) => ({ line: read[index]!.line, cells: names.map((name) => cells.get(name)) })),
  }
}

/** A list that may have the rows. */
interface JsonList extends JsonTable {
  /** The fields that lead to it: `report.rows`. */
  path: string
  /** The objects that it is in. */
  around: readonly Fields[]
  /** How many of its columns are known. */
  known: number
  /** Whether nothing is in it. */
  is_empty: boolean
}

type Fields = Readonly<Record<string, unknown>>

interface Finder {
  countKnown(names: readonly string[]): number
  /** Lists of names, which may be those of the columns of arrays. */
  headers: readonly (readonly string[])[]
}

/** Deeper lists are parts of rows. */
const maxDepth = 3

function* findLists(
  value: unknown,
  { path, around }: { path: readonly string[]; around: readonly Fields[] },
  finder: Finder,
): Generator<JsonList> {
  if (Array.isArray(value)) {
    const table = readList(value, finder)
    const known = table === null ? 0 : finder.countKnown(table.names)
    if (table !== null) yield { ...table, path: path.join('.'), around, known, is_empty: value.length === 0 }
    if (known === 0 && value.length === 1) yield* findLists(value[0], { path, around }, finder)
  } else if (isObject(value) && path.length < maxDepth) {
    const table = readColumns(value, finder)
    if (table !== null) return yield { ...table, path: path.join('.'), around, known: 1, is_empty: false }
    for (const [name, inner] of Object.entries(value)) {
      yield* findLists(inner, { path: [...path, name], around: [...around, value] }, finder)
    }
  }
}

/** Returns the rows of an object with a list for each column, or an object by the numbers of the rows, as pandas writes it. */
function readColumns(value: Fields, { countKnown }: Finder): JsonTable | null {
  const names = Object.keys(value)
  const columns = Object.values(value).map((column) => (isObject(column) || Array.isArray(column) ? column : {}))
  const [keys = [], ...others] = columns.map((column) => Object.keys(column))
  if (countKnown(names) === 0 || keys.length === 0 || others.some((each) => each.join('\n') !== keys.join('\n'))) {
    return null
  }
  const cells = columns.map((column) => Object.values(column))
  return { names, rows: keys.map((_, at) => ({ line: at + 1, cells: cells.map((column) => column[at]) })) }
}

/** Returns a list as rows; without a name for arrays below no header, and null for any other list. */
function readList(list: readonly unknown[], { countKnown, headers }: Finder): JsonTable | null {
  const number = (index: number) => index + 1
  if (list.every(isObject)) return tabulate(list.map((value, index) => ({ line: number(index), value })))
  if (!list.every((row) => Array.isArray(row))) return null
  const rows = list
    .map((cells: readonly unknown[], index) => ({ line: number(index), cells }))
    .filter(({ cells }) => cells.some((cell) => cell !== '' && cell !== null))
  // A sheet may begin with a title.
  const known = rows.slice(0, maxTitleRows).findIndex(({ cells }) => isHeader(cells) && countKnown(cells) > 0)
  const width = rows[0]?.cells.length
  const stated = headers.filter((names) => names.length === width)
  const knownStated = stated.filter((names) => countKnown(names) > 0)
  const [names, another] = knownStated.length > 0 ? knownStated : stated
  if (known < 0 && names !== undefined && another === undefined) return { names, rows }
  const header = rows[Math.max(known, 0)]?.cells ?? []
  if (!isHeader(header)) return { names: [], rows: [] }
  return { names: header.map((cell) => cell.trim()), rows: rows.slice(Math.max(known, 0) + 1) }
}

const maxTitleRows = 20

/** Whether cells may be names of columns: texts that do not begin with a digit. */
function isHeader(cells: readonly unknown[]): cells is readonly string[] {
  return cells.length > 0 && cells.every((cell) => typeof cell === 'string' && !/^\s*\d/.test(cell))
}

/** Returns the lists of two names or more: texts, or objects with a name. */
function* findHeaders(value: unknown, depth: number): Generator<readonly string[]> {
  if (Array.isArray(value)) {
    const names = value.map((each) => (isObject(each) ? each.name : each))
    if (names.length > 1 && names.every((name) => typeof name === 'string')) yield names
  } else if (isObject(value) && depth > 0) {
    for (const inner of Object.values(value)) yield* findHeaders(inner, depth - 1)
  }
}

function readRoot(value: Fields, { countKnown }: Finder): JsonList {
  const table = tabulate([{ line: 1, value }])
  return { ...table, path: '', around: [], known: countKnown(table.names), is_empty: false }
}

/** @param root the document as one row */
function chooseList(lists: readonly JsonList[], root: JsonList | null): JsonList {
  const known = lists.filter((each) => each.known > 0)
  const filled = lists.filter(({ rows }) => rows.length > 0)
  const [one, another] = known.length > 0 ? known : root !== null && root.known > 0 ? [root] : filled
  if (one !== undefined && another === undefined) return one
  if (one !== undefined) throw severalLists(known.length > 0 ? known : filled)
  const hasHeadless = lists.some(({ names, rows, is_empty }) => !is_empty && names.length + rows.length === 0)
  const empty = hasHeadless ? null : (lists[0] ?? root)
  if (empty !== null && empty === root && isKeyed(root)) {
    throw new OwnFileError(
      'Its rows are objects by their keys.',
      'Write a list of objects, each with its key as a field: [{"session_id": "demo", "views": 1}]',
    )
  }
  if (empty !== null) return empty
  throw new OwnFileError(
    hasHeadless ? 'Its arrays have no header.' : 'It is a JSON array of neither objects nor arrays below a header.',
    'Write the names of the columns as the first array, or one JSON object for each row.',
  )
}

/** Whether a document is of objects with counts alone, by their keys. */
function isKeyed({ names }: JsonList): boolean {
  const fields = names.map((name) => /^(.+)\.([^.]+)$/.exec(name))
  const isCount = (field: RegExpExecArray | null) => field !== null && findMetric(field[2]!) !== null
  return fields.every(isCount) && new Set(fields.map((field) => field?.[1])).size > 1
}

/** More names would hide the fix. */
const maxNamed = 5

function severalLists(lists: readonly JsonList[]): OwnFileError {
  const named = lists.slice(0, maxNamed).map(({ path, names }) => `${path} (${names.slice(0, maxNamed).join(', ')})`)
  return new OwnFileError(
    `It has several lists that may be the rows: ${named.join('; ')}.`,
    'Write the rows as one JSON array, without the others.',
  )
}
