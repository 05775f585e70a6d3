/** Verifies evidence chains: each entry by itself, after the one before it, and by the row that it records. */
import { encodeId } from '#contract/ids.ts'
import { genesis } from '#contract/resources/evidence.ts'
import { verifyChain } from '#domain/evidence.ts'
import { decisionDigest } from '#runtime/decisions.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { type EvidenceRow, type ProjectRow, type SlotRow, StorageError, type Store } from '#store/store.ts'
import { recordDigest } from '../beacons/beacons.ts'
import { findPrefix, findPrefixProblem, savePrefix, type VerifyServices } from './verified-prefix.ts'

/**
 * Entries, or sessions, that are verified before other requests get a turn: each reads its row, 0.1 to 0.2 ms. The rows
 * are read in parallel, since each sequential read from a store on another computer takes a round trip.
 */
const chunk = 64

export interface Verified {
  entries: number
  head: string | null
}

type Verdict = Verified & { broken_at: number | null; problem: string | null }

export async function verifyChains(services: VerifyServices, { isFull = false } = {}) {
  const chains = []
  for (const project of await services.store.listProjects()) chains.push(await verifyChainOf(services, project, isFull))
  return { ok: chains.every((chain) => chain.broken_at === null), chains }
}

/** Entries beyond the verified prefix from which a longer one is stored: to verify fewer takes some milliseconds. */
const prefixStep = 1_000

/**
 * Verifies the chain of a project, from its verified prefix on; a full verification reads all of it. Entries that cannot
 * be read are a problem of the chain.
 */
export async function verifyChainOf(services: VerifyServices, project: ProjectRow, isFull = false) {
  const { client_id } = project
  let verified: Verified = { entries: 0, head: null }
  try {
    const prefix = await findPrefix(services, project)
    const mismatch = prefix && (await findPrefixProblem(services, project, prefix))
    const continues = prefix !== null && mismatch === null && !isFull
    if (continues) verified = { ...prefix }
    const before = continues ? { verified_before: prefix.entries } : {}
    const verdict = await verifyProject(services, project, verified)
    const { entries, head, problem } = verdict
    // The first broken entry comes first.
    if (problem === null && mismatch !== null) return { client_id, ...verdict, ...mismatch }
    const isLonger = head !== null && entries >= (prefix?.entries ?? 0) + prefixStep
    if (problem === null && isLonger) await savePrefix(services, project, { entries, head })
    return { client_id, ...verdict, ...before }
  } catch (error) {
    if (!(error instanceof StorageError || error instanceof SyntaxError)) throw error
    const broken_at = verified.entries + 1
    const problem = `The entries from ${broken_at} on, or their rows, cannot be read: ${error.message}`
    return { client_id, ...verified, broken_at, problem }
  }
}

/**
 * Verifies a chain up to its last entry at the start: a busy sandbox appends faster than it verifies. `verified`
 * advances with each valid entry.
 */
async function verifyProject(services: VerifyServices, project: ProjectRow, verified: Verified): Promise<Verdict> {
  const { store, platform } = services
  const consents = new Map<string, LastConsent>()
  let last = await store.findLastPosition(project.id)
  for (;;) {
    const { entries, head } = verified
    if (entries >= last) {
      const changed = await changedConsent(services, project, consents)
      // The cause may be an entry that was appended in the meantime.
      if (changed !== null) last = await store.findLastPosition(project.id)
      if (entries < last) continue
      return changed ?? { ...verified, broken_at: null, problem: null }
    }
    const rows = await store.listChainEntries(project.id, entries, Math.min(chunk, last - entries))
    if (rows.length === 0) {
      const broken_at = entries + 1
      return { ...verified, broken_at, problem: `The entries from ${broken_at} to ${last} cannot be found.` }
    }
    const result = verifyChain(project.client_id, rows, platform.sha256Hex, { entries, head: head ?? genesis })
    const intact = result.ok ? rows : rows.slice(0, result.broken_at - entries - 1)
    const problems = await Promise.allSettled(intact.map((row) => rowProblem(services, row)))
    for (const [index, row] of intact.entries()) {
      const problem = unwrapResult(problems[index]!)
      if (problem !== null) return { ...verified, broken_at: row.seq, problem }
      if (row.kind === 'consent') addConsent(consents, row, verified.head)
      verified.entries = row.seq
      verified.head = row.hash
    }
    if (!result.ok) return { ...verified, broken_at: result.broken_at, problem: result.problem }
    await yieldToEventLoop()
  }
}

/** The last entry of a session's consent. A consent row may be renewed, so only the last entry must match it. */
interface LastConsent {
  seq: number
  /** The hash before the entry. */
  head: string | null
  facts: string
}

