/** Sessions and their consent, in numbered revisions. */
import type { ConsentRecord } from '#domain/consent.ts'
import { cacheRow } from '../rows.ts'
import type { ConsentListRow, ConsentStore, ConsentWrite } from '../store.ts'
import type { EventTable } from './events.ts'
import type { EvidenceTable } from './evidence.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart, sessionsNamed } from './rows.ts'

type Stored<Row extends ConsentRecord> = Omit<Row, 'semantic_targeting' | 'prompt_shared' | 'is_current'> & {
  semantic_targeting: number
  prompt_shared: number
}

/** Cached sessions, and their newest consent. */
const cacheSize = 20_000

export type ConsentTable = ReturnType<typeof consentTable>

export function consentTable(
  { db, read, write }: Connection,
  { evidence, events }: { evidence: EvidenceTable; events: EventTable },
) {
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

  const latestOf = (session: number | null): ConsentRecord | null => {
    if (session === null) return null
    const cached = newest.get(session)
    if (cached !== undefined) return cached
    const stored = latest.get(session)
    const record = stored === undefined ? null : { ...stored, ...purposesOf(stored) }
    cacheRow(newest, cacheSize, session, record)
    return record
  }

  const saveRow = ({ id, project_id, session_id, expected, draft: { renews, ...draft } }: ConsentWrite) => {
    const session = ensureSession(project_id, session_id)
    const present = latestOf(session)
    if (present?.revision !== expected?.revision || present?.updated_at_ms !== expected?.updated_at_ms) return null
    newest.delete(session)
    if (renews && present !== null) {
      renew.run(draft.extras, draft.updated_at_ms, draft.expires_at_ms, present.id)
      return { ...draft, id: present.id }
    }
    insert.run(
      id,
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
    return { ...draft, id }
  }

  /** Inside the running transaction; null when the newest record is not the expected one. */
  const save = (consent: ConsentWrite): ConsentRecord | null => {
    const record = saveRow(consent)
    if (record === null) return null
    const { project_id } = consent
    evidence.append(project_id, null, consent.evidence)
    const { id: ref, updated_at_ms: at_ms } = record
    events.append({ type: 'consent.changed', at_ms, project_id, slot_id: null, ref })
    return record
  }

  const methods: ConsentStore = {
    latestConsent: (project_id, session_id) => read(() => latestOf(sessionOf(project_id, session_id))),
    saveConsent: (consent) => write(() => save(consent)),
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
        rows: rows.map((stored) => ({ ...stored, ...purposesOf(stored), is_current: stored.is_current === 1 })),
        next,
      }
    },
  }

  return {
    sessionOf,
    ensureSession,
    save,
    clear() {
      sessions.clear()
      newest.clear()
    },
    methods,
  }
}

function purposesOf({ semantic_targeting, prompt_shared }: { semantic_targeting: number; prompt_shared: number }) {
  return { semantic_targeting: semantic_targeting === 1, prompt_shared: prompt_shared === 1 }
}
