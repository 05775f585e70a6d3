/** The files beside a file of demand: inside its folder, no links, of a stated size. */
import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { isAbsolute, join, relative, sep } from 'node:path'
import { systemErrorBehind, systemReason } from '#foundation/system-error.ts'

/** Something wrong with a file, and the fix. `at` is a place inside it, for text. */
export class FileProblem extends Error {
  override readonly name = 'FileProblem'
  readonly hint: string
  readonly at: { line: number; column: number } | null

  constructor(message: string, hint: string, at: FileProblem['at'] = null) {
    super(message)
    this.hint = hint
    this.at = at
  }
}

/** Returns the bytes of a file below a folder. @throws FileProblem */
export function readOwnFile(folder: string, name: string, most_bytes: number): Buffer {
  const inside = 'Put it beside the file of demand, and name it from there: banner.png'
  if (isAbsolute(name) || /^[A-Za-z]:/.test(name)) throw refuseAbsolute(folder, name)
  if (name.split(/[\\/]/).includes('..'))
    throw new FileProblem(`${name} leaves the folder of the file of demand.`, inside)
  // It is a separator on Windows alone: the same file must be found everywhere.
  if (name.includes('\\'))
    throw new FileProblem(`${name} has a backslash.`, `Name it with slashes: ${name.replaceAll('\\', '/')}`)
  const path = join(folder, name)
  try {
    const real = realpathSync(folder)
    const stats = lstatSync(path)
    if (stats.isSymbolicLink() || relative(real, realpathSync(path)) !== name.split('/').filter(isStep).join(sep))
      throw new FileProblem(`${name} is a link, or is reached by one.`, 'Put a copy of the file there.')
    if (!stats.isFile()) throw new FileProblem(`${name} is no file.`, 'Name a picture or a clip.')
    if (stats.size === 0) throw new FileProblem(`${name} is empty.`, 'Export it again.')
    if (stats.size > most_bytes)
      throw new FileProblem(
        `${name} has ${stats.size} bytes, and at most ${most_bytes} are taken.`,
        'Export it smaller: an ad that is large is late.',
      )
    return readFileSync(path)
  } catch (error) {
    const system = systemErrorBehind(error)
    if (system === null) throw error
    throw new FileProblem(`${name} cannot be read: ${systemReason(system)}.`, inside)
  }
}

function refuseAbsolute(folder: string, name: string): FileProblem {
  const inner = relative(folder, name).split(sep).join('/')
  const isInside = isAbsolute(name) && inner !== '' && inner.split('/')[0] !== '..' && !isAbsolute(inner)
  const base = name.split(/[\\/]/).at(-1)
  const hint = isInside
    ? `Name it from the folder of the file of demand: ${inner}`
    : `Put it beside the file of demand, and name it from there: ${base}`
  return new FileProblem(`${name} is an absolute path, and none is taken.`, hint)
}

function isStep(step: string): boolean {
  return step !== '' && step !== '.'
}
