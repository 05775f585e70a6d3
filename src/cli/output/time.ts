/** Points in time as you type them. Internally they are epoch milliseconds. */
import { CliError } from '../run/errors.ts'
import { formatTime } from './text.ts'

/**
 * Returns the epoch milliseconds of an RFC 3339 time, or of a day (its first moment, UTC); null for `now`. Throws CliError
 * for anything else.
 */
export function parseTime(text: string): number | null {
  if (text === 'now') return null
  const isTimestamp = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
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
