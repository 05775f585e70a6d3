/** Times as people give them on a command line or to a tool. */
import { CliError } from './cli-error.ts'
import { formatTime } from './text.ts'

/** What `parseSince` reads, for the end of a sentence. */
export const sinceForms = 'a span such as 10m, a time such as 2027-01-31, or epoch milliseconds'

/** Returns an RFC 3339 time, or a day, as epoch milliseconds; any other text unchanged. */
export function instantText(text: string): string {
  return /^\d{4}-\d\d-\d\d/.test(text) ? String(readInstant(text)) : text
}

/**
 * Returns the epoch milliseconds of an RFC 3339 time, or of a day (its first moment, UTC), or themselves; null for `now`. Throws CliError
 * for anything else.
 */
export function readInstant(text: string): number | null {
  if (text === 'now') return null
  if (/^\d{12,15}$/.test(text)) return Number(text)
  const isTimestamp = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/i.test(text)
  const at_ms = isTimestamp && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (at_ms >= 0) return at_ms
  throw new CliError(
    'usage',
    'instant_invalid',
    `'${text}' is not a time since 1970.`,
    'Write a day or a time with its zone: 2027-01-01, 2027-01-01T00:00:00Z or 2027-01-01T01:00:00+01:00.',
  )
}

/** Whether the calendar has this day: Date.parse takes 2027-02-30 for the second of March. */
function isDay(text: string): boolean {
  const day_ms = Date.parse(text)
  return !Number.isNaN(day_ms) && formatTime(day_ms).startsWith(text)
}
