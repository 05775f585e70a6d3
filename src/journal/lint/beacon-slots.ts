/** The beacons of a file together: repeated ones, and what each would be worth beside the others of its asset token. */

import { type AcceptedBeacon, type Creative, judgeBeacons } from '../../contract/beacon-verdict.ts'
import { limits } from '../../contract/limits.ts'
import {
  type AcceptCode,
  type BeaconRequest,
  canonicalEvent,
  clipEvents,
  occurrenceOf,
} from '../../contract/v1/beacons.ts'
import { refused } from '../rules/beacon-file.ts'
import type { LooseFinding } from './finding.ts'

/** A beacon that fits the schema, by its place among those of the file. */
export interface NumberedBeacon {
  index: number
  beacon: BeaconRequest
}

/** What is wrong among beacons, each with the index of the beacon that it is about. */
export function checkSlots(beacons: readonly NumberedBeacon[]): { index: number; finding: LooseFinding }[] {
  const slots = Map.groupBy(beacons, ({ beacon }) => beacon.asset_token)
  return [...slots.values()].flatMap(checkSlot)
}

function checkSlot(slot: readonly NumberedBeacon[]) {
  const { kept, repeated } = withoutRepeats(slot)
  return [...repeated, ...otherSlots(kept), ...clipOrder(kept), ...worth(kept)]
}

function withoutRepeats(slot: readonly NumberedBeacon[]) {
  const first = new Map<string, string>()
  const kept: NumberedBeacon[] = []
  const repeated = slot.flatMap((numbered) => {
    const { index, beacon } = numbered
    const text = JSON.stringify(sorted(beacon))
    const earlier = first.get(beacon.beacon_id)
    if (earlier === undefined) {
      first.set(beacon.beacon_id, text)
      kept.push(numbered)
      return []
    }
    const finding =
      earlier === text
        ? notCounted('DUPLICATE', ['beacon_id'])
        : { ...refused('beacon_id_conflict', ['beacon_id']), message: 'This beacon_id is above, with another body.' }
    return [{ index, finding }]
  })
  return { kept, repeated }
}

/** An asset token is of one slot. */
function otherSlots(slot: readonly NumberedBeacon[]) {
  const named = slot.filter(({ beacon }) => beacon.slot_id !== undefined)
  return named
    .filter(({ beacon }) => beacon.slot_id !== named[0]?.beacon.slot_id)
    .map(({ index }) => ({
      index,
      finding: {
        ...refused('slot_mismatch', ['slot_id']),
        message: 'Another beacon of this asset_token names another slot_id.',
      },
    }))
}

/** Playback goes forward: started, then positions that grow, then completed. */
function clipOrder(slot: readonly NumberedBeacon[]) {
  return [...Map.groupBy(slot, ({ beacon }) => beacon.render_instance_id).values()].flatMap((mount) => {
    const played = mount.filter(({ beacon }) => isPlayback(beacon)).toSorted((a, b) => timeOf(a) - timeOf(b))
    const started = played.find(({ beacon }) => canonicalEvent(beacon.event) === 'play_started')
    let reached = { ms: -1, completed: false }
    return played.flatMap(({ index, beacon }) => {
      const event = canonicalEvent(beacon.event)
      const isEnd = event === 'play_completed' || event === 'completion'
      const { position_ms, duration_ms } = beacon.measurements ?? {}
      const wrong =
        isEnd && started !== undefined && timeOf({ index, beacon }) < timeOf(started)
          ? `${event} happened before play_started`
          : event === 'play_started' && reached.completed
            ? null
            : position_ms !== undefined && duration_ms !== undefined && position_ms > duration_ms
              ? `position_ms ${position_ms} is beyond duration_ms ${duration_ms}`
              : position_ms !== undefined && position_ms < reached.ms
                ? `position_ms goes back from ${reached.ms} to ${position_ms}`
                : null
      reached = { ms: Math.max(reached.ms, position_ms ?? -1), completed: reached.completed || isEnd }
      return wrong === null ? [] : [{ index, finding: outOfOrder(wrong, position_ms !== undefined) }]
    })
  })
}

