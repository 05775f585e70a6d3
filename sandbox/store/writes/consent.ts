import type { ConsentRecord } from '#domain/consent.ts'
import type { ConsentWrite } from '../store.ts'
import type { Transaction } from './transaction.ts'

/** Appends a revision or renews it; null when the newest record is not the expected one. */
export function saveConsent(tx: Transaction, consent: ConsentWrite): ConsentRecord | null {
  const { project_id, expected, draft, evidence } = consent
  const present = tx.newestConsent(consent)
  if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null
  const { renews, ...fields } = draft
  const renewed = renews ? present : null
  const record = { ...fields, id: renewed?.id ?? consent.id }
  if (renewed === null) tx.insertConsent(consent, record)
  else tx.renewConsent(consent, record)
  tx.appendEvidence(project_id, null, evidence)
  const { id: ref, updated_at_ms: at_ms } = record
  tx.appendEvent({ type: 'consent.changed', at_ms, project_id, slot_id: null, ref })
  return record
}
