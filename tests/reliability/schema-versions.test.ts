/**
 * States of other versions: one without the latest migrations is brought up to date on its way in, and one from a
 * version to come is left alone. Those in `schemas` were written by the versions themselves: a consent, four placements and
 * nine beacons each (the first is the second without its two columns). Keep the present one before you add a migration.
 * The states of every version: tests/matrices/schema-versions.test.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '#store/sqlite/file/open.ts'
import { listTables } from '#store/sqlite/state.ts'
import { fill, folder, stage } from '#tests/http/stage.ts'
import { describeStates, earlier, look, present, presentState, send } from './schema-states.ts'

// The first goes through every migration.
describeStates(earlier.slice(0, 1))

test('a state of a newer schema is rejected, and neither it nor the sandbox loses anything', async () => {
  using at = folder()
  const path = `${at.path}/next.db`
  writeFileSync(path, (await presentState()).state)
  const next = new Database(path)
  next.exec('ALTER TABLE slot ADD COLUMN mood TEXT; CREATE TABLE wish (id INTEGER PRIMARY KEY) STRICT')
  next.pragma(`user_version = ${present + 1}`)
  next.close()
  const bytes = readFileSync(path)

  const database = `${at.path}/to/sandbox.db`
  await using to = await stage({ database })
  await fill(to.api)
  await to.api.accept('snapshots.save', { params: { name: 'next' }, body: {} })
  const file = `${database}.snapshots/snapshot-next.db`
  writeFileSync(file, bytes)
  const before = await look(to)
  const message = expect.stringContaining(`it has schema ${present + 1}, and this version knows ${present}.`)
  const refused = await to.api.refuse('snapshots.restore', { params: { name: 'next' }, body: {} })
  expect([refused.status, refused.body]).toMatchObject([400, { reason_code: 'archive_newer', message }])
  expect(await send(to, bytes)).toMatchObject({ status: 400, body: { reason_code: 'archive_newer', message } })
  expect(await look(to)).toEqual(before)
  expect(readFileSync(file).equals(bytes)).toBe(true)
})

describe.each(earlier)('the database that a version with schema %i wrote', (version) => {
  test('is opened with everything in it, and goes on', async () => {
    using at = folder()
    const database = `${at.path}/kept.db`
    writeFileSync(database, gunzipSync(readFileSync(join(import.meta.dirname, `schemas/schema-${version}.db.gz`))))
    await using to = await stage({ database })
    expect(to.sandbox.warnings).toEqual([expect.stringContaining(`${database}.schema-${version}.bak`)])
    const { placements, beacons, consent, evidence, requests } = await look(to)
    expect(placements.map(([, fill, format]) => [fill, format]).toReversed()).toEqual([
      [true, 'banner'],
      [true, 'clip'],
      [true, 'native'],
      [false, null],
    ])
    expect(beacons.map(({ beacon_id }) => beacon_id)).toEqual(expect.arrayContaining(['banner-render', 'native-click']))
    expect([beacons.length, consent.length, evidence.ok, requests.length]).toEqual([9, 1, true, 14])
    const { body } = await to.api.accept('placements.explain', { params: { slot_id: String(placements.at(-1)![0]) } })
    expect(body.trace.length).toBeGreaterThan(0)
    await fill(to.api)
    expect((await to.api.accept('evidence.verify')).body.ok).toBe(true)
  })
})

test('every table of the schema is cleared but the catalogues, those of later migrations included', () => {
  const { db, close } = openDatabase(':memory:', 1)
  try {
    db.exec(`CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT; INSERT INTO later VALUES (1);
      INSERT INTO meta VALUES ('name', 'value'); INSERT INTO catalogue (sha256, demand) VALUES ('a', '{}')`)
    for (const table of listTables(db)) if (table !== 'catalogue') db.exec(`DELETE FROM ${table}`)
    const count = (table: string) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()
    expect([count('later'), count('meta'), count('catalogue')]).toEqual([0, 0, 1])
  } finally {
    close()
  }
})
