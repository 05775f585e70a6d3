/** Receives beacons: checked in a fixed order (A73), recorded with evidence and verdict. */
import { type AcceptedBeacon, type BeaconVerdict, eventMetrics, judgeBeacon } from '#contract/beacon-verdict.ts'
import { ApiError, type ReasonCode } from '#contract/errors.ts'
import { readFormat } from '#contract/facts/formats.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import {
  type BeaconEvent,
  type BeaconRequest,
  canonicalEvent,
  clipEvents,
  isBeforeDecision,
  readOccurrence,
  secondsBelow,
  timeProblem,
} from '#contract/resources/beacons.ts'
import { beaconEntry } from '#contract/resources/evidence.ts'
import { consentProblem } from '#domain/consent.ts'
import { canonicalJson } from '#domain/evidence.ts'
import { replaceExactNumbers } from '#foundation/json/exact-numbers.ts'
import { type Json, parseJsonObject } from '#foundation/json.ts'
import { recordDigest } from '#runtime/record-digests.ts'
import { joinTurn } from '#runtime/traces/request-trace.ts'
import type { BeaconRow, EvidenceDraft } from '#store/store.ts'
import {
  belongsTo,
  type Context,
  type FilledSlot,
  findFilledSlot,
  isBeaconOpen,
  type Operation,
  requireCaller,
  type Services,
} from '../context.ts'
import { noteVerdict, recordRejected } from './unaccepted-beacons.ts'

export const sendBeacon: Operation<Contract['beacons.send']> = async (services, context, { body }) =>
  receiveBeacon(services, context, body, false)

/** Records a beacon. `isAlias`: it was sent to a deprecated route, in another shape. @throws ApiError 400, 403 */
export async function receiveBeacon(services: Services, context: Context, sent: BeaconRequest, isAlias: boolean) {
  const caller = requireCaller(context)
  const body = onSandboxClock(services, context, sent)
  const event = canonicalEvent(body.event)
  const found = findFilledSlot(services, body.asset_token)
  const filled = found instanceof Promise ? await found : found
  const reject = async (
    reason: ReasonCode,
    details: ConstructorParameters<typeof ApiError>[1] = {},
  ): Promise<never> => {
    await recordRejected(services, context, { body, event, filled }, reason)
    throw new ApiError(reason, details)
  }

  // A refused credential, as the pipeline refuses one: not recorded as a rejected beacon.
  if (caller.only_event !== null && caller.only_event !== event) throw new ApiError('activation_token_expired')
  const occurred_at_ms = readOccurrence(body)
  if (occurred_at_ms === null) {
    return reject('schema_invalid', {
      fields: [{ path: 'occurred_at_ms', message: 'is missing', expected: 'either occurred_at or occurred_at_ms' }],
    })
  }
  if (!isVersionSupported(body)) return reject('contract_version_unsupported')
  if (filled === null || !belongsTo(filled, caller)) return reject('asset_token_invalid')
  context.subject.slot_id = filled.slot.id
  context.subject.session_id = filled.slot.job.session_id
  context.trace = joinTurn(context.trace, filled.slot.job.facts)
  const mismatch = findMismatch(context, filled, body, event)
  if (mismatch !== null) return reject(mismatch.reason, mismatch.details)

  const beacon = newBeaconRow(services, context, filled, { body: sent, event, occurred_at_ms, isAlias })
  const accepted = await tryToAccept(services, filled, body, beacon)
  if (accepted.set !== null) return acceptedResponse(services, context, filled, { beacon, set: accepted.set })
  const { problem } = accepted
  const earlier = await services.store.findBeacon(filled.slot.id, body.beacon_id)
  // Without a problem and without an earlier beacon, a reset has removed the slot in the meantime.
  if (earlier === null) return reject(problem ?? 'asset_token_invalid')
  if (!isRepeated(earlier, beacon)) return reject('beacon_id_conflict')
  return recordDuplicate(services, context, earlier)
}

function isVersionSupported({ contract_version }: BeaconRequest): boolean {
  return contract_version === undefined || contract_version.endsWith('/v1')
}

