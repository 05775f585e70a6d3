/** The templates: one folder each, told by what its `package.json` says. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './package-root.ts'
import { ScaffoldError } from './scaffold-error.ts'

export interface Template {
  name: string
  /** One line, for the list. */
  summary: string
  /** Its scripts, by name. */
  scripts: Readonly<Record<string, string>>
  directory: string
}

/** Every template, by name. */
export function listTemplates(folder: string = join(packageRoot, 'templates')): Template[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'package.json')))
    .map(({ name }) => readTemplate(name, join(folder, name)))
    .toSorted((one, other) => one.name.localeCompare(other.name))
}

/** The template of this name. Throws ScaffoldError `template_unknown`, with the nearest there is. */
export function findTemplate(name: string, templates: readonly Template[] = listTemplates()): Template {
  const found = templates.find((template) => template.name === name)
  if (found !== undefined) return found
  const near = templates.filter((template) => name !== '' && template.name.includes(name.toLowerCase()))
  const offered = (near.length === 0 ? templates : near).map((template) => template.name).join(', ')
  throw new ScaffoldError(
    'template_unknown',
    `There is no template ${JSON.stringify(name)}.`,
    near.length === 1 ? `Did you mean ${offered}? All of them: svc init --list` : `There are: ${offered}.`,
  )
}

function readTemplate(name: string, directory: string): Template {
  const { description, scripts = {} } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    description: string
    scripts?: Record<string, string>
  }
  return { name, summary: description, scripts, directory }
}
