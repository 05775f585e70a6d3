/** The same request sent again: too soon, or although it cannot succeed. */
import { errorCodes } from '../contract/errors.ts'
import { type Exchange, groupBy } from './exchange.ts'

/** A repetition within this time is one of a program, not of a person. */
const atOnceMs = 1_000
/** Timers of clients may fire this much early. */
const toleranceMs = 20

export interface Repetition {
  first: Exchange
  again: Exchange
}

/** Repeated before the time that the answer asked to wait. */
export function tooSoon(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => isRetryable(first.status) && again.at_ms - first.at_ms < retryAfterMs(first) - toleranceMs,
  )
}

/** Repeated unchanged at once, although the answer said that it would fail again. */
export function inVain(exchanges: readonly Exchange[]): Repetition[] {
  return repetitions(exchanges).filter(
    ({ first, again }) => !isRetryable(first.status) && again.at_ms - first.at_ms < atOnceMs,
  )
}

/** Requests that failed, each with the next one that is the same. */
export function repetitions(exchanges: readonly Exchange[]): Repetition[] {
  return [...groupBy(exchanges, outlineOf).values()].flatMap((group) =>
    group.flatMap((first, index) => {
      if (first.status > 0 && first.status < 400) return []
      const again = group.slice(index + 1).find((next) => isAlike(bodyOf(first), bodyOf(next)))
      return again === undefined ? [] : [{ first, again }]
    }),
  )
}

/**
 * Milliseconds that an answer asks to wait, given in seconds or as a date; 0 where it names no time.
 */
export function retryAfterMs({ detail, at_ms }: Exchange): number {
  const text = detail?.response_headers['retry-after']
  if (text === undefined) return 0
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - at_ms
  return Number.isFinite(wait) ? Math.max(0, wait) : 0
}

/** Whether the same request may succeed later, as the table of errors says. */
export function isRetryable(status: number): boolean {
  return Object.values(errorCodes).some((row) => row.status === status && row.retryable)
}

/** What is the same of two equal requests beside their bodies. Without a detail nothing can be said. */
function outlineOf({ method, path, detail }: Exchange): string | null {
  if (detail === null) return null
  const { request_headers } = detail
  const names = ['authorization', 'origin', 'content-type', 'content-length']
  return JSON.stringify([method, path, ...names.map((name) => request_headers[name])])
}

function bodyOf({ detail }: Exchange): unknown {
  return detail?.request_body
}

/**
 * Whether two bodies were the same, as far as the journal kept them: of one that was refused before it was read, texts are
 * there by their length only.
 */
function isAlike(one: unknown, other: unknown): boolean {
  if (typeof one === 'string' && typeof other === 'string') {
    return one === other || lengthOf(one) === other.length || lengthOf(other) === one.length
  }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return one === other
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isAlike(memberOf(one, name), memberOf(other, name)))
  )
}

function memberOf(value: object, name: string): unknown {
  return (value as Record<string, unknown>)[name]
}

/** How long a text was that the journal removed; null of any other. */
function lengthOf(text: string): number | null {
  const length = /^\[removed: (\d+) characters\]$/.exec(text)?.[1]
  return length === undefined ? null : Number(length)
}
