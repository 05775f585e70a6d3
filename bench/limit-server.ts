/**
 * The limit: a bare node:http server that parses JSON and writes exactly the rows that the emulator writes for the same
 * request, with group commit, and decides nothing. The emulator's throughput is reported as a share of this server's.
 * `node bench/limit-server.ts <database> lean` writes four short rows for any request instead: the least that a server
 * that stores something can do.
 */
import { createServer, type ServerResponse } from 'node:http'
import Database from 'better-sqlite3'
import { decodeInteger } from '#contract/ids.ts'
import { migrations } from '#store/sqlite/migrations.ts'

const db = new Database(process.argv[2]!)
db.pragma('page_size = 8192')
db.pragma('journal_mode = WAL')
db.pragma('synchronous = NORMAL')
db.pragma('cache_size = -2000')
for (const step of migrations) db.exec(step)

const insert = (table: string, columns: string) =>
  db.prepare(`INSERT INTO ${table} (${columns}) VALUES (${columns.replaceAll(/\w+/g, '?')})`)
const job = insert('job', 'id, project_id, session, job_type, mode, key_id, created_at_ms, facts')
const slot = insert(
  'slot',
  'id, job_id, due_at_ms, decided_at_ms, format, campaign_id, creative_id, width, height, duration_ms, gross_cpm, currency, template_id, asset_token_hash, no_fill_reason, label_text, consent, trace, catalogue, topic',
)
const beacon = insert(
  'beacon',
  'id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras',
)
const sessionBeacon = insert('session_beacon', 'session, is_accepted, id, received_at_ms, latest_at_ms')
const evidence = insert('evidence', 'id, project_id, seq, kind, ref, slot_id, at_ms, entry, hash')
const event = insert('event', 'seq, type, at_ms, project_id, slot_id, ref')
const exchange = insert(
  'exchange',
  'id, at_ms, method, path, status, error, reason_code, duration_us, project_id, session_id, slot_id, request_headers, request_body, response_headers, response_body, key_kind, key_id',
)
const begin = db.prepare('BEGIN IMMEDIATE')
const commit = db.prepare('COMMIT')

const hash = Buffer.alloc(32, 7)
const consent =
  '{"lifecycle_state":"granted","revision":1,"updated_at_ms":1795213525892,"expires_at_ms":1810765525892,"source":"none","purposes":{"semantic_targeting":false,"prompt_shared":false}}'
const trace = 'tttcttttotttottttctttofttttttttWtt'
const decisionEntry = `{"asset_token_sha256":"${'a'.repeat(43)}","at_ms":1795213525892,"campaign_id":"cmp_latchwell","client_id":"proj_demo","consent_revision":1,"decision_sha256":"${'b'.repeat(43)}","fill":true,"format":"banner","kind":"decision","mode":"test","no_fill_reason":null,"seq":1,"slot_id":"slot_0388dev7401","v":1}`
/** The text of a beacon's entry follows from its row: only the version of its template is stored. */
const beaconEntry = '1'
const headers =
  '{"authorization":"Bearer sk_test_redacted","content-type":"application/json","host":"127.0.0.1:4010","connection":"keep-alive","content-length":"160"}'
const answerHeaders =
  '{"content-type":"application/json; charset=utf-8","x-request-id":"req_0388dev7400","vary":"Origin","cache-control":"no-store","x-content-type-options":"nosniff"}'
const placementAnswer = JSON.stringify({ slot_id: 'slot_0388dev7401', status: 'ready', filler: 'x'.repeat(1_560) })
const beaconAnswer = JSON.stringify({ ok: true, accepted: true, filler: 'x'.repeat(120) })

let id = Date.now() * 4096
let seq = 0
let queue: (() => void)[] = []
let answers: (() => void)[] = []

function write(work: () => void, answer: () => void): void {
  if (queue.length === 0) setImmediate(flush)
  queue.push(work)
  answers.push(answer)
}

function flush(): void {
  const works = queue
  const done = answers
  queue = []
  answers = []
  begin.run()
  for (const work of works) work()
  commit.run()
  for (const answer of done) answer()
}

function record(path: string, body: string, answer: string, status: number): void {
  exchange.run(
    ++id,
    Date.now(),
    'POST',
    path,
    status,
    null,
    null,
    250,
    1,
    'bench',
    id,
    headers,
    body,
    answerHeaders,
    answer,
    'sk_test',
    1,
  )
}

function placement(text: string, response: ServerResponse): void {
  const body = JSON.parse(text) as { job_type: string }
  const now = Date.now()
  write(
    () => {
      const jobId = ++id
      const slotId = ++id
      job.run(
        jobId,
        1,
        1,
        body.job_type,
        'test',
        1,
        now,
        '{"allowed_formats":["banner"],"position":"inline","max_width":640,"max_height":480}',
      )
      slot.run(
        slotId,
        jobId,
        now,
        now,
        'banner',
        'cmp_latchwell',
        'crv_latchwell_banner_300x250',
        300,
        250,
        null,
        2.1,
        'USD',
        null,
        hash,
        null,
        'Sponsored',
        consent,
        trace,
        1,
        null,
      )
      evidence.run(null, 1, ++seq, 'decision', slotId, slotId, now, decisionEntry, hash)
      event.run(seq, 'placement.decided', now, 1, slotId, slotId)
      record('/v1/placements', text, placementAnswer, 200)
    },
    () => send(response, placementAnswer),
  )
}

const short = ['one', 'two', 'three', 'four'].map((name) => {
  db.exec(`CREATE TABLE ${name} (id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, name TEXT) STRICT`)
  return insert(name, 'id, at_ms, name')
})

function lean(text: string, response: ServerResponse): void {
  const body = JSON.parse(text) as { session_id?: string; beacon_id?: string }
  const now = Date.now()
  write(
    () => {
      for (const row of short) row.run(++id, now, body.session_id ?? body.beacon_id)
    },
    () => send(response, beaconAnswer),
  )
}

function beaconed(text: string, response: ServerResponse): void {
  const body = JSON.parse(text) as { beacon_id: string; event: string; occurred_at_ms: number; asset_token: string }
  const now = Date.now()
  write(
    () => {
      const slotId = decodeInteger(body.asset_token.slice(4, 15))
      const beaconId = ++id
      beacon.run(
        beaconId,
        slotId,
        body.beacon_id,
        body.event,
        body.occurred_at_ms,
        now,
        'b'.repeat(43),
        '{"visible_ratio":1,"visible_ms":1000,"page_visible":true}',
        '{}',
      )
      sessionBeacon.run(1, 1, beaconId, now, now)
      evidence.run(null, 1, ++seq, 'beacon', beaconId, slotId, now, beaconEntry, hash)
      event.run(seq, 'beacon.accepted', now, 1, slotId, beaconId)
      record('/v1/beacons', text, beaconAnswer, 200)
    },
    () => send(response, beaconAnswer),
  )
}

function send(response: ServerResponse, body: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

const isLean = process.argv[3] === 'lean'
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const text = Buffer.concat(chunks).toString('utf8')
    if (isLean) lean(text, response)
    else if (request.url === '/v1/beacons') beaconed(text, response)
    else placement(text, response)
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(
    `${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as { port: number }).port}` })}\n`,
  )
})
process.on('SIGTERM', () => process.exit(0))
