/** The fixtures of this package that suites use: the built-in suites, and the catalogue of scenarios. */
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Returns the path of a fixture, in the nearest folder above: the bundle and the sources stand at different depths. */
export function fixturePath(name: string): string {
  const paths = ['../', '../../', '../../../'].map((up) =>
    fileURLToPath(new URL(`${up}fixtures/${name}`, import.meta.url)),
  )
  const found = paths.find(existsSync)
  if (found === undefined) throw new Error(`${name} is missing from the fixtures of this package.`)
  return found
}

/** Returns the names of the scenarios, or of the built-in suites: of the files with an extension in a folder of fixtures. */
export function fixtureNames(folder: string, extension: string): string[] {
  return readdirSync(fixturePath(folder))
    .filter((file) => file.endsWith(extension))
    .map((file) => file.slice(0, -extension.length))
    .toSorted()
}
