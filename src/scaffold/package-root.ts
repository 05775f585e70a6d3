import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What the package says of itself. */
export interface Manifest {
  name: string
  version: string
  files: readonly string[]
}

/** The folder of the package that this code belongs to: a checkout, an installed package or the files in a binary. */
export const packageRoot = rootAbove(import.meta.dirname)

export function readManifest(root: string = packageRoot): Manifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
}

function rootAbove(directory: string): string {
  if (existsSync(join(directory, 'package.json')) || dirname(directory) === directory) return directory
  return rootAbove(dirname(directory))
}
