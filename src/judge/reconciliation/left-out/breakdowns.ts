/**
 * Finds rows that have the counts of others once more: of several breakdowns in one table, as `GROUPING SETS` writes them, and of labels
 * that are sums of others, whatever their name.
 */
import { addUp, countDigits, type Dimension, type Entry, findRun, type RowReader, sureDigits } from './entries.ts'
import { namesAll } from './total-names.ts'

/** Rows that have the counts of others once more. */
interface Repeated {
  rows: readonly Entry[]
  parts: readonly Entry[]
  /** The column with their label. */
  index: number
}

/** The rows of a label among those of one key and metric. */
interface Labelled {
  rows: readonly Entry[]
  /** All rows of the key, those of the label too, in the order of the file. */
  all: readonly Entry[]
  own: readonly number[]
  others: readonly number[]
}

/**
 * Returns the rows of a label that are the sum of others everywhere, whatever its name: of all others of their day, `Worldwide`, or
 * of those next to it. They may be totals, and so may a session, or a day, that is the sum of all others.
 */
export function findRepeated(
  counted: readonly Entry[],
  dimensions: readonly Dimension[],
  { metric_index }: RowReader,
): readonly Repeated[] {
  const metricAt = dimensions.findIndex(({ index }) => index === metric_index)
  const rows = counted.filter(hasCounts).toSorted((a, b) => a.row.line - b.row.line)
  return dimensions.flatMap(({ index }, position) => {
    if (position === metricAt) return []
    const name = ({ values }: Entry) => `${position === 0 ? '' : values[0]}\n${values[metricAt]}`
    const rowsByName = Map.groupBy(rows, name)
    // Most files have one row of each slot or session.
    if ([...rowsByName.values()].every(({ length }) => length < 2)) return []
    const groups = new Map([...rowsByName].map(([key, all]) => [key, { all, sums: addUp(all).sums }]))
    const places = new Map([...groups.values()].flatMap(({ all }) => all.map((entry, at) => [entry, at] as const)))
    const labels = Map.groupBy(rows, ({ values }) => values[position] ?? null)
    labels.delete(null)
    const isWord = (label: string | null) => /^[\p{L}\s]+$/u.test(label ?? '')
    const words = position === 0 ? [...labels.keys()].filter(isWord).length : 0
    const isStrange = (label: string) => words * 2 < labels.size && isWord(label)
    for (const [label, entries] of [...labels].toReversed()) {
      const found = [...Map.groupBy(entries, name)].map(([key, rows]): Labelled => {
        const { all, sums } = groups.get(key)!
        const own = addUp(rows).sums
        return { rows, all, own, others: sums.map((sum, at) => sum - own[at]!) }
      })
      const isTotal =
        position === 0
          ? areSums(found, '', isStrange(label!) ? 0 : surelyTotal)
          : found.length > 1 && areSums(found, label!, sureDigits)
      if (isTotal)
        return found.map(({ rows, all }) => ({
          rows,
          parts: all.filter(({ values }) => values[position] !== label),
          index,
        }))
      const sections = position === 0 ? null : findSections(found, places, index)
      if (sections !== null) return sections
    }
    return []
  })
}

function hasCounts({ counts }: Entry): boolean {
  return counts.some((count) => (count ?? 0) > 0)
}

/** Digits of a key that is the sum of all others: each key is tried. */
const surelyTotal = 2
/** Digits that are equal by accident in no file, though many runs are tried. */
const certainDigits = 4

/** Whether rows are the sums of their parts, and that is no accident. One part alone may be counted along with the row. */
function areSums(found: readonly Labelled[], label: string, least: number): boolean {
  const hasParts = found.every(({ rows, all }) => all.length > rows.length)
  const isTimes = (times: number) =>
    found.every(({ own, others }) => own.every((count, at) => count === others[at]! * times))
  // All devices are never less than one of them, also where some are not listed.
  const isAbove = ({ rows, all, own }: Labelled) =>
    all.every((entry) => rows.includes(entry) || entry.counts.every((count, at) => (count ?? 0) <= own[at]!))
  if (namesAll(label) && hasParts && found.every(isAbove)) return true
  // Rows by campaign and those of all campaigns have the counts of rows by country twice.
  if (!hasParts || !(isTimes(1) || isTimes(2))) return false
  const isPaired = found.every(({ rows, all }) => all.length <= rows.length * 2)
  const isAlone = found.every(({ own }) => own.filter((count) => count > 0).length < 2)
  const digits = found.reduce((sum, { rows, all, own }) => sum + countDigits(own, all.length - rows.length), 0)
  return digits >= least && !(isPaired && isAlone)
}

