/**
 * The faults that are put into the product on purpose, each as an edit of one declaration: edits/*.txt has them as
 *
 *     name: what is wrong, as an integrator would describe it
 *     in FOLDER#DECLARATION
 *     - the text that is replaced
 *     + its replacement
 *     check: what that check needs to know
 *
 * The declaration is found by its name in a folder, and the text in it whatever its line breaks: a moved file concerns no
 * edit. An edit that is not found exactly once is an error, so that none of them is ever without effect unseen.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Who must notice a fault, and what stands behind the colon: */
export const checkNames = [
  /** The suites of `svc qa`: the ids of cases begin with one of these, separated by `|`, which run before all others. */
  'suites',
  /** Their cases in a browser, likewise. */
  'renderer',
  /** The name of a rule in store/rules.ts, on SQLite. */
  'store',
  /** The same on PostgreSQL, with two nodes. */
  'postgres',
  /** Histories on virtual time: nothing. */
  'simulation',
  /** Histories of nodes as processes: the faults under which it shows, separated by commas. */
  'shared',
  /** Below SQLite, in tests/disk: how. */
  'disk',
] as const
export type CheckName = (typeof checkNames)[number]

export interface Edit {
  name: string
  wrong: string
  /**
   * The folder and the function, class or constant at the top level of one of its files: `sandbox/rules/domain#decide`. Where two
   * files declare it, the file without its extension instead of the folder.
   */
  in: string
  find: string
  replace: string
  checks: Partial<Record<CheckName, string>>
}

const root = join(import.meta.dirname, '../..')
/** The files of each folder with their texts. */
const folders = new Map<string, { file: string; source: string }[]>()

export const edits: readonly Edit[] = globSync('edits/*.txt', { cwd: import.meta.dirname })
  .sort()
  .flatMap((file) =>
    readFileSync(join(import.meta.dirname, file), 'utf8')
      .trim()
      .split('\n\n')
      .slice(1)
      .map(parseEdit),
  )

/** @throws Error when there is none of that name */
export function findEdit(name: string): Edit {
  const found = edits.find((edit) => edit.name === name)
  if (found === undefined) throw new Error(`There is no edit ${name} in tests/mutations/edits.`)
  return found
}

/** Returns the edits that one of these checks must notice. */
export function listEdits(...names: readonly CheckName[]): Edit[] {
  return edits.filter(({ checks }) => names.some((name) => checks[name] !== undefined))
}

/**
 * Returns the file of an edit, relative to the repository, and its source with the edit made.
 * @throws Error when the declaration, or the text in it, is not there exactly once
 */
export function applyEdit({ name, in: place, find, replace }: Edit): { file: string; source: string } {
  const [folder = '', declaration = ''] = place.split('#')
  const found = readFolder(folder).flatMap(({ file, source }) => {
    return findDeclarations(source, declaration).map((part) => ({ file, source, ...part }))
  })
  const [only] = found
  if (only === undefined || found.length > 1) {
    throw new Error(`edit ${name}: ${folder} declares ${declaration} ${found.length} times, not once. Update the edit.`)
  }
  const { file, source, start, end } = only
  const text = source.slice(start, end)
  const pattern = new RegExp(find.split(/\s+/).map(escapePattern).join('\\s+'), 'g')
  const count = text.match(pattern)?.length ?? 0
  if (count !== 1) {
    throw new Error(
      `edit ${name}: ${declaration} in ${file} has the text of the edit ${count} times, not once. Update the edit.`,
    )
  }
  return { file, source: source.slice(0, start) + text.replace(pattern, () => replace) + source.slice(end) }
}

function parseEdit(block: string): Edit {
  const [title = '', place = '', ...lines] = block.split('\n')
  const [, name, wrong] = /^(\w+): (.+)$/.exec(title) ?? []
  const starting = (mark: string) => lines.flatMap((line) => (line.startsWith(mark) ? [line.slice(2)] : []))
  const [find, replace] = [starting('- ').join(' '), starting('+ ').join('\n')]
  const checks: Edit['checks'] = {}
  for (const line of lines.filter((each) => !/^[-+] /.test(each))) {
    const check = checkNames.find((each) => line.startsWith(`${each}:`))
    if (check === undefined) throw new Error(`edit ${name}: "${line}" begins with no check: ${checkNames.join(', ')}.`)
    checks[check] = line.slice(check.length + 1).trim()
  }
  const isWhole = place.startsWith('in ') && find !== '' && Object.keys(checks).length > 0
  if (name === undefined || wrong === undefined || !isWhole) throw new Error(`This is not a whole edit:\n${block}`)
  return { name, wrong, in: place.slice('in '.length), find, replace, checks }
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
