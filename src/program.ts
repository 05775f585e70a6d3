/**
 * From a command line to an exit code, and the only place that names the commands of the first level. `svc --help` and
 * `--version` are printed without loading anything.
 */

import type { Command, LazyCommand, Noun } from '#cli/run/command.ts'
import { commandName, type System } from '#cli/run/system.ts'
import type { Step } from '#cli/run/welcome.ts'
import { version } from '#text/version.ts'

export const sections = ['Sandbox', 'Placements', 'Checks', 'The service', 'Set up'] as const
type Section = (typeof sections)[number]

interface CommandEntry extends LazyCommand {
  section: Section
  /** For `svc help commands`. */
  brief: string
}

/** Every command in the order of the help. A module is loaded when its command is called, so that `svc --help` is fast. */
export const commands: readonly CommandEntry[] = [
  entry('start', 'Sandbox', 'start the sandbox of this folder', () => import('#commands/sandbox/start.ts')),
  entry('open', 'Sandbox', 'the inspector, or a frame, in a browser', () => import('#commands/open.ts')),
  entry('sandbox', 'Sandbox', 'status, stop, logs, clock, faults, keys', () => import('#commands/sandbox/index.ts')),
  entry('exec', 'Sandbox', 'run a command with a new sandbox, and end both', () => import('#commands/exec.ts')),
  entry('demand', 'Sandbox', 'check your own campaigns', () => import('#commands/demand.ts')),
  entry('trigger', 'Placements', 'play a whole turn, up to the verdict', () => import('#commands/trigger/index.ts')),
  entry('placements', 'Placements', 'create, list, count', () => import('#commands/placements/index.ts')),
  entry('explain', 'Placements', 'why one filled, what it would bill', () => import('#commands/placements/index.ts')),
  entry('beacons', 'Placements', 'send, list, follow, lint, bill', () => import('#commands/beacons/index.ts')),
  entry('api', 'Placements', 'other calls of API v1: jobs, decisions, consent', () => import('#commands/api.ts')),
  entry('observe', 'Checks', 'judge what your app or page sends', () => import('#commands/qa/observe.ts')),
  entry('qa', 'Checks', 'scripted checks of each format', () => import('#commands/qa/index.ts')),
  entry('creatives', 'Checks', 'each creative in every width and theme', () => import('#commands/creatives.ts')),
  entry('requests', 'Checks', 'list, verify, show, replay, export', () => import('#commands/requests/index.ts')),
  entry('evidence', 'Checks', 'what billing is based on: verify, export', () => import('#commands/evidence/index.ts')),
  entry('bundle', 'Checks', 'a turn as one signed file: create, import', () => import('#commands/bundle/index.ts')),
  entry(
    'record',
    'The service',
    'record the real service, without secrets',
    () => import('#commands/contract/record.ts'),
  ),
  entry('contract', 'The service', 'check, compare, show fields', () => import('#commands/contract/index.ts')),
  entry('init', 'Set up', 'create a project from a template', () => import('#commands/setup/init.ts')),
  entry('docs', 'Set up', 'guides, reference and codes', () => import('#commands/docs.ts')),
  entry('doctor', 'Set up', 'check this computer', () => import('#commands/doctor.ts')),
  entry('agent', 'Set up', 'skill and tools for coding agents', () => import('#commands/setup/agent.ts')),
  entry('config', 'Set up', 'profiles, settings, completion of your shell', async () => {
    const [{ config }, { completion }] = await Promise.all([
      import('#commands/setup/config.ts'),
      import('#commands/setup/completion.ts'),
    ])
    return { config: { ...config, commands: [...config.commands, completion(commands)] } }
  }),
  entry('team', 'Set up', 'tokens, audit, namespaces of a shared store', () => import('#commands/team/index.ts')),
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
  ['explain', 'why the last one filled, and what it would bill'],
  ['beacons', 'send, list, follow and check beacons'],
  ['qa', 'run scripted checks of each format'],
  ['observe', 'judge what your app or page sends'],
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
