/** Records the beacons that are refused: a search must find them too (A74). */
import type { ReasonCode } from '#contract/errors.ts'
import {
  type BeaconEvent,
  BeaconEventInput,
  BeaconId,
  type BeaconRequest,
  canonicalEvent,
  readOccurrence,
} from '#contract/resources/beacons.ts'
import { isObject } from '#foundation/json.ts'
import { joinTurn } from '#runtime/traces/request-trace.ts'
import { belongsTo, type Context, type FilledSlot, findFilledSlot, requireCaller, type Services } from '../context.ts'

export async function recordRejected(
  services: Services,
  context: Context,
  { body, event, filled }: { body: BeaconRequest; event: BeaconEvent; filled: FilledSlot | null },
  reason_code: ReasonCode,
): Promise<void> {
  const caller = requireCaller(context)
  const isOwn = filled !== null && filled.slot.project.id === caller.project.id
  await services.store.recordUnaccepted({
    id: services.platform.newId(),
    verdict: 'rejected',
    project_id: caller.project.id,
    slot_id: isOwn ? filled.slot.id : null,
    beacon_id: body.beacon_id,
    event,
    occurred_at_ms: readOccurrence(body),
    received_at_ms: context.now_ms,
    reason_code,
  })
  noteVerdict(services, context, { event, verdict: 'rejected', reason_code })
}

/**
 * Records as rejected a beacon whose body the pipeline refuses: a search must find it (A74), including a search by the
 * slot of its asset token. `json` can be anything; only a valid beacon_id and event are kept of it.
 */
export async function recordUnreadable(
  services: Services,
  context: Context,
  reason_code: ReasonCode,
  json: unknown,
): Promise<void> {
  const caller = requireCaller(context)
  const { asset_token, beacon_id, event, beacon_type } = isObject(json) ? json : {}
  const filled = typeof asset_token === 'string' ? await findFilledSlot(services, asset_token) : null
  const isOwn = filled !== null && belongsTo(filled, caller)
  if (isOwn) context.subject.slot_id = filled.slot.id
  if (isOwn) context.subject.session_id = filled.slot.job.session_id
  if (isOwn) context.trace = joinTurn(context.trace, filled.slot.job.facts)
  const sent_event = BeaconEventInput.safeParse(event ?? beacon_type).data
  const known_event = sent_event === undefined ? null : canonicalEvent(sent_event)
  await services.store.recordUnaccepted({
    id: services.platform.newId(),
    verdict: 'rejected',
    project_id: caller.project.id,
    slot_id: isOwn ? filled.slot.id : null,
    beacon_id: BeaconId.safeParse(beacon_id).data ?? null,
    event: known_event,
    occurred_at_ms: null,
    received_at_ms: context.now_ms,
    reason_code,
  })
  noteVerdict(services, context, { event: known_event, verdict: 'rejected', reason_code })
}

interface Verdict {
  /** Null for a beacon without a valid one. */
  event: BeaconEvent | null
  verdict: 'accepted' | 'duplicate' | 'rejected'
  reason_code: string
}

/** Counts the verdict of a beacon, and notes it in the trace. */
export function noteVerdict({ metrics }: Services, { trace }: Context, { event, verdict, reason_code }: Verdict): void {
  metrics.countBeacon(event, verdict, reason_code)
  if (trace === null) return
  Object.assign(trace.attributes, {
    ...(event === null ? {} : { 'svc.beacon.event': event }),
    'svc.beacon.verdict': verdict,
    'svc.beacon.reason_code': reason_code,
  })
}
