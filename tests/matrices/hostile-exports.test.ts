/** Exports that no sandbox writes: each is refused before it replaces anything, and the sandbox goes on. */
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { edit, fill, folder, stage } from '#tests/http/stage.ts'
import { addBeacons } from '#tests/reliability/large-state.ts'
import { share } from '#tests/share.ts'

const beyond = '9007199254740993'
const texts = ["'x'", "'[]'", "'1'", "'null'", "''"]
const times = ['-1', beyond]

/** Each writes something that the schema permits, and a sandbox does not. */
const hostile: readonly string[] = [
  // Rows that the evidence does not prove: they would be billed, and signed.
  "INSERT INTO beacon (slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, measurements, extras) SELECT slot_id, 'forged', 'visible', occurred_at_ms, received_at_ms, body_sha256, measurements, extras FROM beacon LIMIT 1",
  "DELETE FROM evidence WHERE id = (SELECT max(id) FROM evidence WHERE kind = 'beacon')",
  'DELETE FROM evidence WHERE id = (SELECT max(id) FROM evidence)',
  ...[
    'project',
    'api_key',
    'activation',
    'session',
    'consent',
    'job',
    'slot',
    'beacon',
    'evidence',
    'exchange',
  ].flatMap((table) =>
    [beyond, '-1'].map((id) => `UPDATE ${table} SET id = ${id} WHERE id = (SELECT max(id) FROM ${table})`),
  ),
  ...[beyond, '-1'].map((seq) => `UPDATE event SET seq = ${seq} WHERE seq = (SELECT max(seq) FROM event)`),
  ...[...texts, `'{"allowed_origins":1}'`, `'{"consent":{"ttl_ms":-1}}'`].map(
    (text) => `UPDATE project SET settings = ${text}`,
  ),
  ...[...texts, `'{}'`, `'{"offset_ms":"soon","frozen_at_ms":null}'`, `'{"offset_ms":0,"frozen_at_ms":1e300}'`].map(
    (text) => `INSERT OR REPLACE INTO meta VALUES ('clock', ${text})`,
  ),
  ...[...texts, `'{}'`, `'{"scenario":null,"added":1,"rules":[1]}'`, `'{"scenario":1,"added":0,"rules":[]}'`].map(
    (text) => `INSERT OR REPLACE INTO meta VALUES ('faults', ${text})`,
  ),
  ...[
    ['slot', 'consent'],
    ['job', 'facts'],
    ['beacon', 'measurements'],
    ['beacon', 'extras'],
    ['consent', 'extras'],
    ['exchange', 'request_headers'],
  ].flatMap(([table, column]) => texts.map((text) => `UPDATE ${table} SET ${column} = ${text}`)),
  ...[
    ['activation', 'expires_at_ms'],
    ['consent', 'expires_at_ms'],
    ['job', 'created_at_ms'],
    ['slot', 'due_at_ms'],
    ['slot', 'decided_at_ms'],
    ['beacon', 'received_at_ms'],
    ['event', 'at_ms'],
    ['exchange', 'at_ms'],
  ].flatMap(([table, column]) => times.map((time) => `UPDATE ${table} SET ${column} = ${time}`)),
  "UPDATE api_key SET mode = 'both'",
  "UPDATE api_key SET class = 'none'",
  "UPDATE consent SET state = 'maybe'",
  "UPDATE slot SET format = 'poster'",
  "UPDATE job SET mode = 'x'",
  "UPDATE evidence SET kind = 'x'",
  'UPDATE job SET project_id = 99',
  'UPDATE api_key SET project_id = 99',
  'UPDATE slot SET job_id = 99',
  'UPDATE beacon SET slot_id = 99 WHERE id = (SELECT max(id) FROM beacon)',
  'DELETE FROM project WHERE id = 1',
  "UPDATE evidence SET entry = 'x'",
  'DELETE FROM evidence WHERE seq = 2',
  'DROP TABLE meta',
  'CREATE TABLE more (id INTEGER)',
  "CREATE TRIGGER more BEFORE INSERT ON job BEGIN SELECT raise(ABORT, 'no'); END",
  'CREATE VIEW more AS SELECT 1',
  'ALTER TABLE beacon ADD COLUMN more TEXT',
]

test('bytes that are no state, or more than a state says it has, are refused as they arrive', async () => {
  using place = folder()
  const database = join(place.path, 'state.db')
  await (await stage({ database }))[Symbol.asyncDispose]()
  await using on = await stage()
  const zeros = Buffer.alloc(32_000_000)
  const problems = []
  for (const bytes of [zeros, Buffer.alloc(0), Buffer.concat([readFileSync(database), zeros])]) {
    const response = await readImport(on.sandbox.url, bytes)
    problems.push(`${response.status} ${((await response.json()) as { message: string }).message}`)
  }
  expect(problems).toEqual([
    '400 The file cannot be used: it is not a state of a sandbox.',
    '400 The file cannot be used: it is not a state of a sandbox.',
    '400 The file cannot be used: it is longer than its header says.',
  ])
})

test(`${hostile.length} hostile exports`, async () => {
  expect(hostile.length).toBeGreaterThanOrEqual(100)
  using place = folder()
  const intact = join(place.path, 'intact.db')
  {
    await using on = await stage({ database: intact })
    await fill(on.api, {
      body: {
        client_id: 'proj_demo',
        session_id: 's',
        job_type: 'chat',
        consent: { semantic_targeting: true },
      },
    })
    await on.api.accept('browser.activate', {
      origin: 'http://localhost:3000',
      body: { publishable_key: 'pk_test_sandbox_demo' },
    })
  }
  addBeacons(intact, 10)
  edit(intact, (db) => db.exec(`UPDATE beacon SET measurements = '{"visible_ms":1}' WHERE event <> 'heartbeat'`))
  await using on = await stage()
  const accepted: string[] = []
  for (const statement of hostile.filter((_, index) => share.has(index))) {
    const path = join(place.path, 'hostile.db')
    copyFileSync(intact, path)
    edit(path, (db) => db.exec(`PRAGMA foreign_keys = OFF; ${statement}`))
    const response = await readImport(on.sandbox.url, readFileSync(path))
    const { reason_code, message } = (await response.json()) as { reason_code?: string; message?: string }
    if (response.status !== 400 || reason_code !== 'archive_invalid')
      accepted.push(`${statement} -> ${response.status} ${message}`)
  }
  expect(accepted).toEqual([])
  await fill(on.api)
  await on.api.accept('sandbox.reset')
  await fill(on.api)
})

function readImport(url: string, bytes: Buffer): Promise<Response> {
  return fetch(new URL('/_sandbox/import', url), {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: gzipSync(bytes, { level: 1 }),
  })
}
