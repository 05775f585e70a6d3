import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { Style } from '../cli/output/style.ts'
import { alignTable } from '../cli/output/text.ts'
import type { Noun } from '../cli/run/command.ts'
import type { BillingReport } from '../contract/control/billing.ts'

export const billing: Noun = {
  summary: 'Report what production would have billed',
  commands: [
    endpointCommand('billing.report', {
      details: 'Nothing is ever billed here. With -o json it lists every beacon that did not count.',
      examples: ['billing report', 'billing report --session-id sess_1 --since 1h -o json'],
      text: (report, _, style) => [...countedTables(report, style), ...notCountedTable(report, style)],
    }),
  ],
}

function countedTables({ lines, totals }: BillingReport, style: Style): string[] {
  if (lines.length === 0) return ['Nothing has counted.']
  const lineRows = lines.map(({ client_id, format, metric, count, gross_cpm, currency, is_billed, ...line }) => {
    const amount = is_billed ? line.amount : 'not billed'
    return [client_id, format, metric, count, gross_cpm, amount, is_billed ? line.publisher_amount : null, currency]
  })
  const totalRows = totals.map(({ client_id, billing_model, count, amount, publisher_amount, currency }) => {
    return [client_id, billing_model, count, amount, publisher_amount, currency]
  })
  return [
    ...alignTable(
      ['project', 'format', 'metric', 'count', 'price CPM', 'amount', 'publisher', 'currency'],
      lineRows,
      style,
    ),
    '',
    ...alignTable(['project', 'model', 'billed', 'total', 'publisher', 'currency'], totalRows, style),
  ]
}

function notCountedTable({ not_counted: { count, reasons } }: BillingReport, style: Style): string[] {
  if (count === 0) return []
  const rows = reasons.map(({ reason_code, count }) => [reason_code, count])
  return ['', ...alignTable(['did not count', 'beacons'], rows, style)]
}
