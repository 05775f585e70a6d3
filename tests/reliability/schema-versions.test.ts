/**
 * States of other versions: one without the latest migrations is brought up to date on its way in, and one from a
 * version to come is left alone. Those in `schemas` were written by the versions themselves: a consent, four placements and
 * nine beacons each (the first is the second without its two columns). Keep the present one before you add a migration.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { openDatabase } from '#store/sqlite/file/open.ts'
import { applicationId, migrations } from '#store/sqlite/migrations.ts'
import { listTables } from '#store/sqlite/state.ts'
import { beacon, fill, folder, key, type Stage, stage } from '#tests/http/stage.ts'

const present = migrations.length
const earlier = Array.from({ length: present - 1 }, (_, index) => index + 1)

/** A state of this version with rows in every table, and what a sandbox shows of it. */
let state: Buffer
let seen: unknown
beforeAll(async () => {
  using at = folder()
  await using on = await stage({ database: `${at.path}/from.db` })
  const filled = await fill(on.api)
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1' } })
  const { body } = await request(`${on.sandbox.url}/_sandbox/export`)
  state = gunzipSync(Buffer.from(await body.arrayBuffer()))
  seen = await look(on)
})

describe.each(earlier)('a state of schema %i', (version) => {
  test('is restored and imported with every row, and its file is unchanged', async () => {
    using at = folder()
    const path = `${at.path}/old.db`
    writeState(path, version)
    const bytes = readFileSync(path)

    const database = `${at.path}/to/sandbox.db`
    await using to = await stage({ database })
    await to.api.accept('snapshots.save', { params: { name: 'old' }, body: {} })
    const file = `${database}.snapshots/snapshot-old.db`
    writeFileSync(file, bytes)
    const { items } = (await to.api.accept('snapshots.list')).body
    expect(items).toMatchObject([{ name: 'old', schema_version: version }])
    const restored = await to.api.accept('snapshots.restore', { params: { name: 'old' }, body: {} })
    expect(restored.body.schema_version).toBe(version)
    expect(await look(to)).toEqual(seen)
    expect(readFileSync(file).equals(bytes)).toBe(true)
    await fill(to.api)
    expect((await to.api.accept('evidence.verify')).body.ok).toBe(true)

    await to.api.accept('sandbox.reset')
    expect(await send(to, bytes)).toMatchObject({ status: 200, body: { ok: true, projects: 3 } })
    expect(await look(to)).toEqual(seen)
    expect((await to.api.accept('sandbox.info')).body.schema_version).toBe(present)
  })

  test('is opened by a start, which keeps an unchanged copy', async () => {
    using at = folder()
    const database = `${at.path}/old.db`
    writeState(database, version)
    await using to = await stage({ database })
    expect(await look(to)).toEqual(seen)
    expect(to.sandbox.warnings).toEqual([expect.stringContaining(`${database}.schema-${version}.bak`)])
    const kept = new Database(`${database}.schema-${version}.bak`, { readonly: true })
    expect(kept.pragma('user_version', { simple: true })).toBe(version)
    kept.close()
  })

  test('is opened again when the copy was put back, also after a migration that was killed', async () => {
    using at = folder()
    const database = `${at.path}/old.db`
    writeState(database, version)
    await (await stage({ database }))[Symbol.asyncDispose]()
    copyFileSync(`${database}.schema-${version}.bak`, database)
    writeFileSync(`${database}.backup.new`, 'a copy that was not finished')
    await using to = await stage({ database })
    expect(await look(to)).toEqual(seen)
    expect(to.sandbox.warnings).toEqual([expect.stringContaining(`${database}.schema-${version}-2.bak`)])
  })
})

test('a state of a newer schema is rejected, and neither it nor the sandbox loses anything', async () => {
  using at = folder()
  const path = `${at.path}/next.db`
  writeFileSync(path, state)
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

/** A database as that version wrote it: with its migrations only, and each row with the columns of that time. */
function writeState(path: string, version: number): void {
  writeFileSync(`${path}.present`, state)
  const db = new Database(path)
  for (const step of migrations.slice(0, version)) db.exec(step)
  db.pragma(`application_id = ${applicationId}`)
  db.pragma(`user_version = ${version}`)
  db.prepare('ATTACH ? AS present').run(`${path}.present`)
  const tables = db.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table'").pluck().all() as string[]
  for (const table of tables) {
    const columns = (db.pragma(`main.table_info(${table})`) as { name: string }[]).map(({ name }) => name).join(', ')
    db.exec(`INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM present.${table}`)
  }
  db.close()
}

/** The contents of a state over the API, without fields that a later migration added. */
async function look({ api }: Stage) {
  const requests = (await api.accept('requests.list')).body.items
  return {
    placements: (await api.accept('placements.list')).body.items.map(({ slot_id, fill, format }) => [
      slot_id,
      fill,
      format,
    ]),
    beacons: (await api.accept('beacons.list')).body.items,
    consent: (await api.accept('consent.list')).body.items,
    evidence: (await api.accept('evidence.verify')).body,
    requests: requests.map(({ request_id, path, status }) => [request_id, path, status]),
  }
}

async function send({ sandbox }: Stage, state: Buffer) {
  const reply = await request(`${sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: gzipSync(state),
  })
  return { status: reply.statusCode, body: await reply.body.json() }
}

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
