/** Which column of an integrator's file holds what: by `--map`, by the name of a field, or by a usual name of it. */
import type { Metric } from '#contract/resources/beacons.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { parseLocalTime } from './cells/calendar.ts'
import {
  fieldWords,
  isCompound,
  isEventName,
  isNested,
  isPeriod,
  isValueName,
  type KeyField,
  keyFields,
  metrics,
  metricWords,
  normalizeWord,
  type OwnField,
  ownFields,
  suggestMetric,
} from './column-words.ts'
import { OwnFileError, shortText } from './own-file-error.ts'

/** The columns that are read. */
export interface OwnColumns {
  key: KeyField
  key_column: string
  /** The time of the event of a row; null without such a column. */
  time_column: string | null
  /** A column for each metric; or a row for each event, or with the count of a metric. */
  counts:
    | { layout: 'columns'; columns: readonly { metric: Metric; column: string }[] }
    | { layout: 'rows'; metric_column: string; count_column: string | null }
}

/** No column, or several, could hold what is needed. */
class ColumnsError extends OwnFileError {}

/** Returns how many of the columns are known: none where they could not be those of a header. */
export function countKnownColumns(names: readonly string[], map: readonly Mapping[]): number {
  const words = new Set(names.map(normalizeWord))
  const known = ownFields.filter(
    (field) =>
      words.has(field) ||
      map.some((mapping) => mapping.field === field && names.includes(mapping.own)) ||
      fieldWords[field].some((word) => words.has(word)) ||
      names.some((name) => isCompound(field, name) || isNested(field, name)),
  )
  const isKey = (field: OwnField) => field === 'time' || keyFields.some((each) => each === field)
  const isCount = (field: OwnField) => field === 'metric' || metrics.some((each) => each === field)
  return known.some(isKey) && known.some(isCount) ? known.length : 0
}

/** Whether a column has values of a field. */
type HasValues = (field: OwnField, column: string) => boolean

/** Returns the columns of a file. @throws ColumnsError */
export function findColumns(
  names: readonly string[],
  { columns: mapped, ignored, events }: Mapped,
  hasValues: HasValues,
): OwnColumns {
  const taken = new Set([...mapped.values(), ...ignored])
  const [event] = events.keys()
  const find = (field: OwnField): string | null => {
    const column = mapped.get(field) ?? findColumn(field, names, taken)
    const isGuessed = column !== null && !mapped.has(field) && normalizeWord(column) !== field
    // `Placement` may be the name of one, `Tag` that of an ad tag, and `Data` anything.
    const isWord = isGuessed && ['tag', 'data'].includes(normalizeWord(column))
    const isDoubtful = field === 'slot_id' || field === 'asset_token' || isWord
    if (isGuessed && isDoubtful && !hasValues(field, column)) return null
    // `Session` beside days may be a count of them, or a time of day: the days are certain.
    const isLabel = field === 'session_id' && isGuessed && !/_id$/.test(normalizeWord(column))
    return isLabel && find('day') !== null ? null : column
  }
  const mappedKey = keyFields.find((field) => mapped.has(field))
  const time_column = find('time')
  const key = mappedKey ?? keyFields.find((field) => find(field) !== null) ?? (time_column === null ? null : 'day')
  if (key === null) throw missingKey(names, hasValues)
  if (key === 'day') refusePeriods([find(key) ?? ''])
  const counts = findCounts(find, (field) => mapped.has(field))
  if (event !== undefined && counts?.layout !== 'rows') throw unknownColumn(event, names)
  if (counts === null) {
    const free = names.filter((name) => !ownFields.some((field) => find(field) === name))
    const column =
      free.find((name) => suggestMetric(name) !== null && hasValues('viewable_impression', name)) ?? 'Ad views'
    throw missingColumn('No column of it counts anything.', names, quoteColumn(column, suggestMetric(column)!))
  }
  const columns = { key, key_column: find(key) ?? time_column!, time_column, counts }
  for (const { column } of listColumns(columns)) {
    if (names.indexOf(column) === names.lastIndexOf(column)) continue
    throw new OwnFileError(`Two columns are named ${column}.`, 'Give each column a name of its own.')
  }
  return columns
}

