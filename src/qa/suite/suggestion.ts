/** What to do about a name that is none: the one that was most likely meant, or those that there are. */
import { nearestName } from '../../contract/nearest-name.ts'

/** `Did you mean x?`, or else what there is. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const near = nearestName(word, candidates)
  if (near !== null) return `Did you mean ${near}?`
  return candidates.length === 0 ? 'There is none.' : `There is: ${candidates.join(', ')}.`
}
