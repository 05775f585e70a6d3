/** The commands in Markdown: every command with its arguments, flags, values and examples, in the order of the help. */

import { commonOptions } from '#cli/run/common-options.ts'
import { type ArgumentNode, type CommandNode, commandTree, type OptionNode, shownCommands } from '#cli/run/help.ts'
import { keptCommands, renamedCommands } from '#cli/run/renamed-commands.ts'
import { commands, sections } from '#src/program.ts'
import type { PagePart } from './pages.ts'

/** Returns the committed page: the commands in tables, by the sections of the help. */
export async function commandsMarkdown(): Promise<string> {
  const tree = await commandTree(commands)
  const parts = sections.flatMap((section) => {
    const rows = listSection(tree, section)
      .flatMap((node) => listLeaves(node, node.name))
      .map(({ path, node }) => `| \`svc ${path}\` | ${escaped(node.summary)} |`)
    return [`## ${section}`, ['| Command | Purpose |', '|---|---|', ...rows].join('\n')]
  })
  return `${[introduction, ...parts, '## Flags of every command', commonFlags(), '## Earlier names', earlierNames()].join('\n\n')}\n`
}

/** Returns a page for each name at the top: `commands/placements`. */
export async function commandPages(): Promise<PagePart[]> {
  const tree = await commandTree(commands)
  return sections
    .flatMap((section) => listSection(tree, section))
    .map((node) => {
      const leaves = listLeaves(node, node.name)
      const rows = leaves.map(({ path }) => [
        `svc ${path}`,
        leaves.length === 1 ? '' : `#svc-${path.replaceAll(' ', '-')}`,
      ])
      const parts = leaves.flatMap((leaf) => commandParts(leaf, leaves.length === 1))
      const heading = leaves.length === 1 ? [] : [`# svc ${node.name}`, `${escaped(node.summary)}.`]
      return {
        ...{ file: 'commands.md', name: node.name, title: `svc ${node.name}`, summary: `${node.summary}.` },
        rows: Object.fromEntries(rows) as Record<string, string>,
        markdown: `${[...heading, ...parts].join('\n\n')}\n`,
      }
    })
}

function listSection(tree: readonly CommandNode[], section: string): CommandNode[] {
  const names = new Set(commands.filter((entry) => entry.section === section).map(({ name }) => name))
  return tree.filter(({ name }) => names.has(name))
}

interface Leaf {
  /** Its words: `placements create`. */
  path: string
  node: CommandNode
}

function listLeaves(node: CommandNode, path: string): Leaf[] {
  if (node.commands === undefined) return [{ path, node }]
  return shownCommands(node).flatMap((child) => listLeaves(child, `${path} ${child.name}`))
}

const introduction = `# Commands

Generated from the commands by \`npm run docs\`. Each name has a page with arguments, flags and examples, in the documentation that a
sandbox serves, and on a terminal: \`svc docs commands/placements\`. \`svc COMMAND --help\` prints the same. Without \`--base-url\` a
command calls the sandbox that is running; where several run, \`svc sandbox ps\` lists them. [Settings](guides/settings.md) explains
flags, variables and files.`

/** Returns the section of a command. */
function commandParts({ path, node }: Leaf, isAlone: boolean): string[] {
  const { summary, details, arguments: args = [], options = [], examples = [] } = node
  const heading = `svc ${path}`
  const mark = isAlone ? '#' : '##'
  const usage = ['svc', path, ...(options.length === 0 ? [] : ['[options]']), ...args.map(({ name }) => name)].join(' ')
  const rows = [...args.map(argumentRow), ...options.map(optionRow)]
  return [
    `${mark} ${heading}`,
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

function earlierNames(): string {
  const rows = Object.entries({ ...keptCommands, ...renamedCommands }).map(
    ([earlier, now]) => `| svc ${earlier} | \`${now}\` |`,
  )
  const kept = Object.keys(keptCommands).map((name) => `\`${name}\``)
  const introduction = `Each ends with exit code 2, and says what it is called now. ${kept.join(', ')} and \`bundle SLOT\` still run in this version, with a note.`
  return [introduction, ['| Earlier | Now |', '|---|---|', ...rows].join('\n')].join('\n\n')
}

/** Keeps placeholders such as <name> from being read as HTML, and pipes from ending a cell. */
function escaped(text: string): string {
  // As code: an address in a help text is an example, which a reader of the page must not follow.
  const shown = text.replace(/https?:\/\/[^\s,)|]*[^\s,)|.:;]/g, '`$&`')
  return shown.replaceAll('<', '&lt;').replaceAll('|', '\\|')
}
