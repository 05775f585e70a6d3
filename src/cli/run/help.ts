/** What `svc COMMAND --help` prints. */
import { Argument, Command as Commander, Option } from 'commander'
import type { CommandNode, OptionNode } from './command-tree.ts'

/**
 * Returns the help of the innermost command or group that `words` name; other words are passed over. `columns` is the
 * width of the terminal.
 */
export function commandHelp(
  tree: readonly CommandNode[],
  words: readonly string[],
  { command_name, columns }: { command_name: string; columns: number },
): string {
  let text = ''
  let commander = new Commander(command_name).configureOutput({
    writeOut: (written) => {
      text += written
    },
    getOutHelpWidth: () => columns,
    getOutHasColors: () => false,
  })
  commander.configureHelp({ subcommandTerm: (child) => child.name() })
  let node: CommandNode = { name: '', summary: '', commands: tree }
  for (const word of words) {
    const called = node.flagCommands?.[word.split('=', 1)[0] ?? ''] ?? word
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
    'Examples:',
    ...examples.map((example) => `  ${command_name} ${example}`),
    '',
    'Common options: -o text|json|jsonl|none  -q  --base-url URL  ... (svc help settings)',
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
