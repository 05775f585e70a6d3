/** The program about itself: its version, how to call it, and `svc --help`. Nothing is loaded for any of them. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Host } from './host.ts'

declare const __SVC_VERSION__: string | undefined

/** The version of the package, which the build inserts; `0.0.0-source` when run from source. */
export const version = typeof __SVC_VERSION__ === 'string' ? __SVC_VERSION__ : '0.0.0-source'

/**
 * Returns how you would call this program again. Under npm it may not be on the path, and outside of a checkout `npx svc`
 * may install another package: `svc` is only the name of the command.
 */
export function commandName({ env, program }: Pick<Host, 'env' | 'program'>): string {
  const isBinary = program.length === 1
  if (isBinary || (env.npm_execpath === undefined && env.npm_lifecycle_event === undefined)) return 'svc'
  return isCheckout() ? 'npx svc' : 'npx svc-sandbox'
}

/** Whether this is a checkout, run from its sources or from `dist`: a package has no sources. */
function isCheckout(): boolean {
  return typeof __SVC_VERSION__ !== 'string' || existsSync(join(import.meta.dirname, '../src/main.ts'))
}

interface RootHelpEntry {
  name: string
  section: string
  brief: string
}

type Paint = (text: string) => string

const plain: Paint = (text) => text
const width = 80
/** The column in which names, commands and flags begin. */
const textColumn = 13

/** Returns `svc --help`, which fits a terminal of 80 by 24. `bold` is for its headings. */
export function rootHelp(
  entries: readonly RootHelpEntry[],
  sections: readonly string[],
  command_name: string,
  bold = plain,
): string {
  const width = Math.max(28, `${command_name} <command> --help  `.length)
  const step = (command: string, text: string) => `  ${`${command_name} ${command}`.padEnd(width)}${text}`
  const noun = (section: string) => entries.filter((entry) => entry.section === section).map(({ name }) => name)
  return [
    `svc ${version}: sponsored placements, API v1, on your own machine`,
    '',
    `${bold('Usage')}  ${command_name} <command> [options]`,
    '',
    ...sections.flatMap((section) => labelled(section, noun(section), bold)),
    '',
    bold('First steps'),
    step('start --detach', 'start the sandbox in the background'),
    step('trigger', 'play a whole turn: placement, frame, beacons'),
    step('<command> --help', 'show flags and examples'),
    step('help commands', 'list all commands'),
    step('help settings', 'list settings: flags, variables, files'),
    '',
    ...labelled('All take', ['-o text|json|jsonl|none', '--jq EXPR', '--template TEXT'], bold),
    ...labelled('', ['--base-url URL', '--client-id ID', '--secret-key KEY', '--profile NAME'], bold),
    ...labelled('', ['--time absolute|relative|ms', '--color WHEN', '-q'], bold),
    '',
  ].join('\n')
}

/** Returns `svc help commands`: every command with a few words. */
export function commandList(entries: readonly RootHelpEntry[], sections: readonly string[], bold = plain): string {
  const lines = sections.map((section) => {
    const own = entries.filter((entry) => entry.section === section)
    return [bold(section), ...own.map(({ name, brief }) => `  ${name.padEnd(textColumn)}${brief}`), ''].join('\n')
  })
  return `${lines.join('\n')}`
}

/** Returns words after a label, two blanks between them, on as many lines as they take. */
function labelled(label: string, words: readonly string[], bold: Paint): string[] {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last === undefined || textColumn + last.length + 2 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last}  ${word}`
  }
  return lines.map((line, index) =>
    index === 0 ? `${bold(label)}${' '.repeat(textColumn - label.length)}${line}` : ' '.repeat(textColumn) + line,
  )
}
