/** The suites that come along: files in `fixtures/suites`, as anybody might write them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadSuite } from './load.ts'
import { suggestion } from './suggestion.ts'
import { type LoadedSuite, SuiteError, type SuiteProblem } from './suite.ts'

/** Names of the built-in suites. */
export function builtinNames(): string[] {
  return readdirSync(builtinFolder())
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .toSorted()
}

/** The text of a built-in suite. */
export function builtinText(name: string): string {
  return readFileSync(`${builtinFolder()}${name}.yaml`, 'utf8')
}

/** Reads suites by file or built-in name. Throws SuiteError with everything wrong in any of them. */
export function loadSuites(wanted: readonly string[], resolvePath: (file: string) => string): LoadedSuite[] {
  const suites: LoadedSuite[] = []
  const problems: SuiteProblem[] = []
  for (const name of wanted) {
    try {
      suites.push(isFile(name) ? loadFile(name, resolvePath(name)) : loadBuiltin(name))
    } catch (error) {
      if (!(error instanceof SuiteError)) throw error
      problems.push(...error.problems)
    }
  }
  if (problems.length > 0) throw new SuiteError(problems)
  return suites
}

/** What has a path or an ending is a file; anything else names a built-in suite. */
function isFile(name: string): boolean {
  return /[/\\]|\.ya?ml$/.test(name)
}

function loadBuiltin(name: string): LoadedSuite {
  const names = builtinNames()
  if (names.includes(name)) return loadSuite(builtinText(name), `builtin:${name}`, builtinFolder())
  throw unreadable(
    name,
    `There is no built-in suite named ${name}.`,
    `${suggestion(name, names)} A file ends in .yaml.`,
  )
}

function loadFile(name: string, path: string): LoadedSuite {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw unreadable(name, `The file cannot be read: ${(error as NodeJS.ErrnoException).code}.`, 'Check the path.')
  }
  return loadSuite(text, name, path.replace(/[^/\\]*$/, ''))
}

function unreadable(file: string, message: string, hint: string): SuiteError {
  return new SuiteError([{ place: { file, line: 1, column: 1 }, message, hint }])
}

/** Beside the bundle as in the sources: the first folder above that has the fixtures. */
function builtinFolder(): string {
  for (const up of ['../', '../../', '../../../']) {
    const folder = fileURLToPath(new URL(`${up}fixtures/suites/`, import.meta.url))
    if (existsSync(folder)) return folder
  }
  throw new Error('The folder fixtures/suites is missing from this package.')
}
