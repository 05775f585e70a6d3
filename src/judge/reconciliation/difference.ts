/** A count of an integrator beside that of the sandbox, and the sums of many of them. */
import type { Mode } from '#contract/fields.ts'
import type { Metric } from '#contract/resources/beacons.ts'
import type { Explanation } from './causes.ts'

/** What is compared. */
export interface Scope {
  /** The traffic that counts. */
  mode: Mode | 'all'
  /** Epoch milliseconds, from and before; null without a limit. Beacons count when they are received. */
  since_ms: number | null
  until_ms: number | null
}

/** Whether a time is in the compared span. */
export function isInScope({ since_ms, until_ms }: Scope, time_ms: number): boolean {
  return time_ms >= (since_ms ?? Number.NEGATIVE_INFINITY) && time_ms < (until_ms ?? Number.POSITIVE_INFINITY)
}

/** Whether a turn is of the traffic that counts. */
export function isOfMode({ mode }: Pick<Scope, 'mode'>, turn: { mode: Mode }): boolean {
  return mode === 'all' || mode === turn.mode
}

/** A cause that a sum may have, with the number of its turns that would differ for it. */
export interface PossibleCause extends Explanation {
  turns: number
}

/** A turn, session or day that is counted differently for one metric, and one cause of it. */
export interface Difference extends Explanation {
  /** Whether the cause is only possible: a sum does not show which of its turns differ. */
  is_possible: boolean
  /** Of a sum: every cause that the sandbox has evidence of, the likeliest first. Empty for a turn. */
  possible: readonly PossibleCause[]
  /** null for a sum. */
  slot_id: string | null
  session_id: string | null
  /** Only in a comparison of days. */
  day: string | null
  metric: Metric
  /** The counts of the slot, session or day. */
  own: number
  accepted: number
  /** What this cause explains of `own - accepted`. */
  difference: number
  /** The lines of the file that count it. */
  lines: readonly number[]
}

export interface MetricTotal {
  metric: Metric
  own: number
  accepted: number
  /** `own - accepted`. */
  difference: number
  /** The difference in percent of what was accepted; null when nothing was. */
  percent: number | null
  /**
   * The differences of all slots, sessions or days added up without their sign, in percent of what was accepted: too many
   * here and too few there do not cancel out. null when nothing was accepted.
   */
  deviation_percent: number | null
}

export interface Comparison {
  totals: readonly MetricTotal[]
  differences: readonly Difference[]
  /** How far the clock or the time zone of the file is ahead of the sandbox, milliseconds; 0 without times. */
  clock_offset_ms: number
  /** The days of the file begin so much before those of UTC, milliseconds; 0 in a comparison that is not of days. */
  day_shift_ms: number
  /** The shifts that fit as well; null without a shift. */
  day_shift_range_ms: { from: number; to: number } | null
  /** Rows of the file outside the compared span. */
  rows_outside: number
}

/** Adds up counts by metric. */
export function createTotals(metrics: readonly Metric[]) {
  const sums = new Map(metrics.map((metric) => [metric, { own: 0, accepted: 0, apart: 0 }]))
  return {
    add(metric: Metric, own: number, accepted: number): void {
      const sum = sums.get(metric)!
      sum.own += own
      sum.accepted += accepted
      sum.apart += Math.abs(own - accepted)
    },
    list: (): MetricTotal[] =>
      [...sums].map(([metric, { own, accepted, apart }]) => ({
        metric,
        own,
        accepted,
        difference: own - accepted,
        percent: percentage(own - accepted, accepted),
        deviation_percent: percentage(apart, accepted),
      })),
  }
}

function percentage(part: number, whole: number): number | null {
  if (whole === 0) return part === 0 ? 0 : null
  return Math.round((part / whole) * 1e6) / 1e4
}

/** Returns a percentage such as `1%` or `0.5`; null for any other text. */
export function parsePercent(text: string): number | null {
  return /^\d{1,4}(\.\d{1,6})? ?%?$/.test(text.trim()) ? Number.parseFloat(text) : null
}

/** Returns what a percentage that cannot be read must be, a sentence. */
export function describeBadPercent(text: string): string {
  const [, whole, part] = /^\s*(\d{1,4}),(\d{1,6}) ?%?\s*$/.exec(text) ?? []
  const example = whole === undefined ? '1% or 0.5%' : `${whole}.${part}%`
  return `It must be a percentage${whole === undefined ? '' : ' with a decimal point'}, such as ${example}.`
}
