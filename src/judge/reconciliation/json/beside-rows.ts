/** What a JSON document has beside its rows: totals, and the next page of a longer list. */
import { flattenRows } from '#contract/separated.ts'
import { isObject } from '#foundation/json.ts'
import { normalizeWord } from '../column-words.ts'
import { isTotalName } from '../left-out/total-names.ts'
import { OwnFileError } from '../own-file-error.ts'

/** Sums that a document states beside its rows, by their columns. */
export interface StatedTotals {
  name: string
  counts: ReadonlyMap<string, unknown>
}

type Fields = Readonly<Record<string, unknown>>

/** What a page of a longer list has, in words; also in an object such as `_links` or `pageInfo`. */
const pageObject = /^_?(links?|meta|paging|pagination|page_?info)$/i
const pageFields = new Set('next_cursor next_page_token next_token next_page next next_link next_url'.split(' '))
const moreFields = new Set('has_more has_next has_next_page'.split(' '))

/** @throws OwnFileError if an object around the rows has a next page */
export function refusePage(fields: Fields): void {
  const isNext = (name: string, value: unknown) => (pageFields.has(name) ? Boolean(value) : value === true)
  const [name] =
    Object.entries(fields).find(([name, value]) => {
      const word = normalizeWord(name)
      return (pageFields.has(word) || moreFields.has(word)) && isNext(word, value)
    }) ?? []
  for (const [inside, value] of Object.entries(fields))
    if (pageObject.test(inside) && isObject(value)) refusePage(value)
  if (name === undefined) return
  throw new OwnFileError(`It is one page of a longer list: it has ${name}.`, 'Export the whole list.', {
    ...(name === 'next_cursor' && { command_hint: 'Export all of it: add --limit with a larger number.' }),
  })
}

/** Returns the totals in an object around the rows: an object, a list of one, or cells in the order of the columns. */
export function listTotals(fields: Fields, columns: readonly string[]): StatedTotals[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    if (!isTotalName(normalizeWord(name).replaceAll('_', ' '))) return []
    const [total, more] = Array.isArray(value) ? value : [value]
    if (isObject(total) && more === undefined) {
      return flattenRows([total], false).rows.map((counts) => ({ name, counts }))
    }
    if (!Array.isArray(value) || value.length !== columns.length) return []
    return [{ name, counts: new Map(columns.map((each, index) => [each, value[index]])) }]
  })
}
