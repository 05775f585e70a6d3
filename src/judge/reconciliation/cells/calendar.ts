/**
 * Days and times as people write them: `2026-01-31`, `31.01.2026`, `1/31/2026 1:45 PM`, `31 Jan 2026`, `2026年1月31日`. Whether
 * the day or the month comes first is decided once for a file, by the cells that leave no doubt. Without a zone it is UTC.
 */
import { OwnFileError } from '../own-file-error.ts'

export type DayOrder = 'day_first' | 'month_first'

/** What messages say it must be. */
export const expectedDay = 'a day such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or epoch milliseconds'

const numeric = /^(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4}|\d{2})(?=\D|$)/
const yearFirst = /^(\d{4})([./-])(\d{1,2})\2(\d{1,2})(?=\D|$)/
/** `2026年10月21日`, `2026. 10. 21.` */
const yearNamed = /^(\d{4}|\d{2}(?=\s?[年년]))\s?([年년.])\s?(\d{1,2})\s?[月월.]\s?(\d{1,2})\s?[日일.]?(?=\D|$)/
const compact = /^(\d{4})(\d{2})(\d{2})$/
/** `2026013123`, with minutes and seconds or without. Seconds since 1970 begin with 20 from 2033 on. */
const compactTime = /^(20\d{2})(\d{2})(\d{2})(\d{2})(\d{2})?(\d{2})?$/
const dayMonthName =
  /^(\d{1,2})(?:st|nd|rd|th|er|º|\.)?[\s/-]*(?:de\s+|of\s+)?(\p{L}{3,12})\.?[\s,/-]*(?:de\s+)?(\d{4}|\d{2}(?!:))(?:\s?г\.?)?(?=\D|$)/u
const monthNameDay = /^(\p{L}{3,12})\.?[\s-]+(\d{1,2})(?:st|nd|rd|th)?[\s,-]+(\d{4}|\d{2}(?!:))(?=\D|$)/u
/** A name before a day, and behind one. */
const weekday = /^(\p{L}{1,13})[.,]{0,2}\s+/u
const weekdayBehind = /\s?[(（](\p{L}{1,13})\.?[)）]|\s?((?:星期|周|週)[一二三四五六日天]|[月火水木金土日]曜日?)/u
const clock = /^[\s,T]{1,3}(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?([ap])?\.?(?:m\.?)?(?: ?(?:UTC|GMT|Z))?$/i

/**
 * Returns the order of the days of a file; null where no cell needs one.
 * @param chosen the one that its user gives
 * @throws OwnFileError where a day could be either
 */
export function findDayOrder(cells: Iterable<string>, chosen: DayOrder | null): DayOrder | null {
  if (chosen !== null) return chosen
  const examples: Examples = {}
  /** The first and the last part of days with a year of two digits. */
  const short = { days: new Set<string>(), years: new Set<string>() }
  for (const cell of cells) {
    const text = withoutWeekday(cell.trim())
    const [, day, , lastPart] = dayMonthName.exec(text) ?? []
    if (day !== undefined && lastPart?.length === 2) {
      short.days.add(day)
      short.years.add(lastPart)
      if (day !== lastPart) examples.day_first ??= cell.trim()
    }
    if (yearFirst.exec(text)?.[0] === text) examples.year_first ??= cell.trim()
    const [, first, , second, year] = numeric.exec(text) ?? []
    if (first === undefined || second === undefined || Number(first) === Number(second)) continue
    if (year?.length === 2) {
      short.days.add(first)
      short.years.add(year)
    }
    examples[orderOf(first, second)] ??= cell.trim()
  }
  // 28/11/26 is of 2028 where years come first: the part that changes is the day.
  const isYearKnown = short.days.size === 0 || short.years.size < short.days.size
  return decideOrder(examples, isYearKnown)
}

function orderOf(first: string, second: string): DayOrder | 'either' {
  if (Number(first) > 12) return 'day_first'
  return Number(second) > 12 ? 'month_first' : 'either'
}

/** Days by the way in which they are written. */
type Examples = Partial<Record<DayOrder | 'year_first' | 'either', string>>

function decideOrder({ day_first, month_first, year_first, either }: Examples, isYearKnown: boolean): DayOrder | null {
  const found = [day_first, month_first, day_first ?? month_first ?? either, year_first]
  const [one, another] = new Set(found.filter((example) => example !== undefined))
  // A spreadsheet that takes the month for the day changes only the days that it can read.
  if (another !== undefined) {
    const message = `Its days are written in two ways: ${one} and ${another}.`
    throw new OwnFileError(message, 'Export them in one way, such as 2026-01-31.')
  }
  if (day_first !== undefined && !isYearKnown) {
    throw ambiguous(`It does not show which part of ${day_first} is the year.`, day_first)
  }
  if (day_first !== undefined) return 'day_first'
  if (month_first !== undefined) return 'month_first'
  if (either === undefined) return null
  throw ambiguous(`It does not show whether the day or the month of ${either} comes first.`, either)
}

/** @param example a day that can be read in several ways */
function ambiguous(message: string, example: string): OwnFileError {
  const read = (order: DayOrder) => {
    const time_ms = parseLocalTime(example, order)
    return time_ms === null ? null : new Date(time_ms).toISOString().slice(0, 10)
  }
  const [day, other] = [read('day_first'), read('month_first')]
  const ways = [
    ...(day === null ? [] : [`--dates 31.12.2026 reads ${example} as ${day}`]),
    ...(other === null || other === day ? [] : [`--dates 12/31/2026 as ${other}`]),
    ...(/\d{4}/.test(example) ? [] : ['where its year comes first, write it with four digits']),
  ]
  return new OwnFileError(message, 'Choose how its days are written.', {
    command_hint: `Say which it is: ${ways.join('; ')}`,
  })
}

/** Returns the time of a day that is written without a zone, with or without a time, epoch milliseconds; null for another text. */
export function parseLocalTime(text: string, order: DayOrder | null): number | null {
  const found = findDate(withoutWeekday(text), order)
  if (found === null) return null
  const { year, month, day, rest } = found
  const at_ms = Date.UTC(year, month - 1, day)
  const date = new Date(at_ms)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  const span_ms = rest === '' ? 0 : parseClock(rest)
  return span_ms === null ? null : at_ms + span_ms
}

const zoned =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?) ?(?:Z|UTC|GMT|([+-])(\d{2})(?::?(\d{2}))?)$/i

