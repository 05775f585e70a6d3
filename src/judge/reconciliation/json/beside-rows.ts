/** What a JSON document has beside its rows: totals, and the next page of a longer list. */
import { flattenRows } from '#contract/separated.ts'
import { isObject } from '#foundation/json.ts'
import { normalizeWord } from '../column-words.ts'
import { isTotalName } from '../left-out/total-names.ts'
import { OwnFileError } from '../own-file-error.ts'

/** Counts that a document states beside its rows, by their columns. */
export interface StatedTotals {
  name: string
  /** Whether they are sums by their name; else they may be counts of their own. */
  is_named: boolean
  counts: ReadonlyMap<string, unknown>
}

type Fields = Readonly<Record<string, unknown>>

/** What a page of a longer list has, in words; also in an object such as `_links` or `pageInfo`. */
const pageObject = /^_?(links?|meta|meta_?data|page|paging|pagination|page_?info)$/i
const wordSet = (words: string) => new Set(words.split(' '))
const pageFields = wordSet(
  'next_cursor next_page_token next_token next_page next next_link next_url odata_next_link continuation_token last_evaluated_key scroll_id next_records_url',
)
const moreFields = wordSet('has_more has_next has_next_page more truncated is_truncated incomplete_results')
const endFields = wordSet('is_last is_last_page last done')
const pagesFields = wordSet('total_pages page_count last_page num_pages')
const rowsFields = wordSet(
  'row_count rows_count total_rows total_count total_results total_items total_records total_elements total_entries num_rows',
)
/** Beside these, `total` is a number of rows, and `pages` one of pages. */
const sizeFields = wordSet('page current_page per_page page_size limit offset')

/** @param rows how many there are @throws OwnFileError if an object around the rows has a next page, or states more rows */
export function refusePage(fields: Fields, rows: number): void {
  const entries = Object.entries(fields).map(([name, value]) => ({ name, word: normalizeWord(name), value }))
  const isSized = entries.some(({ word }) => sizeFields.has(word))
  const isRows = (word: string) => rowsFields.has(word) || (isSized && word === 'total')
  const isPages = (word: string) => pagesFields.has(word) || (isSized && word === 'pages')
  // All pages may have been joined.
  const isWhole = entries.some(({ word, value }) => isRows(word) && Number(value) === rows)
  const name = entries.find(({ word, value }) => {
    if (pageFields.has(word)) return Boolean(value)
    if (moreFields.has(word)) return value === true
    if (endFields.has(word)) return value === false
    if (isPages(word)) return Number(value) > 1 && !isWhole
    return isRows(word) && Number(value) > rows
  })?.name
  for (const { name, value } of entries) if (pageObject.test(name) && isObject(value)) refusePage(value, rows)
  if (name === undefined) return
  throw new OwnFileError(`It is one page of a longer list: it has ${name}.`, 'Export the whole list.', {
    ...(name === 'next_cursor' && { command_hint: 'Export all of it: add --limit with a larger number.' }),
  })
}

/**
 * Returns the counts in an object around the rows: totals as an object, a list of one, or cells in the order of the columns; and
 * any other object with a column of theirs.
 */
export function listTotals(fields: Fields, columns: readonly string[]): StatedTotals[] {
  const isColumn = (name: string) => columns.some((each) => each === name || each.endsWith(`.${name}`))
  return Object.entries(fields).flatMap(([name, value]) => {
    const is_named = isTotalName(normalizeWord(name).replaceAll('_', ' '))
    const [total, more] = Array.isArray(value) ? value : [value]
    if (isObject(total) && more === undefined && (is_named || Object.keys(total).some(isColumn))) {
      return flattenRows([total], false).rows.map((counts) => ({ name, is_named, counts }))
    }
    if (!is_named || !Array.isArray(value) || value.length !== columns.length) return []
    return [{ name, is_named, counts: new Map(columns.map((each, index) => [each, value[index]])) }]
  })
}
