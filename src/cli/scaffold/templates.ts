/** The templates of this package: one folder each, described by its `package.json`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { nearestName } from '#foundation/nearest-name.ts'

/** The folder of the package that this code belongs to: a checkout, an installed package or the files in a binary. */
export const packageRoot = rootAbove(import.meta.dirname)

function rootAbove(directory: string): string {
  if (existsSync(join(directory, 'package.json')) || dirname(directory) === directory) return directory
  return rootAbove(dirname(directory))
}

/** The reason why a project cannot be created. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError'
  /** Stable name of the cause: `directory_not_empty`. */
  readonly code: string
  /** The fix, one sentence. */
  readonly hint: string

  constructor(code: string, message: string, hint: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/** What a template needs beside Node, from `_shared/toolchains.json`. */
interface Toolchain {
  /** For the user: `Go 1.19 or later`. */
  needs: string
  /** The command that installs its libraries. */
  install?: string
  /** The program that its npm scripts start. Without one, a script of the template finds it under several names. */
  program?: string
  /** A file that names the project, as `package.json` does. */
  name_in?: string
  /** The folder of the package of svc, where `vendor` belongs to the tools of the language. */
  package_in?: string
}

export interface Template {
  name: string
  /** One line, for the list. */
  summary: string
  /** Null: Node is all that it needs. */
  toolchain: Toolchain | null
  /** Its npm scripts, by name. */
  scripts: Readonly<Record<string, string>>
  directory: string
}

/** Returns every template, sorted by name. */
export function listTemplates(folder: string = join(packageRoot, 'templates')): Template[] {
  if (!existsSync(folder)) return []
  const toolchains = JSON.parse(readFileSync(join(folder, '_shared/toolchains.json'), 'utf8')) as Toolchains
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, 'package.json')))
    .map((name) => readTemplate(name, join(folder, name), toolchains))
    .toSorted((one, other) => one.name.localeCompare(other.name))
}

/** Returns the template of this name. Throws ScaffoldError `template_unknown`, with the nearest names. */
export function findTemplate(name: string, templates: readonly Template[] = listTemplates()): Template {
  const found = templates.find((template) => template.name === name)
  if (found !== undefined) return found
  const all = templates.map((template) => template.name)
  // Most names contain one or two given letters: `x` means a directory rather than next-chat.
  const containing = all.filter((each) => name.length > 2 && each.includes(name.toLowerCase()))
  const misspelt = nearestName(name, all)
  const near = containing.length === 0 && misspelt !== null ? [misspelt] : containing
  const names = (near.length === 0 ? all : near).join(', ')
  throw new ScaffoldError(
    'template_unknown',
    `There is no template ${JSON.stringify(name)}.`,
    near.length === 1
      ? `Did you mean ${names}? All of them: svc init --list`
      : `Name one of ${names} first, then the directory. svc init --list describes them.`,
  )
}

type Toolchains = Readonly<Record<string, Toolchain>>

function readTemplate(name: string, directory: string, toolchains: Toolchains): Template {
  const { description, scripts = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    description: string
    scripts?: Record<string, string>
  }
  return { name, summary: description, toolchain: toolchains[name] ?? null, scripts, directory }
}
