/**
 * The screen of a tail, as lines (a head, the list or another screen, and one line at the bottom) and in Ink. Loaded
 * only when it is shown: ink and react are heavy.
 */
import { Box, type RenderOptions, render, Text, useApp, useInput, usePaste, useWindowSize } from 'ink'
import { useSyncExternalStore } from 'react'
import { oneLine, type Style, streamText } from '#text/terminal.ts'
import { cutText, formatValue } from '#text/text.ts'
import { lastMinute, minuteSeconds, rate } from './counts.ts'
import { type Effect, type Key, keyAction, keyHelp, pasteAction, splitKeys } from './keys.ts'
import { filterFields, findCursor, maxItems, type TailAction, type TailState } from './model.ts'
import type { Details, TailSource } from './source.ts'
import { framesPerSecond, type TailStore } from './store.ts'

interface TailScreenProps {
  store: TailStore
  base_url(): string
  style: Style
  onAction(action: TailAction | Effect): void
  onInterrupt(): void
  /** Stops the process until it is continued. */
  onSuspend(): void
}

/** Draws the tail over the whole terminal. Resolves when `signal` is aborted and the terminal is restored. */
export async function showTail(
  props: TailScreenProps,
  signal: AbortSignal,
  streams: Pick<RenderOptions, 'stdin' | 'stdout'> = {},
): Promise<void> {
  const screen = render(<TailScreen {...props} />, {
    ...streams,
    alternateScreen: true,
    exitOnCtrlC: false,
    incrementalRendering: true,
    interactive: true,
    maxFps: framesPerSecond,
    patchConsole: false,
  })
  const stop = () => screen.unmount()
  if (signal.aborted) stop()
  else signal.addEventListener('abort', stop, { once: true })
  await screen.waitUntilExit()
}

/** One row stays free, so that the terminal never scrolls. */
function TailScreen({ store, base_url, style, onAction, onInterrupt, onSuspend }: TailScreenProps) {
  const state = useSyncExternalStore(store.subscribe, store.state)
  const { suspendTerminal } = useApp()
  const { columns, rows } = useWindowSize()
  const size = { columns: columns - 1, rows: rows - 1 }
  const press = (key: Key) => {
    const action = keyAction(store.state(), key, countListRows(store.state(), size))
    if (action !== null) onAction(action)
  }
  useInput((text, key) => {
    if (key.ctrl && text === 'c') onInterrupt()
    else if (key.ctrl && text === 'z') void suspendTerminal(async () => onSuspend())
    else for (const pressed of splitKeys(text, key)) press(pressed)
  })
  usePaste((text) => onAction(pasteAction(store.state(), text)))
  const { head, body, foot } = screenLines(state, base_url(), size, style)
  return (
    <Box flexDirection="column" width={size.columns} height={size.rows}>
      <Lines lines={head} height={head.length} />
      <Lines lines={body} height={countListRows(state, size)} />
      <Text wrap="truncate">{terminalText(foot)}</Text>
    </Box>
  )
}

/** Ink writes to the terminal directly, bypassing the guard of the system's streams. */
const terminalText = (line: string) => streamText(oneLine(line), true)

/** Styled lines, cut where they are too long. */
function Lines({ lines, height }: { lines: readonly string[]; height: number }) {
  return (
    <Box flexDirection="column" height={height} overflow="hidden">
      {lines.slice(0, height).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place on the screen
        <Text key={index} wrap="truncate">
          {line === '' ? ' ' : terminalText(line)}
        </Text>
      ))}
    </Box>
  )
}

interface ScreenSize {
  columns: number
  rows: number
}

interface ScreenLines {
  head: string[]
  body: string[]
  foot: string
}

/**
 * The list has title, counts, a blank line and the names of the columns above it; in a short window, such as an
 * editor's panel, only title and columns. Other screens have the title.
 */
const headRows = { list: 8, low: 2, other: 2 }
/** Below this a list with counts would have fewer than four lines. */
const minRows = headRows.list + 5
const footRows = 1
/** The title, a blank line and the columns; and a line for each field. */
const filterRows = 3

