/** The name that was most likely meant. */

/** The candidate with the fewest edits, where there are few enough to be a slip; null otherwise. */
export function nearest(word: string, candidates: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(word.length / 3))
  let best: string | null = null
  let fewest = most + 1
  for (const candidate of candidates) {
    const count = edits(word.toLowerCase(), candidate.toLowerCase())
    if (count < fewest) {
      best = candidate
      fewest = count
    }
  }
  return best
}

/** `Did you mean x?`, or else what there is. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearest(word, candidates)
  if (near !== null) return `Did you mean ${near}?`
  return candidates.length === 0 ? 'There is none.' : `There is: ${candidates.join(', ')}.`
}

/** Insertions, deletions, replacements, and swaps of two neighbours. */
function edits(from: string, to: string): number {
  let older: number[] = []
  let before = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 1; row <= from.length; row++) {
    const now = [row]
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1]
      let least = Math.min(now[column - 1]! + 1, before[column]! + 1, before[column - 1]! + (isSame ? 0 : 1))
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (isSwapped) least = Math.min(least, older[column - 2]! + 1)
      now.push(least)
    }
    older = before
    before = now
  }
  return before[to.length]!
}
