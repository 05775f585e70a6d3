/** Finds the rows of several breakdowns in one table, as `GROUPING SETS` writes them: each has all counts, and together they are too many. */
import { addUp, type Dimension, type Entry, type RowReader } from './entries.ts'

/**
 * Returns two columns of which no row has both, though rows with either count for the same key; null for none. A column of
 * whole numbers may be a count of something else: it needs the same sums.
 */
export function findBreakdowns(
  counted: readonly Entry[],
  dimensions: readonly Dimension[],
  { metric_index }: RowReader,
): readonly [number, number] | null {
  const rows = counted.filter(({ counts }) => counts.some((count) => (count ?? 0) > 0))
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
      const isSame = ([key, entries]: (typeof shared)[number]) =>
        addUp(entries).sums.join() === addUp(others.get(key)!).sums.join()
      const isText = !one.isWhole && !other.isWhole
      if (shared.length > 0 && (isText || shared.every(isSame))) return [one.index, other.index]
    }
  }
  return null
}
