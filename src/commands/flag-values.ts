/** Flags and values that several commands take. */
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../foundation/duration.ts'

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
