import { isTime } from '#contract/separated.ts'
import { formatDuration } from '#foundation/duration.ts'
import { isObject } from '#foundation/json.ts'
import { type Column, printTable } from '#text/table.ts'
import type { Style } from '#text/terminal.ts'
import { fieldLines, formatValue, timeText } from '#text/text.ts'
import type { CommandContext } from '../run/command.ts'

export interface Listing {
  columns: readonly Column[]
  empty: string
}

/** Returns a response as indented `name  value` lines for reading: `ttl_ms: 15552000000` as `ttl  180d`. */
export function describeRecord(value: unknown, style: Style): string[] {
  return fieldLines(value, style, (name, field) => {
    const [, base = name, unit] = style.view.time === 'ms' ? [] : (/^(.+)_(ms|s)$/.exec(name) ?? [])
    const label = base.replaceAll('_', ' ')
    if (typeof field === 'boolean') return { label, text: field ? 'yes' : 'no' }
    if (typeof field !== 'number') return { label, text: formatValue(field) }
    if (isTime(name)) return { label, text: timeText(field, style) }
    if (unit === undefined || field < 0) return { label: name.replaceAll('_', ' '), text: formatValue(field) }
    const span_ms = unit === 's' ? field * 1_000 : field
    const isWhole = Number.isInteger(span_ms)
    return { label, text: isWhole ? formatDuration(span_ms, 5) : `${Math.round(span_ms * 10) / 10}ms` }
  })
}

interface ListedPage {
  items: readonly object[]
  /** Absent from a list that is never more than one page. */
  next_cursor?: string | null | undefined
}

/** Returns the note below an empty list: when flags filter it, there may still be items. */
export function emptyNote(filters: { limit?: unknown }, empty: string): string {
  const { limit: _, ...others } = filters
  const isFiltered = Object.values(others).some((value) => value !== undefined)
  return isFiltered ? 'Nothing matches. Leave out a flag to see more.' : empty
}

/**
 * Prints one page of a list as a table, and notes how to get the next one, or why there is none. A script that set a
 * limit knows that there may be more; the JSON of a page has its `next_cursor`.
 */
export function printPage(
  context: CommandContext,
  page: ListedPage,
  query: { limit?: unknown },
  { columns, empty }: Listing,
): void {
  const { out, system } = context
  const { items, next_cursor = null } = page
  printTable(out, columns, { whole: page, items })
  if (items.length === 0) out.note(emptyNote(query, empty))
  if (next_cursor === null) return
  if (system.stdout.is_terminal) out.note(`More: --cursor ${next_cursor}`)
  else if (query.limit === undefined && out.format !== 'json')
    out.note(`Only ${items.length} are listed. More: --limit N, or --cursor ${next_cursor}`)
}

export function isPage(data: unknown): data is ListedPage {
  return isObject(data) && Array.isArray(data.items)
}
