/** Beacons in a file, for `svc beacons lint`: what the service would refuse, or accept and not bill. Ids are its codes. */

import { isDeepStrictEqual } from 'node:util'
import { formatTime, formatValue } from '#cli/output/text.ts'
import { type AcceptedBeacon, type Creative, judgeBeacons } from '#contract/beacon-verdict.ts'
import { acceptHints } from '#contract/error-codes.ts'
import { type LocatedFieldError, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { limits } from '#contract/limits.ts'
import { findPersonalFields } from '#contract/personal-data/personal-fields.ts'
import {
  type AcceptCode,
  type BeaconRequest,
  beaconEventSpellings,
  canonicalEvent,
  clipEvents,
  readOccurrence,
  timeProblem,
} from '#contract/resources/beacons.ts'
import type { Place } from '#foundation/json-syntax.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { type AcceptedInFile, beaconPath, type FileBeacon, oldBeaconPath } from '../facts/beacon-file.ts'
import { adsInFile } from '../facts/shown-ads.ts'
import { type Finding, type RuleBody, type RuleText, ruleSet } from '../rule.ts'
import { fieldMeant, fixUnknown, fixValue, measurementFields, topFields } from './beacon-fields.ts'
import { countedTwice, findAskedAgain, findCountedByTurn, turnAskedAgain } from './turns.ts'

type ReadBody = Extract<FileBeacon['body'], { status: 'read' }>
/** A finding at a field of a beacon, or at the beacon. Without a message, the title of the rule is used. */
type Found = Pick<Finding, 'fix'> & { message?: string; at?: readonly PropertyKey[]; isName?: true; in?: Place }
type FindIn<Subject> = (subject: Subject, file: FileBeacon) => readonly Found[]
type Words = Omit<RuleText, 'id'> & { title: string }

function findingAt({ title }: Words, { place }: Pick<FileBeacon, 'place'>, found: Found): Finding {
  const { at = [], isName, in: own, ...texts } = found
  const path = at.length === 0 ? null : at.join('.')
  return { message: title, ...texts, place: { ...(own ?? place(at, isName)), path } }
}

/** Returns a rule about one beacon. */
function beaconRule(rule: Words, find: (file: FileBeacon) => readonly Found[]): RuleBody<'beacon'> {
  return {
    ...rule,
    judge: (file) => ({ sample_size: 1, findings: find(file).map((found) => findingAt(rule, file, found)) }),
  }
}

/** The severity, and the service's own message and hint, for what it would refuse. */
function refused(code: ReasonCode): Words {
  const { message, hint } = reasonCodes[code]
  return { severity: 'error', title: message, fix: hint }
}

/** Returns a rule about the properties of a body that could be read. */
function bodyRule(rule: Words, find: FindIn<ReadBody>): RuleBody<'beacon'> {
  return beaconRule(rule, (file) => (file.body.status === 'read' ? find(file.body, file) : []))
}

/** Returns a rule about a beacon that matches the schema. */
function fieldRule(rule: Words, find: FindIn<BeaconRequest>): RuleBody<'beacon'> {
  return bodyRule(rule, ({ beacon }, file) => (beacon === null ? [] : find(beacon, file)))
}

/** Rules about single beacons. */
export const beaconFileRules = ruleSet('beacon', {
  route_deprecated: beaconRule(
    { severity: 'warning', title: 'Beacons go to the current route.', fix: `Send to ${beaconPath}.` },
    ({ request }) =>
      request !== null && oldBeaconPath.test(request.path)
        ? [{ message: `${request.path} is a deprecated alias.`, in: request.url_place }]
        : [],
  ),
  body_empty: beaconRule(
    {
      severity: 'error',
      title: 'The request has no body, or the HAR file was saved without it.',
      fix: 'Save the HAR file with its content, or send a JSON object.',
    },
    ({ body }) => (body.status === 'missing' ? [{}] : []),
  ),
  content_type_unsupported: beaconRule(
    {
      severity: 'error',
      title: 'Beacons are sent as application/json.',
      fix: 'Send Content-Type: application/json; navigator.sendBeacon with a string sends text/plain: use fetch with keepalive.',
    },
    ({ request, body }) => {
      const type = request?.content_type ?? null
      const isWrong = type !== null && body.status !== 'missing' && !/^application\/json\b/i.test(type)
      return isWrong ? [{ message: `The request has the content type ${type.slice(0, 60)}.` }] : []
    },
  ),
  json_malformed: beaconRule(
    { severity: 'error', title: 'A beacon is JSON.', fix: 'Send each beacon as one JSON object.' },
    ({ body }) => (body.status === 'malformed' ? [{ message: body.message }] : []),
  ),
  batch_not_supported: beaconRule(refused('batch_not_supported'), ({ body }) => (body.status === 'batch' ? [{}] : [])),
  payload_too_large: bodyRule(refused('payload_too_large'), ({ bytes }) =>
    bytes <= limits.beacon_body_bytes
      ? []
      : [{ fix: `Send at most ${limits.beacon_body_bytes} bytes; this is ${bytes}.` }],
  ),
  field_unknown: bodyRule(refused('field_unknown'), ({ fields }) =>
    fields
      .filter(({ isUnknown }) => isUnknown)
      .map(({ at, path }) => ({ at, isName: true, message: `${path} is unknown.`, fix: fixOfName(at) })),
  ),
  schema_invalid: bodyRule(refused('schema_invalid'), ({ fields, value, beacon }) => [
    ...fieldsAtFault(fields).map(({ at, path, message, expected }) => ({
      at,
      message: `${path === '' ? 'The beacon' : path} ${message}.`,
      fix: fixValue(at, expected, value),
    })),
    ...(beacon !== null && readOccurrence(beacon) === null ? [timeless] : []),
  ]),
  event_spelling_deprecated: fieldRule(
    { severity: 'warning', title: 'Events have their current names.', fix: 'Send the current name.' },
    ({ event }) => {
      const now = canonicalEvent(event)
      const message = `${event} is an old spelling, stored as ${now}.`
      return Object.hasOwn(beaconEventSpellings, event) ? [{ at: ['event'], message, fix: `Send ${now}.` }] : []
    },
  ),
  personal_data: fieldRule(
    {
      severity: 'warning',
      title: 'Metadata contains no personal data.',
      fix: 'Leave it out, or send an identifier that names nobody. Beacons are evidence, and are kept.',
    },
    (beacon) =>
      findPersonalFields(beacon).map(({ path, part, kinds }) => ({
        at: path.includes('[name]') ? part : path.split('.'),
        message: `${path} seems to contain ${listPersonalKinds(kinds)}.`,
      })),
  ),
  contract_version_unsupported: fieldRule(refused('contract_version_unsupported'), ({ contract_version }) =>
    contract_version === undefined || contract_version.endsWith('/v1') ? [] : [{ at: ['contract_version'] }],
  ),
  asset_token_invalid: fieldRule(refused('asset_token_invalid'), ({ asset_token }) =>
    /^(?:sk|pk)_(?:test|live)_/.test(asset_token)
      ? [{ at: ['asset_token'], message: 'asset_token contains a key, not a token.' }]
      : [],
  ),
  occurred_at_in_seconds: timeRule('occurred_at_in_seconds'),
  beacon_stale: timeRule('beacon_stale'),
  beacon_in_future: timeRule('beacon_in_future'),
  occurred_at_conflict: timeRule('occurred_at_conflict'),
  occurred_at_ignored: fieldRule(
    { severity: 'warning', title: 'A beacon has one time.', fix: 'Send one of them.' },
    ({ occurred_at, occurred_at_ms }, { times }) => {
      if (occurred_at === undefined || occurred_at_ms === undefined) return []
      const now_ms = times.sent_at_ms ?? times.now_ms
      const problem = timeProblem({ occurred_at, occurred_at_ms }, occurred_at_ms, now_ms, ages)
      if (problem === 'occurred_at_conflict' || Date.parse(occurred_at) === occurred_at_ms) return []
      const message = `occurred_at is ${formatValue(occurred_at)}, occurred_at_ms is ${formatTime(occurred_at_ms)}: only the latter counts.`
      return [{ at: ['occurred_at'], message }]
    },
  ),
})

const timeless = {
  message: 'The beacon has no time.',
  fix: 'Send occurred_at (RFC 3339) or occurred_at_ms (epoch milliseconds).',
}

/** Leaves out fields that are missing only because they are misspelt: those are reported as unknown. */
function fieldsAtFault(fields: readonly LocatedFieldError[]): LocatedFieldError[] {
  const misspelt = new Set(fields.filter(({ isUnknown }) => isUnknown).map(({ at }) => nameMeant(at)))
  return fields.filter(
    ({ isUnknown, message, path }) => !isUnknown && (message !== 'is missing' || !misspelt.has(path)),
  )
}

function fixOfName(at: readonly PropertyKey[]): string {
  const meant = nameMeant(at)
  const isNested = at.length > 1
  return isNested && meant === null ? `Leave it out. Known: ${measurementFields.join(', ')}.` : fixUnknown(meant)
}

/** Returns the field that was probably meant by an unknown one, or null. */
function nameMeant(at: readonly PropertyKey[]): string | null {
  const name = String(at.at(-1))
  const meant = fieldMeant(name)
  if (at.length > 1) {
    const inMeasurements = meant?.startsWith('measurements.') ? meant.slice('measurements.'.length) : null
    return nearestName(name, measurementFields) ?? inMeasurements
  }
  const measurement = nearestName(name, measurementFields)
  return meant ?? nearestName(name, topFields) ?? (measurement === null ? null : `measurements.${measurement}`)
}

const ages = {
  beacon_max_age_ms: limits.beacon_max_age_ms,
  beacon_max_future_skew_ms: limits.beacon_max_future_skew_ms,
}

/** Returns a rule about one way in which the time of a beacon is wrong (A73). */
function timeRule(code: ReasonCode): RuleBody<'beacon'> {
  return fieldRule(refused(code), (beacon, { times: { sent_at_ms, now_ms: present_ms } }) => {
    const happened_at_ms = readOccurrence(beacon)
    if (happened_at_ms === null) return []
    const now_ms = sent_at_ms ?? present_ms
    const allowed = sent_at_ms === null ? { ...ages, beacon_max_age_ms: now_ms } : ages
    if (timeProblem(beacon, happened_at_ms, now_ms, allowed) !== code) return []
    const happened = formatTime(happened_at_ms)
    const seconds = Math.round(Math.abs(now_ms - happened_at_ms) / 1000)
    const difference =
      code === 'occurred_at_in_seconds'
        ? `${happened_at_ms} is ${happened}`
        : code === 'occurred_at_conflict'
          ? `occurred_at is ${formatValue(beacon.occurred_at)}, occurred_at_ms is ${happened}`
          : `it is stamped ${happened}, ${seconds} s ${happened_at_ms < now_ms ? 'before' : 'after'} ${formatTime(now_ms)}`
    return [
      {
        at: [beacon.occurred_at_ms === undefined ? 'occurred_at' : 'occurred_at_ms'],
        message: `${reasonCodes[code].message.replace(/\.$/, '')}: ${difference}.`,
      },
    ]
  })
}

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
  ALREADY_COUNTED: billingRule(
    'ALREADY_COUNTED',
    ['event'],
    'An earlier beacon of this asset_token counts for the same.',
  ),
  AWAITING_RENDER: billingRule(
    'AWAITING_RENDER',
    ['event'],
    'No render beacon of this asset_token is here: not billed until there is one.',
  ),
  TOO_SMALL: billingRule('TOO_SMALL', ['measurements'], 'The ad was shown less than 50 px wide or high: not billed.'),
  BELOW_THRESHOLD: billingRule(
    'BELOW_THRESHOLD',
    ['measurements'],
    'The ad was seen less than the viewability threshold requires: not billed.',
  ),
  COMPLETED_TOO_FAST: billingRule(
    'COMPLETED_TOO_FAST',
    ['event'],
    'The clip completed sooner than it can play: not billed.',
  ),
  VISIBILITY_UNMEASURED: billingRule(
    'VISIBILITY_UNMEASURED',
    ['measurements'],
    'The view has no visible_ratio and visible_ms, or its visibility_check is none: not billed.',
  ),
  MEASUREMENT_IMPLAUSIBLE: billingRule(
    'MEASUREMENT_IMPLAUSIBLE',
    ['measurements', 'visible_ms'],
    'The ad was seen for longer than the time since its render: not billed.',
  ),
  PAGE_HIDDEN: billingRule('PAGE_HIDDEN', ['measurements', 'page_visible'], 'The page was hidden: not billed.'),
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

/** Returns the rule about one reason for which an accepted beacon is not billed. */
function billingRule(code: Exclude<AcceptCode, 'OK'>, at: readonly string[], title: string): RuleBody<'beacons'> {
  return slotRule({ severity: 'warning', title, fix: acceptHints[code] }, (slot) =>
    [...judgeSlot(slot)].filter(([, reason]) => reason === code).map(([each]) => ({ of: each, at })),
  )
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
