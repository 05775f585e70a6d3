/** Parses a command line, settles the settings and runs the command, under one rule for failures and interrupts. */

import { createOutput, type OutputFormat, type OutputOptions } from '../output/output.ts'
import { styleOf } from '../output/style.ts'
import { watchStarter } from '../process/parent-watch.ts'
import { loadSettings } from '../settings/files.ts'
import { outputFormats, resolveSettings, type Settings } from '../settings/settings.ts'
import type { Command, CommandGroup } from './command.ts'
import { commandName } from './command-name.ts'
import { CliError, exitCodes } from './errors.ts'
import { describeFailure, exitCodeOf } from './failure.ts'
import type { Host } from './host.ts'
import { firstOperand, type Parsed, parseCommandLine } from './parser.ts'
import { sessionClient, severalSandboxesNote } from './session.ts'
import { topics } from './topics.ts'

/** A command by name, loaded when it is called. */
export interface LazyCommand {
  name: string
  load(): Promise<Command | CommandGroup>
}

type ParsedCommand = Extract<Parsed, { kind: 'command' }>

/** npm forwards the terminal's SIGINT a second time; two within this time count as one. */
const doubledSignalMs = 100
const defaultColumns = 80

export async function runCommand(
  commands: readonly LazyCommand[],
  root_help: string,
  args: readonly string[],
  host: Host,
): Promise<number> {
  let reporting: OutputOptions = { format: formatIn(args, host.env), quiet: false, color: 'auto', pages: false }
  try {
    const topic = args[0] === 'help' ? topics[args[1] ?? ''] : undefined
    if (topic !== undefined) {
      host.stdout.write(`${topic(styleOf(host.stdout, 'auto', host.env)).join('\n')}\n`)
      return 0
    }
    const parsed = await parse(commands, root_help, args[0] === 'help' ? [...args.slice(1), '--help'] : args, host)
    if (parsed.kind === 'help') {
      const stream = parsed.isAsked ? host.stdout : host.stderr
      stream.write(parsed.text)
      return parsed.isAsked ? 0 : exitCodes.usage.exit_code
    }
    const { quiet, color, mayAsk, mayPage } = parsed.globals
    reporting = { ...reporting, quiet, color, pages: mayAsk && mayPage }
    const settings = await settle(parsed, host)
    reporting = { ...reporting, format: settings.output }
    return await runSession(parsed, mayAsk ? host : { ...host, stdin_is_terminal: false }, settings, reporting)
  } catch (error) {
    const failure = describeFailure(error)
    createOutput(host, reporting).failure({ ...failure, hint: asTyped(failure.hint, commandName(host.env)) })
    return exitCodeOf(failure)
  }
}

async function parse(commands: readonly LazyCommand[], root_help: string, args: readonly string[], host: Host) {
  const wanted = firstOperand(args)
  const entries = await Promise.all(
    commands.map(async ({ name, load }) => ({ name, loaded: name === wanted ? await load() : null })),
  )
  const isKnown = wanted === undefined || entries.some(({ loaded }) => loaded !== null)
  return parseCommandLine(entries, helpLast(args, isKnown), {
    root_help,
    command_name: commandName(host.env),
    columns: host.stdout.columns ?? defaultColumns,
  })
}

/** `--help` behind the command that it is about, wherever it was written; without it where there is no such command. */
function helpLast(args: readonly string[], isKnown: boolean): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length
  const words = args.slice(0, end).filter((arg) => arg !== '--help' && arg !== '-h')
  const isHelp = words.length < end
  return [...words, ...(isHelp && isKnown ? ['--help'] : []), ...args.slice(end)]
}

/** The settings of a command. A format of its own counts as text for everything that is common. */
async function settle({ command, globals }: ParsedCommand, host: Host): Promise<Settings> {
  const flags = { ...globals.settings }
  if (command.formats?.includes(flags.output ?? '')) flags.output = 'text'
  return loadSettings(host, flags).catch((error) => {
    if (!command.acceptsInvalidSettings) throw error
    const { output } = flags
    return resolveSettings({ flags: { output }, environment: {}, config: {}, profile: {}, sandboxes: [] })
  })
}

async function runSession(
  { command, given, globals }: ParsedCommand,
  host: Host,
  settings: Settings,
  output: OutputOptions,
): Promise<number> {
  const interrupt = new AbortController()
  let onInterrupt = (signal: string) =>
    interrupt.abort(new CliError('interrupted', 'interrupted', `Interrupted by ${signal}.`))
  const out = createOutput(host, output)
  const undo = handleSignals(host, (signal) => onInterrupt(signal))
  const unwatch = watchStarter(host, (pid) => {
    out.note(`The process that ran this one (pid ${pid}) is gone.`)
    onInterrupt('SIGHUP')
  })
  let note = severalSandboxesNote(settings, commandName(host.env))
  try {
    return await command.run(
      {
        host,
        settings,
        flags: globals.settings,
        out,
        command_name: commandName(host.env),
        signal: interrupt.signal,
        onInterrupt: (handler) => {
          onInterrupt = handler
        },
        client: ({ credential } = {}) => {
          if (note !== null) out.note(note)
          note = null
          return sessionClient(settings, credential)
        },
      },
      given,
    )
  } finally {
    unwatch()
    undo()
  }
}

/** The first signal ends cleanly, a second one at once. */
function handleSignals(host: Host, first: (signal: string) => void): () => void {
  let received_at: number | null = null
  return host.onSignal((signal) => {
    const now = host.now()
    if (received_at === null) first(signal)
    else if (now - received_at >= doubledSignalMs) host.exitNow(exitCodes.interrupted.exit_code)
    received_at ??= now
  })
}

/** Commands in a hint as this person would type them. */
function asTyped(hint: string | null, command_name: string): string | null {
  return hint?.replace(/\bsvc(?= [a-z])/g, command_name) ?? null
}

/** The output format before anything is parsed, so that a usage error is already told in it. */
function formatIn(args: readonly string[], env: Host['env']): OutputFormat {
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const given = own.flatMap((arg, index) => {
    if (arg === '--json') return ['json']
    if (arg === '-o' || arg === '--output') return [own[index + 1]]
    return /^(?:-o|--output=)(.+)$/.exec(arg)?.slice(1) ?? []
  })
  return outputFormats.find((format) => format === (given.at(-1) ?? env.SVC_OUTPUT)) ?? 'text'
}