function refusePeriods(names: readonly string[]): void {
  const period = names.find(isPeriod)
  if (period === undefined) return
  const message = `Its column ${period} has weeks, months or other spans of several days, whose sums are not compared.`
  throw new ColumnsError(message, 'Export it by day.')
}

/** Returns the columns that are read, each with its field. */
export function listColumns({
  key,
  key_column,
  time_column,
  counts,
}: OwnColumns): { column: string; field: OwnField }[] {
  return [
    { column: key_column, field: key },
    ...(time_column === null || time_column === key_column ? [] : [{ column: time_column, field: 'time' as const }]),
    ...(counts.layout === 'columns'
      ? counts.columns.map(({ metric, column }) => ({ column, field: metric }))
      : [
          { column: counts.metric_column, field: 'metric' as const },
          ...(counts.count_column === null ? [] : [{ column: counts.count_column, field: 'count' as const }]),
        ]),
  ]
}

function findCounts(
  find: (field: OwnField) => string | null,
  isMapped: (field: OwnField) => boolean,
): OwnColumns['counts'] | null {
  const columns = metrics.flatMap((metric) => {
    const column = find(metric)
    return column === null ? [] : [{ metric, column }]
  })
  if (columns.length > 0) return { layout: 'columns', columns }
  const metric_column = find('metric')
  if (metric_column === null) return null
  const count_column = find('count')
  // Beside metrics `Value` is their count, beside events their amount.
  const isAmount = isValueName(count_column ?? '') && isEventName(metric_column) && !isMapped('count')
  return { layout: 'rows', metric_column, count_column: isAmount ? null : count_column }
}

/** @param taken columns that hold another field */
function findColumn(field: OwnField, names: readonly string[], taken: ReadonlySet<string>): string | null {
  const free = names.filter((name) => !taken.has(name))
  const named = (word: string) => free.filter((name) => normalizeWord(name) === word)
  const isFound = [
    () => named(field),
    () => [...fieldWords[field].flatMap(named), ...free.filter((name) => isCompound(field, name))],
    () => free.filter((name) => isNested(field, name)),
  ]
  const found = [...new Set(isFound.map((list) => list()).find(({ length }) => length > 0))]
  if (Object.hasOwn(metricWords, field) && found.length > 1) {
    const message = `The columns ${found.join(' and ')} both could be ${field}.`
    throw new ColumnsError(message, 'Choose one.', {
      command_hint: `Choose one: --map ${quoteColumn(found[0]!, field)}`,
    })
  }
  return found[0] ?? null
}

/** What `--map` calls a column or an event that is left out on purpose. */
const noField = 'none' as const

/** What the user of a file says about one of its columns, or one of its events. */
export interface Mapping {
  own: string
  field: OwnField | typeof noField
}

/**
 * Returns what `--map own=theirs` gives to fields, such as `Ad views=viewable_impression`.
 * @throws OwnFileError
 */
