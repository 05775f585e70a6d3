/** The evidence chains: one append-only hash chain per project (A77). Batches append to them under the lock of the project. */
import { type StoredEvidence, toEvidence } from '../rows.ts'
import type { EvidenceListRow, EvidenceStore } from '../store.ts'
import type { Connection } from './group-commit.ts'
import { createFilter, listPart } from './rows.ts'

const columns = 'seq, kind, ref, at_ms, entry, hash'

export function evidenceTable(connection: Connection): EvidenceStore {
  const { read, change } = connection
  return {
    async findLastPosition(project_id) {
      const sql = 'SELECT coalesce(max(seq), 0) AS seq FROM evidence WHERE project_id = $1'
      return (await read<{ seq: number }>(sql, [project_id]))[0]!.seq
    },
    async listChainEntries(project_id, after_seq, limit) {
      const rows = await read<StoredEvidence>(
        `SELECT ${columns} FROM evidence WHERE project_id = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
        [project_id, after_seq, limit],
      )
      return rows.map(toEvidence)
    },
    async listSlotEvidence(slot_id) {
      const rows = await read<StoredEvidence>(`SELECT ${columns} FROM evidence WHERE slot_id = $1 ORDER BY seq`, [
        slot_id,
      ])
      return rows.map(toEvidence)
    },
    async findConsentEntry(consent_id) {
      const rows = await read<StoredEvidence>(
        `SELECT ${columns} FROM evidence WHERE kind = 'consent' AND ref = $1 ORDER BY seq DESC LIMIT 1`,
        [consent_id],
      )
      return rows.map(toEvidence)[0] ?? null
    },
    async findVerifiedPrefix(project_id) {
      const sql = 'SELECT verified_prefix FROM project WHERE id = $1'
      return (await read<{ verified_prefix: string | null }>(sql, [project_id]))[0]?.verified_prefix ?? null
    },
    saveVerifiedPrefix: (project_id, record) =>
      change([project_id], async (_, link) => {
        if (record === null) {
          await link.run('UPDATE project SET verified_prefix = NULL WHERE id = $1', [project_id])
          return
        }
        await link.run(
          `UPDATE project SET verified_prefix = $2 WHERE id = $1 AND EXISTS
           (SELECT 1 FROM evidence WHERE project_id = $1 AND seq = $3 AND hash = $4)`,
          [project_id, record.text, record.entries, Buffer.from(record.head, 'hex')],
        )
      }),
    async listEvidence(query) {
      const filter = createFilter()
      filter.add('project_id = ?', query.project_id)
      filter.add('slot_id = ?', query.slot_id)
      filter.add('kind = ?', query.kind)
      filter.add('at_ms >= ?', query.since_ms)
      const select = `SELECT id, project_id, slot_id, ${columns} FROM evidence`
      const isIndexed = query.slot_id !== undefined
      const { kind = 'beacon' } = query
      // Nearly all entries are of beacons: their index would be another of all rows.
      const column = { table: 'evidence', column: 'kind', values: [kind], condition: "kind <> 'beacon'" }
      const ordered = kind === 'beacon' ? null : column
      const { rows, next } = await listPart<StoredEvidence<EvidenceListRow>>(
        connection,
        { table: 'evidence', select, filter, isIndexed, ordered },
        query,
      )
      return { rows: rows.map(toEvidence), next }
    },
  }
}

/**
 * Resolves to the counters that do not match their rows, which the next write would continue from: the chains'
 * counters, and the last number of an event. Checking pages is left to PostgreSQL.
 */
export async function counterProblems({ read }: Connection): Promise<string[]> {
  const rows = await read<{ problem: string }>(`
    SELECT 'the chain of project ' || chain.project_id || ' is at entry ' || chain.seq || ', its evidence at '
      || coalesce(last.seq, 0) || CASE WHEN chain.seq = last.seq THEN ' with another hash' ELSE '' END AS problem
    FROM chain LEFT JOIN LATERAL (SELECT seq, hash FROM evidence WHERE evidence.project_id = chain.project_id
      ORDER BY seq DESC LIMIT 1) last ON true
    WHERE chain.seq <> coalesce(last.seq, 0) OR chain.hash IS DISTINCT FROM last.hash
    UNION ALL SELECT 'the last event is ' || last.seq || ', the counter of events is at ' || last_seq
    FROM head, (SELECT max(seq) AS seq FROM event) last WHERE last.seq > last_seq LIMIT 20`)
  return rows.map(({ problem }) => problem)
}
