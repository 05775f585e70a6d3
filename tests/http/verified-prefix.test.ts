/** What a verification remembers of a chain: it continues from there, and a change below it is found all the same. */
import type Database from 'better-sqlite3'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { chainHash, genesis } from '#contract/resources/evidence.ts'
import { sha256Hex } from '#platform/platform.ts'
import { manualClock } from '#sandbox/index.ts'
import { entryTexts, type StoredEntry, selectEntries } from '#store/sqlite/entries.ts'
import { replaceInstallKey } from '#tests/postgres/shared-store.ts'
import { addBeaconRows } from '#tests/reliability/large-state.ts'
import { edit, fill, folder, type Stage, stage } from './stage.ts'

/** A decision and its beacons: enough to be worth remembering. */
const entries = 2_001

async function verify(on: Stage, query: { full?: 'true' } = {}) {
  const { ok, chains } = (await on.api.accept('evidence.verify', { query })).body
  const [{ verified_before = 0, broken_at, problem, ...chain }] = chains as [(typeof chains)[0]]
  return { ok, entries: chain.entries, verified_before, broken_at, problem }
}

/** Options of a sandbox with a chain of that length, which no verification has read. */
async function longChain(at: { path: string }, name = 'sandbox.db') {
  const options = { database: `${at.path}/${name}`, clock: manualClock() }
  {
    await using on = await stage(options)
    await fill(on.api)
  }
  edit(options.database, (db) => addBeaconRows(db, entries - 1))
  return options
}

/** The same, verified. */
async function verifiedChain(at: { path: string }, name?: string) {
  const options = await longChain(at, name)
  await using on = await stage(options)
  expect(await verify(on)).toMatchObject({ ok: true, entries, verified_before: 0 })
  return options
}

const holds = { ok: true, broken_at: null, problem: null }

describe('a verification continues from the one before it', () => {
  test('in this run and the next, over what was added in the meantime, and a full one reads everything', async () => {
    using at = folder()
    const options = await verifiedChain(at)
    await using on = await stage(options)
    expect(await verify(on)).toEqual({ ...holds, entries, verified_before: entries })
    await fill(on.api)
    expect(await verify(on)).toEqual({ ...holds, entries: entries + 1, verified_before: entries })
    expect(await verify(on, { full: 'true' })).toEqual({ ...holds, entries: entries + 1, verified_before: 0 })
    const { evidence } = (await on.api.accept('sandbox.integrity')).body
    expect(evidence.chains[0]).toMatchObject({ verified_before: entries })
  })

  test('a short chain is read as a whole', async () => {
    await using on = await stage()
    await fill(on.api)
    expect([await verify(on), await verify(on)].map(({ verified_before }) => verified_before)).toEqual([0, 0])
  })

  test('a restored snapshot brings its own, and a reset has none', { tags: 'depth' }, async () => {
    using at = folder()
    await using on = await stage(await longChain(at))
    const snapshot = { params: { name: 'before' }, body: {} }
    await on.api.accept('snapshots.save', snapshot)
    await verify(on)
    await on.api.accept('snapshots.restore', snapshot)
    expect(await verify(on)).toMatchObject({ ...holds, verified_before: 0 })
    await on.api.accept('snapshots.save', { ...snapshot, body: { replace: true } })
    await on.api.accept('sandbox.reset')
    expect(await verify(on)).toMatchObject({ ...holds, entries: 0, verified_before: 0 })
    await on.api.accept('snapshots.restore', snapshot)
    expect(await verify(on)).toMatchObject({ ...holds, entries, verified_before: entries })
  })

  test('an import is read as a whole once, also from another install', async () => {
    using at = folder()
    const options = await verifiedChain(at)
    await using from = await stage(options)
    await using to = await stage({ database: `${at.path}/to.db` })
    for (const on of [from, to]) {
      const exported = await request(`${from.sandbox.url}/_sandbox/export`)
      const imported = await request(`${on.sandbox.url}/_sandbox/import`, {
        method: 'POST',
        headers: { 'content-type': 'application/gzip' },
        body: Buffer.from(await exported.body.arrayBuffer()),
      })
      expect([imported.statusCode, await imported.body.json()]).toMatchObject([200, { evidence_entries: entries }])
      expect(await verify(on)).toMatchObject({ ...holds, entries, verified_before: entries })
    }
  })

  test('that of another install, or with a seed, counts for nothing', { tags: 'depth' }, async () => {
    using at = folder()
    const options = await verifiedChain(at)
    await replaceInstallKey(options.database)
    {
      await using on = await stage(options)
      expect(await verify(on)).toMatchObject({ ...holds, entries, verified_before: 0 })
    }
    await using on = await stage({ ...options, seed: 1 })
    expect(await verify(on)).toMatchObject({ ...holds, entries, verified_before: 0 })
    expect(await verify(on)).toMatchObject({ ...holds, entries, verified_before: 0 })
  })
})

