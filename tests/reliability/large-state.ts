/** Fills a closed database with many valid rows, faster than requests could. */
import { createHash } from 'node:crypto'
import Database from 'better-sqlite3'
import { encodeId } from '#contract/ids.ts'
import { beaconEntry } from '#contract/resources/evidence.ts'
import { insertSessionBeacons } from '#store/sqlite/migrations.ts'

const sha256 = (text: string) => createHash('sha256').update(text)

/**
 * Adds `count` accepted beacons to the newest slot of proj_demo, ten to a copy of that slot, each with its evidence entry.
 * The slots share the one job, and with it the one session.
 */
export function addBeacons(database: string, count: number): void {
  const db = new Database(database)
  addBeaconRows(db, count)
  db.close()
}

/** The same in an open database. */
export function addBeaconRows(db: Database.Database, count: number): void {
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
      `INSERT INTO evidence (project_id, seq, kind, ref, slot_id, at_ms, entry, hash) VALUES (1, ?, 'beacon', ?, ?, ?, '1', ?)`,
    )
    const last = db.prepare('SELECT seq, hash FROM evidence WHERE project_id = 1 ORDER BY seq DESC LIMIT 1').get() as {
      seq: number
      hash: Buffer
    }
    const record_sha256 = sha256('null{}').digest('base64url')
    const decided = decisionFacts(db, id)
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
        ...decided,
        seq,
        at_ms: now_ms,
        client_id: 'proj_demo',
        slot_id: encodeId('slot', slot),
        beacon_id: `beacon-${index}`,
        event: 'heartbeat',
        occurred_at_ms: now_ms,
        received_at_ms: now_ms,
        body_sha256: 'body',
        record_sha256,
      })
      hash = sha256(`${hash}${entry}`).digest('hex')
      insertEntry.run(seq, beacon, slot, now_ms, Buffer.from(hash, 'hex'))
    }
  })()
  addToSessions(db)
}

/** Fills `session_beacon` again, after rows were written past the store. */
export function addToSessions(db: Database.Database): void {
  db.exec(`DELETE FROM session_beacon; ${insertSessionBeacons.beacon}; ${insertSessionBeacons.aside_beacon}`)
}

/** What `addTraffic` adds to a state. */
export interface Traffic {
  /** Accepted beacons, ten to a placement, each with its evidence entry. */
  beacons: number
  /** Beacons that were rejected, or duplicates. */
  unaccepted: number
  /** Exchanges of the journal. */
  exchanges: number
  events: number
}

/** Times of neighbouring rows are so far apart. */
const traffic_step_ms = 10

/**
 * Adds placements with their beacons, evidence, events, journal and consent, all copies of the newest placement of
 * proj_demo. Session `old` has the first fifth of the placements, `hot` every second one of the others, and each tenth of
 * the rest a session of its own, from `s0` on. The last row of each table has the time of the newest placement.
 */
