/**
 * Regular expressions that suites and flags bring. Some take longer than the universe exists on a short text, and nothing
 * else runs meanwhile, not even the handler of a signal. The engine of `node:vm` ends them; its syntax is JavaScript's.
 */

import { createContext, Script } from 'node:vm'
import { readErrorCode } from '#foundation/system-error.ts'
import { QaError } from '../result.ts'

/** What all texts of one call may take together. Matching a megabyte takes a few milliseconds. */
const maxMatchMs = 500

interface Search {
  source: string
  flags: string
  texts: readonly string[]
}

let search: ((given: Search) => boolean[]) | undefined

/** Returns for each text whether a regular expression matches it. Throws QaError when it takes too long. */
export function matchPattern(source: string, texts: readonly string[], flags = 'u'): boolean[] {
  search ??= createSearch()
  try {
    return search({ source, flags, texts })
  } catch (error) {
    if (readErrorCode(error) !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    const longest = Math.max(...texts.map(({ length }) => length))
    throw new QaError(
      'pattern_slow',
      `The regular expression /${source}/ took longer than ${maxMatchMs} ms on a text of ${longest} characters.`,
      'Write it without a repetition inside another: (a+)+ is a+.',
    )
  }
}

function createSearch(): (given: Search) => boolean[] {
  const script = new Script(`{
    const pattern = new RegExp(given.source, given.flags)
    given.texts.map((text) => pattern.test(text))
  }`)
  const context: { given: Search | null } = { given: null }
  createContext(context)
  return (given) => {
    context.given = given
    try {
      return script.runInContext(context, { timeout: maxMatchMs }) as boolean[]
    } finally {
      context.given = null
    }
  }
}
