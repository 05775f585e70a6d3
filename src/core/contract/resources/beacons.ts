import { z } from 'zod'
import { nearestName } from '#foundation/nearest-name.ts'
import { findEntry, tableNames } from '#foundation/table-entry.ts'
import { declareEndpoints, publicApi, reading } from '../endpoint.ts'
import { acceptMeanings } from '../error-codes.ts'
import { ReasonCode } from '../errors.ts'
import { verdicts } from '../facts/stored-words.ts'
import {
  AssetToken,
  BooleanText,
  ContractVersion,
  Currency,
  codesText,
  EpochMs,
  Format,
  Opaque,
  PriceFilter,
  page,
  pageQuery,
  plainText,
  requestIdField,
  Since,
  SlotFilter,
  SlotId,
} from '../fields.ts'
import { limits } from '../limits.ts'
import { assumed, assumedObject, documented, observed, strictObject, withKeywords } from '../objects.ts'

/** Canonical beacon kinds, as they are stored. */
export const beaconEvents = [
  'render',
  'visible',
  'click',
  'completion',
  'heartbeat',
  'play_started',
  'play_completed',
] as const
export const BeaconEvent = z.enum(beaconEvents)
export type BeaconEvent = z.infer<typeof BeaconEvent>

/** Spellings of public clients, and the event they are stored as (A71). */
export const beaconEventSpellings = {
  rendered: 'render',
  clicked: 'click',
  completed: 'completion',
  visible_started: 'visible',
  on_view: 'visible',
  visible_ended: 'heartbeat',
  dismissed: 'heartbeat',
} as const satisfies Record<string, BeaconEvent>

const spellings = tableNames(beaconEventSpellings)
const eventInputs = [...beaconEvents, ...spellings] as const
export const BeaconEventInput = z.enum(eventInputs, {
  error: ({ input }) => {
    const meant = typeof input === 'string' ? beaconEventMeant(input) : null
    return meant === null ? undefined : `must be one of ${eventInputs.join(', ')}; probably ${meant}`
  },
})

/** Words of other ad APIs, and the event that they mean. */
const foreignWords: ReadonlyMap<string, BeaconEvent> = new Map([
  ['impression', 'render'],
  ['loaded', 'render'],
  ['view', 'visible'],
  ['viewed', 'visible'],
  ['viewable', 'visible'],
  ['viewable_impression', 'visible'],
  ['tap', 'click'],
  ['start', 'play_started'],
  ['play', 'play_started'],
  ['complete', 'completion'],
  ['end', 'play_completed'],
  ['ended', 'play_completed'],
  ['ping', 'heartbeat'],
])

/** Returns the event that an unknown word was probably meant for, or null. */
export function beaconEventMeant(word: string): (typeof eventInputs)[number] | null {
  if (word.length > maxWordChars) return null
  const near = nearestName(word, eventInputs)
  return foreignWords.get(word.toLowerCase()) ?? eventInputs.find((event) => event === near) ?? null
}

/** A longer word is not close to any event. */
const maxWordChars = 30

export const acceptCodes = tableNames(acceptMeanings)
export const AcceptCode = z.enum(acceptCodes)
export type AcceptCode = z.infer<typeof AcceptCode>

const amount = z.number().min(0).max(1e9)

export const Measurements = assumedObject('A70', () => ({
  visible_ratio: z.number().min(0).max(1).optional().describe('Share of the pixels in view, 0 to 1.'),
  visible_ms: amount.optional().describe('Continuous time in view, milliseconds.'),
  width_px: amount.optional().describe('Rendered width, CSS pixels.'),
  height_px: amount.optional().describe('Rendered height, CSS pixels.'),
  page_visible: z.boolean().optional().describe('Whether the tab was visible.'),
  position_ms: amount.optional().describe('Playback position, milliseconds.'),
  duration_ms: amount.optional().describe('Length of the clip, milliseconds.'),
  muted: z.boolean().optional().describe('Whether the clip was muted.'),
  user_activated: z.boolean().optional().describe('Whether a user gesture caused it.'),
  visibility_check: assumed(
    z.enum(['observer_v2', 'hit_test', 'none']).optional(),
    'A76',
    'How it was checked that nothing covers or fades the ad; none: the browser cannot tell, so a view does not count.',
  ),
}))
export type Measurements = z.infer<typeof Measurements>

