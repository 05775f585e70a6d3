/** Explains why one turn is counted differently for one metric, from what the sandbox knows of it. */
import { eventMetrics } from '#contract/beacon-verdict.ts'
import type { Mode } from '#contract/fields.ts'
import { limits } from '#contract/limits.ts'
import type { AcceptCode, Metric } from '#contract/resources/beacons.ts'
import { findEntry } from '#foundation/table-entry.ts'
import type { Cause, Explanation } from './causes.ts'
import { findCounted, type Turn, type TurnBeacon } from './turns.ts'

/** When the integrator's events happened, by the sandbox's clock, epoch milliseconds; null where its file has no times. */
interface OwnTimes {
  /** The event that is explained. */
  event_ms: number | null
}

const noTimes: OwnTimes = { event_ms: null }

/** Returns why an integrator counts a turn that the sandbox does not count. @param mode the traffic that counts */
export function explainExcess(turn: Turn, metric: Metric, mode: Mode | 'all', own: OwnTimes = noTimes): Explanation {
  if (mode !== 'all' && turn.mode !== mode) return because(turn.mode === 'test' ? 'test_traffic' : 'live_traffic')
  if (turn.fill === null) return because('not_decided')
  if (!turn.fill) return because('no_fill_counted', turn.no_fill_reason)
  return explainBeacons(turn, metric) ?? explainSilence(turn, metric, own)
}

/** Returns why a turn is counted more than once. */
export function explainDoubled({ beacons }: Turn, metric: Metric): Explanation {
  const repeated = beacons.find(
    (beacon) =>
      isEvidence(beacon, metric) && (beacon.reason_code === 'DUPLICATE' || beacon.reason_code === 'ALREADY_COUNTED'),
  )
  return because('doubled', repeated?.reason_code ?? null)
}

/** Whether a beacon of a metric came, whatever became of it. */
export function hasEvidence({ beacons }: Turn, metric: Metric): boolean {
  return beacons.some((beacon) => isEvidence(beacon, metric))
}

/** Returns how often the sandbox itself received the beacon of a metric again. */
export function countRepeated({ beacons }: Turn, metric: Metric): number {
  const again = new Set(['DUPLICATE', 'ALREADY_COUNTED'])
  return beacons.filter((beacon) => isEvidence(beacon, metric) && again.has(beacon.reason_code)).length
}

function because(cause: Cause, reason_code: string | null = null): Explanation {
  return { cause, reason_code }
}

function isEvidence({ event }: TurnBeacon, metric: Metric): boolean {
  return event !== null && eventMetrics[event] === metric
}

/** Returns what the beacons of a turn say about a metric that did not count; null when there is none of it. */
function explainBeacons(turn: Turn, metric: Metric): Explanation | null {
  const accepted = turn.beacons.findLast((beacon) => beacon.verdict === 'accepted' && isEvidence(beacon, metric))
  if (accepted?.reason_code === 'AWAITING_RENDER') {
    return explainBeacons(turn, 'rendered_impression') ?? because('beacon_never_sent', 'AWAITING_RENDER')
  }
  if (accepted !== undefined)
    return because(findEntry(acceptedCauses, accepted.reason_code) ?? 'does_not_count', accepted.reason_code)
  const refused = turn.beacons.findLast((beacon) => beacon.verdict === 'rejected' && isEvidence(beacon, metric))
  return refused === undefined ? null : explainRefused(turn, refused)
}

/** The cause of an accepted beacon that does not count. The compiler names a reason that is missing. */
const acceptedCauses: Readonly<Record<Exclude<AcceptCode, 'OK'>, Cause>> = {
  AWAITING_PLAY: 'counting_method',
  BELOW_THRESHOLD: 'counting_method',
  TOO_SMALL: 'counting_method',
  PAGE_HIDDEN: 'counting_method',
  COMPLETED_TOO_FAST: 'early',
  AWAITING_RENDER: 'does_not_count',
  ALREADY_COUNTED: 'does_not_count',
  DUPLICATE: 'does_not_count',
  VISIBILITY_UNMEASURED: 'does_not_count',
  MEASUREMENT_IMPLAUSIBLE: 'does_not_count',
}

function explainRefused(
  { created_at_ms, decided_at_ms }: Turn,
  { reason_code, occurred_at_ms }: TurnBeacon,
): Explanation {
  const happened_at_ms = occurred_at_ms ?? Number.POSITIVE_INFINITY
  switch (reason_code) {
    case 'beacon_in_future':
      return because('clock_skew', reason_code)
    case 'beacon_stale':
      // What happened before its decision was stamped by a clock that is behind.
      return because(happened_at_ms < (decided_at_ms ?? 0) - tolerance_ms ? 'clock_skew' : 'late', reason_code)
    case 'beacon_before_decision':
      // Between the request and its decision there was no ad yet; before the request there was no turn.
      return because(happened_at_ms < created_at_ms - tolerance_ms ? 'clock_skew' : 'early', reason_code)
    case 'asset_token_expired':
      return because('after_expiry', reason_code)
    default:
      return because('beacon_refused', reason_code)
  }
}

/** Two clocks that agree differ by less. */
const tolerance_ms = 1_000

/** Returns why a fill counts although no beacon of the metric arrived. */
function explainSilence(turn: Turn, metric: Metric, { event_ms }: OwnTimes): Explanation {
  const rendered = findCounted(turn, 'rendered_impression')
  if (metric === 'viewable_impression' && rendered !== null) {
    // Counted sooner after its render than a view takes, it was counted by the rendering. Without its time nobody knows.
    const rendered_at_ms = rendered.occurred_at_ms
    const isSooner =
      event_ms !== null && rendered_at_ms !== null && event_ms - rendered_at_ms < limits.viewability.duration_ms
    return because(isSooner ? 'counting_method' : 'not_viewed')
  }
  if (turn.beacons.length > 0) return because('beacon_never_sent')
  if (event_ms !== null && turn.decided_at_ms !== null) {
    if (event_ms < turn.decided_at_ms - tolerance_ms) return because('early')
    if (!turn.is_framed && event_ms > turn.decided_at_ms + limits.decision_ttl_ms) return because('after_expiry')
  }
  return because(turn.is_framed ? 'beacon_never_sent' : 'frame_not_loaded')
}
