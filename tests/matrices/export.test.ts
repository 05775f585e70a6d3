/** Exports, imports and restores under load: each file is one point in time, and no request sees a mix of two states. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { type ClientRequest, createServer, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { encodeId } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { startLoad } from '#tests/reliability/load.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const reports: unknown[] = []

afterEach(() => {
  expect(reports.splice(0)).toEqual([])
})

describe.each(['file', 'memory'])('of a sandbox in %s', (where) => {
  test('an export under load is one point in time, with everything that was acknowledged before it', async () => {
    await using from = await start(where)
    const load = startLoad(from, 8)
    await load.until(20)
    const exports = []
    for (let count = 0; count < 3; count++) {
      await load.until(load.placed + 10)
      const acknowledged = [...load.acknowledged]
      const file = await exported(from)
      expect(load.acknowledged.length).toBeGreaterThan(acknowledged.length)
      exports.push({ acknowledged, file })
    }
    await load.stop()
    expect(load.problems).toEqual([])
    let before = 0
    for (const { acknowledged, file } of exports) {
      const { held, ...counts } = readContents(file)
      expect(acknowledged.filter((name) => !held.has(name))).toEqual([])
      expect(counts.evidence).toBe(counts.decided + counts.beacons)
      expect(counts.events).toEqual({ decided: counts.decided, beacons: counts.beacons, frames: counts.frames })
      expect(counts).toMatchObject({ jobs: counts.decided, orphans: 0 })
      expect(counts.evidence).toBeGreaterThan(before)
      before = counts.evidence
      await using to = await start(where)
      const { status, body } = await imported(to, file)
      expect([status, body]).toEqual([200, { ok: true, projects: 3, evidence_entries: counts.evidence }])
      expect(await get(to, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
    }
  })

  test('restores and imports among placements, frames and beacons leave nothing broken', async () => {
    await using sandbox = await start(where)
    await send(sandbox, 'POST', '/_sandbox/snapshots/empty')
    const load = startLoad(sandbox, 8)
    await load.until(20)
    await send(sandbox, 'POST', '/_sandbox/snapshots/some')
    const file = await exported(sandbox)
    for (let turn = 0; turn < 6; turn++) {
      const name = turn % 2 === 0 ? 'empty' : 'some'
      const both = [
        send(sandbox, 'POST', `/_sandbox/snapshots/${name}/restore`),
        send(sandbox, 'POST', '/_sandbox/snapshots/some/restore'),
        imported(sandbox, file),
      ]
      for (const { status, body } of await Promise.all(both)) expect([status, body]).toMatchObject([200, {}])
      for (const id of ['beacons.list', 'placements.list', 'requests.list'] as const) {
        expect((await send(sandbox, 'GET', contract[id].path)).status).toBe(200)
      }
      expect(await get(sandbox, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
    }
    await load.stop()
    expect(load.problems).toEqual([])
    expect(await get(sandbox, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  })
})

describe('an import', () => {
  test('of a file that is damaged, foreign or newer changes nothing', async () => {
    await using from = await start('file')
    const load = startLoad(from, 2)
    await load.until(20)
    await load.stop()
    expect(load.problems).toEqual([])
    const file = await exported(from)
    const state = gunzipSync(file)
    const flipped = Buffer.from(file)
    flipped[file.length >> 1]! ^= 0xff
    const damaged: [string, Buffer, string][] = [
      ['empty', Buffer.of(), 'archive_invalid'],
      ['a text', Buffer.from('a text'), 'archive_invalid'],
      ['a packed text', gzipSync('a text'), 'archive_invalid'],
      ['cut off', file.subarray(0, file.length - 100), 'archive_invalid'],
      ['one byte flipped', flipped, 'archive_invalid'],
      ['cut off, packed again', gzipSync(state.subarray(0, 40_960)), 'archive_invalid'],
      [
        'evidence changed',
        changed(state, "UPDATE evidence SET entry = replace(entry, '1', '2') WHERE id = 2"),
        'archive_invalid',
      ],
      [
        'a decision changed',
        changed(state, 'UPDATE slot SET gross_cpm = 99 WHERE format IS NOT NULL'),
        'archive_invalid',
      ],
      [
        'a beacon removed',
        changed(state, 'DELETE FROM beacon WHERE id = (SELECT max(id) FROM beacon)'),
        'archive_invalid',
      ],
      ['no JSON', changed(state, "UPDATE evidence SET entry = 'x' WHERE id = 1"), 'archive_invalid'],
      ['a table missing', changed(state, 'DROP TABLE beacon'), 'archive_invalid'],
      [
        'a trigger',
        changed(state, 'CREATE TRIGGER t AFTER INSERT ON job BEGIN DELETE FROM job; END'),
        'archive_invalid',
      ],
      ['newer', changed(state, 'PRAGMA user_version = 999'), 'archive_newer'],
      ['foreign', changed(state, 'PRAGMA application_id = 1'), 'archive_invalid'],
    ]
    const database = join(temporaryDirectory(), 'sandbox.db')
    await using to = await start(database)
    await place(to)
    const before = await get(to, '/_sandbox/placements')
    for (const [name, bytes, reason_code] of damaged) {
      const { status, body } = await imported(to, bytes)
      expect([name, status, (body as { reason_code: string }).reason_code]).toEqual([name, 400, reason_code])
    }
    expect(await get(to, '/_sandbox/placements')).toEqual(before)
    expect(await get(to, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
    expect(readdirSync(`${database}.snapshots`)).toEqual([])
  })

  test('needs the media type of the file, and leaves nothing behind when the client disconnects', async () => {
    const database = join(temporaryDirectory(), 'sandbox.db')
    await using sandbox = await start(database)
    const { statusCode, body } = await request(`${sandbox.url}/_sandbox/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect([statusCode, await body.json()]).toMatchObject([415, { reason_code: 'content_type_unsupported' }])
    expect(await get(sandbox, '/_sandbox/snapshots')).toEqual({ items: [] })
  })

  test('an export contains no key, no token and no prompt', async () => {
    await using sandbox = await start('file')
    const { decision } = await place(sandbox, { prompt: 'a very private question' })
    const state = gunzipSync(await exported(sandbox)).toString('latin1')
    const { secret_key, live_secret_key, publishable_key } = sandbox.keys
    for (const secret of [secret_key, live_secret_key, publishable_key, decision!.asset_token!, 'private question']) {
      expect(state.includes(secret), secret).toBe(false)
    }
  })
})

async function start(where: string, options: SandboxOptions = {}): Promise<Sandbox> {
  const database = where === 'memory' ? ':memory:' : where === 'file' ? join(temporaryDirectory(), 'sandbox.db') : where
  return startSandbox({ database, rate_limit: 'off', report: (error) => reports.push(error), ...options })
}

const placement = { client_id: 'proj_demo', session_id: 'export', job_type: 'chat' }

async function place(sandbox: Sandbox, more: object = {}): Promise<PlacementResponse> {
  const reply = await request(`${sandbox.url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...placement, ...more }),
  })
  return (await reply.body.json()) as PlacementResponse
}

async function exported(sandbox: Sandbox): Promise<Buffer> {
  const reply = await request(`${sandbox.url}/_sandbox/export`)
  expect([reply.statusCode, reply.headers['content-type']]).toEqual([200, 'application/gzip'])
  return Buffer.from(await reply.body.arrayBuffer())
}

async function imported(sandbox: Sandbox, bytes: Buffer): Promise<{ status: number; body: unknown }> {
  const reply = await request(`${sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: bytes,
  })
  return { status: reply.statusCode, body: await reply.body.json() }
}

async function send(sandbox: Sandbox, method: 'GET' | 'POST', path: string) {
  const reply = await request(`${sandbox.url}${path}`, { method })
  return { status: reply.statusCode, body: await reply.body.json() }
}

async function get(sandbox: Sandbox, path: string): Promise<unknown> {
  return (await send(sandbox, 'GET', path)).body
}

/** Returns the contents of an export: counts, and identifiers as the load records them. */
function readContents(file: Buffer) {
  return withState(gunzipSync(file), (db) => {
    const count = (text: string) => db.prepare(`SELECT count(*) FROM ${text}`).pluck().get() as number
    const held = new Set<string>()
    for (const id of db.prepare<[], number>('SELECT id FROM slot').pluck().all()) held.add(encodeId('slot', id))
    const beacons = db.prepare<[], { slot_id: number; event: string }>('SELECT slot_id, event FROM beacon')
    for (const { slot_id, event } of beacons.all()) held.add(`${encodeId('slot', slot_id)} ${event}`)
    return {
      held,
      jobs: count('job'),
      frames: count('slot WHERE first_frame_at_ms IS NOT NULL'),
      orphans: count('beacon WHERE slot_id NOT IN (SELECT id FROM slot)'),
      events: {
        decided: count("event WHERE type = 'placement.decided'"),
        beacons: count("event WHERE type = 'beacon.accepted'"),
        frames: count("event WHERE type = 'frame.loaded'"),
      },
      evidence: count('evidence'),
      decided: count('slot WHERE decided_at_ms IS NOT NULL'),
      beacons: count('beacon'),
    }
  })
}

