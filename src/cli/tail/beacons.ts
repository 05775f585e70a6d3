/** Beacons as items of a tail: one line in columns that fit the terminal, or all details. */
import { z } from 'zod'
import { consentLine } from '#cli/output/placement-summary.ts'
import { type Client, nextCursor } from '#client/client.ts'
import { maxJudged } from '#contract/beacon-verdict.ts'
import { acceptHints } from '#contract/error-codes.ts'
import { Format } from '#contract/fields.ts'
import { BeaconEvent, BeaconResult, Verdict } from '#contract/resources/beacons.ts'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import type { RequestItem } from '#contract/resources/requests.ts'
import { parseJson } from '#foundation/json.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import type { Style } from '#text/terminal.ts'
import {
  alignPairs,
  brokenLines,
  cutText,
  formatTime,
  formatValue,
  hangingLines,
  padEnd,
  textWidth,
} from '#text/text.ts'
import { exchangeLines } from './exchange.ts'
import type { TailBeacon } from './feed.ts'
import type { Details, TailSource } from './source.ts'

type SlotState = Details['slot']

const widths = { time: 12, event: 14, format: 6, slot: 16, session: 20, bill: 4 }
/** `12:00:00` */
const shortTime = 8
const gap = '  '
/** The terminal widths from which each further column is shown. */
const shownFrom = { bill: 50, format: 58, slot: 78, session: 104 }
const verdictWidths = { least: 10, most: 42 }

/** The columns between event and verdict, by the field that they show. */
const between = { format: 'format', slot: 'slot_id', session: 'session_id' } as const

/** Returns the names of the columns. */
export function columnHead(columns: number, style: Style): string {
  const { time, verdict, shown, has_bill } = layoutFor(columns)
  const names = [
    pad('time', time),
    ...(['event', ...shown] as const).map((name) => pad(name, widths[name])),
    pad('verdict', verdict),
    ...(has_bill ? ['bill'] : []),
  ]
  return style.dim(`  ${names.join(gap)}`)
}

/** Returns the line of a beacon. The selected one is marked by a sign as well as by colour. */
export function beaconLine(beacon: TailBeacon, columns: number, style: Style, isSelected: boolean): string {
  const { time, shown, has_bill, ...layout } = layoutFor(columns)
  const { would_bill } = beacon
  // A long reason uses the column `bill` when nothing would be billed.
  const isLong = has_bill && !would_bill && textWidth(verdictText(beacon, layout.verdict)) > layout.verdict
  const verdict = layout.verdict + (isLong ? gap.length + widths.bill : 0)
  const bill = [pad(would_bill ? 'yes' : 'no', widths.bill), would_bill ? style.green : style.dim] as const
  const cells: (readonly [string, (text: string) => string])[] = [
    [timeOfDay(beacon.received_at_ms).slice(0, time), style.dim],
    [pad(formatValue(beacon.event), widths.event), (text) => text],
    ...shown.map((name) => [pad(formatValue(beacon[between[name]]), widths[name]), style.dim] as const),
    [pad(verdictText(beacon, verdict), verdict), verdictPaint(beacon, style)],
    ...(has_bill && !isLong ? [bill] : []),
  ]
  if (isSelected) return style.inverse(pad(`› ${cells.map(([text]) => text).join(gap)}`, columns))
  return `  ${cells.map(([text, paint]) => paint(text)).join(gap)}`
}

/** Returns the verdict and its reason, or, if that does not fit, only the reason after the sign of the verdict. */
export function verdictText({ verdict, reason_code }: TailBeacon, width = Number.POSITIVE_INFINITY): string {
  if (reason_code === 'OK' || verdict === 'duplicate') return `${signs[verdict]} ${verdict}`
  const full = `${signs[verdict]} ${verdict} ${reason_code}`
  return textWidth(full) <= width ? full : `${signs[verdict]} ${reason_code}`
}

export function verdictPaint({ verdict, reason_code }: TailBeacon, style: Style): (text: string) => string {
  if (verdict === 'rejected') return style.red
  return verdict === 'duplicate' || reason_code !== 'OK' ? style.yellow : style.green
}

