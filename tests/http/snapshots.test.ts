/** Named states: what a restore brings back, what it removes, and what it rejects. */
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { changeSnapshot } from '#tests/postgres/shared-store.ts'
import type { Api } from './call.ts'
import { activate, asked, beacon, fill, folder, key, stage } from './stage.ts'

const save = (api: Api, name: string, body: object = {}) => api.accept('snapshots.save', { params: { name }, body })
const restore = (api: Api, name: string) => api.accept('snapshots.restore', { params: { name }, body: {} })
const slots = async (api: Api) => (await api.accept('placements.list')).body.items.map(({ slot_id }) => slot_id)

test.each(['memory', 'file'])(
  'a snapshot of a sandbox in %s > restores what it contained and nothing of what came after',
  async (where) => {
    using at = folder()
    const database = where === 'file' ? `${at.path}/sandbox.db` : ':memory:'
    await using on = await stage({ database })
    const token = await activate(on.api)
    const kept = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, kept, 'render') })
    const before = (await on.api.accept('evidence.verify')).body
    const saved = (await save(on.api, 'one')).body
    expect(saved).toMatchObject({ name: 'one', schema_version: expect.any(Number) })
    const gone = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, kept, 'visible') })

    expect((await restore(on.api, 'one')).body).toEqual(saved)
    expect(await slots(on.api)).toEqual([kept.slot_id])
    expect((await on.api.accept('evidence.verify')).body).toEqual(before)
    expect((await on.api.refuse('decisions.get', { as: key, params: { slot_id: gone.slot_id } })).status).toBe(404)
    const again = await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, kept, 'visible') })
    expect(again.body).toMatchObject({ accepted: true, duplicate: false })
    await on.api.accept('placements.create', { as: token, origin: 'http://localhost:3000', body: asked() })
    const fresh = await fill(on.api)
    expect(fresh.slot_id > gone.slot_id).toBe(true)
    expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
  },
)

describe('a snapshot', () => {
  test('is restored by several clients at a time, each in its turn', { tags: 'depth' }, async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    await using on = await stage({ database })
    await fill(on.api)
    await save(on.api, 'one')
    // None waits for another that waits for it: the limit of such a wait would answer 503.
    await Promise.all(Array.from({ length: 3 }, () => restore(on.api, 'one')))
    expect(await slots(on.api)).toHaveLength(1)
  })

  test('is listed, replaced only when asked, and deleted', async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    await using on = await stage({ database })
    expect((await on.api.accept('snapshots.list')).body.items).toEqual([])
    await save(on.api, 'one')
    await fill(on.api)
    const taken = await on.api.refuse('snapshots.save', { params: { name: 'one' }, body: {} })
    expect(taken.body).toMatchObject({ reason_code: 'snapshot_exists', message: 'There is a snapshot named one.' })
    await restore(on.api, 'one')
    expect(await slots(on.api)).toEqual([])
    const { slot_id } = await fill(on.api)
    await save(on.api, 'one', { replace: true })
    await save(on.api, 'two')
    await on.api.accept('sandbox.reset')
    await restore(on.api, 'one')
    expect(await slots(on.api)).toEqual([slot_id])
    const { items } = (await on.api.accept('snapshots.list')).body
    expect(items.map(({ name }) => name).toSorted()).toEqual(['one', 'two'])
    await on.api.accept('snapshots.delete', { params: { name: 'one' } })
    expect((await on.api.accept('snapshots.list')).body.items.map(({ name }) => name)).toEqual(['two'])
    expect((await on.api.refuse('snapshots.delete', { params: { name: 'one' } })).status).toBe(404)
    expect((await on.api.refuse('snapshots.restore', { params: { name: 'one' }, body: {} })).status).toBe(404)
  })
})

