/** Sessions and their consent, in numbered revisions. */
import type Database from 'better-sqlite3'
import type { ConsentRecord } from '../../domain/consent.ts'
import type { ConsentListRow, ConsentWrite, Store } from '../store.ts'
import { createFilter } from './filter.ts'
import { remember } from './recent.ts'

interface StoredConsent extends Omit<ConsentRecord, 'semantic_targeting' | 'prompt_shared'> {
  semantic_targeting: number
  prompt_shared: number
}

interface StoredListed extends StoredConsent {
  project_id: number
  session_id: string
  is_current: number
}

/** Sessions, and their newest consent, that are kept at hand. */
const cacheSize = 20_000

export function sessionStatements(db: Database.Database) {
  const find = db
    .prepare<[number, string], number>('SELECT id FROM session WHERE project_id = ? AND session_id = ?')
    .pluck()
  const insert = db.prepare('INSERT INTO session (project_id, session_id) VALUES (?, ?)')
  const latest = db.prepare<[number], StoredConsent>(
    'SELECT id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms FROM consent WHERE session = ? ORDER BY revision DESC LIMIT 1',
  )
  const insertConsent = db.prepare(
    'INSERT INTO consent (id, session, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const renewConsent = db.prepare('UPDATE consent SET extras = ?, updated_at_ms = ?, expires_at_ms = ? WHERE id = ?')
  const known = new Map<string, number>()
  const newest = new Map<number, ConsentRecord | null>()

  const idOf = (project_id: number, session_id: string): number | null => {
    const name = `${project_id} ${session_id}`
    const cached = known.get(name)
    if (cached !== undefined) return cached
    const id = find.get(project_id, session_id)
    if (id === undefined) return null
    remember(known, cacheSize, name, id)
    return id
  }

  const latestOf = (session: number | null): ConsentRecord | null => {
    if (session === null) return null
    const cached = newest.get(session)
    if (cached !== undefined) return cached
    const stored = latest.get(session)
    const record =
      stored === undefined
        ? null
        : {
            ...stored,
            ...readPurposes(stored),
          }
    remember(newest, cacheSize, session, record)
    return record
  }

  const ensure = (project_id: number, session_id: string): number => {
    const id = idOf(project_id, session_id)
    if (id !== null) return id
    const inserted = Number(insert.run(project_id, session_id).lastInsertRowid)
    remember(known, cacheSize, `${project_id} ${session_id}`, inserted)
    return inserted
  }

  return {
    forget(): void {
      known.clear()
      newest.clear()
    },
    idOf,
    ensure,
    /** One more than the limit, newest first. */
    listConsent(query: Parameters<Store['listConsent']>[0]): ConsentListRow[] {
      const filter = createFilter()
      filter.add('consent.id < ?', query.before)
      filter.add('session.project_id = ?', query.project_id)
      filter.add('session.session_id = ?', query.session_id)
      filter.add('consent.updated_at_ms >= ?', query.since_ms)
      return db
        .prepare<(string | number)[], StoredListed>(
          `SELECT consent.id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms,
             expires_at_ms, project_id, session_id,
             NOT EXISTS (SELECT 1 FROM consent later WHERE later.session = session.id AND later.revision > consent.revision)
               AS is_current
           FROM consent JOIN session ON session.id = consent.session
           WHERE ${filter.where()} ORDER BY consent.id DESC LIMIT ?`,
        )
        .all(...filter.values, query.limit + 1)
        .map((stored) => ({ ...stored, ...readPurposes(stored), is_current: stored.is_current === 1 }))
    },
    latestConsent: (project_id: number, session_id: string) => latestOf(idOf(project_id, session_id)),
    /** Within the running transaction; null when the present revision is not the expected one. */
    saveConsent(write: ConsentWrite): ConsentRecord | null {
      const session = ensure(write.project_id, write.session_id)
      const present = latestOf(session)
      if ((present?.revision ?? 0) !== write.expected_revision) return null
      const { renews, ...draft } = write.draft
      if (renews && present !== null) {
        newest.delete(session)
        renewConsent.run(draft.extras, draft.updated_at_ms, draft.expires_at_ms, present.id)
        return { ...draft, id: present.id }
      }
      newest.delete(session)
      insertConsent.run(
        write.id,
        session,
        draft.revision,
        draft.state,
        draft.source,
        draft.semantic_targeting ? 1 : 0,
        draft.prompt_shared ? 1 : 0,
        draft.extras,
        draft.updated_at_ms,
        draft.expires_at_ms,
      )
      return { ...draft, id: write.id }
    },
  }
}

function readPurposes({ semantic_targeting, prompt_shared }: StoredConsent) {
  return { semantic_targeting: semantic_targeting === 1, prompt_shared: prompt_shared === 1 }
}
