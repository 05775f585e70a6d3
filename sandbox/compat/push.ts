/** Push: tickets for decision sockets, and the text that sockets and callbacks carry (C04, C07). */
import type { Contract } from '../../src/contract/index.ts'
import { callerOf, type Operation, type Services } from '../operations/context.ts'
import { slotOfCaller } from '../operations/decisions.ts'
import type { Surface } from '../runtime/tickets.ts'
import { legacyDecision } from './decisions.ts'

/** Issues a ticket that is bound to the slot, the surface and the origin of its request. */
export const issueTicket =
  (surface: Surface): Operation<Contract['wrapper.ticket']> =>
  async (services, context, { params }) => {
    const slot = await slotOfCaller(services, context, params.slot_id)
    const { origin, now_ms } = context
    const ticket = services.tickets.issue({ slot_id: slot.id, surface, origin }, callerOf(context), now_ms)
    const subject = { project_id: slot.project.id, slot_id: slot.id, ref: slot.id }
    await services.store.appendEvent({ type: 'ticket.issued', at_ms: now_ms, ...subject })
    return { ticket }
  }

/**
 * Resolves to the decision of a slot as sockets and callbacks carry it: null while it is pending, undefined when the slot
 * is gone.
 */
export async function decisionText(services: Services, slot_id: number): Promise<string | null | undefined> {
  const slot = await services.store.findSlot(slot_id)
  if (slot === null) return undefined
  if (slot.decision === null) return null
  const now_ms = Math.max(services.platform.clock.now(), slot.decision.decided_at_ms)
  return JSON.stringify(await legacyDecision(services, slot, now_ms))
}
