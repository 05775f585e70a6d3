/**
 * The commands as plain data: what help and completion need of them. The build puts the whole tree into the bundle, so
 * that neither has to load a command, the contract or a schema.
 */
import type { Argument, Option } from 'commander'
import {
  type AnyCommand,
  type CommandGroup,
  isGroup,
  load,
  provenanceOf,
  suggestedValues,
  tableOptions,
} from './command.ts'

export interface CommandNode {
  name: string
  summary: string
  details?: string
  arguments?: readonly ArgumentNode[]
  options?: readonly OptionNode[]
  formats?: readonly string[]
  examples?: readonly string[]
  /** Only a group has these. */
  commands?: readonly CommandNode[]
  flagCommands?: CommandGroup['flagCommands']
}

export interface ArgumentNode extends Pick<Argument, 'description' | 'defaultValue'> {
  /** `<file>`, `[suites...]` */
  name: string
  choices: readonly string[]
}

export interface OptionNode extends Pick<Option, 'flags' | 'description' | 'defaultValue' | 'presetArg'> {
  /** The values that it takes; empty when it takes any. */
  choices: readonly string[]
  /** The values that completion suggests. */
  suggestions: readonly string[]
  /** Of the field that it sets: `assumed A93`. */
  provenance?: string
}

declare const __SVC_COMMAND_TREE__: string | undefined

/** Returns the commands as data: those of the build, or, run from source, after loading each. */
export async function commandTree(commands: readonly AnyCommand[]): Promise<readonly CommandNode[]> {
  if (typeof __SVC_COMMAND_TREE__ === 'string') return JSON.parse(__SVC_COMMAND_TREE__) as CommandNode[]
  return Promise.all(commands.map(describeCommand))
}

export async function describeCommand(lazy: AnyCommand): Promise<CommandNode> {
  const command = await load(lazy)
  const { name } = lazy
  const { summary } = command
  if (isGroup(command)) {
    const { flagCommands = {} } = command
    return { name, summary, commands: await Promise.all(command.commands.map(describeCommand)), flagCommands }
  }
  const { details, formats, examples } = command
  return {
    name,
    summary,
    ...(details === undefined ? {} : { details }),
    ...(formats === undefined ? {} : { formats }),
    arguments: (command.arguments ?? []).map(describeArgument),
    options: [...(command.options ?? []), ...tableOptions(command)].map(describeOption),
    examples,
  }
}

function describeArgument(argument: Argument): ArgumentNode {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return {
    name: argument.required ? `<${name}>` : `[${name}]`,
    description: argument.description,
    defaultValue: argument.defaultValue,
    choices: argument.argChoices ?? [],
  }
}

function describeOption(option: Option): OptionNode {
  const { flags, description, defaultValue, presetArg, argChoices: choices = [] } = option
  const provenance = provenanceOf(option)
  return {
    ...{ flags, description, defaultValue, presetArg, choices, suggestions: suggestedValues(option) },
    ...(provenance === undefined ? {} : { provenance }),
  }
}
