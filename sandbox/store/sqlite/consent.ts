/** Sessions and their consent, in numbered revisions. */
import type Database from 'better-sqlite3'
import type { ConsentRecord } from '#domain/consent.ts'
import { cacheRow } from '../rows.ts'
import type { ConsentListRow, ConsentStore, Page } from '../store.ts'
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
  const statements = prepareConsent(db)
  const { findSession, ensureSession, clearSessions } = cachedSessions(statements)
  const newest = new Map<number, ConsentRecord | null>()

  const transaction = {
    newestConsent: ({ project_id, session_id }) => findNewest(ensureSession(project_id, session_id)),
    insertConsent({ project_id, session_id }, record) {
      const session = ensureSession(project_id, session_id)
      newest.delete(session)
      statements.insert.run(
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
      statements.renew.run(extras, updated_at_ms, expires_at_ms, id)
    },
  } satisfies Partial<Transaction>

  const methods: Omit<ConsentStore, keyof WriteMethods> = {
    findLatestConsent: (project_id, session_id) => read(() => findNewest(findSession(project_id, session_id))),
    findConsentRevision: async ({ project_id, session_id }, revision) =>
      read(() => {
        const session = findSession(project_id, session_id)
        return toRecord(session === null ? undefined : statements.findRevision.get(session, revision))
      }),
    listConsent: async (query) => read(() => listConsent(db, query)),
  }

  return { findSession, ensureSession, transaction, clear, methods }

  function findNewest(session: number | null): ConsentRecord | null {
    if (session === null) return null
    const cached = newest.get(session)
    if (cached !== undefined) return cached
    const record = toRecord(statements.findNewest.get(session))
    cacheRow(newest, cacheSize, session, record)
    return record
  }

  function clear(): void {
    clearSessions()
    newest.clear()
  }
}

function cachedSessions(statements: ReturnType<typeof prepareConsent>) {
  const sessions = new Map<string, number>()

  return { findSession, ensureSession, clearSessions: () => sessions.clear() }

  /** Returns the row number of a session, or null when there is none. */
  function findSession(project_id: number, session_id: string): number | null {
    const name = `${project_id} ${session_id}`
    const cached = sessions.get(name)
    if (cached !== undefined) return cached
    const id = statements.findSession.get(project_id, session_id)
    if (id === undefined) return null
    cacheRow(sessions, cacheSize, name, id)
    return id
  }

  /** Returns the row number of a session, which is created when missing, inside the running transaction. */
  function ensureSession(project_id: number, session_id: string): number {
    const id = findSession(project_id, session_id)
    if (id !== null) return id
    const inserted = Number(statements.insertSession.run(project_id, session_id).lastInsertRowid)
    cacheRow(sessions, cacheSize, `${project_id} ${session_id}`, inserted)
    return inserted
  }
}

const consentColumns =
  'id, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms'

function prepareConsent(db: Database.Database) {
  return {
    findSession: db
      .prepare<[number, string], number>('SELECT id FROM session WHERE project_id = ? AND session_id = ?')
      .pluck(),
    insertSession: db.prepare('INSERT INTO session (project_id, session_id) VALUES (?, ?)'),
    findNewest: db.prepare<[number], Stored<ConsentRecord>>(
      `SELECT ${consentColumns} FROM consent WHERE session = ? ORDER BY revision DESC LIMIT 1`,
    ),
    findRevision: db.prepare<[number, number], Stored<ConsentRecord>>(
      `SELECT ${consentColumns} FROM consent WHERE session = ? AND revision = ?`,
    ),
    insert: db.prepare(
      'INSERT INTO consent (id, session, revision, state, source, semantic_targeting, prompt_shared, extras, updated_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    renew: db.prepare('UPDATE consent SET extras = ?, updated_at_ms = ?, expires_at_ms = ? WHERE id = ?'),
  }
}

type ConsentQuery = Parameters<ConsentStore['listConsent']>[0]

function listConsent(db: Database.Database, query: ConsentQuery): Page<ConsentListRow> {
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
  const source = { table: 'consent', select, filter, indexed: indexedBy(ofSession, query.session_id) }
  const { rows, next } = listPart<Stored<ConsentListRow> & { is_current: number }>(db, source, query)
  return {
    rows: rows.map((stored) => ({ ...stored, ...toPurposes(stored), is_current: stored.is_current === 1 })),
    next,
  }
}

function toRecord(stored: Stored<ConsentRecord> | undefined): ConsentRecord | null {
  return stored === undefined ? null : { ...stored, ...toPurposes(stored) }
}

function toPurposes({ semantic_targeting, prompt_shared }: { semantic_targeting: number; prompt_shared: number }) {
  return { semantic_targeting: semantic_targeting === 1, prompt_shared: prompt_shared === 1 }
}
