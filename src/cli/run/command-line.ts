/**
 * From the words of a command line to an exit code: commander parses them into a value, help is printed or the command runs,
 * and every failure is reported.
 *
 * Every name of a level is declared as an empty subcommand. When commander has found the called one, a hook loads it
 * and adds its arguments and options, or the names of the next level: only commands on the path are loaded. The common
 * options belong to the root, which reads them anywhere on the line. `--help` is one of them.
 */

import { Command as Commander, CommanderError, Option } from 'commander'
import { tableNames } from '#foundation/table-entry.ts'
import type { Failure } from '#text/cli-error.ts'
import { CliError, exitCodes } from '#text/cli-error.ts'
import { withCommandName } from '#text/command-name.ts'
import { type ColorChoice, chooseStyle, oneLine, type View } from '#text/terminal.ts'
import { version } from '#text/version.ts'
import type { OutputOptions } from '../output/output.ts'
import { colorChoices, timeChoices } from '../settings/table.ts'
import { type AnyCommand, type Command, type CommandInput, isGroup, load, tableOptions } from './command.ts'
import {
  type CommonOptions,
  choiceError,
  commonOptions,
  delimiters,
  outputOptions,
  readCommonOptions,
} from './common-options.ts'
import { usageError } from './errors.ts'
import { guardStreams } from './guarded-streams.ts'
import { describeRenamed, withPresentName } from './renamed-commands.ts'
import { commandName, type System } from './system.ts'
import {
  type ReachedCommand,
  unknownFlagHint,
  verbHint,
  verbsHint,
  withCurrentFlags,
  withTypedFlags,
} from './usage-hints.ts'

const defaultColumns = 80

/** Runs a command line and returns its exit code. Schemas, settings and the client are loaded once it is parsed. */
export async function runCommand(
  commands: readonly AnyCommand[],
  rootHelp: () => string,
  args: readonly string[],
  bare: System,
): Promise<number> {
  const system = guardStreams(bare)
  const view = { time: null, now_ms: system.now(), wide: false, columns: null, left_out: [] } as View
  const output: OutputOptions = { format: 'text', quiet: false, color: 'auto', isPaged: false, view }
  try {
    const [first, ...rest] = args
    if (first === 'help' && (await printTopic(rest, system, output))) return exitCodes.ok.exit_code
    const { args: present, note } = withPresentName(args)
    const parsed = await parseCommandLine(commands, withoutPseudoCommand(first, rest) ?? present)
    Object.assign(output, outputOptions(parsed.common, system.env))
    view.time = parsed.common.time
    if (parsed.kind === 'invalid') throw parsed.error
    if (parsed.kind === 'version') {
      system.stdout.write(`${version}\n`)
      return exitCodes.ok.exit_code
    }
    if (parsed.kind === 'help') {
      const stream = parsed.isRequested ? system.stdout : system.stderr
      stream.write(
        parsed.words.length === 0
          ? rootHelp()
          : await renderHelp(commands, parsed.words, system, {
              color: output.color,
              isComplete: args.includes('--all'),
            }),
      )
      return parsed.isRequested ? exitCodes.ok.exit_code : exitCodes.usage.exit_code
    }
    if (note !== null && !output.quiet) system.stderr.write(`${withCommandName(note, commandName(system))}\n`)
    const { runParsedCommand } = await import('./parsed-command.ts')
    return await runParsedCommand(parsed, system, output)
  } catch (error) {
    const failure = await describe(error)
    const { createOutput } = await import('../output/output.ts')
    createOutput(system, output).failure(failure)
    return exitCodes[failure.category].exit_code
  }
}

/** Returns the flag of `svc help ...` and of `svc version`; null for any other command line. */
function withoutPseudoCommand(first: string | undefined, rest: readonly string[]): string[] | null {
  if (first === 'version') return [...rest, '--version']
  return first === 'help' ? [...rest, '--help'] : null
}

async function printTopic(words: readonly string[], system: System, output: OutputOptions): Promise<boolean> {
  const [name = ''] = words
  const { topics } = await import('./help-topics.ts')
  const topic = Object.hasOwn(topics, name) ? topics[name] : undefined
  if (topic === undefined) return false
  const { createOutput } = await import('../output/output.ts')
  const lines = await topic(chooseStyle(system.stdout, 'auto', system.env))
  createOutput(system, { ...output, isPaged: !words.includes('--no-pager') }).data(lines, () => lines)
  return true
}

