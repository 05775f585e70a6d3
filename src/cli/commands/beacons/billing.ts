import { callEndpoint, endpointCommand, projectFilter } from '#cli/endpoint/endpoint-command.ts'
import { type Command, type CommandContext, type CommandInput, textOption } from '#cli/run/command.ts'
import type { BillingReport } from '#contract/resources/billing.ts'
import { type Column, paintReason, tableLines } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { plural } from '#text/text.ts'

const lineColumns: readonly Column[] = [
  { name: 'project', field: 'client_id', rank: 2 },
  { name: 'format' },
  { name: 'metric' },
  { name: 'count' },
  { name: 'price CPM', field: 'gross_cpm' },
  { name: 'amount' },
  { name: 'publisher', field: 'publisher_amount', rank: 3 },
  // It is also in the totals.
  { name: 'currency', rank: 4 },
]
/** @param name the heading of the groups */
const groupColumns = (name: string): readonly Column[] => [
  { name, field: 'group', least: 12 },
  { name: 'project', field: 'client_id', rank: 2 },
  { name: 'metric' },
  { name: 'count' },
  { name: 'amount' },
  { name: 'publisher', field: 'publisher_amount', rank: 3 },
  { name: 'currency', rank: 4 },
]
const totalColumns: readonly Column[] = [
  { name: 'project', field: 'client_id' },
  { name: 'model', field: 'billing_model', rank: 2 },
  { name: 'billed', field: 'count' },
  { name: 'total', field: 'amount', paint: (cell, style) => style.bold(cell) },
  { name: 'publisher', field: 'publisher_amount', rank: 3 },
  { name: 'currency' },
]
const reasonColumns: readonly Column[] = [
  { name: 'did not count', field: 'reason_code', paint: paintReason },
  { name: 'beacons', field: 'count' },
]

const report = endpointCommand('billing.report', {
  name: 'billing',
  details:
    'Nothing is ever billed here. With -o json it lists every beacon that did not count. Notes how many fills have no render beacon and how many were never viewed, which no line shows. To list the beacons behind a count: beacons list --billed true, --metric, --reason.',
  examples: [
    'beacons billing',
    'beacons billing --by campaign',
    'beacons billing --by day -o csv',
    'beacons billing --session-id sess_1 --since 1h -o json',
  ],
  tables: [lineColumns, groupColumns('group'), totalColumns, reasonColumns],
  async after({ out }, { next_cursor = null }) {
    if (next_cursor !== null) out.note(`More sessions: --cursor ${next_cursor}`)
  },
  rows: ({ lines, groups }) => groups ?? lines,
  text: (report, style, { options }) =>
    [...countedTables(report, style, textOption(options, 'by')), notCountedTable(report, style)]
      .filter(({ length }) => length > 0)
      .flatMap((table, index) => (index === 0 ? table : ['', ...table])),
})

export const billing: Command = {
  ...report,
  async run(context, input) {
    const exit_code = await report.run(context, input)
    if (input.options.until === undefined) await noteUnviewed(context, input)
    return exit_code
  },
}

/** Notes the fills that were not rendered or not viewed, of the newest placements that the flags select. */
async function noteUnviewed(context: CommandContext, { options }: CommandInput): Promise<void> {
  const { out, command_name } = context
  const { sessionId: session_id, since } = options as { sessionId?: string; since?: string }
  const query = { ...(await projectFilter(context)), session_id, since }
  const { data, meta } = await callEndpoint(context, 'placements.funnel', { query })
  if (meta.differences.length > 0) return
  const { fills, formats, is_complete } = data
  const all = `${is_complete ? '' : 'the newest '}${plural(fills, 'fill')}`
  const without = (step: 'rendered' | 'visible') => fills - formats.reduce((sum, format) => sum + format[step], 0)
  for (const [name, step] of [
    ['Without a render beacon', 'rendered'],
    ['Never viewed', 'visible'],
  ] as const) {
    if (without(step) === 0) continue
    out.note(`${name}: ${without(step)} of ${all}. List them: ${command_name} placements list --missing ${step}`)
  }
}

function countedTables({ lines, groups, totals }: BillingReport, style: Style, by = 'group'): string[][] {
  if (lines.length === 0) return [['Nothing counted yet.']]
  const counted = (groups ?? lines).map((line) => ({
    ...line,
    amount: line.is_billed ? line.amount : 'not billed',
    publisher_amount: line.is_billed ? line.publisher_amount : null,
  }))
  return [
    tableLines(groups === undefined ? lineColumns : groupColumns(by), counted, style),
    tableLines(totalColumns, totals, style),
  ]
}

function notCountedTable({ not_counted: { count, reasons } }: BillingReport, style: Style): string[] {
  return count === 0 ? [] : tableLines(reasonColumns, reasons, style)
}
