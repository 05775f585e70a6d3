/** The result of a game day, as `-o json` prints it and the page shows it. */
import type { Gameday } from './gameday-file.ts'
import type { Plan } from './plan.ts'
import type { Runs, Verdict } from './verdict.ts'

export interface GamedayReport extends Verdict {
  gameday: string
  seed: number
  /** Turns a second. */
  rate: number
  length_ms: number
  /** What was measured, in sentences. */
  looked_at: readonly string[]
  timeline: Gameday['timeline']
  plan: Plan['turns']
  runs: Runs
}

/** Shown names of expectations. */
export const expectationNames = {
  fills: 'fills kept',
  billed: 'billed views kept',
  median: 'median latency',
  p95: 'p95 latency',
  p99: 'p99 latency',
  recovery: 'recovery',
} as const

/** Returns `at least 90 %` or `at most 2 s`. */
export function limitText({ expectation, limit }: Verdict['expectations'][number]): string {
  return isShare(expectation) ? `at least ${limit} %` : `at most ${secondsText(limit)}`
}

/** Returns the measured value, or what is missing. */
export function actualText({ expectation, actual }: Verdict['expectations'][number]): string {
  if (actual === null) return expectation === 'recovery' ? 'not recovered' : 'nothing to measure'
  return isShare(expectation) ? percentText(actual) : secondsText(actual)
}

/** Returns a share with one decimal; rounded down, so that a missed limit never reads as met. */
export function percentText(percent: number | null): string {
  return percent === null ? '-' : `${Math.floor(percent * 10) / 10} %`
}

export function secondsText(duration_ms: number): string {
  return duration_ms < 1_000 ? `${Math.round(duration_ms)} ms` : `${Number((duration_ms / 1_000).toFixed(2))} s`
}

function isShare(expectation: Verdict['expectations'][number]['expectation']): boolean {
  return expectation === 'fills' || expectation === 'billed'
}
