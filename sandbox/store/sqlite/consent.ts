/** Sessions and their consent, in numbered revisions. */
import type { ConsentRecord } from '#domain/consent.ts'
import { cacheRow } from '../rows.ts'
import type { ConsentListRow, ConsentStore } from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart, sessionsNamed } from './rows.ts'

type Stored<Row extends ConsentRecord> = Omit<Row, 'semantic_targeting' | 'prompt_shared' | 'is_current'> & {
  semantic_targeting: number
  prompt_shared: number
}

/** Cached sessions, and their newest consent. */
const cacheSize = 20_000

export type ConsentTable = ReturnType<typeof consentTable>

export function consentTable({ db, read }: Connection) {
  const findSession = db
    .prepare<[number, string], number>('SELECT id FROM session WHERE project_id = ? AND session_id = ?')
    .pluck()
  const insertSession = db.prepare('INSERT INTO session (project_id, session_id) VALUES (?, ?)')
  const latest = db.prepare<[number], Stored<ConsentRecord>>(
    'SELECT id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms FROM consent WHERE session = ? ORDER BY revision DESC LIMIT 1',
  )
  const insert = db.prepare(
    'INSERT INTO consent (id, session, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const renew = db.prepare('UPDATE consent SET extras = ?, updated_at_ms = ?, expires_at_ms = ? WHERE id = ?')
  const sessions = new Map<string, number>()
  const newest = new Map<number, ConsentRecord | null>()

  /** Returns the row number of a session, or null when there is none. */
  const sessionOf = (project_id: number, session_id: string): number | null => {
    const name = `${project_id} ${session_id}`
    const cached = sessions.get(name)
    if (cached !== undefined) return cached
    const id = findSession.get(project_id, session_id)
    if (id === undefined) return null
    cacheRow(sessions, cacheSize, name, id)
    return id
  }

  /** Returns the row number of a session, which is created when missing, inside the running transaction. */
  const ensureSession = (project_id: number, session_id: string): number => {
    const id = sessionOf(project_id, session_id)
    if (id !== null) return id
    const inserted = Number(insertSession.run(project_id, session_id).lastInsertRowid)
    cacheRow(sessions, cacheSize, `${project_id} ${session_id}`, inserted)
    return inserted
  }

  const findNewest = (session: number | null): ConsentRecord | null => {
    if (session === null) return null
    const cached = newest.get(session)
    if (cached !== undefined) return cached
    const stored = latest.get(session)
    const record = stored === undefined ? null : { ...stored, ...toPurposes(stored) }
    cacheRow(newest, cacheSize, session, record)
    return record
  }

  const transaction = {
    newestConsent: ({ project_id, session_id }) => findNewest(ensureSession(project_id, session_id)),
    insertConsent({ project_id, session_id }, record) {
      const session = ensureSession(project_id, session_id)
      newest.delete(session)
      insert.run(
        record.id,
        session,
        record.revision,
        record.state,
        record.source,
        record.semantic_targeting ? 1 : 0,
        record.prompt_shared ? 1 : 0,
        record.extras,
        record.updated_at_ms,
        record.expires_at_ms,
      )
    },
    renewConsent({ project_id, session_id }, { id, extras, updated_at_ms, expires_at_ms }) {
      newest.delete(ensureSession(project_id, session_id))
      renew.run(extras, updated_at_ms, expires_at_ms, id)
    },
  } satisfies Partial<Transaction>

  const methods: Omit<ConsentStore, keyof WriteMethods> = {
    latestConsent: (project_id, session_id) => read(() => findNewest(sessionOf(project_id, session_id))),
    async listConsent(query) {
      const filter = createFilter()
      filter.add('+session.project_id = ?', query.project_id)
      filter.add('+session.session_id = ?', query.session_id)
      filter.add('consent.updated_at_ms >= ?', query.since_ms)
      const ofSession = `SELECT id FROM consent WHERE session IN (${sessionsNamed})`
      const select = `SELECT consent.id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms,
           expires_at_ms, project_id, session_id,
           NOT EXISTS (SELECT 1 FROM consent later WHERE later.session = session.id AND later.revision > consent.revision)
             AS is_current
         FROM consent CROSS JOIN session ON session.id = consent.session`
      const { rows, next } = read(() =>
        listPart<Stored<ConsentListRow> & { is_current: number }>(
          db,
          { table: 'consent', select, filter, indexed: indexedBy(ofSession, query.session_id) },
          query,
        ),
      )
      return {
        rows: rows.map((stored) => ({ ...stored, ...toPurposes(stored), is_current: stored.is_current === 1 })),
        next,
      }
    },
  }

  return {
    sessionOf,
    ensureSession,
    transaction,
    clear() {
      sessions.clear()
      newest.clear()
    },
    methods,
  }
}

function toPurposes({ semantic_targeting, prompt_shared }: { semantic_targeting: number; prompt_shared: number }) {
  return { semantic_targeting: semantic_targeting === 1, prompt_shared: prompt_shared === 1 }
}
