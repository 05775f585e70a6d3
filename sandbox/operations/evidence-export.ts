/** Reading the evidence chains: as a list, and as an export whose end is signed (A77). */

import { checkpointText } from '../../src/contract/control/evidence.ts'
import { encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import type { EvidenceRow } from '../store/store.ts'
import type { Operation } from './context.ts'
import { cursorOf, filters, pageOf, projectFilter, sinceOf, slotFilter } from './listing.ts'
import { projectOf } from './project-admin.ts'

/** Entries in a piece of an export, unless it is told otherwise. */
const usualPiece = 1_000

export const listEvidence: Operation<Contract['evidence.list']> = async (services, { now_ms }, { query }) => {
  const { rows, next } = await services.store.listEvidence({
    ...pageOf(query),
    ...filters({
      project_id: await projectFilter(services, query.client_id),
      slot_id: slotFilter(query.slot_id),
      kind: query.kind,
      since_ms: sinceOf(query.since, now_ms),
    }),
  })
  const items = []
  for (const row of rows) {
    const { client_id } = await services.store.projectById(row.project_id)
    items.push({ client_id, slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id), ...entryOf(row) })
  }
  return { items, next_cursor: cursorOf(next) }
}

export const exportEvidence: Operation<Contract['evidence.export']> = async (services, context, { params, query }) => {
  const { store, platform } = services
  const { after_seq = 0, limit = usualPiece } = query
  const project = await projectOf(services, params.client_id)
  const { client_id } = project
  const rows = await store.evidence(project.id, after_seq, limit)
  const entries = rows.map(entryOf)
  if (rows.length === limit) return { client_id, entries, next_seq: rows.at(-1)!.seq, checkpoint: null }
  const last = rows.at(-1) ?? (after_seq === 0 ? undefined : (await store.evidence(project.id, after_seq - 1, 1))[0])
  const facts = { client_id, entries: last?.seq ?? 0, head: last?.hash ?? null, at_ms: context.now_ms }
  const checkpoint = { ...facts, ...platform.signPublicly(checkpointText(facts)) }
  return { client_id, entries, next_seq: null, checkpoint }
}

function entryOf({ seq, kind, at_ms, entry, hash }: EvidenceRow) {
  return { seq, kind, at_ms, entry, hash }
}
