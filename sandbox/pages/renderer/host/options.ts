/** The options of the API: a name that is none of them is reported, since a misspelt one would be ignored in silence. */
import type { Emit } from './events.ts'

/**
 * Emits an error with the names that are no options. What comes of the call is the same with and without them.
 *
 * @param options every option, so that the compiler misses none
 */
export function checkOptions(options: Record<string, 1>, given: object, emit: Emit): void {
  const known = Object.keys(options)
  const got = Object.keys(given).filter((name) => !known.includes(name) && given[name as never] !== undefined)
  if (got.length) emit('error', { code: 'option_unknown', got, known })
}
