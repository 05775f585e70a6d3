/** The lines above the list: where it listens and how much arrives. */

import type { Style } from '../cli/output/style.ts'
import { beaconEvents } from '../contract/v1/beacons.ts'
import { lastMinute, minute_s, rate } from './counts.ts'
import type { TailState } from './model.ts'

const bars = '▁▂▃▄▅▆▇█'
const labelWidth = 4
const sparklineLabel = 'minute '

/** Where it listens, and whether it hears. */
export function titleLine(state: TailState, base_url: string, style: Style): string {
  const title = `${style.bold('beacons')} ${style.dim(base_url)}  ${connectionText(state, style)}`
  return state.held === null ? title : `${title}  ${style.yellow(`paused, ${amount(state.held.length)} held`)}`
}

/** Five lines, whatever there is to tell. */
export function countLines(state: TailState, columns: number, style: Style): string[] {
  const { counts, now_ms } = state
  const seconds = lastMinute(counts, now_ms)
  const shown = seconds.slice(-Math.max(0, Math.min(minute_s, columns - sparklineLabel.length - 8)))
  const peak = Math.max(...seconds)
  const totals = `${amount(counts.total)} ${counts.total === 1 ? 'beacon' : 'beacons'}   ${amount(counts.duplicates)} duplicate   ${amount(counts.rejected)} rejected   ${amount(counts.would_bill)} would bill`
  const cells = beaconEvents.map((event) => {
    const total = amount(counts.by_event[event] ?? 0)
    const each = perSecond(rate(counts, now_ms, event))
    return { event, total, each, width: Math.max(event.length, total.length, each.length) }
  })
  let room = columns - labelWidth
  const fitting = cells.filter(({ width }) => {
    room -= width + 2
    return room >= -2
  })
  const row = (label: string, text: (cell: (typeof cells)[number]) => string) =>
    label.padEnd(labelWidth) + fitting.map((cell) => text(cell).padStart(cell.width)).join('  ')
  const isQuiet = counts.total === 0
  return [
    isQuiet ? style.dim(totals) : totals,
    style.dim(row('', ({ event }) => event)),
    row('', ({ total }) => total),
    `${style.dim(row('/s', ({ each }) => each))}`,
    `${style.dim(sparklineLabel)}${style.cyan(sparkline(shown, peak))} ${style.dim(`${perSecond(rate(counts, now_ms))}/s`)}`,
  ]
}

/** A bar for each number; nothing at all is the lowest line. */
export function sparkline(values: readonly number[], peak: number): string {
  return values
    .map((value) => (value === 0 ? '▁' : (bars[Math.max(1, Math.ceil((value / peak) * (bars.length - 1)))] ?? '█')))
    .join('')
}

/** `12 345`, and `1.2M` where it would grow too wide. */
export function amount(value: number): string {
  if (value >= 1e7) return `${(value / 1e6).toFixed(1)}M`
  return String(value).replace(/\B(?=(\d{3})+$)/g, ' ')
}

function perSecond(value: number): string {
  return value >= 10 || value === 0 ? amount(Math.round(value)) : value.toFixed(1)
}

function connectionText({ connection }: TailState, style: Style): string {
  switch (connection.status) {
    case 'connecting':
      return style.dim('○ connecting')
    case 'live':
      return style.green('● live')
    case 'lost':
      return style.red('○ reconnecting')
  }
}
