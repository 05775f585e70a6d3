/** The writes of beacons: an accepted one with its evidence, and one that was rejected or is a duplicate. */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import type { BeaconRow, BeaconTerms, EvidenceDraft, UnacceptedBeaconRow } from '../store.ts'
import type { Transaction } from './transaction.ts'

/**
 * Returns the slot's beacons that billing judges; null when the beacon is a duplicate, or its slot is gone. A consent that
 * was stored between the check and this write, in the same turn, stands before the beacon in the chain and must apply to
 * it: `superseded`.
 */
export function recordBeacon(
  tx: Transaction,
  beacon: BeaconRow,
  { session: { project_id, session_id }, consent }: BeaconTerms,
  evidence: EvidenceDraft,
): readonly AcceptedBeacon[] | 'superseded' | null {
  const newest = session_id === null ? null : tx.newestConsent({ project_id, session_id })
  if (newest?.revision !== consent?.revision || newest?.updated_at_ms !== consent?.updated_at_ms) return 'superseded'
  if (!tx.insertBeacon(beacon)) return null
  const { id: ref, slot_id, received_at_ms: at_ms } = beacon
  tx.appendEvidence(project_id, slot_id, evidence)
  tx.appendEvent({ type: 'beacon.accepted', at_ms, project_id, slot_id, ref })
  return tx.judgedBeacons(slot_id)
}

/** Records a rejected beacon, or a duplicate: it has no evidence. */
export function recordUnaccepted(tx: Transaction, beacon: UnacceptedBeaconRow): void {
  const { id: ref, verdict, project_id, slot_id, received_at_ms: at_ms } = beacon
  tx.insertUnaccepted(beacon)
  const type = verdict === 'duplicate' ? 'beacon.duplicate' : 'beacon.rejected'
  tx.appendEvent({ type, at_ms, project_id, slot_id, ref })
}
