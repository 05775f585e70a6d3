import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { edit, fill, folder, key, stage } from './stage.ts'

test('an intact database is reported as ok, with its evidence', async () => {
  await using on = await stage()
  await fill(on.api)
  const { body } = await on.api.accept('sandbox.integrity')
  expect(body).toMatchObject({ ok: true, database: { ok: true, problems: [] }, evidence: { ok: true } })
  expect(body.evidence.chains.map(({ entries }) => entries)).toEqual([1, 0, 0])
})

test('rows that their table forbids are reported', async () => {
  using place = folder()
  const database = join(place.path, 'db.sqlite')
  {
    await using on = await stage({ database })
    await fill(on.api)
  }
  edit(database, (db) => {
    db.unsafeMode(true)
    db.pragma('writable_schema = ON')
    db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'reason_code TEXT,', 'reason_code TEXT NOT NULL,')")
  })
  await using on = await stage({ database })
  const { ok, database: found, evidence } = (await on.api.accept('sandbox.integrity')).body
  expect({ ok, found, evidence: evidence.ok }).toEqual({
    ok: false,
    found: { ok: false, problems: ['NULL value in exchange.reason_code'] },
    evidence: true,
  })
})

test('a damaged page is reported in both parts', async () => {
  using place = folder()
  const database = join(place.path, 'db.sqlite')
  {
    await using on = await stage({ database })
    await fill(on.api)
  }
  let page = 0
  let page_bytes = 0
  edit(database, (db) => {
    page = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'evidence'").pluck().get() as number
    page_bytes = db.pragma('page_size', { simple: true }) as number
  })
  const file = openSync(database, 'r+')
  writeSync(file, Buffer.alloc(page_bytes, 0x55), 0, page_bytes, (page - 1) * page_bytes)
  closeSync(file)
  await using on = await stage({ database })
  const { body } = await on.api.accept('sandbox.integrity')
  expect(body).toMatchObject({
    ok: false,
    database: { ok: false, problems: [expect.stringContaining('malformed')] },
    evidence: {
      ok: false,
      chains: [
        {
          broken_at: 1,
          problem: expect.stringMatching(/^The entries from 1 on, or their rows, cannot be read: .*malformed/),
        },
        {},
        {},
      ],
    },
  })
})

test('a broken chain makes the whole not ok', async () => {
  using place = folder()
  const database = join(place.path, 'db.sqlite')
  {
    await using on = await stage({ database })
    await fill(on.api)
  }
  edit(database, (db) => db.exec("UPDATE evidence SET entry = replace(entry, 'proj_demo', 'proj_else')"))
  await using on = await stage({ database })
  expect((await on.api.accept('sandbox.integrity')).body).toMatchObject({
    ok: false,
    database: { ok: true },
    evidence: { ok: false },
  })
})

test('a state with every value of its own is opened again: the clock, faults, and what was dropped', async () => {
  using place = folder()
  const options = { database: join(place.path, 'db.sqlite'), journal_limit: 1, event_limit: 1, rate_limit: 'off' }
  {
    await using on = await stage(options)
    await on.api.accept('clock.freeze')
    await on.api.accept('faults.add', { body: { rate: 0 } })
    for (let turn = 0; turn < 7; turn++) {
      const sent = Array.from({ length: 50 }, (_, index) => {
        const session = { client_id: 'proj_demo', session_id: `s${turn}-${index}` }
        return on.api.accept('consent.set', { as: key, body: { ...session, purposes: { semantic_targeting: true } } })
      })
      await Promise.all(sent)
    }
  }
  const names: unknown[] = []
  edit(options.database, (db) => names.push(...db.prepare('SELECT name FROM meta ORDER BY name').pluck().all()))
  await using on = await stage(options)
  expect(names).toEqual(['clock', 'events_dropped', 'faults', 'journal_dropped'])
  expect((await on.api.accept('sandbox.integrity')).body).toMatchObject({ ok: true })
})
