/** Which column of an integrator's file holds what: by `--map`, by the name of a field, or by a usual name of it. */
import type { Metric } from '#contract/resources/beacons.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import { parseLocalTime } from './calendar.ts'
import { OwnFileError } from './own-file-error.ts'

/** What a row counts for, the most precise first: with several of them, the first is used. */
const keyFields = ['slot_id', 'asset_token', 'session_id', 'day'] as const
export type KeyField = (typeof keyFields)[number]

/** Other names of each metric: of its column, and of the event that is counted for it. */
export const metricWords: Readonly<Record<Metric, readonly string[]>> = {
  rendered_impression: [
    'rendered_impressions',
    'impressions',
    'impression',
    'imps',
    'rendered',
    'renders',
    'render',
    'begin_to_render',
    'loaded',
    'impressionen',
    'einblendungen',
  ],
  viewable_impression: [
    'viewable_impressions',
    'viewables',
    'viewable',
    'visible',
    'views',
    'viewed',
    'view',
    'on_view',
    'visible_started',
    'sichtbar',
    'sichtbare',
  ],
  click: ['clicks', 'clicked', 'tap', 'taps', 'klicks', 'klick', 'clics'],
  completed_view: [
    'completed_views',
    'completions',
    'completion',
    'completes',
    'completed',
    'complete',
    'play_completed',
    'abgeschlossen',
    'abgeschlossene_wiedergaben',
  ],
}
export const metrics = tableNames(metricWords)

const wordSet = (words: string) => new Set(words.split(' '))
const impressionWords = wordSet('impressions impression imps imp impr impressionen einblendungen')

/** Words of names with several, such as `Viewable imps`: one of each set, and no other word but those that add nothing. */
const compoundWords: Readonly<Record<Metric, readonly ReadonlySet<string>[]>> = {
  rendered_impression: [impressionWords],
  viewable_impression: [wordSet('viewable viewed visible visibles sichtbar sichtbare sichtbaren'), impressionWords],
  click: [wordSet('clicks klicks clics')],
  completed_view: [
    wordSet('completed complete completions completes abgeschlossene vollstandige'),
    wordSet('views plays video videos wiedergaben'),
  ],
}
const fillerWords = wordSet('ad ads total number of count counts sum rendered gesamt anzahl der gerenderte')

/** Other names of the columns that are no metric. The first that a file has is used. */
const columnWords = {
  slot_id: ['slot', 'placement_id', 'placement', 'platzierung'],
  asset_token: ['asset', 'token'],
  session_id: ['session', 'chat_session_id', 'conversation_id', 'conversation', 'sitzung', 'sitzungs_id'],
  day: ['date', 'day_utc', 'report_date', 'report_day', 'datum', 'tag', 'jour', 'fecha', 'giorno'],
  time: [
    'timestamp',
    'occurred_at',
    'occurred_at_ms',
    'event_time',
    'at',
    'at_ms',
    'when',
    'ts',
    'received_at',
    'zeitpunkt',
    'zeitstempel',
  ],
  metric: ['event', 'event_type', 'event_name', 'type', 'ereignis'],
  count: ['counts', 'total', 'quantity', 'number', 'events', 'anzahl'],
} as const satisfies Record<string, readonly string[]>

const fieldWords: Readonly<Record<OwnField, readonly string[]>> = { ...columnWords, ...metricWords }
export type OwnField = keyof typeof columnWords | Metric
export const ownFields = tableNames(fieldWords)

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
export function countKnownColumns(names: readonly string[], mapped: readonly string[]): number {
  if (mapped.length > 0 && mapped.every((column) => names.includes(column))) return names.length
  const words = new Set(names.map(normalizeWord))
  const known = ownFields.filter(
    (field) =>
      words.has(field) ||
      fieldWords[field].some((word) => words.has(word)) ||
      names.some((name) => isCompound(field, name)),
  )
  const isKey = (field: OwnField) => field === 'time' || keyFields.some((each) => each === field)
  const isCount = (field: OwnField) => field === 'metric' || metrics.some((each) => each === field)
  return known.some(isKey) && known.some(isCount) ? known.length : 0
}

