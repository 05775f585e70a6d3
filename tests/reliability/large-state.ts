/** Fills a closed database with many valid rows, faster than requests could. */
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
import { beaconEntry } from '../../sandbox/domain/evidence.ts'
import { encodeId } from '../../src/contract/ids.ts'

const sha256 = (text: string) => createHash('sha256').update(text)

/**
 * Adds `count` accepted beacons to the newest slot of proj_demo, ten to a copy of that slot, each with its evidence entry.
 * The slots share the one job, and with it the one session.
 */
export function addBeacons(database: string, count: number): void {
  const db = new Database(database)
  db.transaction(() => {
    const [{ id, now_ms }] = db.prepare('SELECT max(id) AS id, max(decided_at_ms) AS now_ms FROM slot').all() as [
      { id: number; now_ms: number },
    ]
    const columns = (db.pragma('table_info(slot)') as { name: string }[]).map(({ name }) => name).slice(1)
    const copySlot = db.prepare(`INSERT INTO slot SELECT ?, ${columns.join(', ')} FROM slot WHERE id = ?`)
    const insertBeacon = db.prepare(
      `INSERT INTO beacon (id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras)
       VALUES (?, ?, ?, 'heartbeat', ?, ?, 'body', NULL, '{}')`,
    )
    const insertEntry = db.prepare(
      `INSERT INTO evidence (project_id, seq, kind, ref, slot_id, at_ms, entry, hash) VALUES (1, ?, 'beacon', ?, ?, ?, ?, ?)`,
    )
    const last = db.prepare('SELECT seq, hash FROM evidence WHERE project_id = 1 ORDER BY seq DESC LIMIT 1').get() as {
      seq: number
      hash: Buffer
    }
    const record_sha256 = sha256('null{}').digest('base64url')
    let hash = last.hash.toString('hex')
    let slot = id
    for (let index = 1; index <= count; index++) {
      if (index % 10 === 1) {
        slot = id + index
        copySlot.run(slot, id)
      }
      const beacon = id + count + index
      const seq = last.seq + index
      insertBeacon.run(beacon, slot, `beacon-${index}`, now_ms, now_ms)
      const entry = beaconEntry({
        seq,
        at_ms: now_ms,
        client_id: 'proj_demo',
        slot_id: encodeId('slot', slot),
        asset_token_sha256: 'token',
        beacon_id: `beacon-${index}`,
        event: 'heartbeat',
        occurred_at_ms: now_ms,
        received_at_ms: now_ms,
        consent_revision: 1,
        body_sha256: 'body',
        record_sha256,
      })
      hash = sha256(`${hash}${entry}`).digest('hex')
      insertEntry.run(seq, beacon, slot, now_ms, entry, Buffer.from(hash, 'hex'))
    }
  })()
  db.close()
}

/** Adds `count` pending slots, each with its job, that become due at `due_at_ms`. */
export function addPending(database: string, count: number, due_at_ms: number): void {
  const db = new Database(database)
  db.exec(`
    INSERT INTO job (id, project_id, session, job_type, mode, key_id, created_at_ms, facts)
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      SELECT (SELECT max(id) FROM slot) + 2 * i, project_id, session, job_type, mode, key_id, created_at_ms, facts
      FROM n, job WHERE job.id = (SELECT max(id) FROM job);
    INSERT INTO slot (id, job_id, due_at_ms)
      SELECT id + 1, id, ${due_at_ms} FROM job WHERE id > (SELECT max(id) FROM slot);
  `)
  db.close()
}
