import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { consentLine } from '../../cli/output/placement-summary.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignPairs, alignTable, describeValue, formatTime, formatValue } from '../../cli/output/text.ts'
import type { Noun } from '../../cli/run/command.ts'
import type { PlacementDetail } from '../../contract/control/placements.ts'
import { noFillReasons } from '../../contract/no-fill.ts'
import { create } from './create.ts'
import { lastPlacement } from './last-placement.ts'

export const placements: Noun = {
  summary: 'Request placements, list them, and explain how they were decided',
  commands: [
    create,
    endpointCommand('placements.list', {
      examples: ['placements list', 'placements list --fill false --since 10m -o jsonl'],
      columns: ['created_at_ms', 'slot_id', 'job_type', 'mode', 'status', 'format', 'no_fill_reason', 'campaign_id'],
    }),
    endpointCommand('placements.explain', {
      details: 'Without slot_id: your last placement.',
      examples: ['placements explain', 'placements explain -o json'],
      defaultParam: (session) => lastPlacement(session, 'slot_id'),
      text: (detail, _, style) => explanation(detail, style),
    }),
  ],
}

function explanation(detail: PlacementDetail, style: Style): string[] {
  const { decided_at_ms, first_frame_at_ms, partner_request } = detail
  return [
    ...alignPairs(
      [
        ['slot', detail.slot_id],
        ['job', `${detail.job_id}, ${detail.job_type}, ${detail.mode} key of ${detail.client_id}`],
        ['session', detail.session_id],
        ['outcome', outcomeText(detail)],
        ['topic', detail.topic],
        ['prompt', detail.prompt_length === null ? null : `${detail.prompt_length} characters processed, none stored`],
        ['consent', consentLine(detail.consent)],
        ['created', formatTime(detail.created_at_ms)],
        ['decided', decided_at_ms === null ? null : formatTime(decided_at_ms)],
        ['first frame', first_frame_at_ms === null ? null : formatTime(first_frame_at_ms)],
        ['evidence', `${detail.evidence.length} ${detail.evidence.length === 1 ? 'entry' : 'entries'}`],
        ['billing', billingText(detail)],
      ],
      style,
    ),
    ...section('Trace', traceTable(detail, style), style),
    ...section('Partner request', partner_request === null ? [] : describeValue(partner_request, style), style),
    ...section('Beacons', beaconTable(detail, style), style),
  ]
}

function outcomeText({ status, fill, format, campaign_id, no_fill_reason }: PlacementDetail): string {
  if (fill === null) return status
  if (fill) return `${status}, fill: ${format} of ${formatValue(campaign_id)}`
  if (no_fill_reason === null) return `${status}, no fill`
  return `${status}, no fill: ${no_fill_reason}. ${noFillReasons[no_fill_reason].meaning}`
}

function billingText({ billing }: PlacementDetail): string | null {
  if (billing === null) return null
  const price = billing.gross_cpm === null ? '' : `, ${billing.gross_cpm} ${billing.currency ?? ''} CPM`
  return `${billing.would_bill ? 'would bill' : 'would not bill'} a ${billing.metric}${price}. ${billing.explanation}`
}

/** Returns the winner first, then the outbid campaigns, then the removed ones. */
function traceTable({ trace }: PlacementDetail, style: Style): string[] {
  if (trace.length === 0) return []
  const order = { won: 0, outbid: 1, removed: 2 }
  const steps = [...trace].sort((a, b) => order[a.outcome] - order[b.outcome])
  const rows = steps.map(({ campaign_id, outcome, rule, explanation }) => [campaign_id, outcome, rule, explanation])
  return alignTable(['campaign', 'outcome', 'rule', 'why'], rows, style)
}

function beaconTable({ beacons }: PlacementDetail, style: Style): string[] {
  if (beacons.length === 0) return []
  const rows = beacons.map(({ received_at_ms, event, verdict, reason_code, would_bill }) => [
    formatTime(received_at_ms),
    event,
    verdict,
    reason_code,
    would_bill ? 'yes' : 'no',
  ])
  return alignTable(['received', 'event', 'verdict', 'reason', 'would bill'], rows, style)
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : ['', style.bold(title), ...lines.map((line) => `  ${line}`)]
}