/** Whether a column has values of a field. */
type HasValues = (field: OwnField, column: string) => boolean

/**
 * Returns the columns of a file.
 * @param columns by the field that their user gives them; `ignored`: those that hold nothing to compare
 * @throws ColumnsError
 */
export function findColumns(
  names: readonly string[],
  { columns: mapped, ignored = [] }: { columns: ReadonlyMap<OwnField, string>; ignored?: readonly string[] },
  hasValues: HasValues,
): OwnColumns {
  const taken = new Set([...mapped.values(), ...ignored])
  for (const column of taken) if (!names.includes(column)) throw unknownColumn(column, names)
  const find = (field: OwnField): string | null => {
    const column = mapped.get(field) ?? findColumn(field, names, taken)
    const isGuessed = column !== null && !mapped.has(field) && normalizeWord(column) !== field
    // `Placement` may be the name of one, and `Tag` that of an ad tag.
    const isDoubtful = field === 'slot_id' || field === 'asset_token' || (isGuessed && normalizeWord(column) === 'tag')
    if (isGuessed && isDoubtful && !hasValues(field, column)) return null
    return column
  }
  const mappedKey = keyFields.find((field) => mapped.has(field))
  const time_column = find('time')
  const key = mappedKey ?? keyFields.find((field) => find(field) !== null) ?? (time_column === null ? null : 'day')
  if (key === null) {
    const message = 'No column of it is a slot, an asset token, a session or a day.'
    throw missingColumn(message, names, suggestKey(names, hasValues))
  }
  const counts = findCounts(find)
  if (counts === null) {
    const free = names.filter((name) => !ownFields.some((field) => find(field) === name))
    const column = free.find((name) => name !== '' && hasValues('viewable_impression', name)) ?? 'Ad views'
    throw missingColumn('No column of it counts anything.', names, quoteColumn(column, 'viewable_impression'))
  }
  const columns = { key, key_column: find(key) ?? time_column!, time_column, counts }
  for (const { column } of listColumns(columns)) {
    if (names.indexOf(column) === names.lastIndexOf(column)) continue
    throw new OwnFileError(`Two columns are named ${column}.`, 'Give each column a name of its own.')
  }
  return columns
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

function findCounts(find: (field: OwnField) => string | null): OwnColumns['counts'] | null {
  const columns = metrics.flatMap((metric) => {
    const column = find(metric)
    return column === null ? [] : [{ metric, column }]
  })
  if (columns.length > 0) return { layout: 'columns', columns }
  const metric_column = find('metric')
  return metric_column === null ? null : { layout: 'rows', metric_column, count_column: find('count') }
}

/** @param taken columns that hold another field */
function findColumn(field: OwnField, names: readonly string[], taken: ReadonlySet<string>): string | null {
  const free = names.filter((name) => !taken.has(name))
  const named = (word: string) => free.find((name) => normalizeWord(name) === word)
  const exact = named(field)
  if (exact !== undefined) return exact
  const words = fieldWords[field].flatMap((word) => named(word) ?? [])
  const compounds = words.length > 0 ? words : free.filter((name) => isCompound(field, name))
  const found = compounds.length > 0 ? compounds : free.filter((name) => isNested(field, name))
  if (Object.hasOwn(metricWords, field) && found.length > 1) {
    const message = `The columns ${found.join(' and ')} both could be ${field}.`
    throw new ColumnsError(message, 'Choose one.', {
      command_hint: `Choose one: --map ${quoteColumn(found[0]!, field)}`,
    })
  }
  return found[0] ?? null
}

/** Whether a name is that of a field in an object of counts or of keys: `counts.viewable`, `dimensions.date`. */
function isNested(field: OwnField, name: string): boolean {
  const [, inner] = /^(?:counts?|metrics|totals|dimensions|keys?)\.(.+)$/i.exec(name) ?? []
  if (inner === undefined) return false
  const word = normalizeWord(inner)
  return word === field || fieldWords[field].includes(word) || isCompound(field, inner)
}

function isCompound(field: OwnField, name: string): boolean {
  const words = normalizeWord(name)
    .replace(/^(?:total_)?active_view_(?=viewable_)/, '')
    .split('_')
  const sets = findEntry(compoundWords, field) ?? []
  return (
    sets.length > 0 &&
    sets.every((set) => words.some((word) => set.has(word))) &&
    words.every((word) => fillerWords.has(word) || sets.some((set) => set.has(word)))
  )
}

/** Returns the metric of an event by its name; null for one that is no metric. */
export function findMetric(event: string): Metric | null {
  const word = normalizeWord(event)
  return (
    metrics.find((metric) => metric === word || metricWords[metric].includes(word)) ??
    metrics.find((metric) => isCompound(metric, event)) ??
    null
  )
}

/**
 * Returns a column or an event in the form of the names above: `Viewable Impressions` as `viewable_impressions`. A sign that makes
 * something else of it is a word: `Viewable %` is no count.
 */
export function normalizeWord(text: string): string {
  return text
    .trim()
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[%‰]/g, '_percent_')
    .replace(/\p{Sc}/gu, '_money_')
    .replace(/[!Δ∆]|\p{Sm}/gu, '_sign_')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
}

