/**
 * The days that a file of own counts is compared with: those of the turns that it names, from the first to the last, UTC. What
 * happened on other days the file does not speak of. `--since` and `--until` widen it.
 */
import { zoneName } from './cells/calendar.ts'
import type { Scope } from './difference.ts'
import type { OwnCounts } from './own-counts.ts'
import { rowFailure } from './own-file-error.ts'

/** What of a turn decides whether it is compared. */
interface KnownTurn {
  slot_id: string
  session_id: string | null
  created_at_ms: number
}

/** Times at which turns were created, epoch milliseconds, from and before; null: unbounded. */
export type Span = Pick<Scope, 'since_ms' | 'until_ms'>

const day_ms = 86_400_000

/** Returns the days of some turns; null without any. */
export function spanOfTurns(turns: readonly Pick<KnownTurn, 'created_at_ms'>[]): Span | null {
  if (turns.length === 0) return null
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const { created_at_ms } of turns) {
    first = Math.min(first, created_at_ms)
    last = Math.max(last, created_at_ms)
  }
  return { since_ms: dayStart(first), until_ms: dayStart(last) + day_ms }
}

function dayStart(time_ms: number): number {
  return Math.floor(time_ms / day_ms) * day_ms
}

/**
 * Returns the span of the turns that may count on the days of a file: its days may begin up to 14 hours before or 12 hours after
 * those of UTC, and a beacon counts on the day after its turn at the latest.
 */
export function spanOfFile({ rows }: OwnCounts): Span | null {
  const days = rows.map(({ key }) => Date.parse(`${key}T00:00:00Z`))
  const span = spanOfTurns(days.map((created_at_ms) => ({ created_at_ms })))
  return span && { since_ms: span.since_ms! - 2 * day_ms, until_ms: span.until_ms! + day_ms }
}

const maxYearsApart = 5

/**
 * A day that is years from all that a sandbox knows is one of another calendar, such as 2569, or read in another order.
 * @param known turns of the sandbox
 * @throws OwnFileError
 */
export function refuseFarDays(
  { key: field, rows, unit }: OwnCounts,
  known: readonly Pick<KnownTurn, 'created_at_ms'>[],
): void {
  const { since_ms, until_ms } = spanOfTurns(known) ?? { since_ms: null, until_ms: null }
  if (since_ms === null || until_ms === null) return
  const apart_ms = maxYearsApart * 366 * day_ms
  const problems = rows.flatMap(({ line, key, time_ms }) => {
    const at_ms = field === 'day' ? Date.parse(key) : (time_ms ?? since_ms)
    if (at_ms >= since_ms - apart_ms && at_ms <= until_ms + apart_ms) return []
    const day = new Date(at_ms).toISOString().slice(0, 10)
    return [{ line, message: `${day} is more than ${maxYearsApart} years from any turn of the sandbox` }]
  })
  if (problems.length === 0) return
  throw rowFailure(problems, 'Write days of this calendar, such as 2026-01-31, or leave these rows out.', unit)
}

/** Returns the span that has both; null for all turns. */
export function joinSpans(one: Span | null, other: Span | undefined): Span | null {
  if (one === null || other === undefined || (other.since_ms === null && other.until_ms === null)) return one
  return {
    since_ms: other.since_ms === null ? null : Math.min(one.since_ms ?? other.since_ms, other.since_ms - 2 * day_ms),
    until_ms: other.until_ms === null ? null : Math.max(one.until_ms ?? other.until_ms, other.until_ms),
  }
}

/** Days, as `2026-01-31`. */
export interface ComparedDays {
  first: string
  last: string
  /** `UTC`, or the zone that the times of the file state: `UTC+02:00`, two where clocks are set back. */
  zone: string
}

/** Returns the turns that a file is compared with, and the days if they are those of the file: all turns when it names none. */
export function selectTurns<Turn extends KnownTurn>(
  own: OwnCounts,
  turns: readonly Turn[],
  scope: Span,
): { turns: readonly Turn[]; days: ComparedDays | null } {
  const keys = new Set<string | null>(own.rows.map(({ key }) => key))
  const { key: field } = own
  const span = field === 'day' ? spanOfFile(own) : spanOfTurns(turns.filter((turn) => keys.has(turn[field])))
  const { since_ms, until_ms } = joinSpans(span, scope) ?? { since_ms: null, until_ms: null }
  const selected = turns.filter(
    ({ created_at_ms }) =>
      created_at_ms >= (since_ms ?? Number.NEGATIVE_INFINITY) && created_at_ms < (until_ms ?? Number.POSITIVE_INFINITY),
  )
  const isOfFile = scope.since_ms === null && scope.until_ms === null
  return { turns: selected, days: span !== null && isOfFile ? nameDays(own, span) : null }
}

function nameDays({ key, rows, midnights }: OwnCounts, { since_ms, until_ms }: Span): ComparedDays {
  if (key === 'day') {
    const days = rows.map((row) => row.key).toSorted()
    const zones = [...(midnights ?? [])].map(([day, start_ms]) => zoneName(Date.parse(day) - start_ms))
    return { first: days[0]!, last: days.at(-1)!, zone: [...new Set(zones)].join(' and ') || 'UTC' }
  }
  const name = (time_ms: number) => new Date(time_ms).toISOString().slice(0, 10)
  return { first: name(since_ms!), last: name(until_ms! - 1), zone: 'UTC' }
}

/** Returns which days are compared, in a sentence; null for all. */
export function describeDays(days: ComparedDays | null): string | null {
  if (days === null) return null
  const { first, last, zone } = days
  return `Compared are the days of your file, ${first === last ? first : `${first} to ${last}`} (${zone}).`
}