/** Returns the packed state after a statement. */
function changed(state: Buffer, statement: string): Buffer {
  return withState(state, (db, path) => {
    db.exec(statement)
    db.close()
    return gzipSync(readFileSync(path))
  })
}

function withState<Result>(state: Buffer, use: (db: Database.Database, path: string) => Result): Result {
  const path = join(temporaryDirectory(), 'state.db')
  writeFileSync(path, state)
  const db = new Database(path)
  try {
    return use(db, path)
  } finally {
    db.close()
  }
}

describe('the upload of an import', () => {
  test('may take longer than any request, as long as bytes arrive; one that stalls is ended, and nothing is left', async () => {
    const database = join(temporaryDirectory(), 'sandbox.db')
    await using from = await start('file')
    await place(from)
    const file = await exported(from)
    await using sandbox = await start(database, { import_idle_ms: 1_000 })
    const upload = (send: (sent: ClientRequest) => unknown) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { 'content-type': 'application/gzip', 'content-length': file.length }
        const sent = httpRequest(`${sandbox.url}/_sandbox/import`, { method: 'POST', headers }, async (response) => {
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(await response.toArray()).toString() })
        }).on('error', reject)
        send(sent)
      })
    const stalled = await upload((sent) => sent.write(file.subarray(0, 100)))
    expect([stalled.status, stalled.text]).toEqual([400, expect.stringContaining('No data arrived for 1 s.')])
    expect(readdirSync(`${database}.snapshots`)).toEqual([])
    // Longer in all than a pause may be, and longer than a reset: it and other requests do not wait for the upload.
    let isReset = false
    const slow = upload(async (sent) => {
      let at = 0
      for (; at < 25 || !isReset; at++) {
        sent.write(file.subarray(at, at + 1))
        await sleep(50)
      }
      sent.end(file.subarray(at))
    })
    expect((await send(sandbox, 'POST', '/_sandbox/reset')).status).toBe(200)
    isReset = true
    expect((await slow).status).toBe(200)
    expect(await get(sandbox, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  })

  test('that unpacks to more than its header says, or may say, is refused before that is written', async () => {
    const database = join(temporaryDirectory(), 'sandbox.db')
    await using sandbox = await start(database)
    await place(sandbox)
    const state = gunzipSync(await exported(sandbox))
    let largest = 0
    const watch = setInterval(() => {
      for (const name of readdirSync(`${database}.snapshots`, { recursive: true })) {
        const size = statSync(join(`${database}.snapshots`, String(name)), { throwIfNoEntry: false })?.size ?? 0
        largest = Math.max(largest, size)
      }
    }, 2)
    const bomb = gzipSync(Buffer.concat([state, Buffer.alloc(100_000_000)]))
    const longer = await imported(sandbox, bomb)
    clearInterval(watch)
    expect([longer.status, longer.body]).toMatchObject([
      400,
      { message: expect.stringContaining('longer than its header says') },
    ])
    expect(largest).toBeLessThanOrEqual(state.length)
    const claimed = Buffer.from(state)
    claimed.writeUInt32BE(0xff_ff_ff_ff, 28)
    const huge = await imported(sandbox, gzipSync(claimed))
    expect([huge.status, huge.body]).toMatchObject([
      400,
      { message: expect.stringContaining('and at most 8589934592 are taken') },
    ])
    expect(readdirSync(`${database}.snapshots`)).toEqual([])
  })
})

test('a large file is sent without a listener left for each of its parts', async () => {
  // A reader that is slower than the file, as a sandbox is that writes what it reads.
  const server = createServer(async (incoming, response) => {
    for await (const _ of incoming) await sleep(1)
    response.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as { port: number }
  const file = join(temporaryDirectory(), 'large')
  writeFileSync(file, new Uint8Array(8 * 2 ** 20))
  const words = [join(import.meta.dirname, '../reliability/send-file.ts'), file, `http://127.0.0.1:${port}/`]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
  }
  await new Promise((resolve) => child.once('close', resolve))
  expect(printed).toBe('200 {}\n')
})
