/**
 * Returns the name that was probably meant, or null when none is close: the name with the fewest typos, at most one for
 * every three letters. Case does not matter. Of equally close names, the first is returned.
 */
export function nearestName(wrong: string, names: readonly string[]): string | null {
  const text = wrong.toLowerCase()
  let nearest: string | null = null
  let least = Math.max(1, Math.floor(wrong.length / 3)) + 1
  for (const name of names) {
    // Each letter of the difference is a step: a name of a megabyte needs no comparison.
    if (Math.abs(text.length - name.length) >= least) continue
    const steps = editSteps(text, name.toLowerCase())
    if (steps < least) {
      least = steps
      nearest = name
    }
  }
  return nearest
}

/** Returns the number of letters to insert, remove, change, or swap with their neighbour. */
function editSteps(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let steps = Math.min(above[column]! + 1, line[column - 1]! + 1, above[column - 1]! + (isSame ? 0 : 1))
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        steps = Math.min(steps, before[column - 2]! + 1)
      }
      line.push(steps)
    }
    before = above
    above = line
  }
  return above[b.length]!
}
