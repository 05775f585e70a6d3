/** The choice that a mistyped word most likely meant, or null when none is near. */
export function nearestOf(word: string, choices: readonly string[]): string | null {
  const typed = word.toLowerCase()
  const [best] = choices
    .map((choice) => ({ choice, distance: choice.startsWith(typed) && typed !== '' ? 0 : distance(typed, choice) }))
    .toSorted((a, b) => a.distance - b.distance)
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.choice.length / 2)) ? best.choice : null
}

/** How many letters to add, drop or replace. */
function distance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      line.push(Math.min(replaced, above[column]! + 1, line[column - 1]! + 1))
    }
    above = line
  }
  return above[b.length]!
}
