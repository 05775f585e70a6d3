/** `svc agent setup`: the skill and the MCP configuration of the coding agents of a project. */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Option } from 'commander'
import { type CodingAgent, codingAgents } from '#agent-files/coding-agents.ts'
import { findOwnCommand } from '#agent-files/own-command.ts'
import type { Plan, PlannedFile } from '#agent-files/plan.ts'
import { openProjectFiles, type ProjectFiles } from '#agent-files/project-files.ts'
import { planRemoval } from '#agent-files/removal.ts'
import { findAgents, planSetup } from '#agent-files/setup.ts'
import { repeatable } from '#cli/endpoint/option-values.ts'
import { type Command, type CommandContext, type CommandInput, type Noun, suggestValues } from '#cli/run/command.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { shownCommand } from '#foundation/redaction.ts'
import { packageRoot } from '#scaffold/templates.ts'
import { CliError, didYouMean, exitCodes } from '#text/cli-error.ts'
import { plural } from '#text/text.ts'
import { version } from '#text/version.ts'

type SetupFlags = {
  agent?: string[]
  dryRun?: true
  remove?: true
}

const names = codingAgents.map(({ name }) => name)

const setup: Command = {
  name: 'setup',
  summary: 'Set up the coding agents of this project: a skill and the MCP server',
  details: [
    'Finds agents by their files in this folder, such as AGENTS.md, .cursor or .vscode/mcp.json. The skill says how to integrate placements and how to prove it; the MCP configuration connects svc agent mcp; AGENTS.md and CLAUDE.md, where there are any, get a short block between two marks. Each file is named before it is written. Files with servers of others are merged: everything in them stays, comments too. A second run changes nothing.',
    '--remove takes away what was written, and leaves alone what has been changed since. Nothing outside of this folder is read or written. svc doctor says when the files are of an older version.',
  ].join('\n\n'),
  options: [
    suggestValues(repeatable('--agent <name>', `for this agent: ${names.join(', ')}`), names),
    new Option('--dry-run', 'only show what would be written'),
    new Option('--remove', 'take away what was written').conflicts('agent'),
  ],
  examples: ['agent setup --agent agents --dry-run', 'agent setup --remove'],
  async run(context, { options: flags }: CommandInput<SetupFlags>) {
    refuseHome(context)
    const project = openProjectFiles(context.system.cwd)
    return flags.remove === true ? remove(context, project, flags) : write(context, project, flags)
  },
}

export const agent: Noun = {
  summary: 'Set up coding agents, and serve tools for them',
  commands: [setup, { name: 'mcp', load: async () => (await import('./mcp.ts')).mcp }],
}

/** There the files of agents are those of all projects. */
function refuseHome({ system: { cwd, home } }: CommandContext): void {
  if (resolve(cwd) !== resolve(home)) return
  const message = 'This is your home directory, where the files of agents are those of all your projects.'
  throw new CliError('usage', 'directory_invalid', message, 'Run this in the folder of a project.')
}

function write(context: CommandContext, project: ProjectFiles, { agent = [], dryRun }: SetupFlags): number {
  const { command_name, out, system } = context
  const agents = agent.length === 0 ? findAgents(project) : agent.map(findAgent)
  if (agents.length === 0) {
    const message = `No coding agent was found by its files in ${system.cwd}.`
    throw new CliError(
      'usage',
      'agent_missing',
      message,
      `Name one: ${command_name} agent setup --agent agents. There are: ${names.join(', ')}.`,
    )
  }
  const { words, needs } = findOwnCommand(system, command_name)
  const read = (name: string) =>
    readFileSync(join(packageRoot, 'fixtures/agent-skill', name), 'utf8')
      .replaceAll('{{svc}}', shownCommand(words))
      .replaceAll('{{version}}', version)
  const plan = planSetup({ project, agents, skill: read('SKILL.md'), block: read('block.md'), version, words })
  noteRoot(context)
  if (needs !== null) out.note(`The command for agents is ${shownCommand(words)} mcp. ${needs}`)
  return carryOut(context, project, plan, {
    agents: agents.map(({ name }) => name),
    dry_run: dryRun === true,
    done: (changed) =>
      changed === 0
        ? `Nothing to change for ${agents.map(({ name }) => name).join(', ')}.`
        : `Set up ${agents.map(({ name }) => name).join(', ')}: ${plural(changed, 'file')}. Restart the agent, and commit the files.`,
  })
}

function findAgent(name: string): CodingAgent {
  const found = codingAgents.find((each) => each.name === name)
  if (found !== undefined) return found
  const hint = `${didYouMean(name, names) ?? ''} There are: ${names.join(', ')}.`.trim()
  throw new CliError('usage', 'agent_unknown', `There is no agent ${JSON.stringify(name)}.`, hint)
}

/** Agents read the files at the root of a repository. */
function noteRoot({ out, system: { cwd } }: CommandContext): void {
  if (existsSync(join(cwd, '.git'))) return
  for (let folder = dirname(cwd); folder !== dirname(folder); folder = dirname(folder)) {
    if (!existsSync(join(folder, '.git'))) continue
    out.note(`The repository begins at ${folder}: agents that you start there do not read the files of this folder.`)
    return
  }
}

function remove(context: CommandContext, project: ProjectFiles, { dryRun }: SetupFlags): number {
  const plan = planRemoval(project) ?? { files: [], folders: [] }
  return carryOut(context, project, plan, {
    agents: [],
    dry_run: dryRun === true,
    done: (changed) =>
      plan.files.length === 0
        ? 'Nothing to take away: svc agent setup wrote nothing here.'
        : `Took away ${plural(changed, 'file or entry', 'files and entries')}.`,
  })
}

interface Report {
  agents: readonly string[]
  dry_run: boolean
  done(changed: number): string
}

/** Names the files, then writes them. */
function carryOut(
  context: CommandContext,
  project: ProjectFiles,
  plan: Plan,
  { agents, dry_run, done }: Report,
): number {
  const { out, system } = context
  const changes = plan.files.filter(({ action }) => action === 'create' || action === 'update' || action === 'delete')
  const files = plan.files.map(({ path, action, what, why }) => ({ path, action, what, why }))
  if (out.format === 'text') for (const line of planLines(plan.files)) out.note(line)
  if (!dry_run) {
    for (const file of changes) apply(project, file)
    for (const folder of plan.folders) project.removeFolder(folder)
  }
  const result = { directory: system.cwd, agents, dry_run, changed: changes.length, files }
  out.data(result, () => [dry_run ? 'Nothing was written: --dry-run.' : done(changes.length)], files)
  return exitCodes.ok.exit_code
}

function planLines(files: readonly PlannedFile[]): string[] {
  const widest = Math.max(0, ...files.map(({ path }) => path.length))
  return files.map(({ path, action, what, why }) => {
    const text = why === null ? what : `${what}: ${why}. It stays as it is.`
    return `${action.padEnd(6)}  ${path.padEnd(widest)}  ${text}`
  })
}

function apply(project: ProjectFiles, { path, content }: PlannedFile): void {
  try {
    if (content === null) project.remove(path)
    else project.write(path, content)
  } catch (error) {
    throw unwritable(path, error, 'Check its permissions, then run this again: it goes on where it stopped.')
  }
}
