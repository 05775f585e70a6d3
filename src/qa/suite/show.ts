/** A suite, or one case of it, as it is written. */
import { readFileSync } from 'node:fs'
import { expand } from '../plan/plan.ts'
import { builtinNames, builtinText, loadSuites } from './builtin.ts'
import { suggestion } from './suggestion.ts'
import { SuiteError } from './suite.ts'

/** `formats`, `mine.yaml`, or the id of a case: `formats/a banner fills`. Throws SuiteError. */
export function showText(name: string, resolvePath: (file: string) => string): string {
  if (/\.ya?ml$/.test(name)) {
    loadSuites([name], resolvePath)
    return readFileSync(resolvePath(name), 'utf8')
  }
  const [suite = '', ...rest] = name.split('/')
  const wanted = rest.join('/')
  const [loaded] = loadSuites([suite], resolvePath)
  const text = builtinText(builtinNames().find((each) => each === suite)!)
  if (wanted === '') return text
  const cases = expand([loaded!])
  const found = cases.find((planned) => planned.name === wanted || planned.loaded.name === wanted)
  if (found === undefined) {
    const message = `The suite ${suite} has no case named "${wanted}".`
    const hint = `${suggestion(wanted, [...new Set(cases.map((planned) => planned.name))].slice(0, 40))}`
    throw new SuiteError([{ place: { file: `builtin:${suite}`, line: 1, column: 1 }, message, hint }])
  }
  return caseLines(text.split('\n'), found.loaded.place.line)
}

/** From the line of its name to the next item of the list of cases. */
function caseLines(lines: readonly string[], line: number): string {
  const start = line - 1
  const indent = /^ *-/.exec(lines[start]!)?.[0].length ?? 0
  const next = lines.findIndex((text, index) => index > start && new RegExp(`^ {0,${indent - 1}}[^ ]`).test(text))
  return `${lines
    .slice(start, next < 0 ? undefined : next)
    .join('\n')
    .trimEnd()}\n`
}