/** A section may be long. */
const maxParts = 200

/** Returns the rows that each are the sum of those right behind or before them; null where one is not, or it may be an accident. */
function findSections(
  found: readonly Labelled[],
  places: ReadonlyMap<Entry, number>,
  index: number,
): readonly Repeated[] | null {
  const sections: Repeated[] = []
  let [digits, isNested] = [0, true]
  const nestsIn = (entry: Entry, part: Entry | undefined) =>
    part !== undefined && nests(String(entry.row.cells[index]), String(part.row.cells[index]))
  for (const { rows, all } of found) {
    const [entry, another] = rows
    if (another !== undefined) return null
    const at = places.get(entry!)!
    // Most labels of a file of many are there once.
    if (found.length === 1 && !nestsIn(entry!, all[at + 1]) && !nestsIn(entry!, all[at - 1])) return null
    const sides = [all.slice(at + 1, at + 1 + maxParts), all.slice(Math.max(0, at - maxParts), at).toReversed()]
    const run = sides.flatMap((side) => (side.length === 0 ? [] : (findRun(entry!, side) ?? [])))[0]
    if (run === undefined) return null
    const isPart = new Set(run.rows)
    const parts = sides
      .flat()
      .filter(({ row }) => isPart.has(row))
      .toSorted((a, b) => a.row.line - b.row.line)
    const isInside = parts.every((part) => nestsIn(entry!, part))
    if (!isInside && parts.length < 2) return null
    isNested &&= isInside
    digits += countDigits(entry!.counts, parts.length)
    sections.push({ rows, parts, index })
  }
  return digits >= (isNested ? sureDigits : certainDigits) && (isNested || found.length > 1) ? sections : null
}

/** Whether a label is below another: indented, or with its name before its own. */
function nests(label: string, part: string): boolean {
  const indent = /^[\s>└├│·•–-]/
  return (indent.test(part) && !indent.test(label)) || (part.length > label.length && part.startsWith(label))
}

/** Sums of two breakdowns may differ by what only one of them has: rare values, or rows without a label. */
const mostApart = 0.25

/**
 * Returns two columns of which no row has both, though rows with either have about the same counts for each key; null for none. A
 * column of whole numbers may be a count of something else: it needs the same sums.
 */
export function findBreakdowns(
  counted: readonly Entry[],
  dimensions: readonly Dimension[],
  { metric_index }: RowReader,
): readonly [number, number] | null {
  const rows = counted.filter(hasCounts)
  const metricAt = dimensions.findIndex(({ index }) => index === metric_index)
  const name = ({ values }: Entry) => `${values[0]}\n${values[metricAt]}`
  const sparse = dimensions.flatMap((dimension, at) => {
    const filled = rows.filter(({ values }) => values[at] !== null)
    return filled.length === 0 || filled.length === rows.length ? [] : [{ ...dimension, at, filled }]
  })
  for (const [position, one] of sparse.entries()) {
    for (const other of sparse.slice(position + 1)) {
      if (one.filled.some(({ values }) => values[other.at] !== null)) continue
      const others = Map.groupBy(other.filled, name)
      const shared = [...Map.groupBy(one.filled, name)].filter(([key]) => others.has(key))
      const apart = one.isWhole || other.isWhole ? 0 : mostApart
      const isSame = ([key, entries]: (typeof shared)[number]) => {
        const sums = addUp(others.get(key)!).sums
        return addUp(entries).sums.every((sum, at) => Math.abs(sum - sums[at]!) <= Math.max(sum, sums[at]!) * apart)
      }
      if (shared.length > 0 && shared.every(isSame)) return [one.index, other.index]
    }
  }
  return null
}
