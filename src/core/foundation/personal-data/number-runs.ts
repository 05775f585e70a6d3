/** Numbers as people write them: groups of digits with something between two of them. */

export interface NumberRun {
  /** The groups of digits: `['0171', '2345678']`. */
  groups: readonly string[]
  /** What is between two groups, one entry fewer: `[' ']`. */
  separators: readonly string[]
  /** The text before the first digit and after the last one, at most 40 characters of each. */
  before: string
  after: string
}

const run = /[0-9]+(?:[ .\-/()]{1,3}[0-9]+)*/g
const maxAround = 40

/** Returns the runs of a text that have at least seven digits: fewer are no number that belongs to somebody. */
export function readNumberRuns(text: string): NumberRun[] {
  const runs: NumberRun[] = []
  for (const { 0: found, index } of text.matchAll(run)) {
    if (found.length < leastDigits) continue
    const groups = found.split(/[^0-9]+/)
    if (countDigits(groups) < leastDigits) continue
    const separators = found.split(/[0-9]+/).slice(1, -1)
    const end = index + found.length
    const before = text.slice(Math.max(0, index - maxAround), index)
    runs.push({ groups, separators, before, after: text.slice(end, end + maxAround) })
  }
  return runs
}

const leastDigits = 7

export function countDigits(groups: readonly string[]): number {
  return groups.reduce((sum, { length }) => sum + length, 0)
}