/** Returns the number of rows between head and foot. */
function countListRows({ screen }: TailState, { rows }: ScreenSize): number {
  const head = !isList(screen) ? headRows.other : rows < minRows ? headRows.low : headRows.list
  return Math.max(1, rows - head - footRows)
}

function isList({ name }: TailState['screen']): boolean {
  return name === 'list' || name === 'search'
}

export function screenLines(state: TailState, base_url: string, size: ScreenSize, style: Style): ScreenLines {
  const { columns, rows } = size
  const title = titleLine(state, base_url, style)
  const above = rows < minRows ? [] : [...countLines(state, columns, style), '']
  return {
    head: isList(state.screen) ? [title, ...above, state.source.renderHead(columns, style)] : [title, ''],
    body: bodyLines(state, size, style),
    foot: footLine(state, size, style),
  }
}

function bodyLines(state: TailState, size: ScreenSize, style: Style): string[] {
  const { screen } = state
  const page = countListRows(state, size)
  switch (screen.name) {
    case 'help':
      return keyHelp(state.source).map(([keys, meaning]) => `  ${style.cyan(keys.padEnd(14))}  ${meaning}`)
    case 'filter':
      return [
        ...filterLines(state, style),
        '',
        state.source.renderHead(size.columns, style),
        ...listLines(state, size.columns, page - filterRows - filterFields(state.source).length, style),
      ]
    case 'details': {
      const lines = renderDetails(state.source, screen, size, style)
      const top = firstLine(screen.scroll, lines.length, page)
      return lines.slice(top, top + page)
    }
    default:
      return listLines(state, size.columns, page, style)
  }
}

/** Returns the lines of the details in the current width of the screen: `style` has the width at the start. */
function renderDetails(source: TailSource, details: Details, { columns }: ScreenSize, style: Style): string[] {
  return source.details(details, { ...style, columns })
}

/** Returns the first line that is shown: scrolling ends when the last one is visible. */
function firstLine(scroll: number, lines: number, page: number): number {
  return Math.min(scroll, Math.max(0, lines - page))
}

/** Returns which lines of the details are visible, or null when all are. */
function visibleLines(state: TailState, size: ScreenSize, style: Style): string | null {
  const { screen } = state
  if (screen.name !== 'details') return null
  const { length } = renderDetails(state.source, screen, size, style)
  const page = countListRows(state, size)
  const top = firstLine(screen.scroll, length, page)
  return length <= page ? null : `${top + 1} to ${top + page} of ${length} lines`
}

function listLines(state: TailState, columns: number, page: number, style: Style): string[] {
  const { shown, items, source } = state
  if (shown.length === 0) {
    const text = state.is_loading
      ? 'Loading'
      : items.length === 0
        ? 'No new beacon yet.'
        : `None of ${items.length} beacons passes the filter.`
    return [style.dim(`  ${text}`)]
  }
  const cursor = findCursor(state)
  const top = Math.max(0, Math.min(cursor - Math.floor(page / 2), shown.length - page))
  return shown
    .slice(top, top + page)
    .map((item, index) =>
      source.renderLine(item, columns, style, state.selected_seq !== null && top + index === cursor),
    )
}

function filterLines({ filter, screen, source }: TailState, style: Style): string[] {
  return [
    style.bold('Filter'),
    ...filterFields(source).map((field) => {
      const isHere = screen.name === 'filter' && screen.field === field
      const value = filter.fields[field] ?? 'all'
      return `${isHere ? '›' : ' '} ${style.dim(field.padEnd(9))}${isHere ? style.inverse(`‹ ${value} ›`) : `  ${value}`}`
    }),
  ]
}

