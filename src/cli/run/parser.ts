/**
 * The command line, parsed by commander into a value: nothing runs in here.
 *
 * commander's own habits that would end the process or write to the terminal are turned off on every command, because a
 * command attached to another one does not inherit that.
 */
import { Command as Commander, CommanderError, Option } from 'commander'
import { type ColorChoice, colorChoices } from '../output/style.ts'
import { settingNames, settingsTable, type Values } from '../settings/settings.ts'
import { type Command, type CommandGroup, type CommandInput, commandsWithin, isGroup } from './command.ts'
import { CliError } from './errors.ts'
import { version } from './version.ts'

export type Parsed =
  | { kind: 'command'; command: Command; given: CommandInput; globals: Globals }
  | { kind: 'help'; text: string; isAsked: boolean }

/** Options that every command takes. */
export interface Globals {
  settings: Values
  quiet: boolean
  color: ColorChoice
  /** Whether a command may ask on a terminal. */
  mayAsk: boolean
  /** Whether a long list may go to a pager. */
  mayPage: boolean
}

/** A name that the command line knows, with its commands when they are loaded. */
export interface Entry {
  name: string
  loaded: Command | CommandGroup | null
}

export interface ParserOptions {
  command_name: string
  /** What `--help` prints when there is no command. */
  root_help: string
  /** Width of the terminal, characters. */
  columns: number
}

/** Parses `args`. Throws CliError for what it does not understand, with the nearest it does. */
export function parseCommandLine(entries: readonly Entry[], args: readonly string[], options: ParserOptions): Parsed {
  const written: string[] = []
  const chosen: { command: Command; given: CommandInput }[] = []
  const root = quiet(new Commander(options.command_name), options, written)
    .usage('<command> [options]')
    .helpCommand(false)
  root.version(version, '-V, --version').helpInformation = () => options.root_help
  for (const option of globalOptions()) root.addOption(option)
  const { own, passthrough } = splitPassedOn(entries, args)
  for (const { name, loaded } of entries) {
    if (loaded === null) root.addCommand(quiet(new Commander(name), options, written))
    else root.addCommand(build(loaded))
  }
  try {
    root.parse(flagsAsCommands(entries, own), { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.helpDisplayed' || error.code === 'commander.version')
      return { kind: 'help', text: written.join(''), isAsked: true }
    if (error.code === 'commander.help') return { kind: 'help', text: written.join(''), isAsked: false }
    throw usageError(error)
  }
  const [first] = chosen
  if (first === undefined) throw new CliError('usage', 'command_missing', 'A command is missing.', 'See svc --help.')
  return { kind: 'command', ...first, globals: readGlobals(root.opts()) }

  function build(entry: Command | CommandGroup): Commander {
    const commander = quiet(new Commander(entry.name), options, written)
      .summary(entry.summary)
      .description(
        isGroup(entry) || entry.details === undefined ? `${entry.summary}.` : `${entry.summary}. ${entry.details}`,
      )
    if (isGroup(entry)) {
      for (const command of entry.commands) commander.addCommand(build(command))
      return commander
        .helpCommand(false)
        .usage('<command> [options]')
        .addHelpText(
          'after',
          examplesText(
            commandsWithin(entry)
              .slice(0, 2)
              .map(({ command }) => command.examples[0]),
            options,
          ),
        )
    }
    for (const argument of entry.arguments ?? []) commander.addArgument(argument)
    for (const option of entry.options ?? []) commander.addOption(option)
    return commander
      .addHelpText('after', examplesText(entry.examples, options))
      .allowExcessArguments(false)
      .action((...given: unknown[]) => {
        const args = given.slice(0, -2) as (string | undefined)[]
        chosen.push({ command: entry, given: { options: given.at(-2) as CommandInput['options'], args, passthrough } })
      })
  }
}

/** `contract --check URL` as `contract check URL`. */
function flagsAsCommands(entries: readonly Entry[], args: readonly string[]): string[] {
  const { name, loaded } = entries.find((entry) => entry.loaded !== null) ?? { name: '', loaded: null }
  const flags = loaded !== null && isGroup(loaded) ? (loaded.flagCommands ?? {}) : {}
  const at = args.indexOf(name) + 1
  const [flag = '', ...value] = args[at]?.split('=') ?? []
  const command = flags[flag]
  if (command === undefined) return [...args]
  return [...args.slice(0, at), command, ...(value.length === 0 ? [] : [value.join('=')]), ...args.slice(at + 1)]
}

/** Takes off what is another program's: commander forgets where `--` was. */
function splitPassedOn(entries: readonly Entry[], args: readonly string[]) {
  const end = args.indexOf('--')
  const isPassedOn = entries.some(
    ({ loaded }) =>
      loaded !== null &&
      commandsWithin(loaded).some(
        ({ command, path }) => command.passesThrough === true && isCalled(path.split(' '), args.slice(0, end)),
      ),
  )
  return isPassedOn && end >= 0
    ? { own: args.slice(0, end), passthrough: args.slice(end + 1) }
    : { own: args, passthrough: null }
}

/** Whether the words of a command stand there in their order; flags and their values may stand between them. */
function isCalled(path: readonly string[], args: readonly string[]): boolean {
  let found = 0
  for (const word of args) if (word === path[found]) found++
  return found === path.length
}

/** The options that every command takes, from the table of settings. */
export function globalOptions(): Option[] {
  const settings = settingNames.flatMap((name) => {
    const { flag, description } = settingsTable[name]
    return flag === null ? [] : [new Option(flag, description)]
  })
  return [
    ...settings,
    new Option('--json', 'short for -o json'),
    new Option('-q, --quiet', 'no notes on stderr'),
    new Option('--no-input', 'never ask, also on a terminal'),
    new Option('--no-pager', 'print long lists as they are, also on a terminal'),
    new Option('--color <when>', 'colours on a terminal').choices(colorChoices).default('auto'),
  ]
}

/** The name of the command in `args`: the first word that is neither an option nor the value of one. */
export function firstOperand(args: readonly string[]): string | undefined {
  const takesValue = new Set(globalOptions().flatMap(({ required, short, long }) => (required ? [short, long] : [])))
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] as string
    if (takesValue.has(arg)) index++
    else if (!arg.startsWith('-')) return arg
  }
  return undefined
}