async function renderHelp(
  commands: readonly AnyCommand[],
  words: readonly string[],
  system: System,
  { color, isComplete }: { color: ColorChoice; isComplete: boolean },
): Promise<string> {
  const { commandHelp, commandTree } = await import('./help.ts')
  const tree = await commandTree(commands.filter(({ name }) => name === words[0]))
  return commandHelp(tree, words, {
    command_name: commandName(system),
    columns: system.stdout.columns ?? defaultColumns,
    style: chooseStyle(system.stdout, color, system.env),
    isComplete,
  })
}

/** Only problems of suites and of rows have their own lines: elsewhere a line end belongs to a name or a value. */
const linedCodes: ReadonlySet<string> = new Set(['demand_invalid', 'suite_invalid', 'rows_invalid'])

/** A usage error needs neither the client nor the contract. */
async function describe(error: unknown): Promise<Failure> {
  if (error instanceof CliError) {
    const { category, code, message, hint } = error
    const text = linedCodes.has(code) ? message : oneLine(message)
    return { category, code, reason_code: null, message: text, hint: hint && oneLine(hint), request_id: null }
  }
  const { describeFailure } = await import('#text/failure.ts')
  return describeFailure(error)
}

type ParsedLine = { common: CommonOptions } & (
  | { kind: 'command'; command: Command; input: CommandInput }
  /** `words` name the command or group that the help is about; not requested where a command is missing. */
  | { kind: 'help'; words: readonly string[]; isRequested: boolean }
  | { kind: 'version' }
  | { kind: 'invalid'; error: CliError }
)

/** Parses a command line. Unknown words are returned as `invalid`, with the nearest known one. */
export async function parseCommandLine(commands: readonly AnyCommand[], args: readonly string[]): Promise<ParsedLine> {
  const tree = createTree(commands, args)
  const result = await parse(withCurrentFlags(args))
  return { ...result, common: readCommonOptions(tree.root.opts()) }

  async function parse(words: string[]) {
    try {
      await tree.root.parseAsync(words, { from: 'user' })
      const called = tree.called()
      if (called !== null) return { kind: 'command', ...called } as const
      throw new CommanderError(1, 'commander.command_missing', 'a command is missing')
    } catch (error) {
      if (!(error instanceof CommanderError)) throw error
      if (error.code === 'commander.version') return { kind: 'version' } as const
      error.message = withoutPasswords(withTypedFlags(error.message, args), args)
      const refused = renamed(error.code)
      if (refused !== null) return { kind: 'invalid', error: refused } as const
      if (error.code !== 'commander.help')
        return { kind: 'invalid', error: await usageError(error, await hint(error)) } as const
      return { kind: 'help', words: tree.root.args, isRequested: tree.root.opts().help === true } as const
    }
  }

  /** Returns the error for a command that has another name now; null for others. */
  function renamed(code: string): CliError | null {
    const isMissing = code !== 'commander.help' || tree.root.opts().help !== true
    const message = isMissing && tree.reached() === null ? describeRenamed(tree.root.args) : null
    return message === null ? null : new CliError('usage', 'command_renamed', `${message}.`)
  }

  /** Returns what to do about an error, if the command says more than commander's message. */
  async function hint({ code, message }: CommanderError): Promise<string | null> {
    const words = tree.root.args
    const [first = ''] = words
    const isCommand = commands.some(({ name }) => name === first)
    if (code === 'commander.unknownCommand' && first !== '') {
      if (!isCommand) return verbHint(commands, first)
      return message.includes('Did you mean') ? null : verbsHint(commands, words)
    }
    const reached = tree.reached()
    if (reached === null) return null
    if (code === 'commander.unknownOption') return unknownFlagHint(message, reached, args.includes('--'))
    if (code !== 'commander.missingArgument') return null
    const { argumentHint, examples } = reached.command
    return (await argumentHint?.()) ?? `For example: svc ${examples[0]}`
  }
}

/** The commands as commander parses them: those on the path of the line are loaded while it does. */
interface CommandTree {
  root: Commander
  /** Returns the command that the line calls, once it is parsed; null for none. */
  called(): { command: Command; input: CommandInput } | null
  /** Returns the last command whose words are parsed, or null. */
  reached(): ReachedCommand | null
}

