/** The program about itself: its version, how to call it, and `svc --help`. Nothing is loaded for any of them. */
import type { Host } from './host.ts'

declare const __SVC_VERSION__: string | undefined

/** The version of the package, which the build puts in. Run from source, it says so. */
export const version = typeof __SVC_VERSION__ === 'string' ? __SVC_VERSION__ : '0.0.0-source'

/** Returns how you would call this program again: under npm it may not be on the path. */
export function commandName(env: Host['env']): string {
  return env.npm_execpath !== undefined || env.npm_lifecycle_event !== undefined ? 'npx svc' : 'svc'
}

export interface RootHelpEntry {
  name: string
  section: string
  brief: string
}

const columnWidth = 39
const nameWidth = 10

/** Returns `svc --help`: two columns of commands, so that it fits a terminal of 80 by 24. */
export function rootHelp(entries: readonly RootHelpEntry[], sections: readonly string[], command_name: string): string {
  return [
    `svc ${version}: sponsored placements, API v1, on your own machine`,
    `Usage: ${command_name} <command> [options]`,
    ...sections.flatMap((section) => [section, ...inColumns(entries.filter((entry) => entry.section === section))]),
    'Examples and help',
    `  ${command_name} start --detach && ${command_name} placements create --format banner`,
    `  ${command_name} <command> --help   flags and two examples`,
    `  ${command_name} help settings      all flags and variables; help exit-codes: all codes`,
    '',
  ].join('\n')
}

function inColumns(entries: readonly RootHelpEntry[]): string[] {
  const cell = ({ name, brief }: RootHelpEntry) => `  ${name.padEnd(nameWidth)} ${brief}`
  const rows: string[] = []
  for (let index = 0; index < entries.length; index += 2) {
    const [left = '', right = ''] = entries.slice(index, index + 2).map(cell)
    rows.push((left.padEnd(columnWidth) + right).trimEnd())
  }
  return rows
}
