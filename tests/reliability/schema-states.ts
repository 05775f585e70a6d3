/** States of earlier schemas: rows of every table, with the migrations of that version only. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync, gzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { beforeAll, describe, expect, test } from 'vitest'
import { entryTexts, type StoredEntry, selectEntries } from '#store/sqlite/entries.ts'
import { applicationId, migrations } from '#store/sqlite/migrations.ts'
import { beacon, fill, folder, key, type Stage, stage } from '#tests/http/stage.ts'

export const present = migrations.length
export const earlier = Array.from({ length: present - 1 }, (_, index) => index + 1)

/** Returns a state of this version with rows in every table, and what a sandbox shows of it. */
export async function presentState(): Promise<{ state: Buffer; seen: unknown }> {
  using at = folder()
  await using on = await stage({ database: `${at.path}/from.db` })
  const filled = await fill(on.api)
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  await on.api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id: 'sess_1' } })
  const { body } = await request(`${on.sandbox.url}/_sandbox/export`)
  const state = gunzipSync(Buffer.from(await body.arrayBuffer()))
  return { state, seen: await look(on) }
}

/** Describes what becomes of a state of each of these schemas: restored, imported, opened, opened again. */
export function describeStates(versions: readonly number[]): void {
  let state: Buffer
  let seen: unknown
  beforeAll(async () => {
    ;({ state, seen } = await presentState())
  })

  describe.each(versions)('a state of schema %i', (version) => {
    test('is restored and imported with every row, and its file is unchanged', async () => {
      using at = folder()
      const path = `${at.path}/old.db`
      writeState(state, path, version)
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
      writeState(state, database, version)
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
      writeState(state, database, version)
      await (await stage({ database }))[Symbol.asyncDispose]()
      copyFileSync(`${database}.schema-${version}.bak`, database)
      writeFileSync(`${database}.backup.new`, 'a copy that was not finished')
      await using to = await stage({ database })
      expect(await look(to)).toEqual(seen)
      expect(to.sandbox.warnings).toEqual([expect.stringContaining(`${database}.schema-${version}-2.bak`)])
    })
  })
}

/** A database as that version wrote it: with its migrations only, and each row with the columns of that time. */
function writeState(state: Buffer, path: string, version: number): void {
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
  db.exec('DETACH present')
  // Entries had their texts then.
  const keep = db.prepare('UPDATE evidence SET entry = ? WHERE id = ?')
  const entries = entryTexts(db)(db.prepare<[], StoredEntry>(selectEntries).all())
  for (const { id, entry } of entries) keep.run(entry, id)
  db.close()
}

/** The contents of a state over the API, without fields that a later migration added. */
export async function look({ api }: Stage) {
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

export async function send({ sandbox }: Stage, state: Buffer) {
  const reply = await request(`${sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: gzipSync(state),
  })
  return { status: reply.statusCode, body: await reply.body.json() }
}
