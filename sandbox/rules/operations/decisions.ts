/** Decisions: the wait for a pending one. */
import { ApiError } from '#contract/errors.ts'
import { decodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { limits } from '#contract/limits.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import { joinTurn } from '#runtime/traces/request-trace.ts'
import type { SlotRow } from '#store/store.ts'
import { type Context, type Operation, requireCaller, type Services } from './context.ts'
import { noFillDecision, placementResponse } from './placements/placement-response.ts'

export const getDecision: Operation<Contract['decisions.get']> = async (services, context, { params, query }) => {
  const wait_ms = chooseWait(context, query.wait_ms, undefined, limits.wait_ms.decisions_default)
  const slot = await slotOfCaller(services, context, params.slot_id)
  const decided = await whenDecided(services, context, slot, wait_ms)
  const now_ms = Math.max(context.now_ms, decided.decision?.decided_at_ms ?? 0)
  const response = await placementResponse(services, decided, now_ms)
  return response.status === 'expired' && context.is_old_client ? expiredNoFill(response) : response
}

/** Resolves to a slot of the caller, and notes it for the journal. @throws ApiError 404 for any other */
export async function slotOfCaller(services: Services, context: Context, slot_id: string): Promise<SlotRow> {
  const caller = requireCaller(context)
  const id = decodeId('slot', slot_id)
  const slot = id === null ? null : await services.store.findSlot(id)
  if (slot === null || slot.project.id !== caller.project.id || slot.job.mode !== caller.mode) {
    throw new ApiError('not_found', {
      message: 'No such slot for this project and mode.',
      hint: 'Use a slot_id of this project, with a key of the same mode (test or live) that created it.',
    })
  }
  context.subject.slot_id = slot.id
  context.subject.session_id = slot.job.session_id
  context.trace = joinTurn(context.trace, slot.job.facts)
  return slot
}

/** Why an expired slot does not fill, for old clients: they know no such status (C03). */
export const expiredReason = 'slot_expired'

function expiredNoFill(response: PlacementResponse): PlacementResponse {
  const { ad_label_text, cs_declaration } = response.decision!
  return {
    ...response,
    status: 'ready',
    placement: null,
    decision: noFillDecision(expiredReason, ad_label_text, cs_declaration),
  }
}

/** Returns how long to wait: the query takes precedence over the body, the maximum caps both; each adds a warning (A22). */
export function chooseWait(
  context: Context,
  query: number | undefined,
  body: number | undefined,
  fallback: number,
): number {
  if (query !== undefined && body !== undefined && query !== body) context.warnings.push('wait_ms_conflict')
  const wanted = query ?? body ?? fallback
  if (wanted > limits.wait_ms.max) context.warnings.push('wait_ms_clamped')
  return Math.min(wanted, limits.wait_ms.max)
}

/**
 * Returns the slot when it is decided, or still pending when the wait is over; immediately when there is nothing to
 * wait for.
 */
export function whenDecided(
  services: Services,
  context: Context,
  slot: SlotRow,
  wait_ms: number,
): MaybePromise<SlotRow> {
  return slot.decision !== null || wait_ms === 0 ? slot : waitForDecision(services, context, slot, wait_ms)
}

async function waitForDecision(services: Services, context: Context, slot: SlotRow, wait_ms: number): Promise<SlotRow> {
  const waited = services.waiters.wait(slot.id, wait_ms, context.signal())
  const now = await findShowable(services, slot.id)
  if (now !== null && now.decision !== null) {
    services.waiters.wake(slot.id)
    return now
  }
  await waited
  return (await findShowable(services, slot.id)) ?? slot
}

/** A POST waits too, and nothing that it has written covers the decision that it reads. */
function findShowable({ store }: Services, slot_id: number): Promise<SlotRow | null> {
  const find = async () => store.findSlot(slot_id)
  return store.shared?.readShowable(find) ?? find()
}
