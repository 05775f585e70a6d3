import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import { type Column, paintReason, tableLines } from '../cli/output/table.ts'
import type { Style } from '../cli/output/terminal.ts'
import type { Noun } from '../cli/run/command.ts'
import type { BillingReport } from '../contract/resources/billing.ts'

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

export const billing: Noun = {
  summary: 'Report what production would have billed',
  commands: [
    endpointCommand('billing.report', {
      details: 'Nothing is ever billed here. With -o json it lists every beacon that did not count.',
      examples: ['billing report', 'billing report --session-id sess_1 --since 1h -o json'],
      tables: [lineColumns, totalColumns, reasonColumns],
      text: (report, _, style) =>
        [...countedTables(report, style), notCountedTable(report, style)]
          .filter(({ length }) => length > 0)
          .flatMap((table, index) => (index === 0 ? table : ['', ...table])),
    }),
  ],
}

function countedTables({ lines, totals }: BillingReport, style: Style): string[][] {
  if (lines.length === 0) return [['Nothing counted yet.']]
  const counted = lines.map((line) => ({
    ...line,
    amount: line.is_billed ? line.amount : 'not billed',
    publisher_amount: line.is_billed ? line.publisher_amount : null,
  }))
  return [tableLines(lineColumns, counted, style), tableLines(totalColumns, totals, style)]
}

function notCountedTable({ not_counted: { count, reasons } }: BillingReport, style: Style): string[] {
  return count === 0 ? [] : tableLines(reasonColumns, reasons, style)
}
