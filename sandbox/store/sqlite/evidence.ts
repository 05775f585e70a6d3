/** The evidence chains: one append-only hash chain per project, with its head cached (A77). */
import type Database from 'better-sqlite3'
import { genesis, type Sha256Hex } from '#contract/resources/evidence.ts'
import { requiredBytes, type StoredEvidence, toEvidence } from '../rows.ts'
import type { EvidenceListRow, EvidenceStore, Page } from '../store.ts'
import { buildNextEntry, type ChainHead } from '../writes/evidence.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, indexedBy, listPart, orderedBy } from './rows.ts'

export function evidenceTable({ db, read, write }: Connection, sha256Hex: Sha256Hex) {
  const { insert, last, after, bySlot, byConsent, findPrefix, savePrefix, removePrefix } = prepareEvidence(db)
  const heads = new Map<number, ChainHead>()

  const readHead = (project_id: number): ChainHead => {
    const row = last.get(project_id)
    return row === undefined
      ? { seq: 0, hash: genesis }
      : { seq: row.seq, hash: requiredBytes(row.hash, 'a hash of evidence').toString('hex') }
  }

  const methods: EvidenceStore = {
    findLastPosition: async (project_id) => read(() => last.get(project_id)?.seq ?? 0),
    listChainEntries: async (project_id, after_seq, limit) =>
      read(() => after.all(project_id, after_seq, limit).map(toEvidence)),
    listSlotEvidence: async (slot_id) => read(() => bySlot.all(slot_id).map(toEvidence)),
    findConsentEntry: async (consent_id) => read(() => byConsent.all(consent_id).map(toEvidence)[0] ?? null),
    findVerifiedPrefix: async (project_id) => read(() => findPrefix.get(project_id) ?? null),
    saveVerifiedPrefix: (project_id, record) =>
      write(() => {
        if (record === null) removePrefix.run(project_id)
        else savePrefix.run(record.text, project_id, record.entries, Buffer.from(record.head, 'hex'))
      }),
    listEvidence: async (query) => read(() => listEvidence(db, query)),
  }

  const transaction = {
    appendEvidence(project_id, slot_id, draft) {
      const head = heads.get(project_id) ?? readHead(project_id)
      const { seq, hash, entry } = buildNextEntry(head, draft, sha256Hex)
      insert.run(project_id, seq, draft.kind, draft.ref, slot_id, draft.at_ms, entry, Buffer.from(hash, 'hex'))
      heads.set(project_id, { seq, hash })
    },
  } satisfies Partial<Transaction>

  return {
    transaction,
    clear: () => heads.clear(),
    methods,
  }
}

function prepareEvidence(db: Database.Database) {
  return {
    insert: db.prepare(
      'INSERT INTO evidence (id, project_id, seq, kind, ref, slot_id, at_ms, entry, hash) VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    last: db.prepare<[number], { seq: number; hash: Buffer }>(
      'SELECT seq, hash FROM evidence WHERE project_id = ? ORDER BY seq DESC LIMIT 1',
    ),
    after: db.prepare<[number, number, number], StoredEvidence>(
      'SELECT seq, kind, ref, at_ms, entry, hash FROM evidence WHERE project_id = ? AND seq > ? ORDER BY seq LIMIT ?',
    ),
    bySlot: db.prepare<[number], StoredEvidence>(
      'SELECT seq, kind, ref, at_ms, entry, hash FROM evidence WHERE slot_id = ? ORDER BY seq',
    ),
    byConsent: db.prepare<[number], StoredEvidence>(
      "SELECT seq, kind, ref, at_ms, entry, hash FROM evidence WHERE kind = 'consent' AND ref = ? ORDER BY seq DESC LIMIT 1",
    ),
    findPrefix: db.prepare<[number], string | null>('SELECT verified_prefix FROM project WHERE id = ?').pluck(),
    savePrefix: db.prepare<[string, number, number, Buffer]>(
      `UPDATE project SET verified_prefix = ? WHERE id = ? AND EXISTS
       (SELECT 1 FROM evidence WHERE project_id = project.id AND seq = ? AND hash = ?)`,
    ),
    removePrefix: db.prepare<[number]>('UPDATE project SET verified_prefix = NULL WHERE id = ?'),
  }
}

function listEvidence(
  db: Database.Database,
  query: Parameters<EvidenceStore['listEvidence']>[0],
): Page<EvidenceListRow> {
  const filter = createFilter()
  filter.add('+project_id = ?', query.project_id)
  filter.add('+slot_id = ?', query.slot_id)
  filter.add('kind = ?', query.kind)
  filter.add('at_ms >= ?', query.since_ms)
  const indexed = [
    ...indexedBy('SELECT id FROM evidence WHERE slot_id = ?', query.slot_id),
    ...indexedBy('SELECT id FROM evidence WHERE project_id = ?', query.project_id),
  ]
  const select = 'SELECT id, project_id, slot_id, seq, kind, ref, at_ms, entry, hash FROM evidence'
  const { kind = 'beacon' } = query
  // Nearly all entries are of beacons: their index would be another of all rows.
  const column = { table: 'evidence', column: 'kind', values: [kind], condition: "kind <> 'beacon'" }
  const ordered = kind === 'beacon' ? undefined : orderedBy(db, column)
  const { rows, next } = listPart<StoredEvidence<EvidenceListRow>>(
    db,
    { table: 'evidence', select, filter, indexed, ordered },
    query,
  )
  return { rows: rows.map(toEvidence), next }
}
