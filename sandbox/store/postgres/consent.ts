/** Sessions and their consent, in numbered revisions. Nothing is cached: another node may have changed it. */
import type { ConsentRecord } from '#domain/consent.ts'
import type { ConsentListRow, ConsentStore, ConsentWrite } from '../store.ts'
import { type Batch, newestOf, sessionsWanted } from './batch.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, listPart, sessionsNamed, shareReads } from './rows.ts'

type Stored = Omit<ConsentListRow, 'semantic_targeting' | 'prompt_shared'> & {
  semantic_targeting: number
  prompt_shared: number
}

export function consentTable(connection: Connection): ConsentStore {
  const { read, write } = connection
  const newest = shareReads(async (names: readonly string[]) => {
    const wanted = names.map((name) => JSON.parse(name) as [number, string])
    const rows = await read<Parameters<typeof newestOf>[0]>(sessionsWanted, [
      wanted.map(([project_id]) => project_id),
      wanted.map(([, session_id]) => session_id),
    ])
    return new Map(rows.map((row) => [JSON.stringify([row.project_id, row.session_id]), newestOf(row)]))
  })
  return {
    latestConsent: (project_id, session_id) => newest(JSON.stringify([project_id, session_id])),
    saveConsent: (consent) =>
      write({ projects: [consent.project_id], sessions: [consent] }, (batch) => saveConsent(batch, consent)),
    async listConsent(query) {
      const filter = createFilter()
      filter.add('session.project_id = ?', query.project_id)
      filter.add(`consent.session IN (${sessionsNamed})`, query.session_id)
      filter.add('consent.updated_at_ms >= ?', query.since_ms)
      const select = `SELECT consent.id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms,
           expires_at_ms, project_id, session_id,
           NOT EXISTS (SELECT 1 FROM consent later WHERE later.session = session.id AND later.revision > consent.revision)
             AS is_current
         FROM consent JOIN session ON session.id = consent.session`
      const isIndexed = query.session_id !== undefined
      const { rows, next } = await listPart<Stored>(connection, { table: 'consent', select, filter, isIndexed }, query)
      return {
        rows: rows.map((row) => ({
          ...row,
          semantic_targeting: row.semantic_targeting === 1,
          prompt_shared: row.prompt_shared === 1,
        })),
        next,
      }
    },
  }
}

/** Inside a batch that has locked the project; null when the newest record is not the expected one. */
export function saveConsent(batch: Batch, consent: ConsentWrite): ConsentRecord | null {
  const { project_id, expected, draft: drafted, evidence } = consent
  const { renews, ...draft } = drafted
  const present = batch.newestConsent(consent)
  if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null
  const record = { ...draft, id: renews && present !== null ? present.id : consent.id }
  const { extras, updated_at_ms, expires_at_ms } = draft
  if (renews && present !== null) {
    batch.renewals.set(present.id, { id: present.id, extras, updated_at_ms, expires_at_ms })
  } else {
    const { id, revision, state, source } = record
    batch.add('consent', {
      ...{ id, session: batch.sessionId(consent), revision, state, source },
      semantic_targeting: draft.semantic_targeting ? 1 : 0,
      prompt_shared: draft.prompt_shared ? 1 : 0,
      ...{ extras, updated_at_ms, expires_at_ms },
    })
  }
  batch.setNewestConsent(consent, record)
  batch.appendEvidence(project_id, null, evidence)
  batch.appendEvent({ type: 'consent.changed', at_ms: updated_at_ms, project_id, slot_id: null, ref: record.id })
  return record
}
