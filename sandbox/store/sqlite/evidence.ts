/** The evidence chains: one append-only hash chain per project, with its head cached (A77). */
import type Database from 'better-sqlite3'
import { genesis, type Sha256Hex } from '#contract/resources/evidence.ts'
import { requiredBytes } from '../rows.ts'
import type { EvidenceStore, Page } from '../store.ts'
import { buildNextEntry, type ChainHead } from '../writes/evidence.ts'
import type { Transaction } from '../writes/transaction.ts'
import { entryTexts, type StoredEntry, selectEntries, toStoredText } from './entries.ts'
import type { Connection } from './group-commit.ts'
import type { PlacementTable } from './placements.ts'
import { createFilter, indexedBy, listPart, orderedBy } from './rows.ts'

export function evidenceTable({ db, read, write }: Connection, placements: PlacementTable, sha256Hex: Sha256Hex) {
  const { insert, last, after, bySlot, byConsent, findPrefix, savePrefix, removePrefix } = prepareEvidence(db)
  const withTexts = entryTexts(db)
  const heads = new Map<number, ChainHead>()

  const readHead = (project_id: number): ChainHead => {
    const row = last.get(project_id)
    return row === undefined
      ? { seq: 0, hash: genesis }
      : { seq: row.seq, hash: requiredBytes(row.hash, 'a hash of evidence').toString('hex') }
  }

  /** In one transaction, also while another connection replaces the state. */
  const readEntries = (find: () => StoredEntry[]) => read(() => db.transaction(() => withTexts(find()))())

  const methods: EvidenceStore = {
    findLastPosition: async (project_id) => read(() => last.get(project_id)?.seq ?? 0),
    listChainEntries: async (project_id, after_seq, limit) =>
      readEntries(() => after.all(project_id, after_seq, limit)),
    listSlotEvidence: async (slot_id) => readEntries(() => bySlot.all(slot_id)),
    findConsentEntry: async (consent_id) => readEntries(() => byConsent.all(consent_id))[0] ?? null,
    findVerifiedPrefix: async (project_id) => read(() => findPrefix.get(project_id) ?? null),
    saveVerifiedPrefix: (project_id, record) =>
      write(() => {
        if (record === null) removePrefix.run(project_id)
        else savePrefix.run(record.text, project_id, record.entries, Buffer.from(record.head, 'hex'))
      }),
    async listEvidence(query) {
      let next: number | null = null
      const rows = readEntries(() => {
        const part = listEvidence(db, query)
        next = part.next
        return part.rows
      })
      return { rows, next }
    },
  }

  const transaction = {
    appendEvidence(project_id, slot_id, draft) {
      const head = heads.get(project_id) ?? readHead(project_id)
      const { seq, hash, entry } = buildNextEntry(head, draft, sha256Hex)
      const { kind, ref, at_ms } = draft
      const text = kind === 'beacon' && slot_id !== null ? storedText(slot_id, entry) : entry
      insert.run(project_id, seq, kind, ref, slot_id, at_ms, text, Buffer.from(hash, 'hex'))
      heads.set(project_id, { seq, hash })
    },
  } satisfies Partial<Transaction>

  return {
    transaction,
    clear: () => heads.clear(),
    methods,
  }

  function storedText(slot_id: number, entry: string): string {
    const outcome = placements.find(slot_id)?.decision?.outcome
    return outcome?.status === 'filled' ? toStoredText(entry, outcome.asset_token_hash) : entry
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
    after: db.prepare<[number, number, number], StoredEntry>(
      `${selectEntries} WHERE evidence.project_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
    ),
    bySlot: db.prepare<[number], StoredEntry>(`${selectEntries} WHERE evidence.slot_id = ? ORDER BY seq`),
    byConsent: db.prepare<[number], StoredEntry>(
      `${selectEntries} WHERE kind = 'consent' AND ref = ? ORDER BY seq DESC LIMIT 1`,
    ),
    findPrefix: db.prepare<[number], string | null>('SELECT verified_prefix FROM project WHERE id = ?').pluck(),
    savePrefix: db.prepare<[string, number, number, Buffer]>(
      `UPDATE project SET verified_prefix = ? WHERE id = ? AND EXISTS
       (SELECT 1 FROM evidence WHERE project_id = project.id AND seq = ? AND hash = ?)`,
    ),
    removePrefix: db.prepare<[number]>('UPDATE project SET verified_prefix = NULL WHERE id = ?'),
  }
}

function listEvidence(db: Database.Database, query: Parameters<EvidenceStore['listEvidence']>[0]): Page<StoredEntry> {
  const filter = createFilter()
  filter.add('+evidence.project_id = ?', query.project_id)
  filter.add('+evidence.slot_id = ?', query.slot_id)
  filter.add('kind = ?', query.kind)
  filter.add('at_ms >= ?', query.since_ms)
  const indexed = [
    ...indexedBy('SELECT id FROM evidence WHERE slot_id = ?', query.slot_id),
    ...indexedBy('SELECT id FROM evidence WHERE project_id = ?', query.project_id),
  ]
  const { kind = 'beacon' } = query
  // Nearly all entries are of beacons: their index would be another of all rows.
  const column = { table: 'evidence', column: 'kind', values: [kind], condition: "kind <> 'beacon'" }
  const ordered = kind === 'beacon' ? undefined : orderedBy(db, column)
  const source = { table: 'evidence', select: selectEntries, filter, indexed, ordered }
  return listPart<StoredEntry>(db, source, query)
}
