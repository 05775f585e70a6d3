/** `svc init [template] [dir]`: creates a project from a template. */
import { join } from 'node:path'
import { Argument, Option } from 'commander'
import type { Command, CommandContext, CommandInput } from '#cli/run/command.ts'
import { usualAddress } from '#foundation/http.ts'
import { buildDeclarations } from '#scaffold/declarations.ts'
import { locateProject, type ProjectLocation } from '#scaffold/location.ts'
import { atAddress, checkDirectory, type Project, planProject, writeProject } from '#scaffold/project.ts'
import { findTemplate, listTemplates, packageRoot, ScaffoldError, type Template } from '#scaffold/templates.ts'
import { CliError } from '#text/cli-error.ts'
import { isDumbTerminal } from '#text/terminal.ts'
import { alignPairs } from '#text/text.ts'
import { quotePath } from '../files.ts'
import { canAsk, openPrompt, type Prompt } from '../prompt.ts'

type ScaffoldOptions = {
  list?: boolean
  yes?: boolean
  dryRun?: boolean
  overwrite?: boolean
}

interface Choice {
  template: Template
  place: ProjectLocation
}

export const init: Command = {
  name: 'init',
  summary: 'Create a project from a template',
  details: [
    'Copies a small, complete integration. Its test passes after an install, against its own sandbox. On a terminal it asks for missing arguments; without one, TEMPLATE and DIR are required.',
    'svc is not published on a registry, so the project gets a copy of this package in vendor/.',
  ].join('\n\n'),
  arguments: [templateArgument(), new Argument('[dir]', 'a directory in the current one; the project gets its name')],
  options: [
    new Option('--list', 'list the templates'),
    new Option('-y, --yes', 'do not ask; without DIR the directory gets the name of the template'),
    new Option('--dry-run', 'only print the files that would be written'),
    new Option(
      '--force, --overwrite',
      'write into a directory that is not empty: replace files of the same name, keep all others',
    ),
  ],
  examples: ['init node-server my-server', 'init --list'],
  async run(context, { options: flags, args: [template, dir] }: CommandInput<ScaffoldOptions>) {
    try {
      if (flags.list) return list(context)
      const choice = await choose(context, template, dir, flags)
      return await create(context, choice, flags)
    } catch (error) {
      if (!(error instanceof ScaffoldError)) throw error
      throw new CliError('usage', error.code, error.message, `${error.hint}${fromElsewhere(context, error)}`)
    }
  },
}

/** Offers the names in help and completion. The command refuses any other name, and lists the existing ones. */
function templateArgument(): Argument {
  const argument = new Argument('[template]', 'name of a template; --list describes them')
  argument.argChoices = listTemplates().map(({ name }) => name)
  return argument
}

function list({ out }: CommandContext): number {
  const items = listTemplates().map(({ name, summary }) => ({ name, summary }))
  out.list({ items }, items, (style) =>
    alignPairs(
      items.map(({ name, summary }) => [name, summary]),
      style,
    ),
  )
  return 0
}

async function choose(
  context: CommandContext,
  template: string | undefined,
  dir: string | undefined,
  { yes = false }: ScaffoldOptions,
): Promise<Choice> {
  const { system } = context
  const found = template === undefined ? null : findTemplate(template)
  if (found !== null && (dir !== undefined || yes)) return toChoice(found, dir ?? found.name, system.cwd)
  if (found === null && (yes || !canAsk(context))) throw missing('TEMPLATE', 'template_missing', 'svc init --list')
  if (!canAsk(context)) throw missing('DIR', 'directory_missing', `svc init ${template} my-${template}`)
  const selected = found ?? (hasArrowKeys(context) ? await selectTemplate(context) : null)
  const prompt = openPrompt(context)
  try {
    const chosen = selected ?? (await askTemplate(context, prompt))
    return dir === undefined ? await askPlace(context, prompt, chosen) : toChoice(chosen, dir, system.cwd)
  } finally {
    prompt.close()
  }
}

function toChoice(template: Template, dir: string, cwd: string): Choice {
  return { template, place: locateProject(dir, cwd, template.name) }
}

function missing(what: string, code: string, command: string): CliError {
  return new CliError('usage', code, `${what} is missing, and there is no terminal to ask for it.`, `Try: ${command}`)
}

/** Whether the list can be drawn on the terminal. Otherwise a prompt asks for the template's number or name. */
function hasArrowKeys({ system }: CommandContext): boolean {
  return system.stdout.is_terminal && !isDumbTerminal(system)
}

async function selectTemplate({ signal }: CommandContext): Promise<Template> {
  const { select } = await import('./Select.tsx')
  const template = await select('Template', listTemplates(), signal)
  signal.throwIfAborted()
  if (template === null) throw new CliError('interrupted', 'interrupted', 'Interrupted.')
  return template
}

async function askTemplate({ system }: CommandContext, prompt: Prompt): Promise<Template> {
  const templates = listTemplates()
  const width = Math.max(...templates.map(({ name }) => name.length))
  for (const [index, { name, summary }] of templates.entries()) {
    system.stderr.write(`  ${index + 1}  ${name.padEnd(width)}  ${summary}\n`)
  }
  return askUntilValid(system, prompt, `Template (1-${templates.length} or its name): `, (answer) =>
    findTemplate(templates[Number(answer) - 1]?.name ?? answer, templates),
  )
}

async function askPlace({ system }: CommandContext, prompt: Prompt, template: Template): Promise<Choice> {
  const usual = `my-${template.name}`
  return askUntilValid(system, prompt, `Directory [${usual}]: `, (answer) =>
    toChoice(template, answer || usual, system.cwd),
  )
}

