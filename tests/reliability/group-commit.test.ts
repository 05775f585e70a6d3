/** Writes of one turn share a transaction; one that fails affects no other. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { groupCommit } from '#store/sqlite/group-commit.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import type { ExchangeRow, Store } from '#store/store.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('a write that fails among others is the only one rejected, and stores nothing', async () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const { write } = groupCommit(db, { beforeCommit() {}, afterCommit() {}, afterRollback() {}, measured() {} })
  const add = (name: string) => write(() => insert.run(name).changes)
  const outcomes = await Promise.allSettled([
    add('first'),
    write(() => {
      insert.run('half')
      throw new Error('changed its mind')
    }),
    add('second'),
    add('first'),
    add('third'),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: { message: 'changed its mind' } })
  expect(outcomes[3]).toMatchObject({ reason: { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' } })
  expect(db.prepare('SELECT name FROM entry ORDER BY rowid').pluck().all()).toEqual(['first', 'second', 'third'])
  expect(db.inTransaction).toBe(false)
  db.close()
})

test('a storage failure rejects every write of the turn, and the next turn works', async () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const { write } = groupCommit(db, { beforeCommit() {}, afterCommit() {}, afterRollback() {}, measured() {} })
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  const outcomes = await Promise.allSettled([
    write(() => insert.run('lost')),
    write(() => {
      throw full
    }),
  ])
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StorageError' } })
  await write(() => insert.run('kept'))
  expect(db.prepare('SELECT name FROM entry').pluck().all()).toEqual(['kept'])
  db.close()
})

test('while another connection writes, writes wait and reads go on; a close waits for it', async () => {
  const folder = temporaryDirectory()
  const db = new Database(join(folder, 'one.db'), { timeout: 0 })
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const names = db.prepare('SELECT name FROM entry ORDER BY rowid').pluck()
  const { write, read, withOtherConnection, close } = groupCommit(db, {
    beforeCommit() {},
    afterCommit() {},
    afterRollback() {},
    measured() {},
  })
  const add = (name: string) => write(() => insert.run(name).changes)
  const other = new Database(join(folder, 'one.db'), { timeout: 0 })
  const first = add('first')
  let isDone = false
  let finish = () => {}
  const working = withOtherConnection(async () => {
    other.exec("BEGIN IMMEDIATE; INSERT INTO entry VALUES ('other')")
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    other.exec('COMMIT')
    isDone = true
  })
  expect(await first).toBe(1)
  const second = add('second').then(() => expect(isDone).toBe(true))
  expect(read(() => names.all())).toEqual(['first'])
  await new Promise((resolve) => setImmediate(resolve))
  expect(db.inTransaction).toBe(false)
  const closing = close()
  finish()
  await Promise.all([working, second, closing])
  expect(names.all()).toEqual(['first', 'other', 'second'])
  await expect(add('late')).rejects.toThrow('stopped')
  other.close()
  db.close()
})

test('while another program holds the file, writes wait, in order, and reads go on; a close does not wait', async () => {
  const file = join(temporaryDirectory(), 'one.db')
  const db = new Database(file, { timeout: 0 })
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const names = db.prepare('SELECT name FROM entry ORDER BY rowid').pluck()
  let tries = 0
  const { write, read, close } = groupCommit(db, {
    beforeCommit() {},
    afterCommit() {},
    afterRollback: () => void tries++,
    measured() {},
  })
  const add = (name: string) => write(() => insert.run(name).changes)
  const other = new Database(file, { timeout: 0 })
  const hold = () => other.exec("BEGIN IMMEDIATE; INSERT INTO entry VALUES ('other')")
  hold()
  expect(read(() => names.all())).toEqual([])
  const added = [add('first'), add('second')]
  await expect.poll(() => tries).toBeGreaterThan(2)
  expect(read(() => names.all())).toEqual([])
  added.push(add('third'))
  other.exec('COMMIT')
  await Promise.all(added)
  expect(names.all()).toEqual(['other', 'first', 'second', 'third'])
  other.exec('DELETE FROM entry')
  hold()
  const late = expect(add('late')).rejects.toMatchObject({ name: 'StorageError', cause: { code: 'SQLITE_BUSY' } })
  await close()
  await late
  other.close()
  db.close()
})

test('a lone write waits for no other; under load, writes of later rounds of the event loop join a turn', async () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const turns: number[] = []
  const { write } = groupCommit(db, {
    beforeCommit() {},
    afterCommit: (writes) => void turns.push(writes),
    afterRollback() {},
    measured() {},
  })
  const add = (name: string) => write(() => insert.run(name).changes)
  const round = () => new Promise((resolve) => setImmediate(resolve))
  const lone = add('lone')
  await round()
  expect(turns).toEqual([1])
  await Promise.all([lone, add('one'), add('two')])
  const three = add('three')
  await round()
  await Promise.all([three, add('four')])
  expect(turns).toEqual([1, 2, 2])
  db.close()
})

const exchange: Omit<ExchangeRow, 'id'> = {
  ...{ at_ms: 1, method: 'GET', path: '/v1/health', status: 200, error: null, reason_code: null, duration_us: 1 },
  ...{ project_id: null, session_id: null, slot_id: null, key_kind: null, key_id: null },
  ...{ request_headers: '{}', request_body: null, response_headers: '{}', response_body: null },
}

test.each([
  ['a file', () => join(temporaryDirectory(), 'one.db')],
  ['memory', () => ':memory:'],
])('in %s, the journal is counted at the start only, whatever is rolled back or replaced', async (_, pathOf) => {
  const journals = countJournals()
  const store = openStore(pathOf(), 50)
  let id = 0
  const add = async (rows: number) => {
    for (let row = 0; row < rows; row++) store.appendExchange({ ...exchange, id: ++id })
    return (await store.listExchanges({ limit: 100, before: null })).rows.length
  }
  const fail = async () => {
    const failing = store.saveFaults(() => {
      throw new Error('changed its mind')
    })
    store.appendExchange({ ...exchange, id: ++id })
    await expect(failing).rejects.toThrow('changed its mind')
    return store.journal().size
  }
  try {
    expect(journals.counted).toBe(1)
    expect([await add(3), await fail(), await add(1)]).toEqual([3, 4, 5])
    await store.saveSnapshot('kept', false)
    expect([await fail(), store.journal().size]).toEqual([6, 6])
    // More than a commit lets pile up: the oldest are dropped.
    expect([await add(200), store.journal().size, store.journal().dropped]).toEqual([50, 50, 156])
    expect([await fail(), store.journal().dropped]).toEqual([51, 156])
    await store.reset(2)
    expect([store.journal().size, await fail(), await add(2), store.journal().size]).toEqual([0, 1, 3, 3])
    const kept = await store.prepareSnapshot('kept')
    if (kept === 'missing' || kept.status === 'refused') throw new Error('the snapshot cannot be restored')
    await kept.replace(3)
    await kept.discard()
    expect([store.journal().size, await fail(), await add(1), store.journal().size]).toEqual([5, 6, 7, 7])
    expect(journals.counted).toBe(1)
  } finally {
    await store.close()
  }
})

test('a journal that is off is counted at the start too, and that of a received state never', async () => {
  const path = join(temporaryDirectory(), 'one.db')
  const before = openStore(path, 50)
  for (let id = 1; id <= 3; id++) before.appendExchange({ ...exchange, id })
  await before.close()
  const journals = countJournals()
  const store = openStore(path, 0)
  try {
    expect(journals.counted).toBe(1)
    expect(store.journal()).toMatchObject({ enabled: false, size: 3 })
    const { path: copy, remove } = await store.exportState()
    const received = await store.receiveState(createReadStream(copy))
    if (received.status === 'refused') throw new Error(received.problem)
    const prepared = await received.prepare()
    await prepared.replace(1)
    await prepared.discard()
    await Promise.all([received.discard(), remove()])
    expect([store.journal().size, journals.counted]).toEqual([3, 1])
  } finally {
    await store.close()
  }
})

function openStore(path: string, journal_limit: number): Store {
  return openSqliteStore({
    ...{ path, pid: process.pid, now_ms: 1, journal_limit, event_limit: 100 },
    seed: { projects: [], catalogue: { sha256: 'a', demand: '{}' } },
    sha256Hex: (text) => text,
    report: (error) => expect.fail(String(error)),
  })
}

/** Counts how often a journal is counted on this thread, until the test ends. */
function countJournals(): { counted: number } {
  const { prepare } = Database.prototype
  const journals = { counted: 0 }
  onTestFinished(() => {
    Database.prototype.prepare = prepare
  })
  Database.prototype.prepare = function (this: Database.Database, sql: string) {
    const statement = prepare.call(this, sql)
    if (!/SELECT count\(\*\) FROM (main\.)?exchange$/.test(sql)) return statement
    const get = statement.get.bind(statement) as () => unknown
    return Object.assign(statement, {
      get() {
        journals.counted++
        return get()
      },
    })
  } as typeof prepare
  return journals
}
