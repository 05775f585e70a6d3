/** What `svc COMMAND --help` and `svc help TOPIC` print. */
import { Argument, Command as Commander, Option } from 'commander'
import type { Style } from '../output/style.ts'
import { type Column, tableLines } from '../output/table.ts'
import { settingNames, settingsTable } from '../settings/table.ts'
import type { CommandNode, OptionNode } from './command-tree.ts'
import { exitCodes } from './errors.ts'

/**
 * Returns the help of the innermost command or group that `words` name; other words are passed over. `columns` is the
 * width of the terminal.
 */
export function commandHelp(
  tree: readonly CommandNode[],
  words: readonly string[],
  { command_name, columns, style }: { command_name: string; columns: number; style: Style },
): string {
  let text = ''
  let commander = new Commander(command_name).configureOutput({
    writeOut: (written) => {
      text += written
    },
    getOutHelpWidth: () => columns,
    // Codes of the style are there only where they may be.
    getOutHasColors: () => true,
  })
  commander.configureHelp({ subcommandTerm: (child) => child.name(), styleTitle: (title) => style.bold(title) })
  let node: CommandNode = { name: '', summary: '', commands: tree }
  for (const word of words) {
    const [flag = ''] = word.split('=', 1)
    const flags = node.flagCommands ?? {}
    const called = Object.hasOwn(flags, flag) ? flags[flag] : word
    const inner = node.commands?.find(({ name }) => name === called)
    if (inner === undefined) continue
    commander = commander.command(inner.name)
    node = inner
  }
  describe(commander, node)
  const examples =
    node.examples ??
    commandsOf(node)
      .slice(0, 2)
      .map(({ examples = [] }) => examples[0])
  const lines = [
    '',
    style.bold('Examples:'),
    ...examples.map((example) => `  ${command_name} ${example}`),
    '',
    style.bold('Flags of every command:'),
    '  -o text|json|jsonl|none  --jq EXPR  --template TEXT  --time FORM  -q',
    `  --base-url URL  --client-id ID  --secret-key KEY   ${style.dim('svc help settings')}`,
    ...(node.options?.some(({ provenance }) => provenance !== undefined)
      ? ['', style.dim(`Documented or assumed, and what: ${command_name} contract show FIELD`)]
      : []),
  ]
  commander.addHelpText('after', lines.join('\n')).outputHelp()
  return text
}

function describe(
  commander: Commander,
  { summary, details, arguments: args = [], options = [], commands }: CommandNode,
) {
  commander.description(details === undefined ? `${summary}.` : `${summary}. ${details}`)
  if (commands !== undefined) commander.helpCommand(false).usage('<command> [options]')
  for (const child of commands ?? []) commander.command(child.name).summary(child.summary)
  for (const { name, description, defaultValue, choices } of args) {
    const argument = new Argument(name, description).default(defaultValue)
    commander.addArgument(choices.length === 0 ? argument : argument.choices(choices))
  }
  for (const option of options) commander.addOption(optionOf(option))
}

function optionOf({ flags, description, defaultValue, presetArg, choices }: OptionNode): Option {
  const option = new Option(flags, description).default(defaultValue).preset(presetArg)
  return choices.length === 0 ? option : option.choices(choices)
}

function commandsOf(node: CommandNode): CommandNode[] {
  return node.commands?.flatMap(commandsOf) ?? [node]
}

/** The tables of `svc help TOPIC`, by topic. */
export const topics: Readonly<Record<string, (style: Style) => Promise<string[]>>> = {
  'exit-codes': exitCodesTopic,
  settings: settingsTopic,
}

/** One table with the contract's errors, so that the two cannot differ. */
async function exitCodesTopic(style: Style): Promise<string[]> {
  const { errorCodes } = await import('../../contract/error-codes.ts')
  const rows = Object.entries(exitCodes).map(([category, { exit_code, meaning }]) => ({ category, exit_code, meaning }))
  const errors = Object.entries(errorCodes).map(([error, { status, exit_code, summary }]) => ({
    error,
    status,
    exit_code,
    summary,
  }))
  return [
    ...tableLines(exitColumns, rows, style),
    '',
    'Errors of the API, and the exit code of each:',
    ...tableLines(errorColumns, errors, style),
  ]
}

const exitColumns: readonly Column[] = [
  { name: 'exit', field: 'exit_code' },
  { name: 'category' },
  { name: 'meaning', kind: 'prose' },
]
const errorColumns: readonly Column[] = [
  { name: 'status' },
  { name: 'error' },
  { name: 'exit', field: 'exit_code' },
  { name: 'meaning', field: 'summary', kind: 'prose' },
]
const settingColumns: readonly Column[] = [
  { name: 'flag' },
  { name: 'environment', field: 'env' },
  { name: 'file', rank: 2 },
  { name: 'what', field: 'description', kind: 'prose' },
]

async function settingsTopic(style: Style): Promise<string[]> {
  const rows = settingNames.map((name) => {
    const { flag, env, isFileSetting, description } = settingsTable[name]
    return { flag: flag ?? '-', env, file: isFileSetting ? name : '-', description }
  })
  return [
    'A setting is taken from the first of these that has it: flag, environment, svc.config.json, profile,',
    'running sandbox, default.',
    '',
    ...tableLines(settingColumns, rows, style),
    '',
    'A list longer than the terminal goes to SVC_PAGER, PAGER or less; --no-pager prints it directly.',
    'SVC_STRICT=1 starts every sandbox as svc start --strict does.',
    '--json is short for -o json. -q prints no notes. --no-input never asks. --color auto|always|never; NO_COLOR and FORCE_COLOR count.',
  ]
}
