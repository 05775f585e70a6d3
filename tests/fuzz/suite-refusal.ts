/** What is promised of every YAML file: it is read, or everything that is wrong is named by its place. */
import { SuiteError } from '#yaml/problems.ts'
import { check, checkLine } from './target.ts'

/** Returns what `read` returns, or null when it refuses the text with the places of its problems. */
export function readYaml<Value>(text: string, read: () => Value): Value | null {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof SuiteError)) throw error
    check(error.problems.length > 0, 'a refusal has no problem')
    const lines = text.split(/\r\n|\r|\n/)
    for (const { place, message, hint } of error.problems) {
      checkLine(message)
      if (hint !== '') checkLine(hint)
      check(place.line >= 1 && place.line <= lines.length, `line ${place.line} is outside of the file`)
      check(place.column >= 1, `column ${place.column} is outside of the file`)
    }
    return null
  }
}
