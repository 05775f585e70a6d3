/** Lists consent records, with what their consent strings say. */
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import type { ConsentItem } from '#contract/resources/consent.ts'
import { type ConsentRecord, createSnapshot } from '#domain/consent.ts'
import type { PageQuery, SlotRow } from '#store/store.ts'
import { defined, listItems, type Operation, parseSinceFilter, projectFilter, type Services } from './context.ts'

/** GET /_sandbox/consent: every revision, in its present state. */
export const listConsent: Operation<Contract['consent.list']> = async (services, context, { query }) => {
  const { now_ms } = context
  const filter = defined({
    project_id: await projectFilter(services, query.client_id),
    session_id: query.session_id,
    since_ms: parseSinceFilter(query.since, now_ms),
  })
  const read = (part: PageQuery) => services.store.listConsent({ ...part, ...filter })
  return listItems(context, query, read, async (row): Promise<ConsentItem> => {
    const extras: ConsentItem['extras'] = JSON.parse(row.extras)
    const { client_id } = await services.store.findProjectById(row.project_id)
    const { lifecycle_state, revision, source, purposes, updated_at_ms, expires_at_ms } = createSnapshot(row, now_ms)
    return {
      consent_id: encodeId('cns', row.id),
      client_id,
      session_id: row.session_id,
      revision,
      is_current: row.is_current,
      lifecycle_state,
      source,
      ...purposes,
      updated_at_ms,
      expires_at_ms,
      extras,
      strings: await decodeStrings(row.extras),
    }
  })
}

/** Resolves to what the strings in the stored data of a consent say. Without one, the decoder is not loaded. */
export async function decodeStrings(extras: string): Promise<ConsentItem['strings']> {
  if (!/"(tcf|gpp)_\w*string"/.test(extras)) return []
  const { decodeConsentStrings } = await import('#foundation/consent/strings.ts')
  return decodeConsentStrings(JSON.parse(extras))
}

/** Resolves to the stored consent that a decision is bound to; null when none was stored, or there is no decision. */
export async function findBoundConsent(
  { store }: Pick<Services, 'store'>,
  { decision, job, project }: SlotRow,
): Promise<ConsentRecord | null> {
  const { session_id } = job
  if (decision === null || session_id === null) return null
  const { revision, source } = decision.consent
  const record = await store.findConsentRevision({ project_id: project.id, session_id }, revision)
  // Without a stored consent the snapshot has revision 1 too, and the session's first consent may come later (A63).
  return record?.source === source ? record : null
}
