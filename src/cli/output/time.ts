/** Times as `--time` asks for them. UTC, as in JSON and in the journal. */
import type { Style } from './style.ts'

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** The most epoch milliseconds that a date takes. */
const lastDate_ms = 8.64e15

/**
 * Returns epoch milliseconds as text: `12:03:41` in the tables of a terminal, with the day where it is another one than
 * today; RFC 3339 elsewhere; `2m ago` or the number where `--time` says so. A client may send any number as a time, also one
 * that is no date.
 */
export function timeText(epoch_ms: number, { view, columns }: Style, isShort = false): string {
  if (view.time === 'ms' || Math.abs(epoch_ms) > lastDate_ms) return String(epoch_ms)
  if (view.time === 'relative') return relativeTime(epoch_ms - view.now_ms)
  return isShort && columns !== undefined ? shortTime(epoch_ms, view.now_ms) : formatTime(epoch_ms)
}

/** Returns epoch milliseconds as RFC 3339, UTC. */
export function formatTime(epoch_ms: number): string {
  return new Date(epoch_ms).toISOString()
}

/** Returns `12:03:41` for a time of today, `Jan 30 12:03` for one of this year, `2025-01-30` for any other. */
function shortTime(epoch_ms: number, now_ms: number): string {
  const text = formatTime(epoch_ms)
  const today = formatTime(now_ms)
  if (text.slice(0, 10) === today.slice(0, 10)) return text.slice(11, 19)
  if (text.slice(0, 4) !== today.slice(0, 4)) return text.slice(0, text.indexOf('T'))
  const month = 'JanFebMarAprMayJunJulAugSepOctNovDec'.slice(Number(text.slice(5, 7)) * 3 - 3).slice(0, 3)
  return `${month} ${text.slice(8, 10)} ${text.slice(11, 16)}`
}

/** Returns `2m ago`, or `in 2m` for what is yet to come. */
function relativeTime(from_now_ms: number): string {
  const span = Math.abs(from_now_ms)
  const [unit, size] = units.find(([, size]) => span >= size) ?? []
  if (unit === undefined || size === undefined) return 'now'
  const count = `${Math.floor(span / size)}${unit}`
  return from_now_ms < 0 ? `${count} ago` : `in ${count}`
}
