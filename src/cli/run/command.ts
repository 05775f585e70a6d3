/** A command as a value: what the parser, the help and the tests need to know of it, and what it does. */
import type { Argument, Option } from 'commander'
import type { Session } from './session.ts'

export interface Command {
  name: string
  /** One line, without a full stop. */
  summary: string
  /** More for its `--help`. */
  details?: string
  arguments?: readonly Argument[]
  options?: readonly Option[]
  /** Values of -o that only this command has, beside the common ones. They are in `session.flags.output`. */
  formats?: readonly string[]
  /** It runs although a config file is wrong, because it is there to mend it. Its settings are the defaults then. */
  acceptsInvalidSettings?: true
  /** What stands behind `--` is a command line of another program: it is not parsed. */
  passesThrough?: true
  /** Command lines that work as they stand, without the leading `svc`. */
  examples: readonly [string, string, ...string[]]
  /** Answers the exit code. Failures are thrown. */
  run(session: Session, given: CommandInput): Promise<number>
}

/** A noun with its verbs, `placements` and `create, list, explain`, or with nouns of its own: `sandbox` and `clock`. */
export interface CommandGroup {
  name: string
  summary: string
  commands: readonly (Command | CommandGroup)[]
  /** Flags that stand for a command of it, right behind its name: `contract --check URL` is `contract check URL`. */
  flagCommands?: Readonly<Record<string, string>>
}

/** A noun of the first level. Its name stands in the table of all commands, `src/commands/index.ts`. */
export type Noun = Omit<CommandGroup, 'name'>

/** What the command line gave. Options by their camel-case name. */
export interface CommandInput {
  /** What stands behind `--`, for a command that passes it on; null without `--`. */
  passthrough?: readonly string[] | null
  options: Readonly<Record<string, unknown>>
  args: readonly (string | undefined)[]
}

export function isGroup(entry: Command | CommandGroup): entry is CommandGroup {
  return 'commands' in entry
}

/** Every command within an entry, in help order, with the words that call it. `path` are those of the entry itself. */
export function commandsWithin(
  entry: Command | CommandGroup,
  path: string = entry.name,
): { command: Command; path: string }[] {
  if (!isGroup(entry)) return [{ command: entry, path }]
  return entry.commands.flatMap((inner) => commandsWithin(inner, `${path} ${inner.name}`))
}
