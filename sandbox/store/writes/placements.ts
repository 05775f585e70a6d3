/** The writes of placements: a job, a decision, the load of a frame, and the hash of an asset token. */
import type {
  CapGuard,
  ConsentWrite,
  DecisionWrite,
  EvidenceDraft,
  JobRow,
  NewActivation,
  NewSlot,
  StoredDecision,
} from '../store.ts'
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
  const fills = slots.flatMap(({ decision }) => listFills(decision))
  if (!permitsFills(tx, caps, fills)) return false
  if (consent !== null && saveConsent(tx, consent) === null) return false
  if (consent === null && !slots.every(({ decision }) => decision === null || isInForce(tx, job, decision)))
    return false
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
  { slot_id, session, decision, evidence, caps, dropsTopic }: DecisionWrite,
): 'bound' | 'decided' | 'capped' | 'superseded' {
  if (!permitsFills(tx, caps, listFills(decision))) return 'capped'
  if (!isInForce(tx, session, decision)) return 'superseded'
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

/**
 * Whether a decision was made with the newest consent of its session. One that was stored between the decision and its
 * write, in the same turn, stands before it in the chain and must apply to it. Without a session, and while a session
 * has no stored consent, nothing can have changed.
 */
function isInForce(
  tx: Transaction,
  { project_id, session_id }: DecisionWrite['session'],
  { consent }: Pick<StoredDecision, 'consent'>,
): boolean {
  const newest = session_id === null ? null : tx.newestConsent({ project_id, session_id })
  if (newest === null) return true
  const { revision, updated_at_ms, source } = newest
  return revision === consent.revision && updated_at_ms === consent.updated_at_ms && source === consent.source
}

/** Returns the campaign of a fill; empty for everything else. */
function listFills(decision: StoredDecision | null): string[] {
  return decision?.outcome.status === 'filled' ? [decision.outcome.campaign_id] : []
}

/** Whether every cap leaves room for these fills, given by their campaigns. */
function permitsFills(tx: Transaction, caps: readonly CapGuard[], fills: readonly string[]): boolean {
  if (fills.length === 0) return true
  return caps.every((cap) => {
    if (cap.kind === 'interval') return !tx.hasFillWithin(cap)
    const limited = fills.filter((campaign_id) => campaign_id === (cap.campaign_id ?? campaign_id)).length
    return tx.countFills(cap) + limited <= cap.most
  })
}
