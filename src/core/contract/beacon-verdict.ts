/**
 * Decides what production would bill (A75, A76, A78): a verdict over the SET of accepted beacons of one asset token.
 *
 * Beacons arrive late, twice and in any order, so nothing here depends on arrival. Each beacon either qualifies for the
 * metric of its event or has a reason why not; the earliest qualifying beacon by (occurred_at_ms, id) counts. A beacon
 * that does not qualify never uses up its metric.
 */

import { readFormat } from './facts/formats.ts'
import type { Format } from './fields.ts'
import type { AcceptCode, BeaconEvent, Measurements, Metric } from './resources/beacons.ts'
import type { ProjectConfig } from './resources/projects.ts'
import { findRequirement, isTooSmall, listNeeds, type ViewabilityThresholds } from './viewability.ts'

export interface AcceptedBeacon {
  id: number
  event: BeaconEvent
  occurred_at_ms: number
  received_at_ms: number
  measurements: Measurements | null
}

export type BillingModel = ProjectConfig['viewability']['billing_model']

export interface PricedCreative {
  format: Format
  /** CSS pixels. */
  width: number
  height: number
  /** Length of a clip; null for other formats. */
  duration_ms: number | null
  gross_cpm: number
  currency: string
}

/** The facts of a creative that a verdict depends on. */
export type Creative = Omit<PricedCreative, 'gross_cpm' | 'currency'> & Partial<Pick<PricedCreative, 'gross_cpm'>>

export interface BeaconVerdict {
  reason_code: AcceptCode
  would_bill: boolean
  /** The metric it counts for; null when it does not count. */
  metric: Metric | null
}

/** The metric that each billing model bills (A76). */
export const billed: Readonly<Record<BillingModel, Metric>> = {
  cpm_viewable: 'viewable_impression',
  cpm_render: 'rendered_impression',
  cpc: 'click',
  cpcv: 'completed_view',
}

/** Whether a billing model bills this metric (A76). */
export function isBilled(model: BillingModel, metric: Metric): boolean {
  return billed[model] === metric
}

/** The metric that each event is evidence of. */
export const eventMetrics: Readonly<Record<BeaconEvent, Metric | null>> = {
  render: 'rendered_impression',
  visible: 'viewable_impression',
  click: 'click',
  completion: 'completed_view',
  play_completed: 'completed_view',
  play_started: null,
  heartbeat: null,
}

/** The events whose beacons may have this verdict; null: any event. */
export const eventsWith: Readonly<Record<AcceptCode, readonly BeaconEvent[] | null>> = {
  OK: null,
  ALREADY_COUNTED: null,
  AWAITING_RENDER: null,
  AWAITING_PLAY: ['visible'],
  BELOW_THRESHOLD: ['visible'],
  PAGE_HIDDEN: ['visible'],
  VISIBILITY_UNMEASURED: ['visible'],
  TOO_SMALL: ['visible'],
  MEASUREMENT_IMPLAUSIBLE: ['visible'],
  COMPLETED_TOO_FAST: ['completion', 'play_completed'],
  // A beacon that was received before is stored beside the accepted ones.
  DUPLICATE: [],
}

/** Share of its length that a clip must have played before it counts as completed. */
const completedShare = 0.9

/**
 * Returns the verdict of every beacon, by its id (A75). The beacons are those of one asset token, each id once; their
 * order does not matter. Times in milliseconds.
 */
export function judgeBeacons(
  model: BillingModel,
  creative: Creative,
  viewability: ViewabilityThresholds,
  beacons: readonly AcceptedBeacon[],
): Map<number, BeaconVerdict> {
  const started = findStart(beacons)
  const counted = new Set<Metric>()
  // The price of a forced ad: it was not sold.
  const isSold = creative.gross_cpm !== 0
  const verdicts = new Map<number, BeaconVerdict>()
  for (const beacon of beacons.toSorted(byOccurrence)) {
    const metric = eventMetrics[beacon.event]
    let reason_code = qualify(beacon, creative, viewability, started)
    if (reason_code === 'OK' && metric !== null && counted.has(metric)) reason_code = 'ALREADY_COUNTED'
    const counts = reason_code === 'OK' && metric !== null
    if (counts) counted.add(metric)
    verdicts.set(beacon.id, {
      reason_code,
      would_bill: counts && isSold && isBilled(model, metric),
      metric: counts ? metric : null,
    })
  }
  return verdicts
}

/** What a project bills by. */
interface BillingRule {
  billing_model: BillingModel
  viewability: ViewabilityThresholds
}

/** Returns the verdict of one of the beacons. */
export function judgeBeacon(
  { billing_model, viewability }: BillingRule,
  creative: Creative,
  beacons: readonly AcceptedBeacon[],
  { id }: AcceptedBeacon,
): BeaconVerdict {
  return judgeBeacons(billing_model, creative, viewability, beacons).get(id)!
}