/** Adds a consent as the last of its session; the map is in the order of the chain. */
function addConsent(consents: Map<string, LastConsent>, { seq, entry }: EvidenceRow, head: string | null): void {
  const parsed: Record<string, unknown> & { session_id: string } = JSON.parse(entry)
  const { consent_id, session_id, lifecycle_state, revision, source, semantic_targeting, prompt_shared } = parsed
  consents.delete(session_id)
  const facts = [consent_id, lifecycle_state, revision, source, semantic_targeting, prompt_shared, parsed.expires_at_ms]
  consents.set(session_id, { seq, head, facts: JSON.stringify(facts) })
}

/** Resolves to the first session whose stored consent differs from its last entry. */
async function changedConsent({ store }: VerifyServices, project: ProjectRow, consents: Map<string, LastConsent>) {
  const sessions = [...consents]
  for (let start = 0; start < sessions.length; start += chunk) {
    const next = sessions.slice(start, start + chunk)
    const rows = await Promise.all(next.map(([session_id]) => store.findLatestConsent(project.id, session_id)))
    for (const [index, [, { seq, head, facts }]] of next.entries()) {
      const row = rows[index] ?? null
      const stored = row && [encodeId('cns', row.id), row.state, row.revision, row.source, row.semantic_targeting]
      if (stored && JSON.stringify([...stored, row.prompt_shared, row.expires_at_ms]) === facts) continue
      const problem = `The consent of entry ${seq} was changed after it was recorded.`
      return { entries: seq - 1, head, broken_at: seq, problem }
    }
    await yieldToEventLoop()
  }
  return null
}

/** @throws the reason of a rejected promise */
function unwrapResult<Value>(result: PromiseSettledResult<Value>): Value {
  if (result.status === 'rejected') throw result.reason
  return result.value
}

/** Resolves to what is wrong with one entry, its hash, or the row that it records; null when all hold. */
export async function findRowProblem(
  services: VerifyServices,
  { client_id, previous_hash }: { client_id: string; previous_hash: string },
  row: EvidenceRow,
): Promise<string | null> {
  const before = { entries: row.seq - 1, head: previous_hash }
  const result = verifyChain(client_id, [row], services.platform.sha256Hex, before)
  return result.ok ? rowProblem(services, row) : result.problem
}

/** Resolves to a description of how an entry's row was changed after it. Consent is compared once, at the end. */
async function rowProblem(services: VerifyServices, row: EvidenceRow): Promise<string | null> {
  const entry: Entry = JSON.parse(row.entry)
  if (row.kind === 'decision') return decisionProblem(services, row, entry)
  return row.kind === 'beacon' ? beaconProblem(services, row, entry) : null
}

type Entry = Readonly<Record<string, unknown>>

async function decisionProblem(services: VerifyServices, { ref, seq }: EvidenceRow, entry: Entry) {
  const slot = await services.store.findSlot(ref)
  if (slot === null || slot.decision === null) return `The decision of entry ${seq} is gone.`
  const digest = decisionDigest(services, slot.decision)
  const isSame = entry.slot_id === encodeId('slot', slot.id) && entry.decision_sha256 === digest
  if (isSame && (await isTokenExchanged(services.store, slot, entry))) {
    return `The asset token of entry ${seq} was exchanged after it was recorded.`
  }
  return isSame ? null : `The decision of entry ${seq} was changed after it was recorded.`
}

/** A replaced asset token has its own entry: the last decision entry of the slot must hold the stored hash. */
async function isTokenExchanged(store: Store, slot: SlotRow, entry: Entry): Promise<boolean> {
  const outcome = slot.decision?.outcome
  const hash = outcome?.status === 'filled' ? outcome.asset_token_hash.toString('base64url') : null
  if (entry.asset_token_sha256 === hash) return false
  const last = (await store.listSlotEvidence(slot.id)).findLast(({ kind }) => kind === 'decision')
  return (JSON.parse(last?.entry ?? '{}') as { asset_token_sha256?: string }).asset_token_sha256 !== hash
}

async function beaconProblem(services: VerifyServices, { ref, seq }: EvidenceRow, entry: Entry) {
  const beacon = await services.store.findBeaconById(ref)
  if (beacon === null) return `The beacon of entry ${seq} is gone.`
  const isSame =
    entry.beacon_id === beacon.beacon_id &&
    entry.event === beacon.event &&
    entry.occurred_at_ms === beacon.occurred_at_ms &&
    entry.received_at_ms === beacon.received_at_ms &&
    entry.body_sha256 === beacon.body_sha256 &&
    entry.record_sha256 === recordDigest(services, beacon)
  return isSame ? null : `The beacon of entry ${seq} was changed after it was recorded.`
}
