/** What a run records: how far each turn got, and how long it waited. Counts and percentiles of it. Pure. */

/** How far a turn can get, in order. */
export const turnSteps = ['turn', 'requested', 'decided', 'filled', 'framed', 'rendered', 'visible', 'billed'] as const
export type TurnStep = (typeof turnSteps)[number]

export interface TurnRecord {
  /** When it started, or was planned to start, from the start of the run, milliseconds. */
  at_ms: number
  /** The last step that it got to. */
  step: TurnStep
  /** Why it got no further: a reason code, `timeout`, `unreachable`; null when billed or not known. */
  reason: string | null
}

/** How long someone waited for an ad. */
export interface Wait {
  at_ms: number
  /** From the planned start to the decision, or to the ad; null when there was none. */
  latency_ms: number | null
}

export interface RunRecord {
  turns: readonly TurnRecord[]
  waits: readonly Wait[]
  /** Whether turns of the same index are the same in both runs. */
  is_paired: boolean
}

export interface Latency {
  median_ms: number
  p95_ms: number
  p99_ms: number
  max_ms: number
}

/** Returns how many turns got at least to a step. */
export function countReached(turns: readonly TurnRecord[], step: TurnStep): number {
  return turns.filter((turn) => hasReached(turn, step)).length
}

export function hasReached(turn: TurnRecord, step: TurnStep): boolean {
  return turnSteps.indexOf(turn.step) >= turnSteps.indexOf(step)
}

/** Returns the latencies of the waits that ended, by nearest rank; null when none did. */
export function summarizeLatency(waits: readonly Wait[]): Latency | null {
  const sorted = waits.flatMap(({ latency_ms }) => latency_ms ?? []).toSorted((one, other) => one - other)
  if (sorted.length === 0) return null
  const rank = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!)
  return { median_ms: rank(0.5), p95_ms: rank(0.95), p99_ms: rank(0.99), max_ms: rank(1) }
}
