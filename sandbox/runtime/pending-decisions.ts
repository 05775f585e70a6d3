/** Pending slots: decided when their latency is over, on the sandbox clock, and again after a restart. */
import { resolveConsent } from '../domain/consent.ts'
import type { Services } from '../operations/context.ts'
import type { SlotRow } from '../store/store.ts'
import { capsOf, consentForPending, decideJobSlot, decisionEvidence } from './deciding.ts'

/** How long to wait before a decision that could not be stored is tried again, real milliseconds. */
const retry_ms = 1_000

/** Decides the slot when the sandbox clock reaches `due_at_ms`. */
export function armPending(services: Services, slot_id: number, due_at_ms: number): void {
  const { alarms } = services
  const cancel = services.platform.clock.at(due_at_ms, () => {
    alarms.delete(cancel)
    const decided = decidePending(services, slot_id)
      .catch((error: unknown) => {
        services.report(error)
        retryLater(services, slot_id, due_at_ms)
      })
      .finally(() => services.deciding.delete(decided))
    services.deciding.add(decided)
  })
  alarms.add(cancel)
}

/** Resolves when every decision that is due now has been made, or has failed and will be tried again. */
export async function decisionsMade({ deciding }: Services): Promise<void> {
  await Promise.all(deciding)
}

/** Takes up the slots that a stopped sandbox has left pending. */
export async function resumePending(services: Services): Promise<void> {
  for (const { id, due_at_ms } of await services.store.pendingSlots()) armPending(services, id, due_at_ms)
}

/** Drops every alarm, when the sandbox stops or is reset. The slots stay pending in the store. */
export function disarmPending(services: Services): void {
  for (const cancel of services.alarms) cancel()
  services.alarms.clear()
  services.waiters.wakeAll()
}

async function decidePending(services: Services, slot_id: number): Promise<void> {
  for (;;) {
    const slot = await services.store.findSlot(slot_id)
    if (slot === null || slot.decision !== null) return
    const now_ms = services.platform.clock.now()
    const consent = await consentForPending(services, slot.job, createdConsent(slot), now_ms)
    const decision = await decideJobSlot(services, slot.project, slot.job, slot.id, consent, now_ms)
    const evidence = decisionEvidence(services, slot.project, slot.job, slot.id, decision)
    const bound = await services.store.bindDecision(slot.id, decision, evidence, capsOf(slot.job, now_ms))
    if (bound === 'capped') continue
    services.waiters.wake(slot.id)
    return
  }
}

function createdConsent(slot: SlotRow) {
  if (slot.job.facts.consent !== undefined) return slot.job.facts.consent
  const implied = resolveConsent(
    { ...slot.project.settings.consent, required: false },
    undefined,
    null,
    slot.created_at_ms,
  )
  if (implied.status === 'required') throw new Error('consent that is not required cannot be missing')
  return implied.snapshot
}

function retryLater(services: Services, slot_id: number, due_at_ms: number): void {
  const timer = setTimeout(() => {
    services.alarms.delete(cancel)
    armPending(services, slot_id, due_at_ms)
  }, retry_ms)
  const cancel = () => clearTimeout(timer)
  services.alarms.add(cancel)
}
