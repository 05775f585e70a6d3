import { endpointCommand } from '../cli/endpoint/endpoint-command.ts'
import type { Style } from '../cli/output/style.ts'
import { alignTable } from '../cli/output/text.ts'
import type { Noun } from '../cli/run/command.ts'
import type { BillingReport } from '../contract/control/billing.ts'

export const billing: Noun = {
  summary: 'What production would have billed',
  commands: [
    endpointCommand('billing.report', {
      details: 'Nothing is ever billed here. The beacons that did not count are listed one by one with -o json.',
      examples: ['billing report', 'billing report --session-id sess_1 --since 1h -o json'],
      text: (report, _, style) => [...counted(report, style), ...missed(report, style)],
    }),
  ],
}

function counted({ lines, totals }: BillingReport, style: Style): string[] {
  if (lines.length === 0) return ['Nothing has counted.']
  return [
    ...alignTable(
      ['project', 'format', 'metric', 'count', 'price CPM', 'amount', 'publisher', 'currency'],
      lines.map(({ client_id, format, metric, count, gross_cpm, currency, is_billed, ...line }) => [
        client_id,
        format,
        metric,
        count,
        gross_cpm,
        is_billed ? line.amount : 'not billed',
        is_billed ? line.publisher_amount : null,
        currency,
      ]),
      style,
    ),
    '',
    ...alignTable(
      ['project', 'model', 'billed', 'total', 'publisher', 'currency'],
      totals.map(({ client_id, billing_model, count, amount, publisher_amount, currency }) => [
        client_id,
        billing_model,
        count,
        amount,
        publisher_amount,
        currency,
      ]),
      style,
    ),
  ]
}

function missed({ not_counted }: BillingReport, style: Style): string[] {
  if (not_counted.count === 0) return []
  return [
    '',
    ...alignTable(
      ['did not count', 'beacons'],
      not_counted.reasons.map(({ reason_code, count }) => [reason_code, count]),
      style,
    ),
  ]
}
