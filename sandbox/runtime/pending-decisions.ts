/** Pending slots: decided when their latency has passed on the sandbox clock, also after a restart. */
import type { AuthoritativeConsent } from '../../src/contract/fields.ts'
import { resolveConsent, snapshotOf } from '../domain/consent.ts'
import type { SlotRow } from '../store/store.ts'
import { capsOf, type DecisionServices, decideJobSlot, decisionEvidence } from './decisions.ts'
import type { Waiters } from './waiters.ts'

export interface PendingDecisions {
  /** Decides the slot when the sandbox clock reaches `due_at_ms`. */
  schedule(slot_id: number, due_at_ms: number): void
  /** Schedules the slots that the store holds as pending: after a start, or when the state was replaced. */
  restore(): Promise<void>
  /** Resolves when every decision that is due now has been made, or has failed and will be tried again. */
  drain(): Promise<void>
  /** Cancels every scheduled decision and wakes all waiters. The slots stay pending in the store. */
  cancel(): void
}

export interface PendingDecisionServices extends DecisionServices {
  waiters: Waiters
  /** Called with failures that concern no request. */
  report(error: unknown): void
}

/** Delay before a decision that could not be stored is tried again, real milliseconds. */
const retry_ms = 1_000

export function createPendingDecisions(services: PendingDecisionServices): PendingDecisions {
  const { store, platform, waiters } = services
  const cancels = new Set<() => void>()
  const running = new Set<Promise<void>>()

  const schedule = (slot_id: number, due_at_ms: number) => {
    const cancel = platform.clock.at(due_at_ms, () => {
      cancels.delete(cancel)
      const decided = decidePending(services, slot_id)
        .catch((error: unknown) => {
          services.report(error)
          retry(slot_id, due_at_ms)
        })
        .finally(() => running.delete(decided))
      running.add(decided)
    })
    cancels.add(cancel)
  }

  const retry = (slot_id: number, due_at_ms: number) => {
    const timer = setTimeout(() => {
      cancels.delete(cancel)
      schedule(slot_id, due_at_ms)
    }, retry_ms)
    const cancel = () => clearTimeout(timer)
    cancels.add(cancel)
  }

  return {
    schedule,
    async restore() {
      for (const { id, due_at_ms } of await store.pendingSlots()) schedule(id, due_at_ms)
    },
    async drain() {
      await Promise.all(running)
    },
    cancel() {
      for (const cancel of cancels) cancel()
      cancels.clear()
      waiters.wakeAll()
    },
  }
}

async function decidePending(services: PendingDecisionServices, slot_id: number): Promise<void> {
  const { store, platform, waiters } = services
  for (;;) {
    const slot = await store.findSlot(slot_id)
    if (slot === null || slot.decision !== null) return
    const { job, project } = slot
    const now_ms = platform.clock.now()
    const consent = await consentInForce(services, slot, now_ms)
    const decision = await decideJobSlot(services, project, job, slot.id, consent, now_ms)
    const evidence = decisionEvidence(services, project, job, slot.id, decision)
    const bound = await store.bindDecision(slot.id, decision, evidence, capsOf(job, now_ms))
    if (bound === 'capped') continue
    waiters.wake(slot.id)
    return
  }
}

/** The newest consent of the session; without one, the snapshot that the job was created with. */
async function consentInForce(
  { store }: PendingDecisionServices,
  slot: SlotRow,
  now_ms: number,
): Promise<AuthoritativeConsent> {
  const { job, project, created_at_ms } = slot
  const stored = job.session_id === null ? null : await store.latestConsent(job.project_id, job.session_id)
  if (stored !== null) return snapshotOf(stored, now_ms)
  if (job.facts.consent !== undefined) return job.facts.consent
  const implied = resolveConsent({ ...project.settings.consent, required: false }, undefined, null, created_at_ms)
  if (implied.status === 'required') throw new Error('consent that is not required cannot be missing')
  return implied.snapshot
}