/** Switches off everything by which commander would end the process or write by itself. */
function quiet(commander: Commander, { columns }: ParserOptions, written: string[]): Commander {
  return commander
    .exitOverride()
    .configureOutput({
      writeOut: (text) => written.push(text),
      writeErr: (text) => written.push(text),
      outputError: () => {},
      getOutHelpWidth: () => columns,
      getErrHelpWidth: () => columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ subcommandTerm: (command) => command.name() })
}

function examplesText(examples: readonly string[], { command_name }: ParserOptions): string {
  return [
    '',
    'Examples:',
    ...examples.map((example) => `  ${command_name} ${example}`),
    '',
    'Common options: -o text|json|jsonl|none  -q  --base-url URL  ... (svc help settings)',
  ].join('\n')
}

function readGlobals(options: Record<string, unknown>): Globals {
  const settings = Object.fromEntries(
    settingNames.flatMap((name) => {
      const value = options[name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  ) as Values
  return {
    settings: options.json === true ? { ...settings, output: 'json' } : settings,
    quiet: options.quiet === true,
    color: options.color as ColorChoice,
    mayAsk: options.input !== false,
    mayPage: options.pager !== false,
  }
}

/** `error: unknown option '--formt'\n(Did you mean --format?)` in our own words. */
function usageError({ code, message }: CommanderError): CliError {
  const [what = '', suggestion] = message.replace(/^error: /, '').split('\n')
  const sentence = `${what.charAt(0).toUpperCase()}${what.slice(1)}`
  return new CliError(
    'usage',
    code.replace(/^commander\./, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    sentence.endsWith('.') ? sentence : `${sentence}.`,
    suggestion?.replace(/^\(|\)$/g, '') ?? 'Add --help to see what it takes.',
  )
}