export function parseMap(texts: readonly string[]): readonly Mapping[] {
  return texts.map((text) => {
    const at = text.lastIndexOf('=')
    const [own, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    const field = [...ownFields, noField].find((each): each is Mapping['field'] => each === name)
    if (at < 1 || field === undefined || own === '') throw unreadableMap(text, own, name)
    return { own, field }
  })
}

/** What a user says, by what is meant. */
interface Mapped {
  columns: ReadonlyMap<OwnField, string>
  /** Columns that are left out on purpose. */
  ignored: readonly string[]
  /** The metrics of events; null for one that is left out on purpose. */
  events: ReadonlyMap<string, Metric | null>
}

/** Returns what is said of columns, and of events: what is no column of a file may be an event of it. @throws OwnFileError */
export function splitMap(names: readonly string[], map: readonly Mapping[]): Mapped {
  const columns = new Map<OwnField, string>()
  const ignored: string[] = []
  const events = new Map<string, Metric | null>()
  for (const { own, field } of map) {
    const metric = metrics.find((each) => each === field)
    if (names.includes(own)) {
      if (field === noField) ignored.push(own)
      else if (columns.has(field)) throw new OwnFileError(`--map names two columns for ${field}.`, 'Name one.')
      else columns.set(field, own)
    } else if (metric !== undefined || field === noField) events.set(own, metric ?? null)
    else throw unknownColumn(own, names)
  }
  return { columns, ignored, events }
}

function unreadableMap(text: string, column: string, name: string): OwnFileError {
  const isReversed = ownFields.some((field) => field === column)
  const near = nearestName(name, ownFields)
  const suggestion = isReversed
    ? `Your column comes first: --map ${quoteColumn(name, column)}.`
    : near !== null && column !== ''
      ? `Did you mean --map ${quoteColumn(column, near)}?`
      : 'It is your column or event, =, and a field: --map "Ad views=viewable_impression".'
  return new OwnFileError(
    `--map cannot read ${text}.`,
    `${suggestion} The fields are: ${ownFields.join(', ')}; none for a column that counts something else`,
  )
}

/** @param events of a file with a row for each, which can be named as well */
export function unknownColumn(
  column: string,
  names: readonly string[],
  events: readonly string[] | null = null,
): OwnFileError {
  const near = nearestName(column, [...names, ...(events ?? [])])
  const listed = events === null ? '' : `; its events: ${listNames(events)}`
  const hint = `${near === null ? '' : `Did you mean ${near}? `}Its columns are: ${listNames(names)}${listed}`
  return new ColumnsError(`There is no column ${events === null ? '' : 'and no event '}${column} in it.`, hint)
}

function missingColumn(message: string, names: readonly string[], example: string): ColumnsError {
  const isDay = (name: string) => parseLocalTime(name, 'day_first') ?? parseLocalTime(name, 'month_first')
  if (names.filter((name) => isDay(name.replace(/\.[^\d].*$/, ''))).length > 1) {
    const hint = 'Turn the table: a row for each day, and a column for each metric.'
    return new ColumnsError(`${message} Its days are columns.`, hint)
  }
  if (names.length === 1) {
    const only = `Its only column is: ${shortText(names[0])}.`
    return new ColumnsError(message, `Export it as CSV, with a separator between its columns. ${only}`)
  }
  const known = `Its columns are: ${listNames(names)}.`
  return new ColumnsError(message, `Choose what its columns hold. ${known}`, {
    command_hint: `Name it, such as --map ${example}. ${known} The fields are: ${ownFields.join(', ')}`,
  })
}

/** The example is the column with values of a key, the most precise first. */
function missingKey(names: readonly string[], hasValues: HasValues): ColumnsError {
  refusePeriods(names)
  const example = (['slot_id', 'asset_token', 'day'] as const).flatMap((field) => {
    const column = names.find((name) => name !== '' && hasValues(field, name))
    return column === undefined ? [] : [quoteColumn(column, field)]
  })[0]
  const message = 'No column of it is a slot, an asset token, a session or a day.'
  return missingColumn(message, names, example ?? '"Chat ID=session_id"')
}

/** More names would hide the fix. */
const maxListedColumns = 20

function listNames(names: readonly string[]): string {
  const listed = names.slice(0, maxListedColumns).join(', ')
  return names.length > maxListedColumns ? `${listed}, ...` : listed
}

/** Returns the value of `--map` for a column and a field, as a shell takes it: `"Ad views=click"`. */
export function quoteColumn(column: string, field: string): string {
  const text = `${column}=${field}`
  return /^[\w.=-]+$/.test(text) ? text : `"${text.replace(/["\\$`]/g, '\\$&')}"`
}
