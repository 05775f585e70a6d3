/** `svc placements explain`: why a placement was decided as it was, for people. */

import { consentLine } from '../../cli/output/placement-summary.ts'
import type { Style } from '../../cli/output/style.ts'
import { alignPairs, alignTable, describeValue, formatTime, formatValue } from '../../cli/output/text.ts'
import type { PlacementDetail } from '../../contract/control/placements.ts'
import { noFillReasons } from '../../contract/no-fill.ts'

export function explanation(detail: PlacementDetail, style: Style): string[] {
  return [
    ...alignPairs(
      [
        ['slot', detail.slot_id],
        ['job', `${detail.job_id}, ${detail.job_type}, ${detail.mode} key of ${detail.client_id}`],
        ['session', detail.session_id],
        ['outcome', outcomeOf(detail)],
        ['topic', detail.topic],
        ['prompt', detail.prompt_length === null ? null : `${detail.prompt_length} characters processed, none kept`],
        ['consent', consentLine(detail.consent)],
        ['created', formatTime(detail.created_at_ms)],
        ['decided', detail.decided_at_ms === null ? null : formatTime(detail.decided_at_ms)],
        ['first frame', detail.first_frame_at_ms === null ? null : formatTime(detail.first_frame_at_ms)],
        ['evidence', `${detail.evidence.length} in the chain`],
        ['billing', billingOf(detail)],
      ],
      style,
    ),
    ...section('Trace', traceOf(detail, style), style),
    ...section(
      'Asked of partners',
      detail.partner_request === null ? [] : describeValue(detail.partner_request, style),
      style,
    ),
    ...section('Beacons', beaconsOf(detail, style), style),
  ]
}

function outcomeOf({ status, fill, format, campaign_id, no_fill_reason }: PlacementDetail): string {
  if (fill === null) return status
  if (fill) return `${status}, fill: ${format} of ${formatValue(campaign_id)}`
  if (no_fill_reason === null) return `${status}, no fill`
  return `${status}, no fill: ${no_fill_reason}. ${noFillReasons[no_fill_reason].meaning}`
}

function billingOf({ billing }: PlacementDetail): string | null {
  if (billing === null) return null
  const price = billing.gross_cpm === null ? '' : `, ${billing.gross_cpm} ${billing.currency ?? ''} CPM`
  return `${billing.would_bill ? 'would bill' : 'would not bill'} a ${billing.metric}${price}. ${billing.explanation}`
}

/** The winner first, then who was outbid, then who was removed. */
function traceOf({ trace }: PlacementDetail, style: Style): string[] {
  const order = { won: 0, outbid: 1, removed: 2 }
  const steps = [...trace].sort((a, b) => order[a.outcome] - order[b.outcome])
  if (steps.length === 0) return []
  return alignTable(
    ['campaign', 'outcome', 'rule', 'why'],
    steps.map(({ campaign_id, outcome, rule, explanation }) => [campaign_id, outcome, rule, explanation]),
    style,
  )
}

function beaconsOf({ beacons }: PlacementDetail, style: Style): string[] {
  if (beacons.length === 0) return []
  return alignTable(
    ['received', 'event', 'verdict', 'reason', 'would bill'],
    beacons.map((beacon) => [
      formatTime(beacon.received_at_ms),
      beacon.event,
      beacon.verdict,
      beacon.reason_code,
      beacon.would_bill ? 'yes' : 'no',
    ]),
    style,
  )
}

function section(title: string, lines: readonly string[], style: Style): string[] {
  return lines.length === 0 ? [] : ['', style.bold(title), ...lines.map((line) => `  ${line}`)]
}
