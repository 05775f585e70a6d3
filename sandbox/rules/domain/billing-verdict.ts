/**
 * Production billing (A75, A78) of one placement, in a sentence, with the missing step. The verdict of each beacon is in
 * the contract.
 */

import {
  type AcceptedBeacon,
  type BillingModel,
  billed,
  eventMetrics,
  judgeBeacons,
  type PricedCreative,
} from '#contract/beacon-verdict.ts'
import { acceptHints, acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import { readFormat } from '#contract/facts/formats.ts'
import type { Format } from '#contract/fields.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import type { AcceptCode, BeaconItem, Metric } from '#contract/resources/beacons.ts'
import type { BillingVerdict, PlacementDetail } from '#contract/resources/placements.ts'
import type { ViewabilityThresholds } from '#contract/viewability.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'

/** Returns whether production would bill a placement, and why, in one sentence. At most one metric counts, at most once. */
export function judgeBilling(
  model: BillingModel,
  creative: PricedCreative,
  viewability: ViewabilityThresholds,
  beacons: readonly AcceptedBeacon[],
): BillingVerdict {
  const metric = billed[model]
  const verdicts = judgeBeacons(model, creative, viewability, beacons)
  const codes = new Set<AcceptCode>()
  for (const beacon of beacons) {
    if (eventMetrics[beacon.event] === metric) codes.add(verdicts.get(beacon.id)!.reason_code)
  }
  return {
    metric,
    would_bill: codes.has('OK') && creative.gross_cpm !== 0,
    gross_cpm: creative.gross_cpm,
    currency: creative.currency,
    explanation:
      creative.gross_cpm === 0
        ? 'Its price is 0, as of every forced ad.'
        : explainMetric(metric, creative.format, codes),
  }
}

/** Each metric in words, and the event that is evidence of it. */
const metricNames: Readonly<Record<Metric, readonly [metric: string, event: string]>> = {
  viewable_impression: ['viewable impression', 'visible'],
  rendered_impression: ['rendered impression', 'render'],
  click: ['click', 'click'],
  completed_view: ['completed view', 'completion'],
}

/** Why nothing counted: the first of these codes that a beacon has. The compiler names one that is missing. */
const shortfallTable: Readonly<Record<Exclude<AcceptCode, 'OK' | 'DUPLICATE' | 'ALREADY_COUNTED'>, null>> = {
  AWAITING_RENDER: null,
  AWAITING_PLAY: null,
  COMPLETED_TOO_FAST: null,
  VISIBILITY_UNMEASURED: null,
  MEASUREMENT_IMPLAUSIBLE: null,
  TOO_SMALL: null,
  BELOW_THRESHOLD: null,
  PAGE_HIDDEN: null,
}
const shortfalls = tableNames(shortfallTable)

function explainMetric(metric: Metric, format: Format, codes: ReadonlySet<AcceptCode>): string {
  const [name, event] = metricNames[metric]
  if (codes.has('OK')) return `One ${name} counted.`
  if (metric === 'completed_view' && !readFormat(format).plays) return `No ${name}: only a clip can be completed.`
  const shortfall = shortfalls.find((code) => codes.has(code))
  return `No ${name}: ${shortfall === undefined ? `no ${event} beacon was accepted` : acceptMeanings[shortfall]}.`
}

type ExplainedPlacement = Pick<
  PlacementDetail,
  'status' | 'format' | 'no_fill_reason' | 'billing' | 'beacons' | 'first_frame_at_ms'
>

/** Returns the step that is missing for a placement to be billed; null when it would be billed, or nothing can be done. */
export function findBillingFix({
  status,
  format,
  no_fill_reason,
  billing,
  beacons,
  first_frame_at_ms,
}: ExplainedPlacement): string | null {
  if (no_fill_reason !== null) return noFillFixes[noFillReasons[no_fill_reason].retry]
  if (billing === null) return 'Poll GET /v1/decisions/{slot_id} until it is decided: svc api decisions.get --wait'
  if (billing.would_bill) return null
  if (billing.gross_cpm === 0) return 'Leave out overrides.force_campaign_id, or end the scenario that forces it.'
  const shortfall = findShortfall(billing.metric, beacons)
  if (shortfall !== undefined) return findBeaconFix(shortfall.reason_code)
  const isStarted = beacons.some(({ event }) => event === 'play_started')
  if (format !== null && readFormat(format).plays && beacons.length > 0 && !isStarted && billing.metric !== 'click') {
    return 'Bring at least half of the clip into view: it plays there, and time counts while it does. With reduced motion, or where autoplay is blocked, it waits for its play button, and render.js emits autoplay_blocked.'
  }
  if (beacons.length > 0) {
    return billing.metric === 'viewable_impression'
      ? 'Bring the frame into view: it may be hidden, cut off, below the fold, or removed too soon. svc observe finds frames without pixels and beacons that were lost; svc beacons list --verdict rejected has those that cannot be read.'
      : null
  }
  if (first_frame_at_ms !== null) {
    return `Its frame was loaded, and no beacon arrived: the frame was not shown, as in a slot that is not displayed, in a page that was left or whose origin is not allowed, or without render.js; or its beacons were blocked, as by connect-src of the page's CSP. ${findOut}`
  }
  return status === 'expired'
    ? 'It expired before it was shown. Request a placement when there is room for it, and mount placement.render.frame_url at once.'
    : `No frame of it was loaded. Pass the response on unchanged, with frame_url and authoritative_consent, and mount it with render.js; where a page does, frame-src of its CSP or a blocker keeps the frame out. ${findOut}`
}

/** The service knows what reached it alone: a page knows the cause. */
const findOut =
  'Only the page knows which: svc observe --url ADDRESS. A beacon that was refused for its credential or asset token has no slot: svc requests list --path /v1/beacons'

const noFillFixes: Readonly<Record<(typeof noFillReasons)[NoFillReason]['retry'], string>> = {
  'next turn': 'Show nothing, and ask again with the next turn.',
  'after change': 'Change the request or the project: the trace has the rule that removed each campaign.',
  'after consent': 'Show nothing, and ask again when consent is granted.',
  'next topic': 'Show nothing. A turn about another topic may fill.',
  later: 'Show nothing, and ask again later.',
  no: 'Show nothing. The same request is not filled again.',
  yes: 'Leave out test_outcome.',
}

/** Returns the newest beacon that explains why nothing counted; one of the metric first, since the explanation is about it. */
function findShortfall(metric: Metric, beacons: readonly BeaconItem[]): BeaconItem | undefined {
  const shortfalls = beacons.filter(({ reason_code, verdict }) => verdict !== 'duplicate' && reason_code !== 'OK')
  const ofRender = shortfalls.findLast(({ event }) => event === null || event === 'render')
  const ofMetric = shortfalls.findLast(({ event }) => event !== null && eventMetrics[event] === metric)
  // A beacon that waits for the render beacon needs no fix if the render beacon was refused.
  return ofMetric === undefined || (ofMetric.reason_code === 'AWAITING_RENDER' && ofRender !== undefined)
    ? ofRender
    : ofMetric
}

/** Returns what to do about a beacon that does not count, whether it was accepted or refused. */
function findBeaconFix(code: BeaconItem['reason_code']): string | null {
  if (Object.hasOwn(acceptHints, code)) return findEntry(acceptHints, code) ?? null
  const { hint } = findEntry(reasonCodes, code)!
  return hint.includes('listed fields') ? `${hint} They are in the response: svc requests list --reason ${code}` : hint
}