function createTree(commands: readonly AnyCommand[], args: readonly string[]): CommandTree {
  const declared = new Map<Commander, AnyCommand>()
  let called: { command: Command; input: CommandInput } | null = null
  let reached: ReachedCommand | null = null
  const root = silent('svc').addOption(new Option('-h, --help')).version('', '-V, --version')
  root.option('-v').on('option:v', () => {
    throw new CommanderError(0, 'commander.version', '')
  })
  for (const option of commonOptions()) root.addOption(option)
  for (const command of commands) declare(root, command)
  return { root, called: () => called, reached: () => reached }

  /** A commander that neither prints nor ends the process: subcommands that are added later do not inherit that. */
  function silent(name: string): Commander {
    return new Commander(name)
      .helpOption(false)
      .helpCommand(false)
      .exitOverride()
      .configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
      .hook('preSubcommand', (_, child) => complete(child))
  }

  function declare(parent: Commander, command: AnyCommand): void {
    const commander = silent(command.name)
    declared.set(commander, command)
    parent.addCommand(commander)
  }

  async function complete(commander: Commander): Promise<void> {
    const { color, time, delimiter, help } = root.opts()
    const chosen = [
      ['--color <when>', color, colorChoices],
      ['--time <form>', time, timeChoices],
      ['--delimiter <character>', delimiter, tableNames(delimiters)],
    ] as const
    for (const [flags, value, choices] of chosen) {
      if (value !== undefined && !choices.some((choice) => choice === value))
        root.error(choiceError(flags, value, choices), { code: 'commander.invalidArgument' })
    }
    if (help === true) commander.help()
    const command = await load(declared.get(commander)!)
    if (!isGroup(command)) completeCommand(commander, command)
    else for (const inner of command.commands) declare(commander, inner)
  }

  function completeCommand(commander: Commander, command: Command): void {
    reached = { command, path: commandPath(commander) }
    for (const argument of command.arguments ?? []) commander.addArgument(argument)
    for (const option of [...(command.options ?? []), ...tableOptions(command)]) {
      commander.addOption(option)
      // commander applies the default of `--no-foo` before the hook, when it does not know the option yet.
      if (option.negate) commander.setOptionValue(option.attributeName(), true)
    }
    const parseOptions = commander.parseOptions.bind(commander)
    commander.parseOptions = (words) => parseOptions(withExplicitTrue(words, command))
    commander.action(() => {
      const options = commander.opts()
      if (command.passesThrough !== true) {
        called = { command, input: { args: commander.processedArgs, options } }
        return
      }
      // commander treats the words after `--` as the last arguments, and does not report where they begin.
      const passthrough = args.includes('--') ? args.slice(args.indexOf('--') + 1) : null
      const own = commander.args.slice(0, commander.args.length - (passthrough?.length ?? 0))
      called = { command, input: { args: own, options, passthrough } }
    })
  }
}

/** Returns words in which a flag for yes or no, before an argument of the command, does not take it: `--replace NAME`. */
function withExplicitTrue(words: readonly string[], { options = [], arguments: taken = [] }: Command): string[] {
  const flags = options.filter(({ flags }) => flags.endsWith('[true|false]')).map(({ long }) => long)
  return words.map((word, index) => {
    const next = words[index + 1]
    const isArgument = taken.length > 0 && next !== undefined && !/^(-|true$|false$)/i.test(next)
    return flags.includes(word) && isArgument ? `${word}=true` : word
  })
}

/** Returns the words that call a command, without `svc`. */
function commandPath(commander: Commander): string {
  const { parent } = commander
  return parent === null || parent.parent === null ? commander.name() : `${commandPath(parent)} ${commander.name()}`
}

/** Returns a message that quotes a command line, without the passwords of its URLs. */
function withoutPasswords(message: string, args: readonly string[]): string {
  const given = args.flatMap((word) => [word, word.slice(word.indexOf('=') + 1)])
  return given.reduce((text, word) => text.replaceAll(word, () => redactUrlPassword(word)), message)
}

/**
 * Returns a word of a command line without the password of a URL in it, even if a typo makes it an invalid URL. A
 * password can contain the characters that would end it, so it goes up to the last `@`. Without an `@`, it is the text
 * after the user that is not a port.
 */
function redactUrlPassword(word: string): string {
  return word
    .replace(/^((?:[^:]*:\/\/)?(?:(?!%3A)[^:])*)(?::(?!\/\/)|%3A).*@/is, '$1:***@')
    .replace(/^([^:]*:\/\/[^:@[]*):(?!\d{1,5}(?:\/|$)|\*{3}@).*$/s, '$1:***')
    .replace(/([?&]password=)[^&]*/gi, '$1***')
    .replace(/^[^:@][^:]*@/s, '***@')
}
