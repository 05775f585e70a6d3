/** One beacon on one line, in columns that fit the terminal. */
import type { Style } from '../cli/output/style.ts'
import { formatTime, formatValue } from '../cli/output/text.ts'
import type { TailBeacon } from './feed.ts'

const widths = { time: 12, event: 14, format: 6, slot: 16, session: 20, bill: 4 }
/** `12:00:00` */
const shortTime = 8
const gap = '  '
/** From these widths on there is room for more than time, event and verdict. */
const roomFor = { bill: 50, format: 58, slot: 78, session: 104 }
const verdictWidths = { least: 10, most: 42 }

export function columnHead(columns: number, style: Style): string {
  const { time, verdict, has } = layoutFor(columns)
  const names = [
    pad('time', time),
    pad('event', widths.event),
    ...(has.format ? [pad('format', widths.format)] : []),
    ...(has.slot ? [pad('slot', widths.slot)] : []),
    ...(has.session ? [pad('session', widths.session)] : []),
    pad('verdict', verdict),
    ...(has.bill ? ['bill'] : []),
  ]
  return style.dim(`  ${names.join(gap)}`)
}

/** The line of a beacon; the selected one stands out with colours and without. */
export function beaconLine(beacon: TailBeacon, columns: number, style: Style, isSelected: boolean): string {
  const { time, has, ...layout } = layoutFor(columns)
  const withBill = layout.verdict + gap.length + widths.bill
  // A long reason takes the room of a bill that there is not.
  const isLong = has.bill && !beacon.would_bill && verdictText(beacon, layout.verdict).length > layout.verdict
  const verdict = isLong ? withBill : layout.verdict
  const cells: [string, (text: string) => string][] = [
    [timeOfDay(beacon.received_at_ms).slice(0, time), style.dim],
    [pad(formatValue(beacon.event), widths.event), (text) => text],
    ...cellIf(has.format, formatValue(beacon.format), widths.format, style.dim),
    ...cellIf(has.slot, formatValue(beacon.slot_id), widths.slot, style.dim),
    ...cellIf(has.session, formatValue(beacon.session_id), widths.session, style.dim),
    [pad(verdictText(beacon, verdict), verdict), verdictPaint(beacon, style)],
    ...cellIf(
      has.bill && !isLong,
      beacon.would_bill ? 'yes' : 'no',
      widths.bill,
      beacon.would_bill ? style.green : style.dim,
    ),
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

function cellIf(
  isThere: boolean,
  text: string,
  width: number,
  paint: (text: string) => string,
): [string, (text: string) => string][] {
  return isThere ? [[pad(text, width), paint]] : []
}

function layoutFor(columns: number) {
  const has = {
    bill: columns >= roomFor.bill,
    format: columns >= roomFor.format,
    slot: columns >= roomFor.slot,
    session: columns >= roomFor.session,
  }
  const time = has.slot ? widths.time : shortTime
  const others = (Object.keys(has) as (keyof typeof has)[]).filter((name) => has[name])
  const taken = others.reduce(
    (sum, name) => sum + gap.length + widths[name],
    gap.length + time + 2 * gap.length + widths.event,
  )
  const verdict = Math.min(verdictWidths.most, Math.max(verdictWidths.least, columns - taken))
  return { time, verdict, has }
}
