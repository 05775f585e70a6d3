/** Entries of beacons whose texts are not stored: everyone reads the same bytes, whatever becomes of the rows. */
import { copyFileSync } from 'node:fs'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { replaceInstallKey } from '#tests/postgres/shared-store.ts'
import { beacon, edit, fill, folder, key, type Stage, stage } from '../stage.ts'

/** The chain as it is exported, and the text that the database has of each entry. */
async function read(on: Stage, database: string) {
  const { body } = await on.api.accept('evidence.export', { params: { client_id: 'proj_demo' } })
  const { ok, chains } = (await on.api.accept('evidence.verify', { query: { full: 'true' } })).body
  expect([ok, chains[0]!.problem]).toEqual([true, null])
  let stored: string[] = []
  edit(database, (db) => {
    const texts = db.prepare<[], string>('SELECT entry FROM evidence WHERE project_id = 1 ORDER BY seq').pluck().all()
    stored = texts.map((text) => (text.startsWith('{') ? 'text' : text.slice(0, 1)))
  })
  return { entries: body.entries.map(({ entry, hash }) => [entry, hash]), stored }
}

test('the chain is the same after an import, a restore and a replaced token, and in an old file with texts', async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  const clock = manualClock()
  const name = { params: { name: 'all' }, body: {} }
  let filled: Awaited<ReturnType<typeof fill>>
  let first: Awaited<ReturnType<typeof read>>
  {
    await using on = await stage({ database, clock })
    filled = await fill(on.api, { format: 'banner' })
    const bodies = [
      beacon(on.clock, filled, 'render'),
      beacon(on.clock, filled, 'visible', { measurements: { visible_ratio: 1, visible_ms: 1_500 } }),
      beacon(on.clock, filled, 'heartbeat', { seq: 1, metadata: { 'é"\u2028': 'ü\\', 10: [1e21, -0.5], a: null } }),
    ]
    for (const body of bodies) await on.api.accept('beacons.send', { as: key, body })
    first = await read(on, database)
    expect(first.stored).toEqual(['text', '1', '1', '1'])
    await on.api.accept('snapshots.save', name)
    const exported = await request(`${on.sandbox.url}/_sandbox/export`)
    await on.api.accept('sandbox.reset')
    const imported = await request(`${on.sandbox.url}/_sandbox/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/gzip' },
      body: Buffer.from(await exported.body.arrayBuffer()),
    })
    expect([imported.statusCode, await read(on, database)]).toEqual([200, first])
    await on.api.accept('snapshots.restore', name)
    expect(await read(on, database)).toEqual(first)
  }
  const old = `${at.path}/old.db`
  copyFileSync(database, old)
  edit(old, (db) => {
    const keep = db.prepare('UPDATE evidence SET entry = ? WHERE project_id = 1 AND seq = ?')
    for (const [index, [entry]] of first.entries.entries()) keep.run(entry, index + 1)
  })
  {
    await using on = await stage({ database: old, clock })
    expect(await read(on, old)).toEqual({ entries: first.entries, stored: ['text', 'text', 'text', 'text'] })
  }
  await replaceInstallKey(database)
  await using on = await stage({ database, clock })
  const { slot_id } = filled
  const { decision } = (await on.api.accept('decisions.get', { as: key, params: { slot_id } })).body
  const renewed = { slot_id, asset_token: decision!.asset_token! }
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, renewed, 'click') })
  const { entries, stored } = await read(on, database)
  expect(entries.slice(0, 4)).toEqual(first.entries)
  expect(stored).toEqual(['text', '1', '1', '1', 'text', '1'])
  const { evidence } = (await on.api.accept('placements.explain', { params: { slot_id } })).body
  const listed = (await on.api.accept('evidence.list')).body.items.toReversed()
  expect([evidence, listed].map((items) => items.map(({ entry, hash }) => [entry, hash]))).toEqual([entries, entries])
})