/** Returns `12:00:00.000`, UTC. */
function timeOfDay(epoch_ms: number): string {
  return formatTime(epoch_ms).slice(11, 23)
}

/** Pads or cuts a text to exactly `width` columns of the terminal. */
function pad(text: string, width: number): string {
  return padEnd(cutText(text, width), width)
}

const signs = { accepted: '✓', duplicate: '=', rejected: '✗' } as const

function layoutFor(columns: number) {
  const has = (name: keyof typeof shownFrom) => columns >= shownFrom[name]
  const time = has('slot') ? widths.time : shortTime
  const fixed = gap.length + time + gap.length + widths.event + gap.length
  const others = tableNames(shownFrom).filter(has)
  const taken = others.reduce((sum, name) => sum + gap.length + widths[name], fixed)
  const verdict = Math.min(verdictWidths.most, Math.max(verdictWidths.least, columns - taken))
  const shown = tableNames(between).filter(has)
  return { time, verdict, shown, has_bill: has('bill') }
}

/** Returns everything about a beacon: itself, the timeline of its slot, its consent and its evidence. */
function detailLines({ item: beacon, slot, request }: Details<TailBeacon>, style: Style): string[] {
  const isRefused = beacon.verdict === 'rejected'
  const sent = exchangeLines(request, style)
  return [
    style.bold('Beacon'),
    ...alignPairs(
      [
        ['id', formatValue(beacon.beacon_id)],
        [
          'event',
          `${formatValue(beacon.event)} of ${beacon.format === null ? 'no known format' : `a ${beacon.format}`}`,
        ],
        ['verdict', verdictPaint(beacon, style)(verdictText(beacon))],
        ['fix', isRefused ? null : (findEntry(acceptHints, beacon.reason_code) ?? null)],
        ['would bill', beacon.would_bill ? `yes, as ${formatValue(beacon.metric)}` : 'no'],
        ['session', `${formatValue(beacon.session_id)} of ${formatValue(beacon.client_id)}`],
        ['occurred', timeText(beacon.occurred_at_ms)],
        ['received', timeText(beacon.received_at_ms)],
      ],
      style,
      '  ',
    ),
    '',
    // For a refused beacon the request matters; for others the turn it belongs to.
    ...(isRefused ? [...sent, ''] : []),
    ...slotLines(beacon, slot, style),
    ...(isRefused ? [] : ['', ...sent]),
  ]
}

function slotLines(beacon: TailBeacon, slot: SlotState, style: Style): string[] {
  switch (slot.status) {
    case 'none':
      return [style.dim('The beacon names no known slot.')]
    case 'loading':
      return [style.dim(`Loading ${formatValue(beacon.slot_id)}`)]
    case 'failed':
      return [style.red(`${formatValue(beacon.slot_id)}: ${slot.reason}`)]
    case 'loaded':
      return [
        `${style.bold('Slot')} ${slot.detail.slot_id}`,
        ...timeline(slot.detail, style),
        '',
        ...hangingLines(`${style.bold('Consent')}  `, consentLine(slot.detail.consent) ?? 'none', style.columns),
        ...evidenceLines(beacon, slot.detail, style),
      ]
  }
}

/** Returns decision, render, visible and click, each with the time since the decision; missing steps are shown too. */
function timeline(detail: PlacementDetail, style: Style): string[] {
  const decided_at_ms = detail.decided_at_ms
  const first = (event: string) =>
    detail.beacons.find((beacon) => beacon.event === event && beacon.verdict === 'accepted')?.received_at_ms ?? null
  const steps: [string, number | null][] = [
    ['decision', decided_at_ms],
    ['frame loaded', detail.first_frame_at_ms],
    ['render', first('render')],
    ['visible', first('visible')],
    ['click', first('click')],
  ]
  const lines = steps.map(([name, at_ms]) => {
    if (at_ms === null) return style.dim(`  ○ ${name.padEnd(14)}-`)
    const after = decided_at_ms === null || name === 'decision' ? '' : `  +${at_ms - decided_at_ms} ms`
    return `  ${style.green('●')} ${name.padEnd(14)}${timeOfDay(at_ms)}${style.dim(after)}`
  })
  const prose = (text: string, paint: (line: string) => string) => hangingLines('  ', text, style.columns).map(paint)
  const isCut = detail.beacons.filter(({ verdict }) => verdict === 'accepted').length >= maxJudged
  return [
    ...lines,
    ...(isCut
      ? prose(
          `Only its first ${maxJudged} accepted beacons: svc beacons list --slot-id ${detail.slot_id}`,
          style.yellow,
        )
      : []),
    ...(detail.billing === null ? [] : prose(formatValue(detail.billing.explanation), style.dim)),
  ]
}

