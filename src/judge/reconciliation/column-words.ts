/** The names of columns and events that are known, and what they mean. */
import type { Metric } from '#contract/resources/beacons.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'

/** What a row counts for, the most precise first: with several of them, the first is used. */
export const keyFields = ['slot_id', 'asset_token', 'session_id', 'day'] as const
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
const impressionWords = wordSet(
  'impressions impression imps imp impr impressionen einblendungen affichages impresiones impressioni impressoes vertoningen wyswietlenia exponeringar gosterimler показы 表示回数 インプレッション インプレッション数 展示次数 展示量 曝光量 曝光次数 노출수',
)

/** Words of names with several, such as `Viewable imps`: one of each set, and no other word but those that add nothing. */
const compoundWords: Readonly<Record<Metric, readonly ReadonlySet<string>[]>> = {
  rendered_impression: [impressionWords],
  viewable_impression: [
    wordSet('viewable viewed visible visibles sichtbar sichtbare sichtbaren visibili visiveis zichtbare'),
    impressionWords,
  ],
  click: [
    wordSet(
      'click clicks klick klicks clic clics cliques klikken klikniecia tıklamalar клики クリック数 クリック 点击次数 点击量 클릭수',
    ),
  ],
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
  day: [
    'date',
    'day_utc',
    'date_utc',
    'report_date',
    'event_date',
    'date_hour',
    'report_day',
    'datum',
    'tag',
    'jour',
    'fecha',
    'giorno',
    'day_of_date',
    ...['data', 'dzien', 'dia', 'dag', 'tarih', 'дата', 'день', '日付', '日期', '날짜'],
  ],
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
  metric: ['event', 'event_type', 'event_name', 'type', 'ereignis', 'measure', 'measure_names', 'variable'],
  count: [
    ...['counts', 'event_count', 'total', 'quantity', 'number', 'events', 'anzahl'],
    ...['value', 'values', 'measure_values'],
  ],
} as const satisfies Record<string, readonly string[]>

export const fieldWords: Readonly<Record<OwnField, readonly string[]>> = { ...columnWords, ...metricWords }
export type OwnField = keyof typeof columnWords | Metric
export const ownFields = tableNames(fieldWords)

/**
 * Whether a name is that of a field in an object of counts or of keys, `counts.viewable`, `dimensions.date`, in a pivot table,
 * `Sum of Views`, or with the server that counted: `Ad server clicks`.
 */
export function isNested(field: OwnField, name: string): boolean {
  const [, inner] = nested.exec(name.trim()) ?? []
  if (inner === undefined) return false
  const word = normalizeWord(inner)
  return word === field || fieldWords[field].includes(word) || isCompound(field, inner)
}

const nested =
  /^(?:(?:counts?|metrics|totals|dimensions|segments|node|keys?)\.|(?:sum|summe|somme|suma|somma|soma|som)(?: - |\(| (?:of|von|de|di|van) )|ad server )(.+?)\)?$/i

export function isCompound(field: OwnField, name: string): boolean {
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

/** Words that are rather of one metric than of another, where a user is to decide. */
const likelyWords: Readonly<Record<Metric, ReadonlySet<string>>> = {
  rendered_impression: impressionWords,
  viewable_impression: wordSet('in view views viewed viewable visible sichtbar sichtbare vue vues'),
  click: wordSet('click clicks clicked clk clks klick klicks tap taps clic clics'),
  completed_view: wordSet('completed complete completes completion completions'),
}

/** Returns the metric that a column or an event is likely, to be proposed; null where another word makes something else of it. */
export function suggestMetric(name: string): Metric | null {
  const words = normalizeWord(name)
    .split('_')
    .filter((word) => !fillerWords.has(word))
  const likely = (metric: Metric) => words.length > 0 && words.every((word) => likelyWords[metric].has(word))
  return metrics.find(likely) ?? null
}

const periodWords = wordSet(
  'month months week weeks quarter year monat woche kw kalenderwoche quartal jahr mois semaine trimestre annee mes semana ano mese settimana anno range period zeitraum periode',
)
const dayWords = wordSet('day tag jour dia giorno')

/** Whether a column has the values of metrics, or of something else: `Measure Values`. */
export function isValueName(column: string): boolean {
  return ['value', 'values', 'measure_values'].includes(normalizeWord(column))
}

/** Whether each row of a column is an event, and not a metric. */
export function isEventName(column: string): boolean {
  return /^(event.*|type|ereignis)$/.test(normalizeWord(column))
}

/** Whether the values of a column are of several days each. */
export function isPeriod(column: string): boolean {
  const words = normalizeWord(column).split('_')
  return words.some((word) => periodWords.has(word)) && !words.some((word) => dayWords.has(word))
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
    .replace(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[%‰]/g, '_percent_')
    .replace(/\p{Sc}/gu, '_money_')
    .replace(/[!Δ∆]|\p{Sm}/gu, '_sign_')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '_')
    .replace(/^_|_$/g, '')
}
