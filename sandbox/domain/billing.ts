/** What production would bill for a placement, in one sentence; the verdict of each beacon is the contract's. */

import {
  type AcceptedBeacon,
  type BillingModel,
  billed,
  type CreativeFacts,
  judgeBeacons,
  metricOf,
  type ViewabilityThresholds,
} from '../../src/contract/beacon-verdict.ts'
import type { Metric } from '../../src/contract/control/beacons.ts'
import type { BillingVerdict } from '../../src/contract/control/placements.ts'
import type { Format } from '../../src/contract/fields.ts'
import type { AcceptCode } from '../../src/contract/v1/beacons.ts'

/** Whether production would bill the placement, and why, in one sentence (A75, A78). At most one metric, at most once. */
export function billingVerdict(
  model: BillingModel,
  creative: CreativeFacts,
  viewability: ViewabilityThresholds,
  beacons: readonly AcceptedBeacon[],
): BillingVerdict {
  const metric = billed[model]
  const verdicts = judgeBeacons(model, creative, viewability, beacons)
  const codes = new Set<AcceptCode>()
  for (const beacon of beacons) {
    const verdict = verdicts.get(beacon.id)
    if (verdict !== undefined && metricOf[beacon.event] === metric) codes.add(verdict.reason_code)
  }
  return {
    metric,
    would_bill: codes.has('OK'),
    gross_cpm: creative.gross_cpm,
    currency: creative.currency,
    explanation: explain(metric, creative.format, codes),
  }
}

const names: Readonly<Record<Metric, string>> = {
  viewable_impression: 'viewable impression',
  rendered_impression: 'rendered impression',
  click: 'click',
  completed_view: 'completed view',
}

const shortfalls: readonly (readonly [AcceptCode, string])[] = [
  ['AWAITING_RENDER', 'its beacon is there, the render beacon is not'],
  ['COMPLETED_TOO_FAST', 'the clip completed sooner than it can play'],
  ['BELOW_THRESHOLD', 'what was seen is below the viewability threshold'],
  ['PAGE_HIDDEN', 'the page was hidden'],
]

function explain(metric: Metric, format: Format, codes: ReadonlySet<AcceptCode>): string {
  const name = names[metric]
  if (codes.has('OK')) return `One ${name} counted.`
  if (metric === 'completed_view' && format !== 'clip') return `No ${name}: only a clip can be completed.`
  const shortfall = shortfalls.find(([code]) => codes.has(code))
  return `No ${name}: ${shortfall === undefined ? 'no beacon of it was accepted' : shortfall[1]}.`
}