describe('a restore', () => {
  test('emits an event, and event numbers keep growing', async () => {
    await using on = await stage()
    const client = createClient({ base_url: on.sandbox.url })
    const stream = client.events.stream({ query: { since_seq: 0 } })
    const next = async () => {
      const { value } = await stream.next()
      return value === undefined ? null : [value.seq, value.type]
    }
    await fill(on.api)
    await save(on.api, 'one')
    expect(await next()).toEqual([1, 'placement.decided'])
    await fill(on.api)
    expect(await next()).toEqual([2, 'placement.decided'])
    await restore(on.api, 'one')
    await fill(on.api)
    expect(await next()).toEqual([3, 'sandbox.restored'])
    expect(await next()).toEqual([4, 'placement.decided'])
    await stream.return()

    const late = client.events.stream({ query: { since_seq: 0 } })
    const seqs = []
    for await (const { seq } of late) {
      seqs.push(seq)
      if (seqs.length === 3) break
    }
    expect(seqs).toEqual([1, 3, 4])
  })

  test('wakes waiting requests, and resumes the pending decisions of the snapshot', async () => {
    await using on = await stage({ decision_latency_ms: 1_000 })
    const pending = async () => {
      const { body } = await on.api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo' } })
      return body.slot_ids[0]!
    }
    const kept = await pending()
    await save(on.api, 'one')
    const gone = await pending()
    const waiting = on.api.accept('decisions.get', {
      as: key,
      params: { slot_id: gone },
      query: { wait_ms: 5_000 },
    })
    for (let round = 0; round < 10; round++) await on.api.accept('health.live')
    await restore(on.api, 'one')
    expect((await waiting).body.status).toBe('pending')
    on.clock.advance(1_000)
    const call = { as: key, params: { slot_id: kept }, query: { wait_ms: 5_000 } }
    expect((await on.api.accept('decisions.get', call)).body.status).toBe('ready')
    expect(await slots(on.api)).toEqual([kept])
  })

  test('restores the journal and the consent of that time', async () => {
    await using on = await stage()
    const consent = (state: 'granted' | 'denied') =>
      on.api.accept('consent.set', {
        as: key,
        body: { client_id: 'proj_demo', session_id: 'sess_1', decision: state },
      })
    await consent('granted')
    await save(on.api, 'one')
    await consent('denied')
    await restore(on.api, 'one')
    const { items } = (await on.api.accept('requests.list')).body
    expect(items.map(({ path }) => path)).toEqual(['/v1/consent'])
    expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
  })

  test('a snapshot exists after a restart; a name is not a path', { tags: 'depth' }, async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    let slot_id: string
    {
      await using on = await stage({ database })
      slot_id = (await fill(on.api)).slot_id
      await save(on.api, 'one')
      await on.api.accept('sandbox.reset')
    }
    await using on = await stage({ database })
    await restore(on.api, 'one')
    expect(await slots(on.api)).toEqual([slot_id])
    for (const name of ['../one', 'One', '.one', 'a/b', 'a'.repeat(65)]) {
      const { body } = await on.api.refuse('snapshots.save', { params: { name }, body: {} })
      expect([name, body.reason_code]).toEqual([name, 'schema_invalid'])
    }
    const { items } = (await on.api.accept('snapshots.list')).body
    expect(items.map(({ name }) => name)).toEqual(['one'])
  })

  test('a snapshot that is truncated, overwritten, foreign or newer changes nothing', async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    await using on = await stage({ database })
    await fill(on.api)
    await save(on.api, 'one')
    const { slot_id } = await fill(on.api)
    const edited = (sql: string) => (bytes: Buffer) => {
      const db = openImage(bytes)
      db.exec(sql)
      return db.serialize()
    }
    const trigger = 'CREATE TRIGGER evil AFTER INSERT ON slot BEGIN DELETE FROM slot; END'
    const changes: [name: string, reason_code: string, change: (bytes: Buffer) => Buffer][] = [
      ['cut', 'archive_invalid', (bytes) => bytes.subarray(0, 20_000)],
      ['text', 'archive_invalid', () => Buffer.from('a text')],
      ['foreign', 'archive_invalid', edited(trigger)],
      ['edited', 'archive_invalid', edited("INSERT OR REPLACE INTO meta VALUES ('clock', '{}')")],
      ['utf16', 'archive_invalid', asUtf16],
      ['newer', 'archive_newer', edited('PRAGMA user_version = 999')],
    ]
    let whole: Buffer | undefined
    for (const [name, reason_code, change] of changes) {
      await changeSnapshot(database, 'one', (bytes) => {
        whole ??= Buffer.from(bytes)
        return change(Buffer.from(whole))
      })
      const { body } = await on.api.refuse('snapshots.restore', { params: { name: 'one' }, body: {} })
      expect([name, body.reason_code]).toEqual([name, reason_code])
    }
    expect((await slots(on.api))[0]).toBe(slot_id)
    expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
  })

  test('a snapshot that another program has written with pages of 512 or 65,536 bytes', { tags: 'depth' }, async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    await using on = await stage({ database })
    const { slot_id } = await fill(on.api)
    await save(on.api, 'repaged')
    for (const bytes of [512, 65_536]) {
      await fill(on.api)
      await changeSnapshot(database, 'repaged', (image) => resizePages(image, bytes))
      await restore(on.api, 'repaged')
      expect([bytes, await slots(on.api)]).toEqual([bytes, [slot_id]])
    }
    await fill(on.api)
    expect((await on.api.accept('evidence.verify')).body.ok).toBe(true)
  })
})

/** Returns the same database in another size of pages. */
function resizePages(image: Buffer, bytes: number): Buffer {
  const db = openImage(image)
  db.exec(`PRAGMA page_size = ${bytes}; VACUUM`)
  return db.serialize()
}

/** Returns the tables of a database in another encoding of text. */
function asUtf16(image: Buffer): Buffer {
  const from = openImage(image)
  const number = (name: string) => from.pragma(name, { simple: true })
  const to = new Database(':memory:')
  to.exec(`PRAGMA encoding = 'UTF-16le'`)
  for (const name of ['application_id', 'user_version']) to.pragma(`${name} = ${number(name)}`)
  const declarations = from.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').pluck().all()
  for (const sql of declarations) to.exec(String(sql))
  return to.serialize()
}

/** Opens a database in memory, of the version that has no log: one in memory cannot have any. */
function openImage(image: Buffer): Database.Database {
  image.fill(1, 18, 20)
  return new Database(image)
}