export function addTraffic(database: string, { beacons, unaccepted, exchanges, events }: Traffic): void {
  const db = new Database(database)
  db.pragma('cache_size = -200000')
  db.pragma('synchronous = OFF')
  const one = <Row>(sql: string) => db.prepare(sql).get() as Row
  const newest = one<{ id: number; job_id: number; now_ms: number }>(
    'SELECT id, job_id, decided_at_ms AS now_ms FROM slot ORDER BY id DESC LIMIT 1',
  )
  const listColumns = (table: string) =>
    (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
  const makeCopy = (table: string, changed: readonly string[]) =>
    db.prepare(
      `INSERT INTO ${table} (${listColumns(table).join(', ')})
       SELECT ${listColumns(table)
         .map((name) => (changed.includes(name) ? '?' : name))
         .join(', ')} FROM ${table} WHERE id = ?`,
    )
  const copyJob = makeCopy('job', ['id', 'session', 'created_at_ms'])
  const copySlot = makeCopy('slot', ['id', 'job_id', 'due_at_ms', 'decided_at_ms'])
  const insertSession = db.prepare('INSERT INTO session (project_id, session_id) VALUES (1, ?)')
  const insertConsent = db.prepare(
    `INSERT INTO consent (id, session, revision, state, source, semantic_targeting, prompt_shared, extras,
       updated_at_ms, expires_at_ms) VALUES (?, ?, 1, 'granted', 'wrapper_cmp', 1, 0, '{}', ?, ?)`,
  )
  const insertBeacon = db.prepare(
    `INSERT INTO beacon (id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras)
     VALUES (?, ?, ?, ?, ?, ?, 'body', ?, '{}')`,
  )
  const insertUnaccepted = db.prepare(
    `INSERT INTO aside_beacon (id, verdict, project_id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms,
       reason_code) VALUES (?, 'rejected', 1, ?, ?, 'render', ?, ?, ?)`,
  )
  const insertEntry = db.prepare(
    `INSERT INTO evidence (project_id, seq, kind, ref, slot_id, at_ms, entry, hash) VALUES (1, ?, 'beacon', ?, ?, ?, '1', ?)`,
  )
  const insertEvent = db.prepare(
    "INSERT INTO event (type, at_ms, project_id, slot_id, ref) VALUES ('beacon.accepted', ?, 1, ?, ?)",
  )
  const insertExchange = db.prepare(
    `INSERT INTO exchange (id, at_ms, method, path, status, duration_us, project_id, session_id, slot_id,
       request_headers, request_body, response_headers, response_body, key_kind, key_id)
     VALUES (?, ?, 'POST', ?, 200, 900, 1, ?, ?, ?, ?, '{}', '{"ok":true}', 'sk_test', 1)`,
  )
  const headers = JSON.stringify({ authorization: 'Bearer sk_test_redacted', 'user-agent': 'x'.repeat(100) })
  const measured = JSON.stringify({ visible_ratio: 1, visible_ms: 1_500, page_visible: true })
  const happened = ['render', 'visible', 'click', ...Array<'heartbeat'>(7).fill('heartbeat')] as const
  const last = one<{ seq: number; hash: Buffer }>(
    'SELECT seq, hash FROM evidence WHERE project_id = 1 ORDER BY seq DESC LIMIT 1',
  )
  const digests = { none: makeDigest('null{}'), measured: makeDigest(`${measured}{}`) }
  const sessions = new Map<string, number>()
  const decided = decisionFacts(db, newest.id)
  let id = newest.id
  let hash = last.hash.toString('hex')

  const chooseSession = (placement: number, all: number, at_ms: number): number => {
    const isHot = placement % 2 === 0
    const name = placement < all / 5 ? 'old' : isHot ? 'hot' : `s${Math.floor(placement / 20)}`
    const known = sessions.get(name)
    if (known !== undefined) return known
    const session = Number(insertSession.run(name).lastInsertRowid)
    sessions.set(name, session)
    insertConsent.run(++id, session, at_ms, at_ms + 1e10)
    return session
  }

  db.transaction(() => {
    const measureTime = (index: number, all: number) => newest.now_ms - (all - 1 - index) * traffic_step_ms
    let slot = newest.id
    let slot_id = ''
    for (let index = 0; index < beacons; index++) {
      const at_ms = measureTime(index, beacons)
      if (index % happened.length === 0) {
        const job = ++id
        slot = ++id
        slot_id = encodeId('slot', slot)
        const session = chooseSession(index / happened.length, beacons / happened.length, at_ms)
        copyJob.run(job, session, at_ms, newest.job_id)
        copySlot.run(slot, job, at_ms, at_ms, newest.id)
      }
      const event = happened[index % happened.length]!
      const beacon = ++id
      const beacon_id = `beacon-${index}`
      const isMeasured = event === 'visible'
      insertBeacon.run(beacon, slot, beacon_id, event, at_ms, at_ms, isMeasured ? measured : null)
      const entry = beaconEntry({
        ...decided,
        seq: last.seq + 1 + index,
        at_ms,
        client_id: 'proj_demo',
        slot_id,
        beacon_id,
        event,
        occurred_at_ms: at_ms,
        received_at_ms: at_ms,
        body_sha256: 'body',
        record_sha256: isMeasured ? digests.measured : digests.none,
      })
      hash = sha256(`${hash}${entry}`).digest('hex')
      insertEntry.run(last.seq + 1 + index, beacon, slot, at_ms, Buffer.from(hash, 'hex'))
      if (index >= beacons - events) insertEvent.run(at_ms, slot, beacon)
    }
    for (let index = 0; index < unaccepted; index++) {
      const at_ms = measureTime(index, unaccepted)
      const reason = index % 3 === 0 ? 'beacon_stale' : 'asset_token_invalid'
      insertUnaccepted.run(++id, index % 2 === 0 ? slot : null, `refused-${index}`, at_ms, at_ms, reason)
    }
    for (let index = 0; index < exchanges; index++) {
      const isBeacon = index % 2 === 1
      const path = isBeacon ? '/v1/beacons' : '/v1/placements'
      const session = `s${Math.floor(index / 100)}`
      const body = JSON.stringify({ beacon_id: `beacon-${index}`, event: 'render', session_id: session })
      insertExchange.run(++id, measureTime(index, exchanges), path, session, slot, headers, body)
    }
  })()
  addToSessions(db)
  db.close()
}

/** What the entries of beacons state of the decision of their slot. */
function decisionFacts(db: Database.Database, slot_id: number) {
  const { token, consent_revision } = db
    .prepare("SELECT asset_token_hash AS token, consent ->> 'revision' AS consent_revision FROM slot WHERE id = ?")
    .get(slot_id) as { token: Buffer | null; consent_revision: number }
  return { asset_token_sha256: token?.toString('base64url') ?? '', consent_revision }
}

function makeDigest(text: string): string {
  return sha256(text).digest('base64url')
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