function footLine(state: TailState, size: ScreenSize, style: Style): string {
  const { columns } = size
  const { screen, filter, notice } = state
  if (screen.name === 'search')
    return `/${filter.search}${style.inverse(' ')}  ${style.dim('enter keeps, escape cancels')}`
  if (notice !== null) return style.yellow(cutText(formatValue(notice), columns))
  const search = filter.search === '' ? null : `/${filter.search}`
  const active = [...Object.values(filter.fields), search].filter((part) => part !== null)
  const position = state.selected_seq === null ? 'following' : `${findCursor(state) + 1} of ${state.shown.length}`
  const parts = [
    screen.name === 'list' ? position : visibleLines(state, size, style),
    active.length === 0 ? null : `only ${active.join(', ')}`,
    footKeys[screen.name],
  ]
  const text = parts.filter((part) => part !== null).join('   ')
  return style.dim(cutText(text, columns))
}

const footKeys = {
  list: '? help  q quit  enter details  f filter  / search  space pause',
  details: '↑ ↓ scroll   r replay   o inspector   q back',
  filter: '↑ ↓ field   ← → value   enter back',
  help: 'q back',
} as const

const bars = '▁▂▃▄▅▆▇█'
const labelWidth = 4
const sparklineLabel = 'minute '

const connections = {
  connecting: { color: 'dim', text: '○ connecting' },
  live: { color: 'green', text: '● live' },
  lost: { color: 'red', text: '○ reconnecting' },
  loading: { color: 'cyan', text: '◌ loading' },
} as const

/** Returns the base URL and the state of the connection. */
function titleLine(state: TailState, base_url: string, style: Style): string {
  const { status } = state.connection
  const { color, text } = connections[state.is_loading && status === 'live' ? 'loading' : status]
  const kept = state.counts.total > maxItems ? style.dim(`  newest ${amount(maxItems)} kept`) : ''
  const title = `${style.bold('beacons')} ${style.dim(base_url)}  ${style[color](text)}${kept}`
  return state.held === null ? title : `${title}  ${style.yellow(`paused, ${amount(state.held.length)} held`)}`
}

/** Returns five lines: totals, a table of groups, and the last minute. */
function countLines(state: TailState, columns: number, style: Style): string[] {
  const { counts, now_ms, source } = state
  const seconds = lastMinute(counts, now_ms)
  const shown = seconds.slice(-Math.max(0, Math.min(minuteSeconds, columns - sparklineLabel.length - 8)))
  const peak = Math.max(...seconds)
  const totals = [
    `${amount(counts.total)} beacon${counts.total === 1 ? '' : 's'}`,
    ...source.tallies.map((name) => `${amount(counts.tallies[name] ?? 0)} ${name}`),
  ].join('   ')
  const cells = source.groups.map((group) => {
    const total = amount(counts.by_group[group] ?? 0)
    const each = perSecond(rate(counts, now_ms, group))
    return { group, total, each, width: Math.max(group.length, total.length, each.length) }
  })
  let room = columns - labelWidth
  const fitting = cells.filter(({ width }) => {
    room -= width + 2
    return room >= -2
  })
  const row = (label: string, text: (cell: (typeof cells)[number]) => string) =>
    label.padEnd(labelWidth) + fitting.map((cell) => text(cell).padStart(cell.width)).join('  ')
  return [
    counts.total === 0 ? style.dim(totals) : totals,
    style.dim(row('', ({ group }) => group)),
    row('', ({ total }) => total),
    style.dim(row('/s', ({ each }) => each)),
    `${style.dim(sparklineLabel)}${style.cyan(sparkline(shown, peak))} ${style.dim(`${perSecond(rate(counts, now_ms))}/s`)}`,
  ]
}

/** Returns a bar for each number; the lowest one stands for zero. */
function sparkline(values: readonly number[], peak: number): string {
  return values
    .map((value) => (value === 0 ? '▁' : (bars[Math.max(1, Math.ceil((value / peak) * (bars.length - 1)))] ?? '█')))
    .join('')
}

/** Returns `12 345`; from ten million on `12.3M`. */
function amount(value: number): string {
  if (value >= 1e7) return `${(value / 1e6).toFixed(1)}M`
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

function perSecond(value: number): string {
  return value >= 10 || value === 0 ? amount(Math.round(value)) : value.toFixed(1)
}
