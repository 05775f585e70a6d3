/**
 * Verifies entries of a chain: each by itself, after the one before it, and by the row that it records. A long chain is read
 * on a thread, so nothing is loaded here that takes time.
 */
import { encodeId } from '#contract/ids.ts'
import { chainHash, genesis } from '#contract/resources/evidence.ts'
import { verifyChain } from '#domain/evidence.ts'
import type { JsonObject } from '#foundation/json.ts'
import type { Platform } from '#platform/platform.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { isDecisionDigest, recordDigest } from '#runtime/record-digests.ts'
import { type EvidenceRow, type ProjectRow, StorageError, type Store, type StoredDecision } from '#store/store.ts'

/** What a chain and its rows are read with. */
type ChainStore = Pick<
  Store,
  'findLastPosition' | 'listChainEntries' | 'listSlotEvidence' | 'findDecision' | 'findBeaconById' | 'findLatestConsent'
>

interface ChainServices {
  store: ChainStore
  platform: Pick<Platform, 'sha256Hex' | 'digest'>
}

type ChainProject = Pick<ProjectRow, 'id' | 'client_id'>

export interface Verified {
  entries: number
  head: string | null
}

export type Verdict = Verified & { broken_at: number | null; problem: string | null }

/** A part of a chain that is read from a database file. */
export interface ChainWork {
  path: string
  project: ChainProject
  start: Verified
}

/**
 * Entries that are verified before other requests get a turn: one that was not built reads its row, 20 to 50 µs. The rows
 * are read in parallel, since each sequential read from a store on another computer takes a round trip.
 */
const entriesOfTurn = 64

/**
 * Verifies a chain from `start` up to its last entry at this moment: a busy sandbox appends faster than it verifies.
 * Entries that cannot be read are a problem of the chain.
 */
export async function verifyRows(
  services: ChainServices,
  project: ChainProject,
  start: Verified,
  entriesAtOnce = entriesOfTurn,
): Promise<Verdict> {
  const verified = { ...start }
  try {
    return await verifyProject(services, project, verified, entriesAtOnce)
  } catch (error) {
    return unreadableChain(verified, error)
  }
}

/** Returns the verdict on a chain whose next entries cannot be read. @throws an error that is not about rows */
export function unreadableChain(verified: Verified, error: unknown): Verdict {
  if (!(error instanceof StorageError || error instanceof SyntaxError)) throw error
  const broken_at = verified.entries + 1
  const problem = `The entries from ${broken_at} on, or their rows, cannot be read: ${error.message}`
  return { ...verified, broken_at, problem }
}

/** `verified` advances with each valid entry. */
async function verifyProject(
  services: ChainServices,
  project: ChainProject,
  verified: Verified,
  entriesAtOnce: number,
): Promise<Verdict> {
  const { store, platform } = services
  const differing = new Map<string, ConsentEntry>()
  let last = await store.findLastPosition(project.id)
  for (;;) {
    const { entries, head } = verified
    if (entries >= last) {
      const changed = await changedConsent(services, project, differing)
      // The cause may be an entry that was appended in the meantime.
      if (changed !== null) last = await store.findLastPosition(project.id)
      if (entries < last) continue
      return changed ?? { ...verified, broken_at: null, problem: null }
    }
    const rows = await store.listChainEntries(project.id, entries, Math.min(entriesAtOnce, last - entries))
    if (rows.length === 0) {
      const broken_at = entries + 1
      return { ...verified, broken_at, problem: `The entries from ${broken_at} to ${last} cannot be found.` }
    }
    const result = verifyChain(project.client_id, rows, platform.sha256Hex, { entries, head: head ?? genesis })
    const reading = result.facts.map((facts, index) => {
      const row = rows[index]!
      if (row.is_built === true) return null
      return row.kind === 'consent' ? consentProblem(services, project, facts) : rowProblem(services, row, facts)
    })
    await Promise.allSettled(reading.filter((found) => found !== null))
    for (const [index, facts] of result.facts.entries()) {
      const { seq, kind, hash } = rows[index]!
      const found = reading[index] ?? null
      const problem = found === null ? null : await found
      if (kind === 'consent') noteConsent(differing, { seq, head: verified.head, facts }, problem)
      else if (problem !== null) return { ...verified, broken_at: seq, problem }
      verified.entries = seq
      verified.head = hash
    }
    if (!result.ok) {
      const { broken_at } = result
      const problem = builtProblem(services, rows[broken_at - 1 - entries]!, verified) ?? result.problem
      return { ...verified, broken_at, problem }
    }
    await yieldToEventLoop()
  }
}

interface ConsentEntry {
  seq: number
  /** The hash before the entry. */
  head: string | null
  facts: JsonObject
}

/**
 * Keeps the last entry of each session whose stored consent differs from it, in the order of the chain. A consent row may be
 * renewed or followed by another, so only the last entry must match.
 */
