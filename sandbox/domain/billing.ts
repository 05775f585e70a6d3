/**
 * Production billing (A75, A76, A78): for one placement in a sentence, with the missing step, and for many as a report.
 * The verdict of each beacon is in the contract.
 */

import {
  type AcceptedBeacon,
  type BillingModel,
  billed,
  type CreativeFacts,
  isBilled,
  judgeBeacons,
  metricOf,
  type ViewabilityThresholds,
} from '#contract/beacon-verdict.ts'
import { acceptHints, acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import type { Format } from '#contract/fields.ts'
import { type NoFillReason, noFillReasons } from '#contract/no-fill.ts'
import type { AcceptCode, BeaconItem, Metric } from '#contract/resources/beacons.ts'
import type { BillingLine, BillingReport } from '#contract/resources/billing.ts'
import type { BillingVerdict, PlacementDetail } from '#contract/resources/placements.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { entryOf } from '#foundation/table-entry.ts'

/** Returns whether production would bill a placement, and why, in one sentence. At most one metric counts, at most once. */
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

/** Each metric in words, and the event that is evidence of it. */
const names: Readonly<Record<Metric, readonly [metric: string, event: string]>> = {
  viewable_impression: ['viewable impression', 'visible'],
  rendered_impression: ['rendered impression', 'render'],
  click: ['click', 'click'],
  completed_view: ['completed view', 'completion'],
}

/** The first one that a beacon has explains why nothing counted. */
const shortfalls = [
  'AWAITING_RENDER',
  'COMPLETED_TOO_FAST',
  'VISIBILITY_UNMEASURED',
  'MEASUREMENT_IMPLAUSIBLE',
  'TOO_SMALL',
  'BELOW_THRESHOLD',
  'PAGE_HIDDEN',
] as const

function explain(metric: Metric, format: Format, codes: ReadonlySet<AcceptCode>): string {
  const [name, event] = names[metric]
  if (codes.has('OK')) return `One ${name} counted.`
  if (metric === 'completed_view' && format !== 'clip') return `No ${name}: only a clip can be completed.`
  const shortfall = shortfalls.find((code) => codes.has(code))
  return `No ${name}: ${shortfall === undefined ? `no ${event} beacon was accepted` : acceptMeanings[shortfall]}.`
}

type Explained = Pick<
  PlacementDetail,
  'status' | 'format' | 'no_fill_reason' | 'billing' | 'beacons' | 'first_frame_at_ms'
>

/** Returns the step that is missing for a placement to be billed; null when it would be billed, or nothing can be done. */
export function billingFix({
  status,
  format,
  no_fill_reason,
  billing,
  beacons,
  first_frame_at_ms,
}: Explained): string | null {
  if (no_fill_reason !== null) return noFillFixes[noFillReasons[no_fill_reason].retry]
  if (billing === null) return 'Poll GET /v1/decisions/{slot_id} until it is decided: svc decisions get --wait'
  if (billing.would_bill) return null
  const shortfall = shortfallOf(billing.metric, beacons)
  if (shortfall !== undefined) return beaconFix(shortfall.reason_code)
  const isStarted = beacons.some(({ event }) => event === 'play_started')
  if (format === 'clip' && beacons.length > 0 && !isStarted && billing.metric !== 'click') {
    return 'Bring at least half of the clip into view: it plays there, and time counts while it does. With reduced motion, or where autoplay is blocked, it waits for its play button, and render.js emits autoplay_blocked.'
  }
  if (beacons.length > 0) {
    return billing.metric === 'viewable_impression'
      ? 'Bring the frame into view: it may be hidden, below the fold, or removed too soon. svc doctor finds frames without pixels and beacons that were lost; svc beacons list --verdict rejected has those that cannot be read.'
      : null
  }
  if (first_frame_at_ms !== null) {
    return 'Send a render beacon. render.js does; if the page uses it, its console says why not: its CSP, an origin that is not allowed, or a page that was left. A beacon that was refused for its credential or asset token has no slot: svc requests list --path /v1/beacons'
  }
  return status === 'expired'
    ? 'It expired before it was shown. Request a placement when there is room for it, and mount placement.render.frame_url at once.'
    : 'Mount placement.render.frame_url. A page that does has its reason on the console: frame-src of its CSP, or a blocker. A beacon that was refused for its credential or asset token has no slot: svc requests list --path /v1/beacons'
}

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
function shortfallOf(metric: Metric, beacons: readonly BeaconItem[]): BeaconItem | undefined {
  const shortfalls = beacons.filter(({ reason_code, verdict }) => verdict !== 'duplicate' && reason_code !== 'OK')
  const ofRender = shortfalls.findLast(({ event }) => event === null || event === 'render')
  const ofMetric = shortfalls.findLast(({ event }) => event !== null && metricOf[event] === metric)
  // A beacon that waits for the render beacon needs no fix if the render beacon was refused.
  return ofMetric === undefined || (ofMetric.reason_code === 'AWAITING_RENDER' && ofRender !== undefined)
    ? ofRender
    : ofMetric
}

/** Returns what to do about a beacon that does not count, whether it was accepted or refused. */
function beaconFix(code: BeaconItem['reason_code']): string | null {
  if (code === 'OK') return null
  if (Object.hasOwn(acceptHints, code)) return entryOf(acceptHints, code) ?? null
  const { hint } = entryOf(reasonCodes, code)!
  return hint.includes('listed fields') ? `${hint} They are in the response: svc requests list --reason ${code}` : hint
}

type Reason = BillingReport['not_counted']['reasons'][number]['reason_code']
type Total = BillingReport['totals'][number]

/** Sums verdicts. It is fed slot by slot, so a report over many placements keeps only a few in memory. */
interface Tally {
  /** Adds metrics that counted. */
  count(
    project: TallyProject,
    facts: { format: Format; gross_cpm: number; currency: string },
    metric: Metric,
    count: number,
  ): void
  /** Adds beacons that did not count. */
  miss(reason: Reason, count: number): void
  /** The counted beacons by project, format, metric and price, and the others by reason. */
  report(): Omit<BillingReport, 'not_counted'> & { not_counted: Omit<BillingReport['not_counted'], 'beacons'> }
}

interface TallyProject {
  client_id: string
  settings: Pick<ProjectSettings, 'billing_model' | 'publisher_share'>
}

export function createTally(): Tally {
  const lines = new Map<string, { line: BillingLine; project: TallyProject }>()
  const reasons = new Map<Reason, number>()
  return {
    count(project, { format, gross_cpm, currency }, metric, count) {
      const { client_id, settings } = project
      const name = `${client_id} ${format} ${metric} ${gross_cpm} ${currency}`
      const known = lines.get(name)
      if (known !== undefined) {
        known.line.count += count
        return
      }
      const is_billed = isBilled(settings.billing_model, metric)
      const line = {
        client_id,
        format,
        metric,
        is_billed,
        gross_cpm,
        currency,
        count,
        amount: 0,
        publisher_amount: 0,
      }
      lines.set(name, { line, project })
    },
    miss(reason, count) {
      reasons.set(reason, (reasons.get(reason) ?? 0) + count)
    },
    report() {
      const priced = [...lines.entries()]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, { line, project }]) => ({ line: withAmount(line, project.settings.publisher_share), project }))
      const counted = [...reasons].map(([reason_code, count]) => ({ reason_code, count }))
      return {
        lines: priced.map(({ line }) => line),
        totals: totalsOf(priced),
        not_counted: {
          count: counted.reduce((sum, { count }) => sum + count, 0),
          reasons: counted.toSorted((a, b) => b.count - a.count || (a.reason_code < b.reason_code ? -1 : 1)),
        },
      }
    },
  }
}

function withAmount(line: BillingLine, publisher_share: number): BillingLine {
  const amount = line.is_billed ? (line.count * line.gross_cpm) / 1_000 : 0
  return { ...line, amount: money(amount), publisher_amount: money(amount * publisher_share) }
}

function totalsOf(lines: readonly { line: BillingLine; project: TallyProject }[]): Total[] {
  const totals = new Map<string, Total>()
  for (const { line, project } of lines) {
    const { client_id, currency } = line
    const billing_model: BillingModel = project.settings.billing_model
    const name = `${client_id} ${currency}`
    const total = totals.get(name) ?? { client_id, billing_model, currency, count: 0, amount: 0, publisher_amount: 0 }
    totals.set(name, {
      ...total,
      count: total.count + (line.is_billed ? line.count : 0),
      amount: money(total.amount + line.amount),
      publisher_amount: money(total.publisher_amount + line.publisher_amount),
    })
  }
  return [...totals.values()]
}

/** Rounds to a millionth: one impression at a CPM of 0.01 costs ten of them. */
function money(amount: number): number {
  return Math.round(amount * 1e6) / 1e6
}
