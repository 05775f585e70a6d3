/** Reduces a history to the shortest one that still shows its problem: steps are left out, most at first, then one by one. */
import { type HistoryOptions, type HistoryResult, runHistory } from './history.ts'

export interface Reduced {
  /** Positions of the steps that are left, from 1. */
  positions: number[]
  result: HistoryResult
}

/** A reduction tries at most so many histories. */
const maxTries = 250

/** @param found the result of all steps, which has a problem */
export async function reduce({ steps, ...options }: HistoryOptions, found: HistoryResult): Promise<Reduced> {
  // Nothing after the problem takes part in it, unless it was found after all steps.
  let positions = Array.from({ length: found.steps }, (_, index) => index + 1)
  let result = found
  let tries = 0
  const shows = async (wanted: number[]): Promise<boolean> => {
    if (tries++ >= maxTries) return false
    const tried = await runHistory({ ...options, steps: wanted.map((position) => steps[position - 1]!) })
    if (tried.problem?.check !== found.problem?.check) return false
    positions = wanted.slice(0, Math.max(tried.steps, 0))
    result = tried
    return true
  }
  for (let size = Math.ceil(positions.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    // A step that could not be left out may be, once others are.
    for (let isShorter = true; isShorter; ) {
      isShorter = false
      for (let from = positions.length - size; from > -size; from -= size) {
        const without = positions.filter((_, index) => index < from || index >= from + size)
        if (without.length < positions.length && (await shows(without))) isShorter = true
      }
      if (size > 1) break
    }
  }
  return { positions, result }
}
