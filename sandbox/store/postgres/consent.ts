/** Sessions and their consent, in numbered revisions. Nothing is cached: another node may have changed it. */
import type { ConsentRecord } from '#domain/consent.ts'
import type { ConsentListRow, ConsentStore } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import { consentColumns, sessionsWanted, toNewestConsent } from './batch/load.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, listPart, sessionsNamed, shareReads } from './rows.ts'

interface StoredPurposes {
  semantic_targeting: number
  prompt_shared: number
}

type Stored = Omit<ConsentListRow, keyof StoredPurposes> & StoredPurposes
type StoredRecord = Omit<ConsentRecord, keyof StoredPurposes> & StoredPurposes

export function consentTable(connection: Connection): Omit<ConsentStore, keyof WriteMethods> {
  const { read } = connection
  const newest = shareReads(async (names: readonly string[]) => {
    const wanted = names.map((name): [number, string] => JSON.parse(name))
    const rows = await read<Parameters<typeof toNewestConsent>[0]>(sessionsWanted, [
      wanted.map(([project_id]) => project_id),
      wanted.map(([, session_id]) => session_id),
    ])
    return new Map(rows.map((row) => [JSON.stringify([row.project_id, row.session_id]), toNewestConsent(row)]))
  })
  return {
    findLatestConsent: (project_id, session_id) => newest(JSON.stringify([project_id, session_id])),
    async findConsentRevision({ project_id, session_id }, revision) {
      const rows = await read<StoredRecord>(
        `SELECT ${consentColumns} FROM consent WHERE revision = $3
           AND session = (SELECT id FROM session WHERE project_id = $1 AND session_id = $2)`,
        [project_id, session_id, revision],
      )
      return rows.map((row) => ({ ...row, ...toPurposes(row) }))[0] ?? null
    },
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
        rows: rows.map((row) => ({ ...row, ...toPurposes(row) })),
        next,
      }
    },
  }
}

function toPurposes({ semantic_targeting, prompt_shared }: StoredPurposes) {
  return { semantic_targeting: semantic_targeting === 1, prompt_shared: prompt_shared === 1 }
}
