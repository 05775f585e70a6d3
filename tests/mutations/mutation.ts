/**
 * A fault put into the emulator on purpose, as an edit of one declaration. The declaration is found by its name in a folder,
 * and the text in it whatever its line breaks: a moved file concerns no mutation. An edit that is not found exactly once is an
 * error, so that none of them is ever without effect unseen.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Edit {
  name: string
  /** The fault of the emulator in one sentence, as an integrator would describe it. */
  wrong: string
  /**
   * The folder and the function, class or constant at the top level of one of its files: `sandbox/domain#decide`. Where two
   * files declare it, the file without its extension instead of the folder.
   */
  in: `${string}#${string}`
  from: string
  to: string
}

/** A fault that the suites of `svc qa`, which are run against the broken emulator, must notice. */
export interface Mutation extends Edit {
  /** The class of check that should notice. */
  about:
    | 'shape'
    | 'consent'
    | 'credentials'
    | 'decision'
    | 'beacons'
    | 'billing'
    | 'limits'
    | 'privacy'
    | 'cors'
    | 'frame'
    | 'config'
    | 'faults'
    | 'renderer'
  /** Prefix of the ids of the cases that run first: all of a suite take a second, those in a browser many. */
  noticed_by?: string
}

const root = join(import.meta.dirname, '../..')
/** The files of each folder with their texts. */
const folders = new Map<string, { file: string; source: string }[]>()

/**
 * Returns the file of an edit, relative to the repository, and its source with the edit made.
 * @throws Error when the declaration, or the text in it, is not there exactly once
 */
export function applyEdit({ name, in: place, from, to }: Edit): { file: string; source: string } {
  const [folder = '', declaration = ''] = place.split('#')
  const found = readFolder(folder).flatMap(({ file, source }) => {
    return findDeclarations(source, declaration).map((part) => ({ file, source, ...part }))
  })
  const [only] = found
  if (only === undefined || found.length > 1) {
    throw new Error(
      `mutation ${name}: ${folder} declares ${declaration} ${found.length} times, not once. Update the mutation.`,
    )
  }
  const { file, source, start, end } = only
  const text = source.slice(start, end)
  const pattern = new RegExp(from.trim().split(/\s+/).map(escapePattern).join('\\s+'), 'g')
  const count = text.match(pattern)?.length ?? 0
  if (count !== 1) {
    throw new Error(
      `mutation ${name}: ${declaration} in ${file} holds its text ${count} times, not once. Update the mutation.`,
    )
  }
  return { file, source: source.slice(0, start) + text.replace(pattern, () => to.trim()) + source.slice(end) }
}

function readFolder(folder: string): { file: string; source: string }[] {
  const files =
    folders.get(folder) ??
    globSync(`${folder}{.ts,.tsx,/**/*.ts,/**/*.tsx}`, { cwd: root, exclude: ['**/*.test.*'] }).map((file) => ({
      file: file.replaceAll('\\', '/'),
      source: readFileSync(join(root, file), 'utf8'),
    }))
  folders.set(folder, files)
  return files
}

/** Returns where a file declares a name at its top level: up to the next line that is not indented and closes nothing. */
function findDeclarations(source: string, name: string): { start: number; end: number }[] {
  const pattern = new RegExp(`^(?:export )?(?:async )?(?:function\\*?|const|class) ${name}\\b`, 'gm')
  return [...source.matchAll(pattern)].map(({ index: start }) => {
    const body = source.indexOf('\n', start) + 1
    const next = source.slice(body).search(/^[^\s})\]]/m)
    return { start, end: next === -1 ? source.length : body + next }
  })
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