/** When an ad began, by its beacons; null before that. */
interface AdStart {
  rendered_at_ms: number | null
  playing_since_ms: number | null
}

function findStart(beacons: readonly AcceptedBeacon[]): AdStart {
  return { rendered_at_ms: earliest(beacons, 'render'), playing_since_ms: earliest(beacons, 'play_started') }
}

function earliest(beacons: readonly AcceptedBeacon[], event: BeaconEvent): number | null {
  let first: number | null = null
  for (const beacon of beacons) {
    if (beacon.event === event && (first === null || beacon.occurred_at_ms < first)) first = beacon.occurred_at_ms
  }
  return first
}

function byOccurrence(a: AcceptedBeacon, b: AcceptedBeacon): number {
  return a.occurred_at_ms - b.occurred_at_ms || a.id - b.id
}

function qualify(
  beacon: AcceptedBeacon,
  creative: Creative,
  viewability: ViewabilityThresholds,
  { rendered_at_ms, playing_since_ms }: AdStart,
): AcceptCode {
  const { event, occurred_at_ms, measurements } = beacon
  if (event === 'render' || event === 'heartbeat') return 'OK'
  if (rendered_at_ms === null) return 'AWAITING_RENDER'
  if (event === 'visible') {
    if (readFormat(creative.format).plays) {
      const isBefore = playing_since_ms === null || occurred_at_ms + clockSlack(occurred_at_ms) < playing_since_ms
      if (isBefore || (measurements?.position_ms ?? Infinity) < viewability.clip_duration_ms) return 'AWAITING_PLAY'
    }
    return qualifyVisible(beacon, creative, viewability, rendered_at_ms)
  }
  if (event === 'completion' || event === 'play_completed') {
    const played_ms = occurred_at_ms - (playing_since_ms ?? rendered_at_ms)
    return played_ms >= completedShare * (creative.duration_ms ?? 0) ? 'OK' : 'COMPLETED_TOO_FAST'
  }
  return 'OK'
}

function qualifyVisible(
  { measurements, occurred_at_ms }: AcceptedBeacon,
  creative: Creative,
  viewability: ViewabilityThresholds,
  rendered_at_ms: number,
): AcceptCode {
  if (measurements === null) return 'VISIBILITY_UNMEASURED'
  if (measurements.page_visible === false) return 'PAGE_HIDDEN'
  const { width_px: width = Infinity, height_px: height = Infinity } = measurements
  if (isTooSmall({ width, height }, creative)) return 'TOO_SMALL'
  if (!isViewable(creative.format, measurements, creative, viewability)) return 'BELOW_THRESHOLD'
  const { visible_ratio, visible_ms, visibility_check } = measurements
  if (visible_ratio === undefined || visible_ms === undefined) return 'VISIBILITY_UNMEASURED'
  if (visibility_check === 'none') return 'VISIBILITY_UNMEASURED'
  const isPossible = visible_ms <= occurred_at_ms - rendered_at_ms + clockSlack(occurred_at_ms)
  return isPossible ? 'OK' : 'MEASUREMENT_IMPLAUSIBLE'
}

/** How far the clock that stamps beacons and the one that measures dwell time may differ, milliseconds. */
const clockToleranceMs = 50

/**
 * How much later than stated a view may have happened: a time in whole seconds means any millisecond of that second
 * (A73).
 */
function clockSlack(occurred_at_ms: number): number {
  return occurred_at_ms % 1_000 === 0 ? 999 : clockToleranceMs
}

/** CSS pixels. */
interface Size {
  readonly width: number
  readonly height: number
}

/** The measurements of a client. */
type Seen = Readonly<Pick<Measurements, 'visible_ratio' | 'visible_ms' | 'width_px' | 'height_px'>>

/**
 * Whether the measurements make a viewable impression (A76). A clip has its own ratio and time; other formats have the
 * ratio for their area, large or not, and the common time. Equality meets a threshold.
 *
 * The area is the rendered one where it was measured, else the creative's; a creative without area is never viewable. A
 * missing ratio or time counts as met here.
 */
export function isViewable(format: Format, seen: Seen, creative: Size, thresholds: ViewabilityThresholds): boolean {
  const area = (seen.width_px ?? creative.width) * (seen.height_px ?? creative.height)
  if (area <= 0) return false
  const { ratio, ms } = findRequirement(listNeeds(readFormat(format).plays, thresholds), area)
  return (seen.visible_ratio ?? ratio) >= ratio && (seen.visible_ms ?? ms) >= ms
}

/** The maximum number of accepted beacons of one slot that are judged together and shown with it: the first ones. */
export const maxJudged = 500
