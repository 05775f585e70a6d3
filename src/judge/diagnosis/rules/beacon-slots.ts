import { isDeepStrictEqual } from 'node:util'
import { type AcceptedBeacon, type Creative, judgeBeacons } from '#contract/beacon-verdict.ts'
import { acceptHints } from '#contract/error-codes.ts'
import { type AcceptCode, clipEvents, limits } from '#contract/exports.ts'
import { canonicalEvent } from '#contract/resources/beacons.ts'
import { mapTable } from '#foundation/table-entry.ts'
import type { AcceptedInFile } from '../facts/beacon-file.ts'
import { adsInFile } from '../facts/shown-ads.ts'
import { type RuleBody, ruleSet } from '../rule.ts'
import { type Found, findingAt, refused, type Words } from './beacons/file.ts'
import { countedTwice, findAskedAgain, findCountedByTurn, turnAskedAgain } from './turns.ts'

type FoundInSlot = Omit<Found, 'in'> & { of: AcceptedInFile }
type Slot = readonly AcceptedInFile[]

/** Returns a rule about the beacons of one asset token together. */
function slotRule(rule: Words, find: (slot: Slot) => readonly FoundInSlot[]): RuleBody<'beacons'> {
  return {
    ...rule,
    judge: (slot) => ({
      sample_size: slot.length,
      findings: find(slot).map(({ of: beacon, ...found }) => findingAt(rule, beacon, found)),
    }),
  }
}

/** Returns a rule about beacons whose beacon_id is above, with the same body or a different one. */
function repeatRule(rule: Words, isSame: boolean): RuleBody<'beacons'> {
  return slotRule(rule, (slot) =>
    byId(slot).flatMap(([first, ...others]) =>
      others
        .filter(({ beacon }) => isDeepStrictEqual(beacon, first!.beacon) === isSame)
        .map((each) => ({ of: each, at: ['beacon_id'] })),
    ),
  )
}

/** Returns the first beacon of each beacon_id. */
function distinct(slot: Slot): AcceptedInFile[] {
  return byId(slot).map(([first]) => first!)
}

function byId(slot: Slot): AcceptedInFile[][] {
  return [...Map.groupBy(slot, ({ beacon }) => beacon.beacon_id).values()]
}

/** Why an accepted beacon is not billed: the field that tells, and what a finding says. The compiler names one that is missing. */
const unbilled: Readonly<
  Record<Exclude<AcceptCode, 'OK' | 'DUPLICATE'>, readonly [at: readonly string[], title: string]>
> = {
  ALREADY_COUNTED: [['event'], 'An earlier beacon of this asset_token counts for the same.'],
  AWAITING_RENDER: [['event'], 'No render beacon of this asset_token is here: not billed until there is one.'],
  TOO_SMALL: [['measurements'], 'The ad was shown less than 50 px wide or high: not billed.'],
  BELOW_THRESHOLD: [['measurements'], 'The ad was seen less than the viewability threshold requires: not billed.'],
  AWAITING_PLAY: [['event'], 'The clip had not played for 2000 ms when it was seen: not billed.'],
  COMPLETED_TOO_FAST: [['event'], 'The clip completed sooner than it can play: not billed.'],
  VISIBILITY_UNMEASURED: [
    ['measurements'],
    'The view has no visible_ratio and visible_ms, or its visibility_check is none: not billed.',
  ],
  MEASUREMENT_IMPLAUSIBLE: [
    ['measurements', 'visible_ms'],
    'The ad was seen for longer than the time since its render: not billed.',
  ],
  PAGE_HIDDEN: [['measurements', 'page_visible'], 'The page was hidden: not billed.'],
}

/** Rules about the beacons of one asset token. */
export const beaconSlotRules = ruleSet('beacons', {
  beacon_id_conflict: repeatRule(
    { ...refused('beacon_id_conflict'), title: 'This beacon_id is used above with a different body.' },
    false,
  ),
  DUPLICATE: repeatRule(
    {
      severity: 'warning',
      title: 'The same beacon is above.',
      fix: acceptHints.DUPLICATE,
    },
    true,
  ),
  slot_mismatch: slotRule(
    { ...refused('slot_mismatch'), title: 'Another beacon of this asset_token names another slot_id.' },
    (slot) => {
      const named = distinct(slot).filter(({ beacon }) => beacon.slot_id !== undefined)
      return named
        .filter(({ beacon }) => beacon.slot_id !== named[0]?.beacon.slot_id)
        .map((each) => ({ of: each, at: ['slot_id'] }))
    },
  ),
  clip_out_of_order: slotRule(
    {
      severity: 'warning',
      title: 'Playback goes forward: started, then increasing positions, then completed.',
      fix: 'Stamp each event when it happens, with the position of the player at that moment.',
    },
    (slot) => [...Map.groupBy(distinct(slot), ({ beacon }) => beacon.render_instance_id).values()].flatMap(clipOrder),
  ),
  ...mapTable(unbilled, ([at, title], code) =>
    slotRule({ severity: 'warning', title, fix: acceptHints[code] }, (slot) =>
      [...judgeSlot(slot)].filter(([, reason]) => reason === code).map(([each]) => ({ of: each, at })),
    ),
  ),
})