/** RFC 3339 (5.6) allows t and z in lower case; the ISO 8601 pattern of zod does not. A flag would not be in its JSON schema. */
const rfc3339 = z.regexes.datetime({ offset: true }).source.replaceAll('T', '[Tt]').replaceAll('Z', '[Zz]')
const Rfc3339 = z.stringFormat('date-time', new RegExp(rfc3339), {
  message: 'must be an RFC 3339 time, such as 2026-01-31T12:00:00.000Z',
})

export const BeaconId = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{8,128}$/, 'must be 8 to 128 characters of A-Z, a-z, 0-9 and . _ : -')
/** Of a client that its version header names, on every route (A70). */
export const OldBeaconId = plainText(1, 128, 'A70')

const beaconFields = (beacon_id: typeof BeaconId) => ({
  beacon_id: observed(beacon_id, 'A70', 'Idempotency key: repeat it only to retry the same beacon.'),
  asset_token: documented(AssetToken.min(1).max(256), 'Token of the fill.', 'A70'),
  event: observed(
    BeaconEventInput,
    'A71',
    'What happened. Spellings of public clients are stored as the canonical event.',
  ),
  occurred_at: observed(
    Rfc3339.optional(),
    'A70',
    'When it happened, RFC 3339. Send this or occurred_at_ms; if you send both, they must agree.',
  ),
  occurred_at_ms: assumed(EpochMs.optional(), 'A70', 'When it happened, Unix epoch milliseconds.'),
  slot_id: observed(SlotId.max(64).optional(), 'A70', 'Must be the slot of the asset token.'),
  render_instance_id: assumed(z.string().min(1).max(128).optional(), 'A70', 'One mount of one frame.'),
  seq: assumed(z.int().min(0).optional(), 'A70', 'Position within the render instance.'),
  consent_revision: assumed(
    z.int().min(1).optional(),
    'A70',
    'Consent revision that the decision is bound to; any other is refused.',
  ),
  measurements: assumed(Measurements.optional(), 'A70', 'What was measured at that time.'),
  metadata: observed(Opaque.optional(), 'A70', "The integrator's own data; stored, not acted on."),
  contract_version: assumed(ContractVersion.optional(), 'A70', '<name>/v1.'),
})

/** Generators turn this into a type that requires one of the two times. */
/** With their types: generators intersect each alternative with the whole, and a field without a type would be any there. */
const oneTime = [
  { required: ['occurred_at'], properties: { occurred_at: { type: 'string', format: 'date-time' } } },
  { required: ['occurred_at_ms'], properties: { occurred_at_ms: { type: 'integer', format: 'int64', minimum: 0 } } },
]

export const BeaconRequest = withKeywords(
  strictObject(() => beaconFields(BeaconId)),
  { allOf: [{ anyOf: oneTime }] },
)
/** The same body from an old client. */
export const OldBeaconRequest = strictObject(() => beaconFields(OldBeaconId))
export type BeaconRequest = z.infer<typeof BeaconRequest>

export const BeaconResult = strictObject(() => ({
  ok: observed(z.literal(true), 'A72', 'true when the beacon was accepted.'),
  accepted: observed(z.literal(true), 'A72', 'true when the beacon was accepted.'),
  duplicate: observed(z.boolean(), 'A72', 'Whether the same beacon was recorded before.'),
  billable: assumed(
    z.boolean(),
    'A72',
    'Whether it is billed. The sandbox bills nothing, with a production key neither: false. See x-sandbox-would-bill.',
  ),
  reason_code: observed(AcceptCode, 'A72', 'OK, or why it does not count.'),
  contract_version: observed(z.literal('csl_wrapper_beacon/v1'), 'A72', 'Contract of this response.'),
  request_id: assumed(requestIdField, 'A72', 'Support identifier, equal to the x-request-id header.'),
}))
export type BeaconResult = z.infer<typeof BeaconResult>

