/** Everything about one beacon: itself, the timeline of its slot, the consent it stands on, its entry of evidence. */
import { z } from 'zod'
import { consentLine } from '../cli/output/placement-summary.ts'
import type { Style } from '../cli/output/style.ts'
import { alignPairs, formatTime, formatValue } from '../cli/output/text.ts'
import type { PlacementDetail } from '../contract/control/placements.ts'
import { timeOfDay, verdictPaint, verdictText } from './columns.ts'
import type { TailBeacon } from './feed.ts'
import type { SlotAnswer } from './model.ts'

export function detailLines(beacon: TailBeacon, slot: SlotAnswer, style: Style): string[] {
  return [
    style.bold('Beacon'),
    ...indented(
      alignPairs(
        [
          ['id', formatValue(beacon.beacon_id)],
          [
            'event',
            `${formatValue(beacon.event)} of ${beacon.format === null ? 'no known format' : `a ${beacon.format}`}`,
          ],
          ['verdict', verdictPaint(beacon, style)(verdictText(beacon))],
          ['would bill', beacon.would_bill ? `yes, as ${formatValue(beacon.metric)}` : 'no'],
          ['session', `${formatValue(beacon.session_id)} of ${formatValue(beacon.client_id)}`],
          ['occurred', instant(beacon.occurred_at_ms)],
          ['received', instant(beacon.received_at_ms)],
        ],
        style,
      ),
    ),
    '',
    ...slotLines(beacon, slot, style),
  ]
}

function slotLines(beacon: TailBeacon, slot: SlotAnswer, style: Style): string[] {
  switch (slot.status) {
    case 'none':
      return [style.dim('It names no slot that is known.')]
    case 'loading':
      return [style.dim(`Asking for ${formatValue(beacon.slot_id)}`)]
    case 'failed':
      return [style.red(`${formatValue(beacon.slot_id)}: ${slot.reason}`)]
    case 'there':
      return [
        `${style.bold('Slot')} ${slot.detail.slot_id}`,
        ...indented(timeline(slot.detail, style)),
        '',
        `${style.bold('Consent')}  ${consentText(slot.detail)}`,
        ...evidence(beacon, slot.detail, style),
      ]
  }
}

/** Decision, render, visible, click, each with the time since the decision; a step that has not come is told too. */
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
    if (at_ms === null) return style.dim(`○ ${name.padEnd(14)}-`)
    const after = decided_at_ms === null || name === 'decision' ? '' : `  +${at_ms - decided_at_ms} ms`
    return `${style.green('●')} ${name.padEnd(14)}${timeOfDay(at_ms)}${style.dim(after)}`
  })
  return detail.billing === null ? lines : [...lines, style.dim(formatValue(detail.billing.explanation))]
}

const BeaconEntry = z.object({ beacon_id: z.string(), consent_revision: z.int().nullable() })

function evidence(beacon: TailBeacon, { evidence }: PlacementDetail, style: Style): string[] {
  if (beacon.verdict === 'rejected') return [`${style.bold('Evidence')} none: a rejected beacon is no evidence`]
  for (const { kind, entry, seq, at_ms, hash } of evidence) {
    const parsed = kind === 'beacon' ? BeaconEntry.safeParse(JSON.parse(entry)) : null
    if (parsed?.data?.beacon_id !== beacon.beacon_id) continue
    const revision = formatValue(parsed?.data?.consent_revision)
    return [
      `${style.bold('Evidence')} entry ${seq}, ${formatTime(at_ms)}, consent revision ${revision}`,
      style.dim(`         ${hash}`),
    ]
  }
  return [`${style.bold('Evidence')} none for this beacon`]
}

function consentText({ consent }: PlacementDetail): string {
  return consent === null ? 'none' : `${formatValue(consentLine(consent))}`
}

function instant(epoch_ms: number | null): string {
  const isDate = epoch_ms !== null && Math.abs(epoch_ms) <= 8.64e15
  return isDate ? formatTime(epoch_ms) : formatValue(epoch_ms)
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`)
}
