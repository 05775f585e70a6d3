/**
 * Evidence chains (A77): listed, exported with a signed checkpoint, and verified. Verification checks each chain, and
 * whether each entry still matches the row that it records.
 */

import { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { checkpointText, manifestText } from '#contract/resources/evidence.ts'
import type { EvidenceRow, PageQuery, ProjectRow } from '#store/store.ts'
import {
  defined,
  listItems,
  type Operation,
  parseSinceFilter,
  projectFilter,
  requireProject,
  type Services,
  slotFilter,
} from '../context.ts'
import { verifyChainOf, verifyChains } from './verification.ts'
import type { Verified } from './verify-rows.ts'

/** Entries in an export without a limit. */
const defaultLimit = 1_000
export const listEvidence: Operation<Contract['evidence.list']> = async (services, context, { query }) => {
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    slot_id: slotFilter(query.slot_id),
    kind: query.kind,
    since_ms: parseSinceFilter(query.since, context.now_ms),
  })
  const { store } = services
  const read = (part: PageQuery) => store.listEvidence({ ...part, ...filter })
  return listItems(context, query, read, async (row) => {
    const { client_id } = await store.findProjectById(row.project_id)
    return { client_id, slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id), ...entryItem(row) }
  })
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
 * Resolves to how far a chain goes, once it has been verified.
 * @throws ApiError when it is broken
 */
async function verifyBeforeSigning(services: Services, project: ProjectRow): Promise<Verified> {
  const { client_id, entries, head, problem } = await verifyChainOf(services, project)
  if (problem === null) return { entries, head }
  throw new ApiError('evidence_broken', { message: `The evidence chain of ${client_id} is not signed. ${problem}` })
}

export const verifyEvidence: Operation<Contract['evidence.verify']> = (services, _context, { query }) =>
  verifyChains(services, { isFull: query.full === 'true' })
