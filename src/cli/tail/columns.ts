/** One beacon on one line, in columns that fit the terminal. */
import type { Style } from '../style.ts'
import { formatTime, formatValue } from '../text.ts'
import type { TailBeacon } from './feed.ts'

const widths = { time: 12, event: 14, format: 6, slot: 16, bill: 4 }
const gap = '  '
/** From this width on the session has a column too. */
const wide = 104
const sessionWidth = 20
const narrowestVerdict = 10

export function columnHead(columns: number, style: Style): string {
  const { verdict, isWide } = columnsFor(columns)
  const names = [
    pad('time', widths.time),
    pad('event', widths.event),
    pad('format', widths.format),
    pad('slot', widths.slot),
    ...(isWide ? [pad('session', sessionWidth)] : []),
    pad('verdict', verdict),
    pad('bill', widths.bill),
  ]
  return style.dim(`  ${names.join(gap)}`)
}

/** The line of a beacon; the selected one stands out with colours and without. */
export function beaconLine(beacon: TailBeacon, columns: number, style: Style, isSelected: boolean): string {
  const { verdict, isWide } = columnsFor(columns)
  const cells: [string, (text: string) => string][] = [
    [pad(timeOfDay(beacon.received_at_ms), widths.time), style.dim],
    [pad(formatValue(beacon.event), widths.event), (text) => text],
    [pad(formatValue(beacon.format), widths.format), style.dim],
    [pad(formatValue(beacon.slot_id), widths.slot), style.dim],
    ...(isWide
      ? ([[pad(formatValue(beacon.session_id), sessionWidth), style.dim]] as [string, typeof style.dim][])
      : []),
    [pad(verdictText(beacon, verdict), verdict), verdictPaint(beacon, style)],
    [pad(beacon.would_bill ? 'yes' : 'no', widths.bill), beacon.would_bill ? style.green : style.dim],
  ]
  if (isSelected) return style.inverse(pad(`› ${cells.map(([text]) => text).join(gap)}`, columns))
  return `  ${cells.map(([text, paint]) => paint(text)).join(gap)}`
}

/** The verdict with its reason; where that does not fit, the reason behind a sign. */
export function verdictText({ verdict, reason_code }: TailBeacon, width = Number.POSITIVE_INFINITY): string {
  if (reason_code === 'OK' || verdict === 'duplicate') return `${signs[verdict]} ${verdict}`
  const whole = `${signs[verdict]} ${verdict} ${reason_code}`
  return whole.length <= width ? whole : `${signs[verdict]} ${reason_code}`
}

export function verdictPaint({ verdict, reason_code }: TailBeacon, style: Style): (text: string) => string {
  if (verdict === 'rejected') return style.red
  return verdict === 'duplicate' || reason_code !== 'OK' ? style.yellow : style.green
}

/** `12:00:00.000`, UTC. */
export function timeOfDay(epoch_ms: number): string {
  return formatTime(epoch_ms).slice(11, 23)
}

/** Exactly `width` characters. */
export function pad(text: string, width: number): string {
  const characters = [...text]
  if (characters.length <= width) return text + ' '.repeat(width - characters.length)
  return width <= 0 ? '' : `${characters.slice(0, width - 1).join('')}…`
}

const signs = { accepted: '✓', duplicate: '=', rejected: '✗' } as const

function columnsFor(columns: number): { verdict: number; isWide: boolean } {
  const isWide = columns >= wide
  const taken =
    2 +
    Object.values(widths).reduce((sum, width) => sum + width + gap.length, 0) +
    (isWide ? sessionWidth + gap.length : 0)
  return { verdict: Math.max(narrowestVerdict, columns - taken), isWide }
}