const BeaconEntry = z.object({ beacon_id: z.string(), consent_revision: z.int().nullable() })

function evidenceLines(beacon: TailBeacon, { evidence }: PlacementDetail, style: Style): string[] {
  if (beacon.verdict === 'rejected')
    return [`${style.bold('Evidence')} none: rejected beacons are not stored as evidence`]
  for (const { kind, entry, seq, at_ms, hash } of evidence) {
    const { data } = BeaconEntry.safeParse(kind === 'beacon' ? parseJson(entry) : null)
    if (data?.beacon_id !== beacon.beacon_id) continue
    const revision = formatValue(data?.consent_revision)
    const where = `entry ${seq}, ${formatTime(at_ms)}, consent revision ${revision}`
    return [
      ...hangingLines(`${style.bold('Evidence')} `, where, style.columns),
      ...brokenLines('         ', hash, style.columns).map(style.dim),
    ]
  }
  return [`${style.bold('Evidence')} none for this beacon`]
}

/** A client may send any number as `occurred_at_ms`, even one that is not a date. */
function timeText(epoch_ms: number | null): string {
  const isDate = epoch_ms !== null && Math.abs(epoch_ms) <= 8.64e15
  return isDate ? formatTime(epoch_ms) : formatValue(epoch_ms)
}

export const beaconSource: TailSource<TailBeacon> = {
  choices: { event: BeaconEvent.options, format: Format.options, verdict: Verdict.options },
  groups: BeaconEvent.options,
  tallies: ['duplicate', 'rejected', 'would bill'],
  findGroup: ({ event }) => event,
  listTallies: ({ verdict, would_bill }) => (would_bill ? [verdict, 'would bill'] : [verdict]),
  readValue({ event, format, verdict, session_id }, field) {
    const values: Readonly<Record<string, string | null>> = { event, format, verdict, session: session_id }
    return values[field] ?? null
  },
  listSearched({ beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric }) {
    return [beacon_id, slot_id, session_id, client_id, event, format, verdict, reason_code, metric]
  },
  renderHead: columnHead,
  renderLine: beaconLine,
  details: detailLines,
  readId: ({ beacon_id }) => beacon_id,
  readPageId: ({ slot_id }) => slot_id,
  findRequestId: findRequestId,
  describeOutcome({ response_body }) {
    const { data } = BeaconResult.safeParse(parseJson(response_body ?? ''))
    return data?.duplicate === true ? 'duplicate, it was received before' : `accepted, ${data?.reason_code}`
  },
}

/** Finds the request that was received at the same time, with the identifier of the beacon where that is known. */
async function findRequestId(beacon: TailBeacon, client: Client, signal: AbortSignal): Promise<string | null> {
  const { received_at_ms, beacon_id, slot_id, reason_code, verdict } = beacon
  const isUnread = verdict === 'rejected' && beacon_id === null
  const match = {
    path: '/v1/beacons',
    method: 'POST',
    since: String(received_at_ms),
    until: String(received_at_ms),
    ...(beacon_id === null ? {} : { body: { beacon_id } }),
    ...(isUnread ? { reason: reason_code as NonNullable<RequestItem['reason_code']> } : {}),
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { ...match, ...(cursor === undefined ? {} : { cursor }) }
    const page = await client.requests.find({ body }, { signal })
    const found = page.items.find((item) => item.slot_id === slot_id) ?? page.items[0]
    if (found !== undefined) return found.request_id
    cursor = nextCursor(page, cursor)
  }
  return null
}
