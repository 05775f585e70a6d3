/**
 * Commands as values: the data that the parser, help, completion and tests need about each one, and the function that
 * runs it.
 */

import { type Argument, InvalidArgumentError, Option } from 'commander'
import type { Client } from '#client/client.ts'
import type { PermittedKey } from '#client/permitted-key.ts'
import type { Column } from '#text/table.ts'
import type { Output } from '../output/output.ts'
import type { Settings } from '../settings/settings.ts'
import type { Flags } from '../settings/table.ts'
import type { System } from './system.ts'

export interface Command {
  name: string
  /** One line, without a full stop. */
  summary: string
  /** Further paragraphs of its `--help`. */
  details?: string
  arguments?: readonly Argument[]
  options?: readonly Option[]
  /** The flags of its `--help`, in this order, after blanks; default: the first twelve. `--help --all` shows every one. */
  usualFlags?: string
  /** The columns of each table that it prints, among which `--columns` chooses. */
  tables?: readonly (readonly Column[])[]
  /** Prints rows of one kind, a list or a report: csv and tsv fit it. */
  hasRows?: true
  /** Fields that `--columns` takes in addition to the columns of the table. */
  fields?: readonly string[]
  /**
   * Values of -o that only this command has, in addition to the common ones. The chosen one is in
   * `context.flags.output`.
   */
  formats?: readonly string[]
  /** Left out of help, completion and docs/commands.md: an aid for tests. */
  isHidden?: true
  /**
   * Runs even though a config file is invalid, because it reports or repairs it. In that case it gets the default
   * settings.
   */
  acceptsInvalidSettings?: true
  /** The words after `--` are another program's command line: they are not parsed. */
  passesThrough?: true
  /** Goes on after SIGHUP when it has no terminal, like a server: started by nohup, a service manager or a script. */
  outlivesTerminal?: true
  /** Returns the hint for a missing argument; default: the first example. */
  argumentHint?: () => Promise<string>
  /** The hint for a negative number in place of an argument, which reads as an unknown option: `-5m`. */
  negativeHint?: string
  /** Command lines that work as written, without the leading `svc`. */
  examples: readonly [string, string, ...string[]]
  /** Returns the exit code. Failures are thrown. */
  run(context: CommandContext, input: CommandInput): Promise<number>
}

/** A noun with its verbs, such as `placements` with `create, list, explain`, or with its own nouns: `sandbox clock`. */
export interface CommandGroup {
  name: string
  summary: string
  commands: readonly AnyCommand[]
}

/** A group of the first level. Its name is in the table of all commands, `src/program.ts`. */
export type Noun = Omit<CommandGroup, 'name'>

/** A command or group that is loaded when it is called, or when its help is printed. */
export interface LazyCommand {
  name: string
  load(): Promise<Command | CommandGroup>
}

export type AnyCommand = Command | CommandGroup | LazyCommand

/** The arguments and options of a command, which may name the types that its parsers give them. */
export interface CommandInput<Options = Record<string, unknown>, Args = readonly (string | undefined)[]> {
  args: Args
  /** By camel-case name. */
  options: Readonly<Options>
  /** The words after `--` of a command that passes them through; null without `--`. */
  passthrough?: readonly string[] | null
}

/** Returns the value of an option that takes a text. */
export function textOption(options: CommandInput['options'], name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** Returns the values of an option that may be repeated. */
export function listOption(options: CommandInput['options'], name: string): string[] {
  const value = options[name]
  return Array.isArray(value) ? value : []
}

export function isGroup(command: Command | CommandGroup): command is CommandGroup {
  return 'commands' in command
}

export async function load(command: AnyCommand): Promise<Command | CommandGroup> {
  return 'load' in command ? command.load() : command
}

/** Returns every command in the given ones, in help order, with the words that call it. */
export async function loadAll(
  commands: readonly AnyCommand[],
  path: readonly string[] = [],
): Promise<{ command: Command; path: string }[]> {
  const found = await Promise.all(
    commands.map(async (lazy) => {
      const command = await load(lazy)
      const words = [...path, lazy.name]
      return isGroup(command) ? loadAll(command.commands, words) : [{ command, path: words.join(' ') }]
    }),
  )
  return found.flat()
}

/** Returns the flags of a command that prints tables. */
export function tableOptions({ tables = [], fields = [] }: Pick<Command, 'tables' | 'fields'>): Option[] {
  if (tables.length === 0) return []
  const wide = new Option('--wide', 'show every column and full values, even on a terminal')
  const named = tables.flat().filter(({ name }) => name.trim() !== '')
  const fieldNames = named.map(({ name, field = name }) => field)
  const names = [...new Set(named.map(({ name, field = name }) => (name.includes(' ') ? field : name)))]
  const known = [...new Set([...names, ...fieldNames, ...fields])]
  const chosen = new Option('--columns <names>', `Columns, separated by commas: ${names.join(', ')}`).argParser(
    (text) => {
      const given = text.split(',').map((name) => name.trim())
      const unknown = given.find((name) => !known.includes(name))
      if (unknown === undefined) return given
      throw new InvalidArgumentError(`Allowed choices are ${known.join(', ')}.`)
    },
  )
  return [suggestValues(chosen, known), wide]
}

/** A flag, with what completion and help show of it. */
interface DescribedOption extends Option {
  suggestions?: readonly string[]
  /** The provenance of the field that it sets: `assumed A93`. */
  provenance?: string
}

/** Sets the values that completion suggests for a flag whose values commander does not check. Returns the flag. */
export function suggestValues(option: DescribedOption, values: readonly string[]): Option {
  option.suggestions = values
  return option
}

/** Sets the provenance of the field that a flag sets. Returns the flag. */
export function withProvenance(option: DescribedOption, provenance: string | undefined): Option {
  if (provenance !== undefined) option.provenance = provenance
  return option
}

/** Returns the provenance of the field that a flag sets: `assumed A93`. */
export function findProvenance(option: DescribedOption): string | undefined {
  return option.provenance
}

/** Returns the values that completion suggests for a flag. */
export function suggestedValues(option: DescribedOption): readonly string[] {
  return option.argChoices ?? option.suggestions ?? []
}

export interface CommandContext {
  readonly system: System
  readonly out: Output
  readonly settings: Settings
  /** Settings as the command line gave them, before the environment and the files. */
  readonly flags: Flags
  /** How to call this program again: `svc`, or through npx under npm; see `commandName`. */
  readonly command_name: string
  /** Aborted by the first Ctrl-C, and when nothing reads stdout any more. */
  readonly signal: AbortSignal
  /** Replaces the effect of SIGINT, SIGTERM, SIGHUP and SIGPIPE, for a command that handles its own end. */
  onInterrupt(handler: (signal: string) => void): void
  /**
   * Returns the client of the service in the settings. It notes responses that break the contract instead of throwing.
   * Throws CliError when no sandbox is running and no service is named.
   */
  client(options?: { credential?: PermittedKey | undefined }): Client
}

/** Whether text can use the whole terminal, and keys are read from it. */
export function hasScreen({ system, out }: CommandContext): boolean {
  return out.format === 'text' && system.stdin_is_terminal && system.stdout.is_terminal && system.env.TERM !== 'dumb'
}

/** Notes on a terminal that a command is waiting for new entries, since it prints nothing until then. */
export function noteFollowing({ system, out }: Pick<CommandContext, 'system' | 'out'>, what: string): void {
  if (system.stdout.is_terminal) out.note(`Following ${what}. Ctrl-C ends it.`)
}