/** Events that exist for clips only (A73). */
export const clipEvents: ReadonlySet<BeaconEvent> = new Set(['play_started', 'play_completed', 'completion'])

/** Returns the canonical event of a spelling (A71). */
export function canonicalEvent(event: BeaconRequest['event']): BeaconEvent {
  return findEntry(beaconEventSpellings, event) ?? (event as BeaconEvent)
}

type StatedTimes = Pick<BeaconRequest, 'occurred_at' | 'occurred_at_ms'>

/** Returns the time that a beacon states for its event, Unix epoch milliseconds, or null when it states none. */
export function readOccurrence({ occurred_at, occurred_at_ms }: StatedTimes): number | null {
  if (occurred_at_ms !== undefined) return occurred_at_ms
  return occurred_at === undefined ? null : Math.max(0, Date.parse(occurred_at))
}

/** Milliseconds. */
interface BeaconAges {
  beacon_max_age_ms: number
  beacon_max_future_skew_ms: number
}

/** Returns why a beacon received at `now_ms` is out of time (A73), or null when it is not. All in milliseconds. */
export function timeProblem(
  { occurred_at, occurred_at_ms }: StatedTimes,
  happened_at_ms: number,
  now_ms: number,
  { beacon_max_age_ms, beacon_max_future_skew_ms }: BeaconAges,
): ReasonCode | null {
  const isNumber = occurred_at_ms !== undefined
  if (isNumber && happened_at_ms < secondsBelow && now_ms >= secondsBelow) return 'occurred_at_in_seconds'
  if (occurred_at !== undefined && isNumber) {
    const precision_ms = readPrecision(occurred_at)
    const isSame = Math.floor(occurred_at_ms / precision_ms) * precision_ms === Date.parse(occurred_at)
    if (!isSame) return 'occurred_at_conflict'
  }
  if (happened_at_ms < now_ms - beacon_max_age_ms) return 'beacon_stale'
  return happened_at_ms > now_ms + beacon_max_future_skew_ms ? 'beacon_in_future' : null
}

/** Epoch seconds of this century, read as milliseconds, are before the year 2001. */
export const secondsBelow = 1e12

/** How long before its decision a beacon may be stamped, milliseconds: clocks differ, and a Date header has whole seconds. */
const beforeDecisionMs = 1_000

/**
 * Whether a beacon is stamped before its decision, by more than a second. Times are compared at the precision they were
 * sent with: an `occurred_at` in whole seconds, the default of several languages, means any millisecond of that second
 * (A73).
 */
export function isBeforeDecision(
  { occurred_at, occurred_at_ms }: StatedTimes,
  happened_at_ms: number,
  decided_at_ms: number,
): boolean {
  const precision_ms = occurred_at_ms !== undefined ? 1 : readPrecision(occurred_at ?? '')
  return happened_at_ms < Math.floor(decided_at_ms / precision_ms) * precision_ms - beforeDecisionMs
}

/** Returns the precision of an RFC 3339 time, milliseconds: 1000 without a fraction, at least 1. */
function readPrecision(occurred_at: string): number {
  const digits = /\.(\d+)/.exec(occurred_at)?.[1]?.length ?? 0
  return 10 ** (3 - Math.min(digits, 3))
}

export const v1 = declareEndpoints({
  'beacons.send': {
    ...publicApi,
    method: 'POST',
    path: '/v1/beacons',
    summary: 'Record a beacon',
    description:
      'Records a render, visible, click, completion, heartbeat or playback event for billing and proof integrity. One beacon per request.',
    credentials: ['secret_key', 'activation_token', 'beacon_token'],
    rate: 'beacons',
    body_limit_bytes: limits.beacon_body_bytes,
    body: BeaconRequest,
    old_client_body: OldBeaconRequest,
    response: BeaconResult,
    response_headers: ['x-sandbox-warning', 'x-sandbox-would-bill'],
    errors: [
      'batch_not_supported',
      'asset_token_invalid',
      'asset_token_expired',
      'slot_mismatch',
      'event_not_supported_for_format',
      'beacon_id_conflict',
      'beacon_stale',
      'beacon_in_future',
      'beacon_before_decision',
      'occurred_at_in_seconds',
      'occurred_at_conflict',
      'consent_revision_mismatch',
      'contract_version_unsupported',
      'consent_not_granted',
      'consent_superseded',
      'consent_expired',
    ],
  },
})