/** Checks the playback of one mount. */
function clipOrder(mount: Slot): FoundInSlot[] {
  const played = mount
    .filter(
      ({ beacon }) => clipEvents.has(canonicalEvent(beacon.event)) || beacon.measurements?.position_ms !== undefined,
    )
    .toSorted((a, b) => a.at_ms - b.at_ms)
  const started = played.find(({ beacon }) => canonicalEvent(beacon.event) === 'play_started')
  let reached = { ms: -1, completed: false }
  return played.flatMap((each) => {
    const { beacon, at_ms } = each
    const event = canonicalEvent(beacon.event)
    const isEnd = event === 'play_completed' || event === 'completion'
    const { position_ms, duration_ms } = beacon.measurements ?? {}
    const wrong =
      isEnd && started !== undefined && at_ms < started.at_ms
        ? `${event} happened before play_started`
        : position_ms === undefined || (event === 'play_started' && reached.completed)
          ? null
          : duration_ms !== undefined && position_ms > duration_ms
            ? `position_ms ${position_ms} is beyond duration_ms ${duration_ms}`
            : position_ms < reached.ms
              ? `position_ms goes back from ${reached.ms} to ${position_ms}`
              : null
    reached = { ms: Math.max(reached.ms, position_ms ?? -1), completed: reached.completed || isEnd }
    const at = position_ms === undefined ? ['event'] : ['measurements', 'position_ms']
    return wrong === null ? [] : [{ of: each, at, message: `${wrong}.` }]
  })
}

/** Returns what the service would respond to each beacon of a slot, the first of each beacon_id. */
function judgeSlot(slot: Slot): Map<AcceptedInFile, AcceptCode> {
  const counted = distinct(slot)
  const beacons = counted.map(
    ({ beacon, at_ms }, id): AcceptedBeacon => ({
      id,
      event: canonicalEvent(beacon.event),
      occurred_at_ms: at_ms,
      received_at_ms: at_ms,
      measurements: beacon.measurements ?? null,
    }),
  )
  const verdicts = judgeBeacons('cpm_viewable', findCreative(beacons), limits.viewability, beacons)
  return new Map(counted.map((each, id) => [each, verdicts.get(id)!.reason_code]))
}

/** The rules about turns that a file can show. Its beacons name no session: two conversations may both have a turn m1. */
export const fileTurnRules = ruleSet('file', {
  'turn-asked-again': turnRule({ ...turnAskedAgain, severity: 'warning' }, findAskedAgain),
  'counted-twice': turnRule({ ...countedTwice, severity: 'warning' }, findCountedByTurn),
})

function turnRule(rule: Words, find: typeof findAskedAgain): RuleBody<'file'> {
  return {
    ...rule,
    judge: (accepted) => {
      const slots = [...Map.groupBy(accepted, ({ beacon }) => beacon.asset_token).values()]
      const verdicts = new Map(slots.flatMap((slot) => [...judgeSlot(slot)]))
      const { sample_size, found } = find(adsInFile(accepted, (each) => verdicts.get(each) ?? 'DUPLICATE'))
      const findings = found.flatMap(({ beacons, ...texts }) => {
        const { source } = beacons.at(-1)!
        return 'beacon' in source ? [findingAt(rule, source, { ...texts, at: ['metadata', 'turn_id'] })] : []
      })
      return { sample_size, findings }
    },
  }
}

/**
 * Returns the creative that beacons are about. Facts that they leave open are assumed in their favour, except its size.
 */
function findCreative(beacons: readonly AcceptedBeacon[]): Creative {
  const lengths = beacons.flatMap(({ measurements }) => measurements?.duration_ms ?? [])
  const isClip = beacons.some(({ event }) => clipEvents.has(event))
  return {
    format: isClip ? 'clip' : 'banner',
    ...(isClip ? { width: 640, height: 360 } : beacons.some(isStrip) ? { width: 320, height: 50 } : mediumRectangle),
    duration_ms: lengths.length === 0 ? null : Math.max(...lengths),
  }
}

const mediumRectangle = { width: 300, height: 250 }

/** Whether an ad was shown as wide as the low banners are: half of their height is enough to be seen. */
function isStrip({ measurements }: AcceptedBeacon): boolean {
  const { width_px, height_px } = measurements ?? {}
  return width_px !== undefined && height_px !== undefined && width_px >= 3 * height_px && width_px >= 100
}
