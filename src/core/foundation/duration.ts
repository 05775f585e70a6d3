/** Durations in their written form: `500ms`, `90s`, `31m`, `2h`, `7d`. Internally always milliseconds. */

import { findEntry } from './table-entry.ts'

/** Milliseconds of each unit, largest first. */
export const unitsMs = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

/** Matches a duration with its unit; a fraction is allowed. */
export const durationPattern = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/

/** Returns the milliseconds of a duration such as `500ms` or `31m`, or null when the text is not one. */
export function parseDuration(text: string): number | null {
  const [, count, unit] = durationPattern.exec(text) ?? []
  return count === undefined ? null : Number(count) * findEntry(unitsMs, unit!)!
}

/** Returns the milliseconds of a duration, or of a whole number of milliseconds; null when the text is neither. */
export function parseSpan(text: string): number | null {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const span_ms = parseDuration(text)
  return span_ms === null ? null : Math.round(span_ms)
}

/** Returns a span in its largest whole units, at most `parts` units: `3s`, `31m`, `7d 2h`. Returns `0ms` for 0. */
export function formatDuration(span_ms: number, parts = 1): string {
  let left = Math.abs(span_ms)
  const texts: string[] = []
  for (const [unit, length] of Object.entries(unitsMs)) {
    const count = Math.floor(left / length)
    left -= count * length
    if (count > 0) texts.push(`${count}${unit}`)
  }
  return texts.length === 0 ? '0ms' : texts.slice(0, parts).join(' ')
}

/** Returns a measured time in readable form: `412 ms`, `1.24 s`, `2 min 3 s`. */
export function measuredTime(duration_ms: number): string {
  if (duration_ms < 999.5) return `${Math.round(duration_ms)} ms`
  if (duration_ms < 59_950) return `${(duration_ms / 1000).toFixed(duration_ms < 9_995 ? 2 : 1)} s`
  const seconds = Math.round(duration_ms / 1000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

/** The start of a filter: epoch milliseconds, or a span back from now. */
export type Since = { at_ms: number } | { span_ms: number }

/** Parses the start of a filter, `1764000000000` or `10m`. Returns null when the text is neither. */
export function parseSince(text: string): Since | null {
  if (/^\d{1,15}$/.test(text)) return { at_ms: Number(text) }
  const span_ms = parseDuration(text)
  return span_ms === null ? null : { span_ms }
}

/** Returns the start of a filter in epoch milliseconds. */
export function sinceMs(since: Since, now_ms: number): number {
  return 'at_ms' in since ? since.at_ms : now_ms - since.span_ms
}
