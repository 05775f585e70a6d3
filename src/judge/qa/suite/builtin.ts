/** The built-in suites, and suites by file: loading them, and printing one as written. */

import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { EncodingError, TextError } from '#foundation/encoding.ts'
import { readErrorCode } from '#foundation/system-error.ts'
import { readTextFileSync } from '#foundation/text-file.ts'
import { SuiteError, type SuiteProblem, suggestion } from '#yaml/problems.ts'
import { expand } from '../run/plan.ts'
import { loadSuite } from './load.ts'
import { namesIn, packagePath } from './package-files.ts'
import type { LoadedSuite } from './schema.ts'

/** Built-in suites that run only by name, or by a command of their own. */
const suitesByName: readonly string[] = ['contract-check']

/** Returns the names of the built-in suites that run when none is named. */
export function builtinNames(): string[] {
  return namesIn('suites/', '.yaml')
}

/** Returns the text of a built-in suite. */
export function builtinText(name: string): string {
  return readFileSync(`${suiteFolder(name)}${name}.yaml`, 'utf8')
}

function suiteFolder(name: string): string {
  return packagePath(suitesByName.includes(name) ? 'suites/checks/' : 'suites/')
}

/** Loads suites by file or built-in name. Throws SuiteError with everything that is wrong in any of them. */
export function loadSuites(wanted: readonly string[], resolvePath: (file: string) => string): LoadedSuite[] {
  const suites: LoadedSuite[] = []
  const problems: SuiteProblem[] = []
  for (const name of wanted) {
    try {
      // A name with a path or an extension is a file; any other is a built-in suite.
      suites.push(/[/\\]|\.ya?ml$/.test(name) ? loadFile(name, resolvePath(name)) : loadBuiltin(name))
    } catch (error) {
      if (!(error instanceof SuiteError)) throw error
      problems.push(...error.problems)
    }
  }
  if (problems.length > 0) throw new SuiteError(problems)
  return suites
}

function loadBuiltin(name: string): LoadedSuite {
  const names = [...builtinNames(), ...suitesByName]
  if (names.includes(name)) return loadSuite(builtinText(name), `builtin:${name}`, suiteFolder(name))
  throw unreadable(
    name,
    `There is no built-in suite named ${name}.`,
    `${suggestion(name, names)} A file ends in .yaml.`,
  )
}

function loadFile(name: string, path: string): LoadedSuite {
  let text: string
  try {
    text = readTextFileSync(path)
  } catch (error) {
    if (error instanceof TextError) {
      const { message, hint } = error
      const line = error instanceof EncodingError ? error.line : 1
      throw new SuiteError([{ place: { file: name, line, column: 1 }, message: `${message}.`, hint }])
    }
    const code = readErrorCode(error)
    const message = code === 'ENOENT' ? 'No such file.' : `The file cannot be read: ${code}.`
    throw unreadable(name, message, 'Check the path.')
  }
  return loadSuite(text, name, path.replace(/[^/\\]*$/, ''))
}

function unreadable(file: string, message: string, hint: string): SuiteError {
  return new SuiteError([{ place: { file, line: 0, column: 0 }, message, hint }])
}

/** The JSON schema of suites, relative to a project that has this package installed. */
const schemaInProject = './node_modules/svc-sandbox/fixtures/svc.qa.schema.json'

/**
 * Returns the text of a suite, `formats` or `mine.yaml`, or of a case, `formats/a banner fills`. A built-in suite names
 * its schema by a path that is right outside of this package, for the editor. Throws SuiteError.
 */
export function showText(name: string, resolvePath: (file: string) => string): string {
  if (/\.ya?ml$/.test(name)) {
    loadSuites([name], resolvePath)
    return readTextFileSync(resolvePath(name))
  }
  const [suite = '', ...rest] = name.split('/')
  const wanted = rest.join('/')
  const [loaded] = loadSuites([suite], resolvePath)
  const text = builtinText(suite)
  if (wanted === '') {
    const published = pathToFileURL(packagePath('fixtures/svc.qa.schema.json')).href
    const $schema = existsSync(resolvePath(schemaInProject)) ? schemaInProject : published
    return text.replace(/(?<=^# yaml-language-server: \$schema=).*/, () => $schema)
  }
  const cases = expand([loaded!])
  const found = cases.find((planned) => planned.name === wanted || planned.loaded.name === wanted)
  if (found === undefined) {
    const message = `The suite ${suite} has no case named "${wanted}".`
    const hint = `${suggestion(wanted, [...new Set(cases.map((planned) => planned.name))].slice(0, 40))}`
    throw new SuiteError([{ place: { file: `builtin:${suite}`, line: 0, column: 0 }, message, hint }])
  }
  return caseLines(text.split('\n'), found.loaded.place.line)
}

/** Returns the lines from the name of a case to the next item of the list of cases. */
function caseLines(lines: readonly string[], line: number): string {
  const start = line - 1
  const indent = /^ *-/.exec(lines[start]!)?.[0].length ?? 0
  const next = lines.findIndex((text, index) => index > start && new RegExp(`^ {0,${indent - 1}}[^ ]`).test(text))
  return `${lines
    .slice(start, next < 0 ? undefined : next)
    .join('\n')
    .trimEnd()}\n`
}
