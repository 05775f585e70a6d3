/**
 * Damage that a start does not notice, one case for each way to read: it is explained wherever it is found. 200 files that
 * are damaged at random: damaged-files.test.ts.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { oldClientHeader } from '#contract/endpoint.ts'
import type { Integrity } from '#contract/resources/sandbox/sandbox.ts'
import { startSandbox } from '#sandbox/index.ts'
import { edit, fill, folder, stage } from '#tests/http/stage.ts'
import { addBeacons } from './large-state.ts'

const place = folder()
const intact = join(place.path, 'intact.db')
let slot_id = ''

beforeAll(async () => {
  await using on = await stage({ database: intact })
  slot_id = (await fill(on.api)).slot_id
})

afterAll(() => place[Symbol.dispose]())

/** A response waits three seconds for the check. Here it waits until the check is done, however slow the machine. */
const { setTimeout } = timers
const replaceTimeout = (replacement: unknown) => {
  Object.assign(timers, { setTimeout: replacement })
  syncBuiltinESMExports()
}
beforeAll(() =>
  replaceTimeout((...args: Parameters<typeof setTimeout>) =>
    args[0] === 3_000 ? new Promise(() => {}) : setTimeout(...args),
  ),
)
afterAll(() => replaceTimeout(setTimeout))

const beaconsBySlot = 'sqlite_autoindex_beacon_1'
/** More slots than a report counts before it moves to the thread. */
const many = 12_000

test.each<[string, string, (path: string) => void]>([
  [
    'rows of a slot without its job',
    'beacons',
    (path) => {
      addBeacons(path, 10)
      edit(path, (db) => db.exec('UPDATE slot SET job_id = 99'))
    },
  ],
  ['evidence without its hash', 'evidence', (path) => edit(path, (db) => removeHashes(db))],
  [
    'a page of a report',
    'billing',
    (path) => {
      addBeacons(path, 10)
      overwrite(path, beaconsBySlot)
    },
  ],
  [
    'a page of a report on the thread',
    'billing',
    (path) => {
      addBeacons(path, many)
      overwrite(path, beaconsBySlot)
    },
  ],
  [
    'a row of a report on the thread',
    'billing',
    (path) => {
      addBeacons(path, many)
      edit(path, (db) =>
        db.exec("UPDATE beacon SET event = 'click', measurements = '{' WHERE id = (SELECT max(id) FROM beacon)"),
      )
    },
  ],
  ['a time that is text', 'placements/SLOT', (path) => edit(path, (db) => retype(db, 'slot', 'due_at_ms', "'x'"))],
  ['a price that is bytes', 'placements/SLOT', (path) => edit(path, (db) => retype(db, 'slot', 'gross_cpm', "x'00'"))],
  [
    'headers in the journal',
    'requests',
    (path) => edit(path, (db) => db.prepare('UPDATE exchange SET request_headers = ?').run(`{"${oldClientHeader}":`)),
  ],
  ['the file of the tokens', 'tokens', (path) => writeFileSync(`${path}.access`, 'no database')],
])('%s: 503, which names the check', async (_, target, damage) => {
  const path = makeCopy()
  damage(path)
  const reports: unknown[] = []
  await using sandbox = await startSandbox({ database: path, report: (error) => reports.push(error) })
  const response = await fetch(new URL(`/_sandbox/${target.replace('SLOT', slot_id)}`, sandbox.url))
  expect([response.status, await response.text()]).toEqual([503, expect.stringContaining('svc sandbox status --check')])
  expect(reports).toEqual([expect.objectContaining({ name: 'StorageError', refused: 'read' })])
  if (target !== 'tokens') return
  const { database } = (await (await fetch(`${sandbox.url}/_sandbox/integrity`)).json()) as Integrity
  const [problem] = database.problems
  expect(problem).toBe(`${path}.access: file is not a database. Stop the sandbox and remove it: that ends its tokens`)
})

test('a page that a start reads last: refused, and the port and the lock are free', async () => {
  const path = makeCopy()
  overwrite(path, 'callback_unfinished')
  const started = startSandbox({ database: path })
  await expect(started).rejects.toMatchObject({ name: 'SandboxError', code: 'database_corrupt' })
  copyFileSync(intact, path)
  await using _sandbox = await startSandbox({ database: path })
})

let copies = 0

function makeCopy(): string {
  const path = join(place.path, `${++copies}.db`)
  copyFileSync(intact, path)
  return path
}

/** Overwrites the last page of a table or an index. */
function overwrite(path: string, name: string): void {
  const page = { bytes: 0, number: 0 }
  edit(path, (db) => {
    page.bytes = db.pragma('page_size', { simple: true }) as number
    page.number = db
      .prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path DESC LIMIT 1")
      .pluck()
      .get(name) as number
    db.pragma('wal_checkpoint(TRUNCATE)')
  })
  const content = readFileSync(path)
  writeFileSync(path, content.fill(0x55, (page.number - 1) * page.bytes, page.number * page.bytes))
}

/** Stores a value of another type. Its table forbids it, so that only a damaged page has it. */
function retype(db: Database.Database, table: string, column: string, value: string): void {
  const declare = (from: string, to: string) => {
    db.pragma('writable_schema = ON')
    db.prepare('UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?').run(from, to, table)
    db.pragma('writable_schema = RESET')
  }
  db.unsafeMode()
  declare(') STRICT', ')       ')
  db.exec(`UPDATE ${table} SET ${column} = ${value}`)
  declare(')       ', ') STRICT')
}

/** Its table forbids it too. */
function removeHashes(db: Database.Database): void {
  const declare = (from: string, to: string) => {
    db.pragma('writable_schema = ON')
    db.prepare("UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = 'evidence'").run(from, to)
    db.pragma('writable_schema = RESET')
  }
  db.unsafeMode()
  declare('hash BLOB NOT NULL', 'hash BLOB         ')
  db.exec('UPDATE evidence SET hash = NULL')
  declare('hash BLOB         ', 'hash BLOB NOT NULL')
}
