/**
 * From a command line to an exit code, and the only place that names the commands of the first level. `svc --help` and
 * `--version` are printed without loading anything.
 */
import type { Command, LazyCommand, Noun } from '#cli/run/command.ts'
import { commandName, type System, version } from '#cli/run/system.ts'
import type { Step } from '#cli/run/welcome.ts'

export const sections = ['Sandbox', 'API v1', 'Look inside', 'Team', 'Set up'] as const
type Section = (typeof sections)[number]

interface CommandEntry extends LazyCommand {
  section: Section
  /** At most 26 characters, for `svc --help`. */
  brief: string
}

/** Every command in the order of the help. A module is loaded when its command is called, so that `svc --help` is fast. */
export const commands: readonly CommandEntry[] = [
  entry('start', 'Sandbox', 'start the emulator here', () => import('#commands/sandbox/start.ts')),
  entry('sandbox', 'Sandbox', 'start, stop, status, reset', () => import('#commands/sandbox/index.ts')),
  entry('health', 'Sandbox', 'see sandbox status', () => import('#commands/health.ts')),
  entry('exec', 'Sandbox', 'run CMD with a new sandbox', () => import('#commands/exec.ts')),
  entry('env', 'Sandbox', 'print SVC_* variables', () => import('#commands/env.ts')),
  entry('placements', 'API v1', 'create, list, explain', () => import('#commands/placements/index.ts')),
  entry('jobs', 'API v1', 'create slots to poll', () => import('#commands/jobs.ts')),
  entry('decisions', 'API v1', 'poll a slot', () => import('#commands/decisions.ts')),
  entry('browser', 'API v1', 'get an activation token', () => import('#commands/browser.ts')),
  entry('consent', 'API v1', 'store, withdraw, show', () => import('#commands/consent.ts')),
  entry('projects', 'API v1', 'settings, runtime config', () => import('#commands/projects.ts')),
  entry('keys', 'Sandbox', 'list, create, revoke', () => import('#commands/keys.ts')),
  entry('tokens', 'Team', 'access for a team', () => import('#commands/team/tokens.ts')),
  entry('audit', 'Team', 'who changed what', () => import('#commands/team/audit.ts')),
  entry('namespaces', 'Team', 'of a shared store', () => import('#commands/team/namespaces.ts')),
  entry('open', 'Sandbox', 'the inspector, in a browser', () => import('#commands/open.ts')),
  entry('console', 'Sandbox', 'pages that steer', async () => ({
    console: (await import('#commands/console.ts')).consoleGrants,
  })),
  entry('beacons', 'API v1', 'send and list beacons', () => import('#commands/beacons.ts')),
  entry('trigger', 'API v1', 'play a whole turn', () => import('#commands/trigger/index.ts')),
  entry('render', 'API v1', 'open a hosted frame', () => import('#commands/render.ts')),
  entry('requests', 'Look inside', 'the request journal', () => import('#commands/requests/index.ts')),
  entry('events', 'Look inside', 'follow all events', () => import('#commands/events.ts')),
  entry('callbacks', 'Look inside', 'listen, list, resend', () => import('#commands/callbacks.ts')),
  entry('billing', 'Look inside', 'what would be billed', () => import('#commands/billing/index.ts')),
  entry('evidence', 'Look inside', 'verify, export, list', () => import('#commands/evidence/index.ts')),
  entry('record', 'Look inside', 'record a service', () => import('#commands/contract/record.ts')),
  entry('bundle', 'Look inside', 'a turn as one signed file', () => import('#commands/bundles/bundle.ts')),
  entry('bundles', 'Look inside', 'imported: list, show', () => import('#commands/bundles/index.ts')),
  entry('import', 'Look inside', 'look at such a file', async () => ({
    import: (await import('#commands/bundles/bundle.ts')).importBundle,
  })),
  entry('contract', 'Look inside', 'show it, check a service', () => import('#commands/contract/index.ts')),
  entry('openapi', 'Look inside', 'the OpenAPI document', () => import('#commands/contract/openapi.ts')),
  entry('docs', 'Look inside', 'guides, reference, codes', () => import('#commands/docs.ts')),
  entry('doctor', 'Look inside', 'judge an integration', () => import('#commands/doctor.ts')),
  entry('qa', 'Look inside', 'scripted QA: run, list', () => import('#commands/qa/index.ts')),
  entry('agent', 'Set up', 'files for coding agents', () => import('#commands/setup/agent.ts')),
  entry('mcp', 'Set up', 'tools for coding agents', () => import('#commands/setup/mcp.ts')),
  entry('init', 'Set up', 'a project from a template', async () => ({
    init: (await import('#commands/setup/init.ts')).scaffold,
  })),
  entry('scaffold', 'Set up', 'the same as init', () => import('#commands/setup/init.ts')),
  entry('config', 'Set up', 'profiles and settings', () => import('#commands/setup/config.ts')),
  entry('completion', 'Set up', 'complete in your shell', async () => ({
    completion: (await import('#commands/setup/completion.ts')).completion(commands),
  })),
]

