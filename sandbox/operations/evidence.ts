/**
 * Evidence chains (A77): listed, exported with a signed checkpoint, and verified. Verification checks each chain, and
 * whether each entry still matches the row that it records.
 */

import { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { checkpointText, genesis, manifestText } from '#contract/resources/evidence.ts'
import { verifyChain } from '#domain/evidence.ts'
import { decisionDigest } from '#runtime/decisions.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { type EvidenceRow, type ProjectRow, type SlotRow, StorageError } from '#store/store.ts'
import { recordDigest } from './beacons/beacons.ts'
import {
  defined,
  encodeCursor,
  fullPage,
  type Operation,
  parsePage,
  parseSinceFilter,
  projectFilter,
  requireProject,
  type Services,
  slotFilter,
} from './context.ts'

/** Entries in an export without a limit. */
const defaultLimit = 1_000
/**
 * Entries, or sessions, that are verified before other requests get a turn: each reads its row, 0.1 to 0.2 ms. The rows
 * are read in parallel, since each sequential read from a store on another computer takes a round trip.
 */
const chunk = 64

export const listEvidence: Operation<Contract['evidence.list']> = async (services, context, { query }) => {
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    slot_id: slotFilter(query.slot_id),
    kind: query.kind,
    since_ms: parseSinceFilter(query.since, context.now_ms),
  })
  const { rows, next } = await fullPage(context, parsePage(query), (part) =>
    services.store.listEvidence({ ...part, ...filter }),
  )
  const items = []
  for (const row of rows) {
    const { client_id } = await services.store.findProjectById(row.project_id)
    items.push({ client_id, slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id), ...entryItem(row) })
  }
  return { items, next_cursor: encodeCursor(next) }
}

export function entryItem({ seq, kind, at_ms, entry, hash }: EvidenceRow) {
  return { seq, kind, at_ms, entry, hash }
}

export const exportEvidence: Operation<Contract['evidence.export']> = async (services, context, { params, query }) => {
  const { store } = services
  const { after_seq = 0, limit = defaultLimit } = query
  const project = await requireProject(services, params.client_id)
  const { client_id } = project
  const read = async () => (await store.listChainEntries(project.id, after_seq, limit)).map(entryItem)
  const entries = await read()
  const isFull = entries.length === limit
  if (query.checkpoint === 'false' || isFull) {
    return { client_id, entries, next_seq: isFull ? entries.at(-1)!.seq : null, checkpoint: null }
  }
  const verified = await verifyBeforeSigning(services, project)
  // Read again: entries may have been appended during the verification.
  const signed = (await read()).filter(({ seq }) => seq <= verified.entries)
  const next_seq = after_seq + signed.length < verified.entries ? (signed.at(-1)?.seq ?? null) : null
  const checkpoint = next_seq === null ? signCheckpoint(services, client_id, verified, context.now_ms) : null
  return { client_id, entries: signed, next_seq, checkpoint }
}

export const signEvidence: Operation<Contract['evidence.manifest']> = async (services, context, { query }) => {
  const { client_id = null } = query
  const projects =
    client_id === null ? await services.store.listProjects() : [await requireProject(services, client_id)]
  const at_ms = context.now_ms
  const checkpoints = []
  for (const project of projects) {
    const verified = await verifyBeforeSigning(services, project)
    checkpoints.push(signCheckpoint(services, project.client_id, verified, at_ms))
  }
  const chains = checkpoints.map((chain) => ({ client_id: chain.client_id, entries: chain.entries, head: chain.head }))
  const facts = { client_id, at_ms, chains }
  return { checkpoints, manifest: { ...facts, ...services.platform.signPublicly(manifestText(facts)) } }
}

function signCheckpoint({ platform }: Services, client_id: string, { entries, head }: Verified, at_ms: number) {
  const facts = { client_id, entries, head, at_ms }
  return { ...facts, ...platform.signPublicly(checkpointText(facts)) }
}

/**
 * Resolves to how far a chain goes, once all of it has been verified.
 * @throws ApiError when it is broken
 */
async function verifyBeforeSigning(services: Services, project: ProjectRow): Promise<Verified> {
  const { client_id, entries, head, problem } = await verifyOneChain(services, project)
  if (problem === null) return { entries, head }
  throw new ApiError('evidence_broken', { message: `The evidence chain of ${client_id} is not signed. ${problem}` })
}

export const verifyEvidence: Operation<Contract['evidence.verify']> = (services) => verifyChains(services)

type VerifyServices = Pick<Services, 'store' | 'platform'>

interface Verified {
  entries: number
  head: string | null
}

type Verdict = Verified & { broken_at: number | null; problem: string | null }

export async function verifyChains(services: VerifyServices) {
  const chains = []
  for (const project of await services.store.listProjects()) chains.push(await verifyOneChain(services, project))
  return { ok: chains.every((chain) => chain.broken_at === null), chains }
}

/** Verifies the chain of a project. Entries that cannot be read are a problem of the chain. */
async function verifyOneChain(services: VerifyServices, project: ProjectRow): Promise<Verdict & { client_id: string }> {
  const { client_id } = project
  const verified: Verified = { entries: 0, head: null }
  try {
    return { client_id, ...(await verifyProject(services, project, verified)) }
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
async function isTokenExchanged(store: Services['store'], slot: SlotRow, entry: Entry): Promise<boolean> {
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
