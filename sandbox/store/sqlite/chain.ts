/** The evidence chains: one append-only hash chain a project, its heads kept at hand (A77). */
import type Database from 'better-sqlite3'
import type { EvidenceDraft, EvidenceListRow, EvidenceRow, Store } from '../store.ts'
import { createFilter } from './filter.ts'

export type ChainHash = (previous: string, entry: string) => string

const genesis = '0'.repeat(64)

interface Stored {
  seq: number
  kind: EvidenceRow['kind']
  ref: number
  at_ms: number
  entry: string
  hash: Buffer
}

export function chainStatements(db: Database.Database, chainHash: ChainHash) {
  const insert = db.prepare(
    'INSERT INTO evidence (id, project_id, seq, kind, ref, slot_id, at_ms, entry, hash) VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const last = db.prepare<[number], { seq: number; hash: Buffer }>(
    'SELECT seq, hash FROM evidence WHERE project_id = ? ORDER BY seq DESC LIMIT 1',
  )
  const after = db.prepare<[number, number, number], Stored>(
    'SELECT seq, kind, ref, at_ms, entry, hash FROM evidence WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?',
  )
  const bySlot = db.prepare<[number], Stored>(
    'SELECT seq, kind, ref, at_ms, entry, hash FROM evidence WHERE slot_id = ? ORDER BY seq',
  )
  const heads = new Map<number, { seq: number; hash: string }>()

  return {
    /** Appends within the running transaction. */
    append(project_id: number, slot_id: number | null, draft: EvidenceDraft): void {
      const head = heads.get(project_id) ?? readHead(project_id)
      const seq = head.seq + 1
      const entry = draft.build(seq)
      const hash = chainHash(head.hash, entry)
      insert.run(project_id, seq, draft.kind, draft.ref, slot_id, draft.at_ms, entry, Buffer.from(hash, 'hex'))
      heads.set(project_id, { seq, hash })
    },
    /** Forgets the heads, after a rollback: they are read again from the table. */
    forget(): void {
      heads.clear()
    },
    /** One more than the limit, newest first. */
    list(query: Parameters<Store['listEvidence']>[0]): EvidenceListRow[] {
      const filter = createFilter()
      filter.add('id < ?', query.before)
      filter.add('project_id = ?', query.project_id)
      filter.add('slot_id = ?', query.slot_id)
      filter.add('kind = ?', query.kind)
      filter.add('at_ms >= ?', query.since_ms)
      return db
        .prepare<(string | number)[], Stored & Pick<EvidenceListRow, 'id' | 'project_id' | 'slot_id'>>(
          `SELECT id, project_id, slot_id, seq, kind, ref, at_ms, entry, hash FROM evidence
           WHERE ${filter.where()} ORDER BY id DESC LIMIT ?`,
        )
        .all(...filter.values, query.limit + 1)
        .map((stored) => ({ ...stored, hash: stored.hash.toString('hex') }))
    },
    after: (project_id: number, seq: number, limit: number) => after.all(project_id, seq, limit).map(toRow),
    bySlot: (slot_id: number) => bySlot.all(slot_id).map(toRow),
  }

  function readHead(project_id: number): { seq: number; hash: string } {
    const row = last.get(project_id)
    return row === undefined ? { seq: 0, hash: genesis } : { seq: row.seq, hash: row.hash.toString('hex') }
  }
}

function toRow(stored: Stored): EvidenceRow {
  return { ...stored, hash: stored.hash.toString('hex') }
}
