/**
 * The commands as plain data, and what `svc COMMAND --help` and `svc help TOPIC` print. The build puts the whole tree into the
 * bundle, so that neither help nor completion has to load a command, the contract or a schema.
 */
import { Argument, Command as Commander, Option } from 'commander'
import type { Style } from '#text/terminal.ts'
import { type AnyCommand, findProvenance, isGroup, load, suggestedValues, tableOptions } from './command.ts'

export interface CommandNode {
  name: string
  summary: string
  details?: string
  arguments?: readonly ArgumentNode[]
  options?: readonly OptionNode[]
  usualFlags?: string
  formats?: readonly string[]
  examples?: readonly string[]
  isHidden?: true
  /** Only groups have these. */
  commands?: readonly CommandNode[]
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
  /** The provenance of the field that it sets: `assumed A93`. */
  provenance?: string
}

declare const __SVC_COMMAND_TREE__: string | undefined

/** Returns the commands as data: from the build, or, when run from source, by loading each. */
export async function commandTree(commands: readonly AnyCommand[]): Promise<readonly CommandNode[]> {
  if (typeof __SVC_COMMAND_TREE__ === 'string') return JSON.parse(__SVC_COMMAND_TREE__)
  return Promise.all(commands.map(describeCommand))
}

export async function describeCommand(lazy: AnyCommand): Promise<CommandNode> {
  const command = await load(lazy)
  const { name } = lazy
  const { summary } = command
  if (isGroup(command)) {
    return { name, summary, commands: await Promise.all(command.commands.map(describeCommand)) }
  }
  const { details, usualFlags, formats, examples, isHidden } = command
  return {
    name,
    summary,
    ...(details === undefined ? {} : { details }),
    ...(usualFlags === undefined ? {} : { usualFlags }),
    ...(formats === undefined ? {} : { formats }),
    ...(isHidden === undefined ? {} : { isHidden }),
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
  const provenance = findProvenance(option)
  return {
    ...{ flags, description, defaultValue, presetArg, choices, suggestions: suggestedValues(option) },
    ...(provenance === undefined ? {} : { provenance }),
  }
}

interface HelpStyle {
  command_name: string
  /** The width of the terminal. */
  columns: number
  style: Style
  /** Whether every flag is shown, or the usual ones. */
  isComplete?: boolean
}

/**
 * Returns the help of the innermost command or group that `words` name; other words are ignored.
 */
export function commandHelp(
  tree: readonly CommandNode[],
  words: readonly string[],
  { command_name, columns, style, isComplete = false }: HelpStyle,
): string {
  let text = ''
  let commander = new Commander(command_name).helpOption('-h, --help', 'Show this help').configureOutput({
    writeOut: (written) => {
      text += written
    },
    getOutHelpWidth: () => columns,
    // The text has style codes only if the style allows them.
    getOutHasColors: () => true,
  })
  commander.configureHelp({ subcommandTerm: (child) => child.name(), styleTitle: (title) => style.bold(title) })
  let node: CommandNode = { name: '', summary: '', commands: tree }
  const path = [command_name]
  for (const word of words) {
    const inner = node.commands?.find(({ name }) => name === word)
    if (inner === undefined) continue
    commander = commander.command(inner.name)
    path.push(inner.name)
    node = inner
  }
  const { options = [] } = node
  const shown = isComplete ? options : usualOptions(node)
  const more = options.length - shown.length
  describe(commander, { ...node, options: shown })
  const examples =
    node.examples ??
    flattenCommands(node)
      .slice(0, 2)
      .map(({ examples = [] }) => examples[0])
  const lines = [
    ...(more === 0 ? [] : ['', `${more} more flags: ${path.join(' ')} --help --all`]),
    '',
    style.bold('Examples:'),
    ...examples.flatMap((example) => exampleLines(`${command_name} ${example}`, columns)),
    '',
    style.bold('Flags of every command:'),
    '  -o text|json|jsonl|csv|tsv|none  --jq EXPR  --time FORM  -q',
    `  --base-url URL  --client-id ID  --secret-key KEY   ${style.dim('svc help settings')}`,
    ...(node.options?.some(({ provenance }) => provenance !== undefined)
      ? ['', style.dim(`What a field means, and whether it is documented: ${command_name} contract show FIELD`)]
      : []),
  ]
  commander.addHelpText('after', lines.join('\n')).outputHelp()
  return text
}

/** The help of a command shows at most this many flags, as many as fit beside its text on one screen. */
const maxUsualFlags = 12

/** Returns the flags that the help of a command shows. */
function usualOptions({ options = [], usualFlags }: CommandNode): readonly OptionNode[] {
  if (usualFlags === undefined) return options.slice(0, maxUsualFlags)
  return usualFlags.split(' ').flatMap((name) => options.find(({ flags }) => new Option(flags).long === name) ?? [])
}

function describe(
  commander: Commander,
  { summary, details, arguments: args = [], options = [], commands }: CommandNode,
) {
  commander.description(details === undefined ? `${summary}.` : `${summary}. ${details}`)
  if (commands !== undefined) commander.helpCommand(false).usage('<command> [options]')
  for (const { name, summary } of shownCommands({ commands })) commander.command(name).summary(summary)
  for (const { name, description, defaultValue, choices } of args) {
    commander.addArgument(new Argument(name, described(description, choices)).default(defaultValue))
  }
  for (const option of options) commander.addOption(toOption(option))
}

function toOption({ flags, description, defaultValue, choices }: OptionNode): Option {
  return new Option(flags, described(description, choices)).default(defaultValue)
}

/** More choices than this would be a wall of words: such a command has a separate list. */
const maxListedChoices = 14

/** Returns a description with a capital and without a full stop, unless it has several sentences, and its choices. */
function described(text: string, choices: readonly string[]): string {
  const capital = text.replace(
    /^(?!true|false)[a-z]+(?=[ ;])/,
    (word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`,
  )
  const one = /\. (?!\()/.test(capital) ? capital : capital.replace(/\.(?=$| \()/, '')
  return choices.length === 0 || choices.length > maxListedChoices ? one : `${one} (choices: ${choices.join(', ')})`
}

/** Returns an example, continued with shell line breaks when it does not fit the terminal. */
function exampleLines(text: string, columns: number): string[] {
  const lines: string[] = []
  for (const part of text.split(/ (?=--?[a-z])/)) {
    const longer = lines.length === 0 ? `  ${part}` : `${lines.at(-1)} ${part}`
    if (lines.length > 0 && longer.length > columns - 2) lines.push(`      ${part}`)
    else lines[Math.max(0, lines.length - 1)] = longer
  }
  return lines.map((line, index) => (index === lines.length - 1 ? line : `${line} \\`))
}

function flattenCommands(node: CommandNode): CommandNode[] {
  return node.commands === undefined ? [node] : shownCommands(node).flatMap(flattenCommands)
}

/** Returns the commands of a group without the hidden ones. */
export function shownCommands({ commands = [] }: { commands?: readonly CommandNode[] | undefined }): CommandNode[] {
  return commands.filter(({ isHidden }) => isHidden !== true)
}