/* The control plane: every beacon with its verdict. */

export const Verdict = z.enum(verdicts)
export type Verdict = z.infer<typeof Verdict>
export const Metric = z.enum(['viewable_impression', 'rendered_impression', 'click', 'completed_view'])
export type Metric = z.infer<typeof Metric>

/** Whether an accepted beacon counts, or why it was rejected. */
export const BeaconReason = z.union([AcceptCode, ReasonCode])
/** Reasons of beacons, separated by commas. */
export const BeaconReasons = codesText([...acceptCodes, ...ReasonCode.options], 'reasons such as BELOW_THRESHOLD')

export const BeaconItem = assumedObject('A93', () => ({
  beacon_id: assumed(z.string().nullable(), 'A70', 'Idempotency key; null when a rejected body had none.'),
  slot_id: assumed(z.string().nullable(), 'A70', 'Slot; null when the asset token named none.'),
  client_id: z.string().nullable().describe('Project of the credential.'),
  session_id: z.string().nullable().describe('Session of the slot.'),
  format: Format.nullable().describe('Format of the creative.'),
  event: assumed(BeaconEvent.nullable(), 'A71', 'Canonical event.'),
  verdict: assumed(Verdict, 'A74', 'accepted, duplicate or rejected.'),
  reason_code: assumed(BeaconReason, 'A72', 'OK, why it does not count, or why it was rejected.'),
  would_bill: assumed(z.boolean(), 'A78', 'Whether production would bill it.'),
  metric: assumed(Metric.nullable(), 'A76', 'The metric it counts for.'),
  occurred_at_ms: assumed(
    z.int().nullable(),
    'A70',
    'When it happened; for a rejected beacon, the time that it stated.',
  ),
  received_at_ms: EpochMs.describe('When it arrived.'),
  metadata: assumed(
    Opaque.nullable(),
    'A102',
    'Data of the integrator; turn_id is the turn that showed the ad. null without any, and for what was not accepted.',
  ),
}))
export type BeaconItem = z.infer<typeof BeaconItem>

export const control = declareEndpoints({
  'beacons.list': {
    ...reading,
    path: '/_sandbox/beacons',
    summary: 'List beacons',
    description:
      'Accepted and rejected beacons with their verdict. The billing verdict is computed over the current set.',
    query: assumedObject('A93', () => ({
      ...pageQuery(),
      slot_id: SlotFilter.optional().describe('Only this slot.'),
      without_slot: BooleanText.optional().describe('true: only refused beacons whose asset token names no slot.'),
      beacon_id: z.string().optional().describe('Only beacons with this idempotency key: one, and its duplicates.'),
      event: BeaconEvent.optional().describe('Only this event.'),
      verdict: Verdict.optional().describe('Only this verdict.'),
      format: Format.optional().describe('Only this format.'),
      session_id: z.string().optional().describe('Only this session.'),
      client_id: z.string().optional().describe('Only this project.'),
      reason: BeaconReasons.optional().describe(
        'Only beacons with this reason_code, or one of several separated by commas: why they do not count, or why they were refused.',
      ),
      billed: BooleanText.optional().describe('Only beacons that production would bill, or only those it would not.'),
      metric: Metric.optional().describe('Only beacons that count for this metric.'),
      gross_cpm: PriceFilter.optional().describe('Only beacons of fills at this price per thousand.'),
      currency: Currency.optional().describe('Only beacons of fills with a price in this currency.'),
      since: Since.optional().describe('Only beacons received since then.'),
      until: Since.optional().describe('Only beacons received before then.'),
    })),
    response: page(BeaconItem),
  },
})