/** Returns why a beacon does not fit the slot of its asset token. */
function findMismatch(
  { now_ms }: Context,
  { slot, decision, outcome }: FilledSlot,
  body: BeaconRequest,
  event: BeaconEvent,
): { reason: ReasonCode; details?: { message: string } } | null {
  if (!isBeaconOpen(slot, decision, event, now_ms)) return { reason: 'asset_token_expired' }
  if (body.slot_id !== undefined && body.slot_id !== encodeId('slot', slot.id)) return { reason: 'slot_mismatch' }
  if (clipEvents.has(event) && !readFormat(outcome.format).plays) {
    const message = `${event} does not exist for ${outcome.format}.`
    return { reason: 'event_not_supported_for_format', details: { message } }
  }
  return null
}

/** Attempts to write while other requests change the consent of the session. */
const attempts = 8

/**
 * Checks a beacon that fits its slot, and writes it. Resolves to the beacons that billing judges, or to null with the
 * problem; without one either, the slot has a beacon of that id, or is gone.
 */
async function tryToAccept(services: Services, filled: FilledSlot, body: BeaconRequest, beacon: BeaconRow) {
  const { store } = services
  const { slot, decision } = filled
  const { project_id, session_id } = slot.job
  const { occurred_at_ms, received_at_ms: now_ms } = beacon
  const refused = findTimeProblem(filled, body, { occurred_at_ms, now_ms }) ?? findRevisionProblem(filled, body)
  if (refused !== null) return { set: null, problem: refused }
  for (let attempt = 0; attempt < attempts; attempt++) {
    const latest = session_id === null ? null : store.findLatestConsent(project_id, session_id)
    const consent = latest instanceof Promise ? await latest : latest
    const problem = consentProblem(decision.consent, consent, now_ms)
    if (problem !== null) return { set: null, problem }
    const terms = { session: slot.job, consent }
    const set = await store.recordBeacon(beacon, terms, draftEvidence(services, filled, beacon))
    if (set !== 'superseded') return { set, problem: null }
  }
  throw new Error('the consent of this session changes faster than a beacon can be written')
}

function isRepeated(earlier: BeaconRow, beacon: BeaconRow): boolean {
  return earlier.body_sha256 === beacon.body_sha256 || isFromOtherRoute(earlier, beacon)
}

/**
 * Returns a beacon of an old client with its time on the sandbox clock: such a client only knows its own clock, which
 * stays behind when the sandbox clock is moved (C08). A time in seconds is left as is, to be refused.
 */
function onSandboxClock({ platform }: Services, { is_old_client }: Context, body: BeaconRequest): BeaconRequest {
  if (!is_old_client) return body
  const { offset_ms } = platform.clock
  const stated_ms = readOccurrence(body)
  if (offset_ms === 0 || stated_ms === null || stated_ms < secondsBelow) return body
  const { occurred_at: _, ...others } = body
  const shifted_ms = Math.max(0, stated_ms + offset_ms)
  return { ...others, occurred_at_ms: Math.min(shifted_ms, Number.MAX_SAFE_INTEGER) }
}

/** Whether a beacon repeats one of the other route: the shapes differ, so only event and time are compared (C06). */
function isFromOtherRoute(earlier: BeaconRow, beacon: BeaconRow): boolean {
  const [one, other] = [earlier, beacon].map(({ extras }) => parseJsonObject(extras))
  if (one?.alias === other?.alias || earlier.event !== beacon.event) return false
  return (one?.stated_at_ms ?? earlier.occurred_at_ms) === (other?.stated_at_ms ?? beacon.occurred_at_ms)
}

function findTimeProblem(
  { slot, decision }: FilledSlot,
  body: BeaconRequest,
  { occurred_at_ms, now_ms }: { occurred_at_ms: number; now_ms: number },
): ReasonCode | null {
  const problem = timeProblem(body, occurred_at_ms, now_ms, slot.project.settings)
  if (problem !== null) return problem
  return isBeforeDecision(body, occurred_at_ms, decision.decided_at_ms) ? 'beacon_before_decision' : null
}

/** A client that saw a revision other than the one bound to the decision sends the beacon for another placement. */
function findRevisionProblem({ decision }: FilledSlot, { consent_revision }: BeaconRequest): ReasonCode | null {
  const isBound = consent_revision === undefined || consent_revision === decision.consent.revision
  return isBound ? null : 'consent_revision_mismatch'
}