/** What `--map` calls a column that is left out on purpose. */
const noField = 'none'

/** Returns the columns that `--map Requests=none` leaves out. */
export function parseIgnoredColumns(texts: readonly string[]): readonly string[] {
  const end = `=${noField}`
  return texts.filter((text) => text.endsWith(end)).map((text) => text.slice(0, -end.length).trim())
}

/**
 * Returns the columns that `--map own=theirs` gives to fields, such as `Ad views=viewable_impression`.
 * @throws OwnFileError
 */
export function parseColumnMap(texts: readonly string[]): ReadonlyMap<OwnField, string> {
  const mapped = new Map<OwnField, string>()
  for (const text of texts) {
    const at = text.lastIndexOf('=')
    const [column, name] = [text.slice(0, at).trim(), text.slice(at + 1).trim()]
    if (name === noField && at > 0) continue
    const field = ownFields.find((each) => each === name)
    if (at < 1 || field === undefined || column === '') throw unreadableMap(text, column, name)
    if (mapped.has(field)) throw new OwnFileError(`--map names two columns for ${field}.`, 'Name one.')
    mapped.set(field, column)
  }
  return mapped
}

function unreadableMap(text: string, column: string, name: string): OwnFileError {
  const isReversed = ownFields.some((field) => field === column)
  const near = nearestName(name, ownFields)
  const suggestion = isReversed
    ? `Your column comes first: --map ${quoteColumn(name, column)}.`
    : near !== null && column !== ''
      ? `Did you mean --map ${quoteColumn(column, near)}?`
      : 'It is your column, =, and a field: --map "Ad views=viewable_impression".'
  return new OwnFileError(
    `--map cannot read ${text}.`,
    `${suggestion} The fields are: ${ownFields.join(', ')}; none for a column that counts something else`,
  )
}

function unknownColumn(column: string, names: readonly string[]): ColumnsError {
  const near = nearestName(column, names)
  const hint = `${near === null ? '' : `Did you mean ${near}? `}Its columns are: ${listNames(names)}`
  return new ColumnsError(`There is no column ${column} in it.`, hint)
}

function missingColumn(message: string, names: readonly string[], example: string): ColumnsError {
  if (names.filter((name) => parseLocalTime(name, 'day_first') ?? parseLocalTime(name, 'month_first')).length > 1) {
    const hint = 'Turn the table: a row for each day, and a column for each metric.'
    return new ColumnsError(`${message} Its days are columns.`, hint)
  }
  const known = `Its columns are: ${listNames(names)}.`
  return new ColumnsError(message, `Choose what its columns hold. ${known}`, {
    command_hint: `Name it, such as --map ${example}. ${known} The fields are: ${ownFields.join(', ')}`,
  })
}

/** Returns an example of `--map` for a file without a key: the column with values of one, the most precise first. */
function suggestKey(names: readonly string[], hasValues: HasValues): string {
  for (const field of ['slot_id', 'asset_token', 'day'] as const) {
    const column = names.find((name) => name !== '' && hasValues(field, name))
    if (column !== undefined) return quoteColumn(column, field)
  }
  return '"Chat ID=session_id"'
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
