/** `svc --help`, computed from the list of commands alone: two columns, so that it fits 80 by 24. */
export interface HelpEntry {
  name: string
  section: string
  brief: string
}

const columnWidth = 39
const nameWidth = 10

export function rootHelp(
  entries: readonly HelpEntry[],
  sections: readonly string[],
  { version, command_name }: { version: string; command_name: string },
): string {
  return [
    `svc ${version}: sponsored placements, API v1, on your own machine`,
    `Usage: ${command_name} <command> [options]`,
    ...sections.flatMap((section) => [section, ...inColumns(entries.filter((entry) => entry.section === section))]),
    'Examples and help',
    `  ${command_name} start`,
    `  ${command_name} placements create --format banner --topic coffee`,
    `  ${command_name} <command> --help   flags and two examples`,
    `  ${command_name} help settings      all flags and variables; help exit-codes: all codes`,
    '',
  ].join('\n')
}

function inColumns(entries: readonly HelpEntry[]): string[] {
  const rows: string[] = []
  for (let index = 0; index < entries.length; index += 2) {
    const [left = '', right = ''] = entries.slice(index, index + 2).map(cell)
    rows.push((left.padEnd(columnWidth) + right).trimEnd())
  }
  return rows
}

function cell({ name, brief }: HelpEntry): string {
  return `  ${name.padEnd(nameWidth)} ${brief}`
}
