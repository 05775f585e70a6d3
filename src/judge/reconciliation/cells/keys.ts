/** The cells of keys and times: which slot, session or day a row counts, and when it happened. */
import { encodeId, parseToken } from '#contract/ids.ts'
import type { OwnColumns } from '../columns.ts'
import { isTotalName, namesAll, namesOther, namesStatistic, namesTotal } from '../left-out/total-names.ts'
import { isEmpty } from '../own-file.ts'
import { shortText } from '../own-file-error.ts'
import {
  type DayOrder,
  describePeriod,
  describeYearless,
  expectedDay,
  parseLocalTime,
  parseZonedTime,
} from './calendar.ts'

/** How keys are written in a file. */
export interface KeyFormat {
  order: DayOrder | null
  /** When its days begin, by the offsets of their midnights, epoch milliseconds; null for days of UTC. */
  midnights: ReadonlyMap<string, number> | null
  /** Texts that do not look like the other sessions. */
  strange: ReadonlySet<string>
}

/** What is wrong with the value of a cell, as the rest of a sentence about its row. */
export class BadValue extends Error {}

/** Whether a text is a slot: of this service, or of one whose recording is played. */
export function isSlot(text: string): boolean {
  return /^slot_[\w-]+$/.test(text)
}

/** Returns the key of a cell: a slot id, a session id, or a day as `2026-01-31`; null for none. */
export function findKey(value: unknown, { key }: OwnColumns, { order, midnights, strange }: KeyFormat): string | null {
  const text = String(value).trim()
  if (key === 'slot_id') return isSlot(text) ? text : null
  if (key === 'asset_token') {
    const token = parseToken(text)
    return token?.kind === 'ast' ? encodeId('slot', token.id) : null
  }
  if (key === 'session_id') return isRounded(text) || strange.has(text) ? null : text
  const local = midnights === null ? null : parseZonedTime(text)
  if (local !== null) return local.day
  const time_ms = parseTime(text, order)
  return time_ms === null ? null : new Date(time_ms).toISOString().slice(0, 10)
}

/** Returns the texts of a column of sessions that are rather names of sums and statistics: `All sessions`, `75%`, `std`. */
export function findStrange(texts: Iterable<string>, { key }: OwnColumns): ReadonlySet<string> {
  if (key !== 'session_id') return new Set()
  const ids = [...new Set(texts)].filter((text) => text !== '' && !isTotalName(text))
  const hasNames = ids.filter((text) => /^\p{L}+$/u.test(text)).length * 2 >= ids.length
  const isName = (text: string) =>
    (namesAll(text) || namesStatistic(text) || namesTotal(text) || namesOther(text)) && (/\s/.test(text) || !hasNames)
  const isStrange = (text: string) => text.includes('%') || statistic.test(text) || isName(text)
  const strange = ids.filter(isStrange)
  const others = ids.length - strange.length
  return new Set(others > 1 && others > strange.length ? strange : [])
}

const statistic = /^(?:count|median|mediana|médiane|std|stdev|stddev|variance|p\d\d|\p{S}|[δσ])$/iu

/** Whether a spreadsheet took a text of digits for a number, and rounded it. */
function isRounded(text: string): boolean {
  // 15 digits are kept, as in 12345678901234500000.
  return /^\d([.,]\d+)?e\+?\d+$/i.test(text) || (/^[1-9]\d{15,40}$/.test(text) && /^0+$/.test(text.slice(15)))
}

/** Returns the key of a cell. @throws BadValue */
export function readKey(value: unknown, columns: OwnColumns, format: KeyFormat): string {
  const { key, key_column } = columns
  if (isEmpty(value)) throw new BadValue(`${key_column} is empty: no ${key.replace('_', ' ')} to count it for`)
  const found = findKey(value, columns, format)
  if (found !== null) return found
  // The token itself is in no message.
  if (key === 'asset_token') {
    throw new BadValue(`${key_column} is no asset token: ast_, the id of its slot, and a secret`)
  }
  const what = {
    slot_id: 'it must be a slot such as slot_00000000007',
    session_id: isRounded(String(value).trim())
      ? 'a spreadsheet rounded it. Format the column as text before you export it'
      : 'the other sessions look different. Leave it out if it is a sum or a statistic',
    day: describeBadDay(String(value).trim()),
  }[key]
  throw new BadValue(`${key_column} is ${shortText(value)}: ${what}`)
}

function describeBadDay(text: string): string {
  if (/^[34567]\d{4}([.,]\d+)?$/.test(text)) return `the number of a day in a spreadsheet. It must be ${expectedDay}`
  const yearless = describeYearless(text)
  if (yearless !== null) return `${yearless}. It must be ${expectedDay}`
  const period = describePeriod(text)
  if (period !== null) return `${period}, and sums of several days are not compared. Export it by day`
  return /^\d{4}.?\d{1,2}.?\d{1,2}$/.test(text) ? 'there is no such day' : `it must be ${expectedDay}`
}

/** Returns the time of a cell, epoch milliseconds. @throws BadValue */
export function readTime(value: unknown, column: string, { order }: KeyFormat): number {
  const time_ms = parseTime(String(value).trim(), order)
  if (time_ms !== null) return time_ms
  throw new BadValue(`${column} is ${shortText(value)}: it must be ${expectedDay}`)
}

/** Epoch seconds are below this, milliseconds are not. */
const secondsBelow = 1e11

/** Reads a day and time as people write it, epoch seconds or milliseconds, or an RFC 3339 time: epoch milliseconds, or null. */
export function parseTime(text: string, order: DayOrder | null): number | null {
  const local_ms = parseLocalTime(text, order)
  if (local_ms !== null) return local_ms
  if (/^\d{9,14}(\.\d+)?$/.test(text)) return Number(text) < secondsBelow ? Number(text) * 1_000 : Number(text)
  return parseZonedTime(text)?.at_ms ?? null
}