/** A time that states its zone: its day there, the time of that day, and how far the zone is ahead of UTC, milliseconds. */
interface ZonedTime {
  day: string
  clock_ms: number
  offset_ms: number
  at_ms: number
}

/** Returns a time with Z or an offset, such as `2026-01-31T00:00:00+02:00`; null for any other text. */
export function parseZonedTime(text: string): ZonedTime | null {
  const [, day, clock, sign = '+', hours = '0', minutes = '0'] = zoned.exec(text) ?? []
  const local_ms = day === undefined ? null : parseLocalTime(`${day}T${clock}`, null)
  if (day === undefined || local_ms === null) return null
  const offset_ms = (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  return { day, clock_ms: local_ms - Date.parse(day), offset_ms, at_ms: local_ms - offset_ms }
}

interface CalendarDate {
  year: number
  month: number
  day: number
  /** What follows. */
  rest: string
}

function findDate(text: string, order: DayOrder | null): CalendarDate | null {
  const create = (match: RegExpExecArray, [year, month, day]: readonly [number, number, number]) => ({
    ...{ year, month, day },
    rest: text.slice(match[0].length),
  })
  const part = (match: RegExpExecArray, index: number) => Number(match[index])
  const longYear = (year: number) => year + (year < 100 ? 2_000 : 0)
  const first = yearFirst.exec(text) ?? yearNamed.exec(text)
  if (first !== null) return create(first, [longYear(part(first, 1)), part(first, 3), part(first, 4)])
  const digits = compact.exec(text)
  if (digits !== null) return create(digits, [part(digits, 1), part(digits, 2), part(digits, 3)])
  const stamp = compactTime.exec(text)
  if (stamp !== null) {
    const [, , , , hours, minutes = '00', seconds = '00'] = stamp
    return {
      ...create(stamp, [part(stamp, 1), part(stamp, 2), part(stamp, 3)]),
      rest: `T${hours}:${minutes}:${seconds}`,
    }
  }
  const last = numeric.exec(text)
  if (last !== null) {
    const isMonthFirst = order === 'month_first'
    if (last[4]!.length === 2 && order === null) return null
    return create(last, [longYear(part(last, 4)), part(last, isMonthFirst ? 1 : 3), part(last, isMonthFirst ? 3 : 1)])
  }
  const named = dayMonthName.exec(text)
  if (named !== null) {
    if (named[3]!.length === 2 && named[3] !== named[1] && order === null) return null
    return withMonth(create(named, [longYear(part(named, 3)), 0, part(named, 1)]), named[2]!)
  }
  const american = monthNameDay.exec(text)
  if (american === null) return null
  return withMonth(create(american, [longYear(part(american, 3)), 0, part(american, 2)]), american[1]!)
}

/** `Mar 21, 2026` begins with a month, which is a Tuesday in other languages. */
function withoutWeekday(text: string): string {
  if (monthNameDay.test(text)) return text
  const isName = (name: string) => weekdayNames().has(name.toLowerCase())
  return text
    .replace(weekday, (all, name: string) => (isName(name) ? '' : all))
    .replace(weekdayBehind, (all, name: string | undefined) => (name === undefined || isName(name) ? '' : all))
}

function withMonth(date: CalendarDate, name: string): CalendarDate | null {
  const month = monthNames().get(name.toLowerCase())
  return month === undefined ? null : { ...date, month }
}

function parseClock(text: string): number | null {
  const [, hours, minutes, seconds = '0', fraction = '', half] = clock.exec(text) ?? []
  if (hours === undefined) return null
  const isAfternoon = half?.toLowerCase() === 'p'
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (isAfternoon ? 12 : 0)
  if (hour > 23 || Number(minutes) > 59 || Number(seconds) > 60) return null
  return (hour * 60 + Number(minutes)) * 60_000 + Math.round(Number(`${seconds}.${fraction}`) * 1_000)
}

/** The languages of the programs that write such files. */
const languages = ['en', 'en-GB', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'ru', 'sv', 'tr'] as const

function listNames(locales: readonly string[], part: 'month' | 'weekday', count: number): ReadonlyMap<string, number> {
  return new Map(
    locales.flatMap((language) =>
      (['long', 'short'] as const).flatMap((style) => {
        const format = new Intl.DateTimeFormat(language, { day: 'numeric', [part]: style, timeZone: 'UTC' })
        return Array.from({ length: count }, (_, index): [string, number] => {
          const time_ms = part === 'month' ? Date.UTC(2026, index, 1) : Date.UTC(2026, 0, index + 1)
          const name = format.formatToParts(time_ms).find(({ type }) => type === part)?.value ?? ''
          return [name.toLowerCase().replace(/\.$/, ''), index + 1]
        })
      }),
    ),
  )
}

let cachedMonths: ReadonlyMap<string, number> | undefined
let cachedWeekdays: ReadonlyMap<string, number> | undefined

function monthNames(): ReadonlyMap<string, number> {
  cachedMonths ??= listNames(languages, 'month', 12)
  return cachedMonths
}

function weekdayNames(): ReadonlyMap<string, number> {
  cachedWeekdays ??= listNames([...languages, 'ja', 'zh', 'ko'], 'weekday', 7)
  return cachedWeekdays
}

/** Returns what a text of a day without its year is; null for any other. */
export function describeYearless(text: string): string | null {
  const [, behind, before, number] =
    /^\d{1,2}\.?[\s-]*(\p{L}{3,12})\.?$|^(\p{L}{3,12})\.?[\s-]+(\d{1,2})$/u.exec(text) ?? []
  if (before !== undefined && monthNames().has(before.toLowerCase()) && Number(number) <= 31)
    return 'a day without its year, or a month'
  const isNamed = behind !== undefined && monthNames().has(behind.toLowerCase())
  return isNamed || /^\d{1,2}(\.\s?\d{1,2}\.?|[/-]\d{1,2}|月\d{1,2}日)$/.test(text) ? 'a day without its year' : null
}

/** Returns what a text of several days is, `a month`; null for any other. */
export function describePeriod(text: string): string | null {
  if (/^(\d{4}[ -]?(W|KW|CW)[ -]?\d{1,2}|(W|KW|CW|Week|Woche|Semaine)\b.*)$/i.test(text)) return 'a week'
  if (/^(Q[1-4]\b.*\d{4}|\d{4}[ -]?Q[1-4])$/i.test(text)) return 'a quarter'
  if (/^\d{4}$/.test(text)) return 'a year'
  const [, name = ''] = /^(\p{L}{3,12})\.?,?[\s-]+(\d{4}|'?\d{2})$/u.exec(text) ?? []
  const isMonth = /^(\d{4}[./-]?(0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[./-]\d{4}|\d{4}年\s?\d{1,2}月)$/.test(text)
  if (isMonth || monthNames().has(name.toLowerCase())) return 'a month'
  return /^[\d./-]{6,10}\s*(-|–|to|bis|au|\/)\s*[\d./-]{6,10}$/.test(text) ? 'a span of days' : null
}

/** Returns how days are written, as `day before month`; null where their order is not used. */
export function describeDays(cells: Iterable<string>, order: DayOrder | null): string | null {
  if (order === null) return null
  for (const cell of cells) {
    if (numeric.test(withoutWeekday(cell.trim())))
      return order === 'day_first' ? 'day before month' : 'month before day'
  }
  return null
}

/** Returns the order of an example, such as `31.12.2026`; null for any other text. */
export function parseDayExample(text: string): DayOrder | null {
  const [, first, , second] = numeric.exec(text.trim()) ?? []
  if (first === '31' && second === '12') return 'day_first'
  return first === '12' && second === '31' ? 'month_first' : null
}

/** Returns a time zone by its distance from UTC: `UTC+05:30`. */
export function zoneName(shift_ms: number): string {
  const minutes = Math.abs(shift_ms) / 60_000
  const digits = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'))
  return `UTC${shift_ms < 0 ? '-' : '+'}${digits.join(':')}`
}
