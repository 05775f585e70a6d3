/** Flags and values that several commands take. */
import { InvalidArgumentError, Option } from 'commander'
import { formatTime } from '../cli/output/text.ts'
import { CliError } from '../cli/run/errors.ts'
import { parseDuration, parseSince } from '../foundation/duration.ts'

/** A flag that may be given several times. Its value is the list of all that were given. */
export function repeatable(flags: string, description: string): Option {
  return new Option(flags, `${description} (repeatable)`).argParser(append)
}

/** Returns a list with one more value, for flags that collect what they are given. */
export function append(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value]
}

/** Reads a whole number of at most nine digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

/** Reads a port; 0 stands for any free one. */
export function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port from 0 to 65535.')
  return Number(text)
}

/** Reads a whole number that is not zero. */
export function countFromOne(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}

/** Reads a duration such as `20s` or `2m`, in milliseconds; never zero. */
export function durationMs(text: string): number {
  const duration_ms = parseDuration(text)
  if (duration_ms === null || duration_ms === 0)
    throw new InvalidArgumentError('It must be a duration such as 20s or 2m.')
  return duration_ms
}

/** Reads the start of a filter, which the sandbox counts from its own clock. */
export function sinceText(text: string): string {
  if (parseSince(text) === null) throw new InvalidArgumentError('It must be epoch milliseconds or a span such as 10m.')
  return text
}

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