/** A command, and the module that exports it under its name. */
function entry<Name extends string>(
  name: Name,
  section: Section,
  brief: string,
  load: () => Promise<Record<Name, Noun | Command>>,
): CommandEntry {
  return { name, section, brief, load: async () => ({ ...(await load())[name], name }) }
}

/** Runs one command line and returns its exit code. Never exits, never throws. */
export async function run(args: readonly string[], system: System): Promise<number> {
  const [first = ''] = args
  if (args.length === 1 && ['--version', '-V', '-v', 'version'].includes(first)) {
    system.stdout.write(`${version}\n`)
    return 0
  }
  const name = commandName(system)
  if (args.length === 0) {
    system.stdout.write(await welcome(name, system))
    return 0
  }
  if (args.length === 1 && ['--help', '-h', 'help'].includes(first)) {
    system.stdout.write(rootHelp(name, system.stdout.columns, chooseBold(system)))
    return 0
  }
  if (args.length === 2 && first === 'help' && args[1] === 'commands') {
    system.stdout.write(commandList(chooseBold(system)))
    return 0
  }
  const { runCommand } = await import('#cli/run/command-line.ts')
  return runCommand(commands, () => rootHelp(name, system.stdout.columns), args, system)
}

/** Bold on a terminal that supports it, without loading the styles of other output. */
function chooseBold({ stdout, env }: System): Paint {
  const isBold = stdout.is_terminal && !env.NO_COLOR && env.TERM !== 'dumb' && env.FORCE_COLOR !== '0'
  return isBold ? (text) => (text === '' ? '' : `\u001b[1m${text}\u001b[22m`) : plain
}

type Paint = (text: string) => string

const plain: Paint = (text) => text
const widest = 80
/** The column in which names, commands and flags begin. */
const textColumn = 13

/** The commands that `svc --help` names, the first ones first. `svc help commands` has all. */
const firstCommands: readonly Step[] = [
  ['start', 'start the sandbox of this folder'],
  ['trigger', 'play a whole turn: placement, frame, beacons'],
  ['placements', 'create and list placements'],
  ['placements explain', 'why the last one filled, and what it would bill'],
  ['beacons', 'send, list, follow and check beacons'],
  ['qa', 'run scripted checks of each format'],
  ['qa observe', 'judge what your app or page sends'],
  ['open', 'open the inspector in a browser'],
  ['docs', 'read guides, reference and codes'],
  ['init', 'create a project from a template'],
  ['record', 'record the real service, without secrets'],
  ['help commands', 'all commands by subject'],
]

/** Returns `svc --help`, which fits a terminal of 80 by 24, and a narrower one. `bold` is for its headings. */
function rootHelp(command_name: string, columns = widest, bold = plain): string {
  const width = Math.min(widest, columns || widest)
  const labelled = (label: string, words: readonly string[]) => labelledLines(bold(label), label.length, words, width)
  return [
    `${heading}\n`,
    `${bold('Usage')}  ${command_name} <command> [options]\n`,
    ...stepLines(command_name, firstCommands, width),
    '',
    ...labelled('More', [`${command_name} <command> --help`, `${command_name} help settings`]),
    ...labelled('All take', ['-o text|json|jsonl|csv|tsv|none', '--jq EXPR']),
    ...labelled('', ['--base-url URL', '--client-id ID', '--secret-key KEY', '--profile NAME']),
    ...labelled('', ['--time absolute|relative|ms', '--color WHEN', '-q']),
    '',
  ].join('\n')
}

const heading = `svc ${version}: sponsored placements, API v1, on your own machine`

/** Returns a line for each command and what it does; two where the terminal is too narrow. */
function stepLines(command_name: string, steps: readonly Step[], width: number): string[] {
  const lines = steps.map(([command, text]) => ({ command: `${command_name} ${command}`, text }))
  const widestCommand = Math.max(...lines.map(({ command }) => command.length)) + 2
  const isNarrow = lines.some(({ text }) => 2 + widestCommand + text.length > width)
  return lines.map(({ command, text }) =>
    isNarrow ? `  ${command}\n      ${text}` : `  ${command.padEnd(widestCommand)}${text}`,
  )
}

/** Returns what `svc` alone prints. */
async function welcome(command_name: string, system: System): Promise<string> {
  const { readWelcome } = await import('#cli/run/welcome.ts')
  const { state, steps } = await readWelcome(system)
  const lines = stepLines(command_name, steps, Math.min(widest, system.stdout.columns || widest))
  return [`${heading}\n`, `${state}\n`, ...lines, ''].join('\n')
}

/** Returns `svc help commands`: every command with a few words. */
function commandList(bold: Paint): string {
  const lines = sections.map((section) => {
    const own = commands.filter((entry) => entry.section === section)
    return [bold(section), ...own.map(({ name, brief }) => `  ${name.padEnd(textColumn)}${brief}`), ''].join('\n')
  })
  return `${lines.join('\n')}`
}

/** Returns words after a label, separated by two blanks, on as many lines as they need. */
function labelledLines(label: string, length: number, words: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || textColumn + last.length + 2 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last}  ${word}`
  }
  return lines.map((line, index) =>
    index === 0 ? `${label}${' '.repeat(textColumn - length)}${line}` : ' '.repeat(textColumn) + line,
  )
}