function noteConsent(differing: Map<string, ConsentEntry>, entry: ConsentEntry, problem: string | null): void {
  const session_id = String(entry.facts.session_id)
  differing.delete(session_id)
  if (problem !== null) differing.set(session_id, entry)
}

/** Resolves to the first session whose stored consent still differs from its last entry. */
async function changedConsent(
  services: ChainServices,
  project: ChainProject,
  differing: ReadonlyMap<string, ConsentEntry>,
): Promise<Verdict | null> {
  for (const { seq, head, facts } of differing.values()) {
    const problem = await consentProblem(services, project, facts)
    if (problem !== null) return { entries: seq - 1, head, broken_at: seq, problem }
  }
  return null
}

async function consentProblem({ store }: ChainServices, project: ChainProject, facts: JsonObject) {
  const row = await store.findLatestConsent(project.id, String(facts.session_id))
  const isSame =
    row !== null &&
    facts.consent_id === encodeId('cns', row.id) &&
    facts.lifecycle_state === row.state &&
    facts.revision === row.revision &&
    facts.source === row.source &&
    facts.semantic_targeting === row.semantic_targeting &&
    facts.prompt_shared === row.prompt_shared &&
    facts.expires_at_ms === row.expires_at_ms
  return isSame ? null : `The consent of entry ${facts.seq} was changed after it was recorded.`
}

/** Resolves to what is wrong with one entry, its hash, or the row that it records; null when all hold. */
export async function findRowProblem(
  services: ChainServices,
  { client_id, previous_hash }: { client_id: string; previous_hash: string },
  row: EvidenceRow,
): Promise<string | null> {
  const before = { entries: row.seq - 1, head: previous_hash }
  const result = verifyChain(client_id, [row], services.platform.sha256Hex, before)
  return result.ok
    ? rowProblem(services, row, result.facts[0]!)
    : (builtProblem(services, row, before) ?? result.problem)
}

/** Returns what is wrong with the row of an entry that was built from it, and does not follow the chain; null for others. */
function builtProblem({ platform }: ChainServices, row: EvidenceRow, { entries, head }: Verified): string | null {
  const { seq, entry, hash, is_built } = row
  if (is_built !== true || seq !== entries + 1) return null
  if (entry === '') return `The beacon of entry ${seq} is gone.`
  const isSame = chainHash(head ?? genesis, entry, platform.sha256Hex) === hash
  return isSame ? null : `The beacon of entry ${seq} was changed after it was recorded.`
}

/**
 * Resolves to a description of how an entry's row was changed after it; to null of consent, whose row may be newer, and of an
 * entry that was built from its row.
 */
async function rowProblem(services: ChainServices, row: EvidenceRow, facts: JsonObject): Promise<string | null> {
  if (row.kind === 'decision') return decisionProblem(services, row, facts)
  return row.kind === 'beacon' && row.is_built !== true ? beaconProblem(services, row, facts) : null
}

async function decisionProblem({ store, platform }: ChainServices, { ref, seq }: EvidenceRow, facts: JsonObject) {
  const decision = await store.findDecision(ref)
  if (decision === null) return `The decision of entry ${seq} is gone.`
  const isSame = facts.slot_id === encodeId('slot', ref) && isDecisionDigest(platform, decision, facts.decision_sha256)
  if (isSame && (await isTokenExchanged(store, { slot_id: ref, decision }, facts))) {
    return `The asset token of entry ${seq} was exchanged after it was recorded.`
  }
  return isSame ? null : `The decision of entry ${seq} was changed after it was recorded.`
}

/** A replaced asset token has its own entry: the last decision entry of the slot must hold the stored hash. */
async function isTokenExchanged(
  store: ChainStore,
  { slot_id, decision: { outcome } }: { slot_id: number; decision: StoredDecision },
  facts: JsonObject,
): Promise<boolean> {
  const hash = outcome.status === 'filled' ? outcome.asset_token_hash.toString('base64url') : null
  if (facts.asset_token_sha256 === hash) return false
  const last = (await store.listSlotEvidence(slot_id)).findLast(({ kind }) => kind === 'decision')
  return (JSON.parse(last?.entry ?? '{}') as { asset_token_sha256?: string }).asset_token_sha256 !== hash
}

async function beaconProblem({ store, platform }: ChainServices, { ref, seq }: EvidenceRow, facts: JsonObject) {
  const beacon = await store.findBeaconById(ref)
  if (beacon === null) return `The beacon of entry ${seq} is gone.`
  const isSame =
    facts.beacon_id === beacon.beacon_id &&
    facts.event === beacon.event &&
    facts.occurred_at_ms === beacon.occurred_at_ms &&
    facts.received_at_ms === beacon.received_at_ms &&
    facts.body_sha256 === beacon.body_sha256 &&
    facts.record_sha256 === recordDigest(platform, beacon)
  return isSame ? null : `The beacon of entry ${seq} was changed after it was recorded.`
}
