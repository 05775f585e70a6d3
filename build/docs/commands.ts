/** The commands in Markdown: every command with its arguments, flags, values and examples, in the order of the help. */

import { commonOptions } from '#cli/run/common-options.ts'
import { type ArgumentNode, type CommandNode, commandTree, type OptionNode } from '#cli/run/help.ts'
import { commands, sections } from '#src/program.ts'

export async function commandsMarkdown(): Promise<string> {
  const tree = await commandTree(commands)
  const described = new Map<string, string>()
  const parts = sections.flatMap((section) => {
    const names = new Set(commands.filter((entry) => entry.section === section).map(({ name }) => name))
    return [
      `## ${section}`,
      ...tree.filter(({ name }) => names.has(name)).flatMap((node) => commandParts(node, node.name, described)),
    ]
  })
  return `${[introduction, ...parts, '## Flags of every command', commonFlags()].join('\n\n')}\n`
}

const introduction = `# Commands

Generated from the commands by \`npm run docs\`. \`svc COMMAND --help\` prints the same. Without \`--base-url\` a command calls the
sandbox that is running; where several run, \`svc sandbox ps\` lists them. [Settings](guides/settings.md) explains flags,
variables and files.`

/** Returns the section of a command, or of each of a group. A second name of a command becomes a link. */
function commandParts(node: CommandNode, path: string, described: Map<string, string>): string[] {
  const { summary, details, arguments: args = [], options = [], examples = [], commands: inner } = node
  if (inner !== undefined) return inner.flatMap((child) => commandParts(child, `${path} ${child.name}`, described))
  const heading = `svc ${path}`
  const content = JSON.stringify({ ...node, name: null })
  const earlier = described.get(content)
  if (earlier !== undefined) return [`### ${heading}`, `The same as [${earlier}](#${earlier.replaceAll(' ', '-')}).`]
  described.set(content, heading)
  const usage = ['svc', path, ...(options.length === 0 ? [] : ['[options]']), ...args.map(({ name }) => name)].join(' ')
  const rows = [...args.map(argumentRow), ...options.map(optionRow)]
  return [
    `### ${heading}`,
    [`${summary}.`, ...(details === undefined ? [] : [escaped(details)])].join(' '),
    block('text', usage),
    ...(rows.length === 0 ? [] : [table(rows)]),
    block('text', examples.map((example) => `svc ${example}`).join('\n')),
  ]
}

function block(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``
}

function argumentRow({ name, description, choices }: ArgumentNode): [string, string] {
  return [name, `${description}${valuesText(choices)}`]
}

function optionRow(option: Omit<OptionNode, 'presetArg'>): [string, string] {
  const { flags, description, choices, defaultValue, provenance } = option
  const preset =
    defaultValue === undefined || typeof defaultValue === 'object' ? '' : `; default: ${String(defaultValue)}`
  const source = provenance === undefined ? '' : ` [${provenance}]`
  return [flags, `${description}${source}${valuesText(choices)}${preset}`]
}

function valuesText(values: readonly string[]): string {
  return values.length === 0 ? '' : `: ${values.map((value) => `\`${value}\``).join(', ')}`
}

function table(rows: readonly (readonly [string, string])[]): string {
  const lines = rows.map(([term, text]) => `| \`${term.replaceAll('|', '\\|')}\` | ${escaped(text)} |`)
  return ['| Flag or argument | |', '|---|---|', ...lines].join('\n')
}

function commonFlags(): string {
  return table(
    commonOptions().map(({ flags, description, argChoices = [] }) =>
      optionRow({ flags, description, choices: argChoices, suggestions: [], defaultValue: undefined }),
    ),
  )
}

/** Keeps placeholders such as <name> from being read as HTML, and pipes from ending a cell. */
function escaped(text: string): string {
  // As code: an address in a help text is an example, which a reader of the page must not follow.
  const shown = text.replace(/https?:\/\/[^\s,)|]*[^\s,)|.:;]/g, '`$&`')
  return shown.replaceAll('<', '&lt;').replaceAll('|', '\\|')
}