/** Asks again until `read` accepts the answer. */
async function askUntilValid<T>(
  { stderr }: CommandContext['system'],
  prompt: Prompt,
  question: string,
  read: (answer: string) => T,
): Promise<T> {
  for (;;) {
    const answer = await prompt.ask(question)
    if (answer === null)
      throw new CliError('usage', 'answer_missing', 'The input ended before the answer.', 'Try: svc init --help')
    try {
      return read(answer)
    } catch (error) {
      if (!(error instanceof ScaffoldError)) throw error
      stderr.write(`${error.message} ${error.hint}\n`)
    }
  }
}

async function create(
  { system, out, settings }: CommandContext,
  { template, place }: Choice,
  { dryRun = false, overwrite = false }: ScaffoldOptions,
): Promise<number> {
  if (!dryRun) await out.progress('Building the declarations of svc', buildDeclarations())
  const base_url = settings.sandbox?.url ?? usualAddress
  const project = atAddress(planProject(template, place.name), base_url)
  checkDirectory(place.directory, project.files, { overwrite, shown: place.shown })
  if (!dryRun) {
    await out.progress(`Writing ${place.shown}`, writeProject(place.directory, project.files).catch(unwritable(place)))
    if (!project.package.has_types) out.note(typesMissing)
    if (base_url !== usualAddress) out.note(`Its .env.example names the running sandbox: ${base_url}`)
  }
  const manager = packageManager(system.env.npm_config_user_agent)
  const next = nextSteps(system.env.npm_config_user_agent, place.shown, template)
  const created = {
    template: template.name,
    name: place.name,
    directory: place.directory,
    files: project.files.map(({ path }) => path),
    package: project.package,
    package_manager: manager,
    needs: template.toolchain?.needs ?? null,
    next,
    dry_run: dryRun,
  }
  out.data(created, () => (dryRun ? planLines(template, place, project) : doneLines(template, place, project, next)))
  return 0
}

const managers = ['npm', 'pnpm', 'yarn', 'bun'] as const
type PackageManager = (typeof managers)[number]

/** Returns the package manager that `npm_config_user_agent` begins with, as in `pnpm/10.2.0 npm/? node/v24.0.0`; else npm. */
export function packageManager(user_agent: string | undefined): PackageManager {
  const name = user_agent?.split('/', 1)[0]
  return managers.find((manager) => manager === name) ?? 'npm'
}

/** Returns the commands to type next, in order: enter the directory, install, test, and run it if it has a dev script. */
function nextSteps(user_agent: string | undefined, directory: string, { scripts, toolchain }: Template): string[] {
  const manager = packageManager(user_agent)
  const enter = directory === '.' ? [] : [`cd ${quotePath(directory)}`]
  // Yarn 1 would compile the database driver, although its package includes it compiled.
  const install = user_agent?.startsWith('yarn/1.') ? 'yarn install --ignore-scripts' : `${manager} install`
  const libraries = toolchain?.install === undefined ? [] : [toolchain.install]
  const runs = (['test', 'dev'] as const)
    .filter((script) => scripts[script] !== undefined)
    .map((script) =>
      toolchain?.program === undefined ? scriptCommand(manager, script) : execCommand(manager, scripts[script] ?? ''),
    )
  return [...enter, ...libraries, install, ...runs]
}

function scriptCommand(manager: PackageManager, script: 'test' | 'dev'): string {
  // `bun test` is bun's own runner, not the script.
  if (manager === 'bun' || (manager === 'npm' && script === 'dev')) return `${manager} run ${script}`
  return `${manager} ${script}`
}

/** Returns the line of a script as you type it, with the program of the language: `npx --no svc-sandbox exec -- go test ./...`. */
function execCommand(manager: PackageManager, line: string): string {
  const runners = { npm: 'npx --no', pnpm: 'pnpm exec', yarn: 'yarn', bun: 'bunx --no-install' }
  return line.replace(/^svc exec (-q )?/, `${runners[manager]} svc-sandbox exec `)
}

/** Returns how to call this svc from another directory, if it is installed only for this one. */
function fromElsewhere({ command_name, system }: CommandContext, { code }: ScaffoldError): string {
  if (code !== 'directory_outside' || command_name === 'svc') return ''
  // A checkout includes its own Node, which npx found; elsewhere `node` may be an older one.
  const [program = ''] = system.program
  const node = program.startsWith(join(packageRoot, 'node_modules')) ? program : 'node'
  return ` There this command is: ${node} ${join(packageRoot, 'bin/svc.js')} init`
}

const typesMissing =
  'This svc has no type declarations, so the project has none either. For TypeScript: npm run build in the checkout of svc, then svc init again with --force.'

function unwritable({ shown }: ProjectLocation) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.code === undefined) throw error
    const hint = 'Nothing was written. Choose another directory, or fix the cause.'
    throw new CliError('usage', 'directory_unwritable', `${shown} cannot be written: ${error.message}.`, hint)
  }
}

function planLines(template: Template, { shown }: ProjectLocation, { files }: Project): string[] {
  return [
    `Would write ${files.length} files from ${template.name} to ${shown}:`,
    ...files.map(({ path }) => `  ${path}`),
  ]
}

function doneLines(
  template: Template,
  { shown }: ProjectLocation,
  project: Project,
  next: readonly string[],
): string[] {
  const { version, path } = project.package
  return [
    `Created ${shown} from ${template.name}: ${project.files.length} files.`,
    `svc ${version} is not on a registry, so the project contains it: ${path}. Commit it too.`,
    ...(template.toolchain === null ? [] : [`It needs ${template.toolchain.needs}, and Node for svc.`]),
    '',
    'Next:',
    ...next.map((command) => `  ${command}`),
  ]
}