function isPlayback({ event, measurements }: BeaconRequest): boolean {
  return clipEvents.has(canonicalEvent(event)) || measurements?.position_ms !== undefined
}

function outOfOrder(message: string, hasPosition: boolean): LooseFinding {
  const at = hasPosition ? ['measurements', 'position_ms'] : ['event']
  const fix = 'Stamp each event when it happens, with the position of the player at that instant.'
  return { severity: 'warning', code: 'clip_out_of_order', path: at.join('.'), at, message: `${message}.`, fix }
}

function worth(slot: readonly NumberedBeacon[]) {
  const beacons = slot.map(({ index, beacon }): AcceptedBeacon => {
    const at_ms = timeOf({ index, beacon })
    const event = canonicalEvent(beacon.event)
    return { id: index, event, occurred_at_ms: at_ms, received_at_ms: at_ms, measurements: beacon.measurements ?? null }
  })
  const creative = creativeOf(beacons)
  return [...judgeBeacons('cpm_viewable', creative, limits.viewability, beacons)].flatMap(([index, { reason_code }]) =>
    reason_code === 'OK' ? [] : [{ index, finding: notCounted(reason_code, pointedAt(reason_code)) }],
  )
}

/** What the beacons tell of their creative; what they do not tell counts in their favour, but for the usual size. */
function creativeOf(beacons: readonly AcceptedBeacon[]): Creative {
  const lengths = beacons.flatMap(({ measurements }) => measurements?.duration_ms ?? [])
  const isClip = beacons.some(({ event }) => clipEvents.has(event))
  return {
    format: isClip ? 'clip' : 'banner',
    ...(isClip ? { width: 640, height: 360 } : { width: 300, height: 250 }),
    duration_ms: lengths.length === 0 ? null : Math.max(...lengths),
  }
}

function pointedAt(code: AcceptCode): string[] {
  if (code === 'BELOW_THRESHOLD') return ['measurements']
  return code === 'PAGE_HIDDEN' ? ['measurements', 'page_visible'] : ['event']
}

const { ratio, duration_ms, large_ratio, large_area_px2, clip_ratio, clip_duration_ms } = limits.viewability

const notCountedTexts: Readonly<Record<Exclude<AcceptCode, 'OK'>, { message: string; fix: string }>> = {
  DUPLICATE: { message: 'This beacon is above already.', fix: 'Repeat a beacon only to retry it; it counts once.' },
  ALREADY_COUNTED: {
    message: 'An earlier beacon of this asset_token counts for the same.',
    fix: 'Send it once a placement; nothing more is billed.',
  },
  AWAITING_RENDER: {
    message: 'No render beacon of this asset_token is here: not billed until there is one.',
    fix: 'Send a render beacon when the creative is drawn, before this.',
  },
  BELOW_THRESHOLD: {
    message: 'What was seen is below the viewability bar: not billed.',
    fix: `Send visible once ${ratio * 100} % were in view for ${duration_ms} ms on end (${large_ratio * 100} % from ${large_area_px2} px2 on; a clip ${clip_ratio * 100} % for ${clip_duration_ms} ms).`,
  },
  COMPLETED_TOO_FAST: {
    message: 'The clip completed sooner than it can play: not billed.',
    fix: 'Stamp play_started and play_completed when they happen.',
  },
  PAGE_HIDDEN: {
    message: 'The page was hidden: not billed.',
    fix: 'Count time in view only while document.visibilityState is visible.',
  },
}

function notCounted(code: Exclude<AcceptCode, 'OK'>, at: readonly string[]): LooseFinding {
  return { severity: 'warning', code, path: at.join('.'), at, ...notCountedTexts[code] }
}

function timeOf({ beacon }: NumberedBeacon): number {
  return occurrenceOf(beacon) ?? 0
}

/** The same text for the same members, in whatever order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(members.map(([name, inner]) => [name, sorted(inner)]))
}
