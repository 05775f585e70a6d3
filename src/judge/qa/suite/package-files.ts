/** The files of this package that suites use: the built-in suites, the style of reports, and the catalogue of scenarios. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Returns the path of a file, in the nearest folder above: the bundle and the sources stand at different depths. */
export function packagePath(name: string): string {
  const paths = ['./', '../', '../../', '../../../', '../../../../'].map((up) =>
    fileURLToPath(new URL(`${up}${name}`, import.meta.url)),
  )
  const found = paths.find(existsSync)
  if (found === undefined) throw new Error(`${name} is missing from this package.`)
  return found
}

/** Returns the names of the files with an extension in a folder: of the scenarios, or of the built-in suites. */
export function namesIn(folder: string, extension: string): string[] {
  return readdirSync(packagePath(folder))
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .toSorted()
}