function newBeaconRow(
  services: Services,
  context: Context,
  { slot }: FilledSlot,
  sent: { body: BeaconRequest; event: BeaconEvent; occurred_at_ms: number; isAlias: boolean },
): BeaconRow {
  const { body, event, occurred_at_ms, isAlias } = sent
  const { render_instance_id, seq, consent_revision, metadata, measurements } = body
  const stated_at_ms = readOccurrence(body)
  return {
    id: services.platform.newId(),
    slot_id: slot.id,
    beacon_id: body.beacon_id,
    event,
    occurred_at_ms,
    received_at_ms: context.now_ms,
    body_sha256: services.platform.digest(comparable(body)),
    measurements: measurements ?? null,
    extras: JSON.stringify({
      render_instance_id,
      seq,
      consent_revision,
      metadata,
      alias: isAlias ? true : undefined,
      stated_at_ms: stated_at_ms === occurred_at_ms ? undefined : stated_at_ms,
    }),
  }
}

/**
 * Returns the same text for the same beacon: properties in the order of the schema, metadata sorted. An exact number is
 * written as a text that no body has: U+0000 is refused.
 */
function comparable(body: BeaconRequest): string {
  const { metadata, ...others } = body
  if (metadata === undefined) return JSON.stringify(others)
  return JSON.stringify(others) + canonicalJson(replaceExactNumbers(metadata, (digits) => `\0${digits}`) as Json)
}

function draftEvidence(services: Services, { slot, decision, outcome }: FilledSlot, beacon: BeaconRow): EvidenceDraft {
  return {
    kind: 'beacon',
    ref: beacon.id,
    at_ms: beacon.received_at_ms,
    build: (seq) =>
      beaconEntry({
        seq,
        at_ms: beacon.received_at_ms,
        client_id: slot.project.client_id,
        slot_id: encodeId('slot', slot.id),
        asset_token_sha256: outcome.asset_token_hash.toString('base64url'),
        beacon_id: beacon.beacon_id,
        event: beacon.event,
        occurred_at_ms: beacon.occurred_at_ms,
        received_at_ms: beacon.received_at_ms,
        consent_revision: decision.consent.revision,
        body_sha256: beacon.body_sha256,
        record_sha256: recordDigest(services.platform, beacon),
      }),
  }
}

/** The verdict considers all beacons of the slot, including this one (A75). */
function acceptedResponse(
  services: Services,
  context: Context,
  { slot, outcome }: FilledSlot,
  { beacon, set }: { beacon: BeaconRow; set: readonly AcceptedBeacon[] },
) {
  const judged = set.some((other) => other.id === beacon.id) ? set : [...set, beacon]
  const verdict = judgeBeacon(slot.project.settings, outcome, judged, beacon)
  noteVerdict(services, context, { event: beacon.event, verdict: 'accepted', reason_code: verdict.reason_code })
  if (eventMetrics[beacon.event] !== null) noteBilling(context, verdict)
  return buildResponse(context, verdict.reason_code, verdict)
}

/** The verdict over the turn so far, as a span of its own: a later beacon can change it. */
function noteBilling({ trace }: Context, { would_bill, metric, reason_code }: BeaconVerdict): void {
  const now = performance.now()
  const attributes = {
    'svc.billing.would_bill': would_bill,
    'svc.billing.reason_code': reason_code,
    ...(metric === null ? {} : { 'svc.billing.metric': metric }),
  }
  trace?.steps.push({ name: 'billing verdict', started: now, ended: now, attributes })
}

async function recordDuplicate(services: Services, context: Context, earlier: BeaconRow) {
  await services.store.recordUnaccepted({
    id: services.platform.newId(),
    verdict: 'duplicate',
    project_id: requireCaller(context).project.id,
    slot_id: earlier.slot_id,
    beacon_id: earlier.beacon_id,
    event: earlier.event,
    occurred_at_ms: earlier.occurred_at_ms,
    received_at_ms: context.now_ms,
    reason_code: 'DUPLICATE',
  })
  noteVerdict(services, context, { event: earlier.event, verdict: 'duplicate', reason_code: 'DUPLICATE' })
  return buildResponse(context, 'DUPLICATE', null)
}

/** The sandbox never bills: a header shows what production would bill (A78). */
function buildResponse(context: Context, reason_code: BeaconVerdict['reason_code'], verdict: BeaconVerdict | null) {
  const metric = verdict?.metric ?? null
  context.headers['x-sandbox-would-bill'] =
    `${verdict?.would_bill ?? false}${metric === null ? '' : `; metric=${metric}`}`
  return {
    ok: true as const,
    accepted: true as const,
    duplicate: reason_code === 'DUPLICATE',
    billable: false,
    reason_code,
    contract_version: 'csl_wrapper_beacon/v1' as const,
    request_id: context.request_id,
  }
}
