/** The whole screen as lines: a head, the list or what covers it, and one line at the bottom. Pure. */
import type { Style } from '../cli/output/style.ts'
import { formatValue } from '../cli/output/text.ts'
import { beaconLine, columnHead, pad } from './columns.ts'
import { detailLines } from './details.ts'
import { countLines, titleLine } from './head.ts'
import { keyHelp } from './keys.ts'
import { cursorOf, filterFields, type TailState } from './model.ts'

export interface ScreenSize {
  columns: number
  rows: number
}

export interface ScreenLines {
  head: string[]
  body: string[]
  foot: string
}

/** Title, counts, a blank line and the names of the columns; what covers the list leaves the title alone. */
const headRows = { list: 8, cover: 2 }
const footRows = 1
const filterRows = 6

/** Rows between head and foot. */
export function pageOf({ screen }: TailState, { rows }: ScreenSize): number {
  return Math.max(1, rows - (isList(screen) ? headRows.list : headRows.cover) - footRows)
}

function isList({ name }: TailState['screen']): boolean {
  return name === 'list' || name === 'search'
}

export function screenLines(state: TailState, base_url: string, size: ScreenSize, style: Style): ScreenLines {
  const { columns } = size
  return {
    head: [
      titleLine(state, base_url, style),
      ...(isList(state.screen) ? countLines(state, columns, style) : []),
      '',
      ...(isList(state.screen) ? [columnHead(columns, style)] : []),
    ],
    body: bodyLines(state, size, style),
    foot: footLine(state, size, style),
  }
}

function bodyLines(state: TailState, size: ScreenSize, style: Style): string[] {
  const { screen } = state
  const page = pageOf(state, size)
  switch (screen.name) {
    case 'help':
      return keyHelp.map(([keys, meaning]) => `  ${style.cyan(keys.padEnd(14))}  ${meaning}`)
    case 'filter':
      return [
        ...filterLines(state, style),
        '',
        columnHead(size.columns, style),
        ...listLines(state, size.columns, page - filterRows, style),
      ]
    case 'details': {
      const lines = detailLines(screen.beacon, screen.slot, style)
      const top = topOf(screen.scroll, lines.length, page)
      return lines.slice(top, top + page)
    }
    default:
      return listLines(state, size.columns, page, style)
  }
}

/** The first line that is shown: scrolling ends with the last one in sight. */
function topOf(scroll: number, lines: number, page: number): number {
  return Math.min(scroll, Math.max(0, lines - page))
}

/** How much of the details is in sight; null where all of it is. */
function placeInDetails(state: TailState, size: ScreenSize, style: Style): string | null {
  const { screen } = state
  if (screen.name !== 'details') return null
  const { length } = detailLines(screen.beacon, screen.slot, style)
  const page = pageOf(state, size)
  const top = topOf(screen.scroll, length, page)
  return length <= page ? null : `${top + 1} to ${top + page} of ${length} lines`
}

function listLines(state: TailState, columns: number, page: number, style: Style): string[] {
  const { shown, beacons } = state
  if (shown.length === 0) {
    const text = beacons.length === 0 ? 'No beacon yet.' : `None of ${beacons.length} beacons passes the filter.`
    return [style.dim(`  ${text}`)]
  }
  const cursor = cursorOf(state)
  const top = Math.max(0, Math.min(cursor - Math.floor(page / 2), shown.length - page))
  return shown
    .slice(top, top + page)
    .map((beacon, index) => beaconLine(beacon, columns, style, state.selected_seq !== null && top + index === cursor))
}

function filterLines({ filter, screen }: TailState, style: Style): string[] {
  return [
    style.bold('Filter'),
    ...filterFields.map((field) => {
      const isHere = screen.name === 'filter' && screen.field === field
      const value = filter[field] ?? 'all'
      const choice = isHere ? style.inverse(`‹ ${value} ›`) : `  ${value}`
      return `${isHere ? '›' : ' '} ${style.dim(field.padEnd(9))}${choice}`
    }),
  ]
}

function footLine(state: TailState, size: ScreenSize, style: Style): string {
  const { columns } = size
  const { screen, filter, notice } = state
  if (screen.name === 'search')
    return `/${filter.search}${style.inverse(' ')}  ${style.dim('enter keeps, escape undoes')}`
  if (notice !== null) return style.yellow(pad(formatValue(notice), columns).trimEnd())
  const keys = footKeys[screen.name]
  const active = [
    filter.event,
    filter.format,
    filter.verdict,
    filter.session,
    filter.search === '' ? null : `/${filter.search}`,
  ].filter((part) => part !== null)
  const place = state.selected_seq === null ? 'following' : `${cursorOf(state) + 1} of ${state.shown.length}`
  const left = [
    ...(screen.name === 'list' ? [place] : []),
    ...[placeInDetails(state, size, style)].filter((part) => part !== null),
    ...(active.length === 0 ? [] : [`only ${active.join(', ')}`]),
  ]
  const text = [...left, keys].join('   ')
  return style.dim(pad(text, columns).trimEnd())
}

const footKeys = {
  list: '? help  q quit  enter details  f filter  / search  space pause',
  details: '↑ ↓ scroll   r replay   o inspector   q back',
  filter: '↑ ↓ what   ← → value   enter back',
  help: 'q back',
} as const
