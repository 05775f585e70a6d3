/** Verifying the evidence chains: the chain itself, and that each entry still tells what its row says (A77). */
import { encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { genesis, verifyChain } from '../domain/evidence.ts'
import { decisionDigest } from '../runtime/deciding.ts'
import type { EvidenceRow, ProjectRow, SlotRow } from '../store/store.ts'
import { recordDigest } from './beacons.ts'
import type { Operation, Services } from './context.ts'

/** Entries read at a time. */
const piece = 1_000

export const verifyEvidence: Operation<Contract['evidence.verify']> = (services) => verifyChains(services)

/** The chain of every project. */
export async function verifyChains(services: Services) {
  const chains = []
  for (const project of await services.store.listProjects()) chains.push(await verifyProject(services, project))
  return { ok: chains.every((chain) => chain.broken_at === null), chains }
}

async function verifyProject(services: Services, project: ProjectRow) {
  const { store, platform } = services
  let entries = 0
  let head: string | null = null
  const consents = new Map<string, LastConsent>()
  for (;;) {
    const rows = await store.evidence(project.id, entries, piece)
    if (rows.length === 0) {
      const changed = await changedConsent(services, project, consents)
      const hasGrown = changed !== null && (await store.evidence(project.id, entries, 1)).length > 0
      if (hasGrown) continue
      return changed ?? { client_id: project.client_id, entries, head, broken_at: null, problem: null }
    }
    const result = verifyChain(rows, platform.sha256Hex, { entries, head: head ?? genesis })
    const held = result.ok ? rows : rows.slice(0, result.broken_at - entries - 1)
    for (const row of held) {
      const problem = await rowProblem(services, row)
      if (problem !== null)
        return { client_id: project.client_id, entries: row.seq - 1, head, broken_at: row.seq, problem }
      if (row.kind === 'consent') keepLast(consents, row, head)
      head = row.hash
    }
    if (!result.ok) {
      const { broken_at, problem } = result
      return { client_id: project.client_id, entries: broken_at - 1, head, broken_at, problem }
    }
    entries = result.entries
  }
}

/** The last entry of a session's consent. A consent row may be renewed, so only the last one must match it. */
interface LastConsent {
  seq: number
  /** The hash before it. */
  head: string | null
  told: string
}

/** Kept in the order of their positions. */
function keepLast(consents: Map<string, LastConsent>, { seq, entry }: EvidenceRow, head: string | null): void {
  const told = JSON.parse(entry) as Record<string, unknown>
  const { consent_id, session_id, lifecycle_state, revision, source, semantic_targeting, prompt_shared } = told
  consents.delete(session_id as string)
  const facts = [consent_id, lifecycle_state, revision, source, semantic_targeting, prompt_shared, told.expires_at_ms]
  consents.set(session_id as string, { seq, head, told: JSON.stringify(facts) })
}

/** The first session whose present consent is not what its last entry tells. */
async function changedConsent({ store }: Services, project: ProjectRow, consents: Map<string, LastConsent>) {
  for (const [session_id, { seq, head, told }] of consents) {
    const row = await store.latestConsent(project.id, session_id)
    const facts = row && [encodeId('cns', row.id), row.state, row.revision, row.source, row.semantic_targeting]
    if (facts && JSON.stringify([...facts, row.prompt_shared, row.expires_at_ms]) === told) continue
    const problem = `The consent of entry ${seq} was changed after it was recorded.`
    return { client_id: project.client_id, entries: seq - 1, head, broken_at: seq, problem }
  }
  return null
}

/** Whether the row that an entry records was changed after it; consent is looked at once, at the end. */
async function rowProblem({ store, ...services }: Services, row: EvidenceRow): Promise<string | null> {
  const entry = JSON.parse(row.entry) as Record<string, unknown>
  if (row.kind === 'decision') {
    const slot = await store.findSlot(row.ref)
    if (slot === null || slot.decision === null) return `The decision of entry ${row.seq} is gone.`
    const digest = decisionDigest({ store, ...services }, slot.decision)
    const isSame = entry.slot_id === encodeId('slot', slot.id) && entry.decision_sha256 === digest
    if (isSame && (await isTokenExchanged(store, slot, row))) {
      return `The asset token of entry ${row.seq} was exchanged after it was recorded.`
    }
    return isSame ? null : `The decision of entry ${row.seq} was changed after it was recorded.`
  }
  if (row.kind === 'beacon') {
    const beacon = await store.beaconById(row.ref)
    if (beacon === null) return `The beacon of entry ${row.seq} is gone.`
    const isSame =
      entry.beacon_id === beacon.beacon_id &&
      entry.event === beacon.event &&
      entry.occurred_at_ms === beacon.occurred_at_ms &&
      entry.received_at_ms === beacon.received_at_ms &&
      entry.body_sha256 === beacon.body_sha256 &&
      entry.record_sha256 === recordDigest({ store, ...services }, beacon)
    return isSame ? null : `The beacon of entry ${row.seq} was changed after it was recorded.`
  }
  return null
}

/** A token that was given anew has an entry of its own: the last one about the slot must have its hash. */
async function isTokenExchanged(store: Services['store'], slot: SlotRow, row: EvidenceRow): Promise<boolean> {
  const outcome = slot.decision?.outcome
  const hash = outcome?.status === 'filled' ? Buffer.from(outcome.asset_token_hash).toString('base64url') : null
  if ((JSON.parse(row.entry) as { asset_token_sha256: string | null }).asset_token_sha256 === hash) return false
  const last = (await store.evidenceOf(slot.id)).findLast(({ kind }) => kind === 'decision')
  return (JSON.parse(last?.entry ?? '{}') as { asset_token_sha256?: string }).asset_token_sha256 !== hash
}
