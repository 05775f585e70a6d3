/** The writes of placements: a job, a decision, the load of a frame, and the hash of an asset token. */
import type { CapGuard, ConsentWrite, DecisionWrite, EvidenceDraft, JobRow, NewActivation, NewSlot } from '../store.ts'
import { insertCallback } from './callbacks.ts'
import { saveConsent } from './consent.ts'
import type { Transaction } from './transaction.ts'

interface JobWrite {
  job: JobRow
  slots: readonly NewSlot[]
  consent: ConsentWrite | null
  caps: readonly CapGuard[]
}

/** Returns false, with nothing written, when a cap was reached or the consent has changed. */
export function createJob(tx: Transaction, { job, slots, consent, caps }: JobWrite): boolean {
  const fills = slots.filter(({ decision }) => decision?.outcome.status === 'filled').length
  if (!permitsFills(tx, caps, fills)) return false
  if (consent !== null && saveConsent(tx, consent) === null) return false
  tx.insertJob(job)
  const { project_id, created_at_ms: at_ms } = job
  const { callback_url } = job.facts
  for (const slot of slots) {
    const { id: slot_id, decision, evidence } = slot
    if (callback_url !== undefined) insertCallback(tx, job, slot_id, callback_url)
    tx.insertSlot(job, slot)
    if (evidence !== null) tx.appendEvidence(project_id, slot_id, evidence)
    const type = decision === null ? 'job.created' : 'placement.decided'
    tx.appendEvent({ type, at_ms, project_id, slot_id, ref: slot_id })
  }
  return true
}

export function bindDecision(
  tx: Transaction,
  { slot_id, decision, evidence, caps, dropsTopic }: DecisionWrite,
): 'bound' | 'decided' | 'capped' {
  const fills = decision.outcome.status === 'filled' ? 1 : 0
  if (!permitsFills(tx, caps, fills)) return 'capped'
  if (dropsTopic) tx.dropTopic(slot_id)
  const project_id = tx.bindSlot(slot_id, decision)
  if (project_id === null) return 'decided'
  tx.appendEvidence(project_id, slot_id, evidence)
  const { decided_at_ms: at_ms } = decision
  tx.appendEvent({ type: 'placement.decided', at_ms, project_id, slot_id, ref: slot_id })
  return 'bound'
}

export function recordFrame(tx: Transaction, slot_id: number, at_ms: number, token: NewActivation): void {
  tx.setFirstFrame(slot_id, at_ms)
  tx.insertActivation(token, at_ms)
  tx.appendEvent({ type: 'frame.loaded', at_ms, project_id: token.project_id, slot_id, ref: slot_id })
}

export function replaceAssetToken(tx: Transaction, slot_id: number, hash: Uint8Array, evidence: EvidenceDraft): void {
  const project_id = tx.projectOfSlot(slot_id)
  tx.setAssetHash(slot_id, hash)
  tx.appendEvidence(project_id, slot_id, evidence)
}

/** Whether every cap leaves room for this number of fills. */
function permitsFills(tx: Transaction, caps: readonly CapGuard[], fills: number): boolean {
  if (fills === 0) return true
  return caps.every((cap) =>
    cap.kind === 'interval' ? !tx.hasFillWithin(cap) : tx.countFills(cap) + fills <= cap.most,
  )
}
