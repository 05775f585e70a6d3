import { ApiError } from '../../src/contract/errors.ts'
import { decodeId, encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { limits } from '../../src/contract/limits.ts'
import type { SlotRow } from '../store/store.ts'
import { type Context, callerOf, type Operation, type Services } from './context.ts'
import { intakeOfPlacement } from './job-intake.ts'
import { openJob } from './jobs.ts'
import { placementResponse } from './placement-response.ts'

export const createPlacement: Operation<Contract['placements.create']> = async (services, context, { body, query }) => {
  const wait_ms = waitFor(context, query.wait_ms, body.wait_ms, limits.wait_ms.placements_default)
  const { job, slots } = await openJob(services, context, intakeOfPlacement(body))
  if (slots.length > 1) context.headers['x-sandbox-slot-ids'] = slots.map(({ id }) => encodeId('slot', id)).join(', ')
  const first = slots[0]!
  const slot: SlotRow = {
    id: first.id,
    job,
    project: callerOf(context).project,
    created_at_ms: job.created_at_ms,
    due_at_ms: first.due_at_ms,
    decision: first.decision,
    first_frame_at_ms: null,
  }
  return placementResponse(services, await whenDecided(services, context, slot, wait_ms), context.now_ms)
}

export const getDecision: Operation<Contract['decisions.get']> = async (services, context, { params, query }) => {
  const caller = callerOf(context)
  const wait_ms = waitFor(context, query.wait_ms, undefined, limits.wait_ms.decisions_default)
  const id = decodeId('slot', params.slot_id)
  const slot = id === null ? null : await services.store.findSlot(id)
  if (slot === null || slot.project.id !== caller.project.id || slot.job.mode !== caller.mode) {
    throw new ApiError('not_found', {
      message: 'There is no such slot for this project and mode.',
      hint: 'Use a slot_id of this project, with a key of the same mode (test or live) that created it.',
    })
  }
  context.subject.slot_id = slot.id
  context.subject.session_id = slot.job.session_id
  const decided = await whenDecided(services, context, slot, wait_ms)
  return placementResponse(services, decided, Math.max(context.now_ms, decided.decision?.decided_at_ms ?? 0))
}

/** The query wins over the body; more than the maximum is clamped; both with a warning (A22). */
function waitFor(context: Context, query: number | undefined, body: number | undefined, otherwise: number): number {
  if (query !== undefined && body !== undefined && query !== body) context.warnings.push('wait_ms_conflict')
  const wanted = query ?? body ?? otherwise
  if (wanted > limits.wait_ms.max) context.warnings.push('wait_ms_clamped')
  return Math.min(wanted, limits.wait_ms.max)
}

/** The slot once it is decided, or as it is when the wait is over. */
async function whenDecided(services: Services, context: Context, slot: SlotRow, wait_ms: number): Promise<SlotRow> {
  if (slot.decision !== null || wait_ms === 0) return slot
  const waited = services.waiters.wait(slot.id, wait_ms, context.signal)
  const now = await services.store.findSlot(slot.id)
  if (now !== null && now.decision !== null) {
    services.waiters.wake(slot.id)
    return now
  }
  await waited
  return (await services.store.findSlot(slot.id)) ?? slot
}
