/** Writes of one turn share a transaction; one that fails affects no other. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { groupCommit } from '../../sandbox/store/sqlite/group-commit.ts'
import { temporaryDirectory } from '../temporary.ts'

test('a write that fails among others is the only one rejected, and stores nothing', async () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const { write } = groupCommit(db, { beforeCommit() {}, afterCommit() {}, afterRollback() {} })
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
  const { write } = groupCommit(db, { beforeCommit() {}, afterCommit() {}, afterRollback() {} })
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

test('a lone write waits for no other; under load, writes of later rounds of the event loop join a turn', async () => {
  const db = new Database(':memory:')
  db.exec('CREATE TABLE entry (name TEXT PRIMARY KEY) STRICT')
  const insert = db.prepare('INSERT INTO entry VALUES (?)')
  const turns: number[] = []
  const { write } = groupCommit(db, {
    beforeCommit() {},
    afterCommit: (writes) => void turns.push(writes),
    afterRollback() {},
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
