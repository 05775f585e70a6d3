/** Instants as a person types them. */
import { CliError } from '../run/errors.ts'
import { formatTime } from './text.ts'

/** Epoch milliseconds of an instant of RFC 3339 or a day (its first moment, UTC); null for `now`. Throws CliError. */
export function readInstant(text: string): number | null {
  if (text === 'now') return null
  const isInstant = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
  const to_ms = isInstant && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN
  if (to_ms >= 0) return to_ms
  throw new CliError(
    'usage',
    'instant_invalid',
    `'${text}' is not an instant since 1970.`,
    'Write a day or a time with its zone: 2027-01-01, 2027-01-01T00:00:00Z or 2027-01-01T01:00:00+01:00.',
  )
}

/** Whether the calendar has it: 2027-02-30 would be read as the second of March. */
function isDay(text: string): boolean {
  const day_ms = Date.parse(text)
  return !Number.isNaN(day_ms) && formatTime(day_ms).startsWith(text)
}