describe('a forgery below what was verified', () => {
  test.each(['gross_cpm = 99', "label_text = 'News'", "campaign_id = 'cmp_other'"])(
    'is found and named by a full verification: %s',
    async (change) => {
      using at = folder()
      const options = await verifiedChain(at)
      edit(options.database, (db) => void db.exec(`UPDATE slot SET ${change} WHERE id = (SELECT min(id) FROM slot)`))
      await using on = await stage(options)
      expect(await verify(on)).toMatchObject({ ...holds, verified_before: entries })
      const problem = 'The decision of entry 1 was changed after it was recorded.'
      expect(await verify(on, { full: 'true' })).toMatchObject({ ok: false, broken_at: 1, problem })
    },
  )

  test('is found by spot checks of a start, and the next verification reads everything', async () => {
    using at = folder()
    const options = await verifiedChain(at)
    edit(options.database, (db) => void db.exec('UPDATE beacon SET occurred_at_ms = occurred_at_ms + 1'))
    const reports: unknown[] = []
    await using on = await stage({ ...options, report: (error) => void reports.push(error) })
    const warnings = async () => (await on.api.accept('sandbox.info')).body.warnings
    await expect.poll(warnings, { interval: 20 }).toHaveLength(1)
    const found =
      /^The evidence of proj_demo was changed\. The beacon of entry \d+ was changed .* evidence verify --full$/
    expect((await warnings())[0]).toMatch(found)
    expect(String(reports[0])).toContain((await warnings())[0])
    expect(await verify(on)).toMatchObject({ ok: false, broken_at: 2, verified_before: 0 })
    await on.api.accept('sandbox.reset')
    expect(await warnings()).toEqual([])
  })

  test('is found when the whole chain was written again', async () => {
    using at = folder()
    const options = await verifiedChain(at)
    edit(options.database, (db) => writeAgain(db))
    await using on = await stage(options)
    const problem = `Entry ${entries} has another hash than when the chain was verified before: it was written again.`
    expect(await verify(on)).toMatchObject({ ok: false, broken_at: entries, problem })
    expect(await verify(on, { full: 'true' })).toMatchObject({ ok: false, broken_at: entries, problem })
    await on.api.refuse('evidence.manifest', {})
  })

  test('is found when the end of the chain was cut off', { tags: 'depth' }, async () => {
    using at = folder()
    const options = await verifiedChain(at)
    edit(options.database, (db) => {
      db.exec(`DELETE FROM beacon WHERE id IN (SELECT ref FROM evidence WHERE seq > 1500);
        DELETE FROM evidence WHERE project_id = 1 AND seq > 1500`)
    })
    await using on = await stage(options)
    const problem = `The chain ends with entry 1500, but was verified up to entry ${entries} before: its end was cut off.`
    expect(await verify(on)).toMatchObject({ ok: false, broken_at: 1501, problem })
  })

  test('a record that says more than was verified counts for nothing', async () => {
    using at = folder()
    const options = await verifiedChain(at)
    edit(options.database, (db) => {
      db.exec(
        "UPDATE beacon SET event = 'click'; UPDATE project SET verified_prefix = replace(verified_prefix, '2001', '2000')",
      )
    })
    await using on = await stage(options)
    expect(await verify(on)).toMatchObject({ ok: false, broken_at: 2, verified_before: 0 })
  })
})

/** Changes the first beacon and its entry, which is a text or follows from the beacon, and every hash from there on. */
function writeAgain(db: Database.Database): void {
  db.exec(
    `UPDATE evidence SET entry = replace(entry, '"body_sha256":"body"', '"body_sha256":"other"')
      WHERE project_id = 1 AND seq = 2;
    UPDATE beacon SET body_sha256 = 'other' WHERE id = (SELECT ref FROM evidence WHERE project_id = 1 AND seq = 2)`,
  )
  const rows = db.prepare<[], StoredEntry>(`${selectEntries} WHERE evidence.project_id = 1 ORDER BY seq`).all()
  const update = db.prepare('UPDATE evidence SET hash = ? WHERE id = ?')
  let hash = genesis
  for (const { id, entry } of entryTexts(db)(rows)) {
    hash = chainHash(hash, entry, sha256Hex)
    update.run(Buffer.from(hash, 'hex'), id)
  }
}
