import type Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { replaceInstallKey } from '#tests/postgres/shared-store.ts'
import { activate, asked, beacon, edit, fill, folder, key, origin, otherKey, type Stage, stage } from './stage.ts'

const session = { client_id: 'proj_demo', session_id: 'sess_1' }

/** Consent, two decisions, a no-fill, three beacons: seven entries of proj_demo. */
async function live(on: Stage): Promise<void> {
  await on.api.accept('consent.set', { as: key, body: { ...session, purposes: { semantic_targeting: true } } })
  const filled = await fill(on.api, { format: 'banner' })
  await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
  const clip = await fill(on.api, { format: 'clip' })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, clip, 'render') })
  await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, clip, 'play_started') })
}

async function verify(on: Stage) {
  return (await on.api.accept('evidence.verify')).body
}

describe('the chain', () => {
  test('covers decisions, consent and accepted beacons of each project separately, and verifies', async () => {
    await using on = await stage()
    expect(await verify(on)).toMatchObject({
      ok: true,
      chains: [{ entries: 0, head: null }, { entries: 0 }, { entries: 0 }],
    })
    await live(on)
    await fill(on.api, { as: otherKey, body: asked({ client_id: 'proj_other' }) })
    const { ok, chains } = await verify(on)
    expect(ok).toBe(true)
    expect(chains.map(({ client_id, entries }) => [client_id, entries])).toEqual([
      ['proj_demo', 7],
      ['proj_other', 1],
      ['proj_strict', 0],
    ])
    expect(chains[0]).toMatchObject({ head: expect.stringMatching(/^[0-9a-f]{64}$/), broken_at: null, problem: null })
  })

  test('does not grow with rejected requests, duplicates or reads', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const body = beacon(on.clock, filled, 'render')
    await on.api.accept('beacons.send', { as: key, body })
    const before = await verify(on)
    await on.api.accept('beacons.send', { as: key, body })
    await on.api.refuse('beacons.send', { as: key, body: { ...body, event: 'click' } })
    await on.api.refuse('placements.create', { as: key, body: {} })
    await on.api.accept('decisions.get', { as: key, params: { slot_id: filled.slot_id } })
    await on.api.accept('render.frame', { params: { asset_token: filled.asset_token } })
    await activate(on.api)
    expect(await verify(on)).toEqual(before)
  })

  test('is intact after parallel requests', async () => {
    await using on = await stage({ rate_limit: 'off' })
    const filled = await fill(on.api)
    const as = await activate(on.api)
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => [
        on.api.accept('placements.create', {
          as: key,
          body: asked({ session_id: `s${index % 3}`, consent: { prompt_shared: index % 2 === 0 } }),
        }),
        on.api.accept('placements.create', { as, origin, body: asked() }),
        on.api.send('POST', '/v1/beacons', { as: key, body: beacon(on.clock, filled, 'heartbeat') }),
      ]).flat(),
    )
    const { ok, chains } = await verify(on)
    expect([ok, chains[0]!.problem]).toEqual([true, null])
    expect(chains[0]!.entries).toBeGreaterThan(80)
  })

  test('verifies after a restart, and continues from its head', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    {
      await using on = await stage(options)
      await live(on)
    }
    await using on = await stage(options)
    await live(on)
    const { ok, chains } = await verify(on)
    expect([ok, chains[0]!.entries]).toEqual([true, 13])
  })
})

describe('tampering with the file is reported', () => {
  const cases: [string, (db: Database.Database) => void, number][] = [
    [
      'an entry was changed',
      (db) => db.exec(`UPDATE evidence SET entry = replace(entry, '"fill":true', '"fill":false') WHERE seq = 2`),
      2,
    ],
    ['an entry was removed', (db) => db.exec('DELETE FROM evidence WHERE project_id = 1 AND seq = 3'), 3],
    ['the first entry was removed', (db) => db.exec('DELETE FROM evidence WHERE project_id = 1 AND seq = 1'), 1],
    ['a hash was changed', (db) => db.exec(`UPDATE evidence SET hash = x'${'00'.repeat(32)}' WHERE seq = 4`), 4],
    [
      'two entries were exchanged',
      (db) =>
        db.exec(
          'UPDATE evidence SET seq = 1000 WHERE seq = 5; UPDATE evidence SET seq = 5 WHERE seq = 6; UPDATE evidence SET seq = 6 WHERE seq = 1000',
        ),
      5,
    ],
    [
      'the price of a decision was changed',
      (db) => db.exec('UPDATE slot SET gross_cpm = 99 WHERE gross_cpm IS NOT NULL'),
      2,
    ],
    [
      'a no-fill was given another reason',
      (db) => db.exec("UPDATE slot SET no_fill_reason = 'no_demand' WHERE no_fill_reason IS NOT NULL"),
      3,
    ],
    [
      'the consent of a decision was changed',
      (db) => db.exec('UPDATE slot SET consent = replace(consent, \'"revision":1\', \'"revision":2\')'),
      2,
    ],
    ['a decision was removed', (db) => db.exec('DELETE FROM slot WHERE id = (SELECT min(id) FROM slot)'), 2],
    [
      'a beacon was changed into another kind',
      (db) => db.exec("UPDATE beacon SET event = 'visible' WHERE id = (SELECT min(id) FROM beacon)"),
      5,
    ],
    ['a beacon was moved in time', (db) => db.exec('UPDATE beacon SET occurred_at_ms = occurred_at_ms + 1'), 5],
    ['the kind of an entry was changed', (db) => db.exec("UPDATE evidence SET kind = 'beacon' WHERE seq = 3"), 3],
    ['the time of an entry was changed', (db) => db.exec('UPDATE evidence SET at_ms = at_ms + 1 WHERE seq = 4'), 4],
    ['the time beside a beacon was changed', (db) => db.exec('UPDATE evidence SET at_ms = at_ms + 1 WHERE seq = 5'), 5],
    ['consent was given another purpose', (db) => db.exec('UPDATE consent SET prompt_shared = 1'), 1],
    ['consent was prolonged', (db) => db.exec('UPDATE consent SET expires_at_ms = expires_at_ms + 1'), 1],
    ['consent was removed', (db) => db.exec('DELETE FROM consent'), 1],
    ['a beacon was removed', (db) => db.exec('DELETE FROM beacon WHERE id = (SELECT max(id) FROM beacon)'), 7],
  ]
  for (const [what, change, broken_at] of cases) {
    test(what, async () => {
      using dir = folder()
      const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
      {
        await using on = await stage(options)
        await live(on)
      }
      edit(options.database, (db) => void change(db))
      await using on = await stage(options)
      const { ok, chains } = await verify(on)
      expect(ok).toBe(false)
      expect(chains[0]).toMatchObject({ client_id: 'proj_demo', broken_at, entries: broken_at - 1 })
      expect(chains[0]!.problem).toMatch(new RegExp(`\\b${broken_at}\\b.*\\.$`))
      expect(chains.slice(1).map(({ broken_at: other }) => other)).toEqual([null, null])
    })
  }

  test('consent that was granted afterwards is reported', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    {
      await using on = await stage(options)
      await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'denied' } })
    }
    edit(options.database, (db) => void db.exec("UPDATE consent SET state = 'granted'"))
    await using on = await stage(options)
    expect(await verify(on)).toMatchObject({ ok: false, chains: [{ broken_at: 1 }, {}, {}] })
  })
})

describe('the contents of a row', () => {
  test('measurements of a beacon cannot be changed undetected', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    {
      await using on = await stage(options)
      const filled = await fill(on.api)
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
      const measurements = { visible_ratio: 0.1, visible_ms: 10 }
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'visible', { measurements }) })
    }
    edit(options.database, (db) => {
      db.exec(`UPDATE beacon SET measurements = '{"visible_ratio":1,"visible_ms":5000}' WHERE event = 'visible'`)
    })
    await using on = await stage(options)
    expect(await verify(on)).toMatchObject({ ok: false, chains: [{ broken_at: 3 }, {}, {}] })
  })

  test('the asset token of a decision cannot be exchanged undetected', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    {
      await using on = await stage(options)
      await fill(on.api)
    }
    edit(options.database, (db) => void db.prepare('UPDATE slot SET asset_token_hash = ?').run(Buffer.alloc(32, 1)))
    await using on = await stage(options)
    expect(await verify(on)).toMatchObject({ ok: false, chains: [{ broken_at: 1 }, {}, {}] })
  })

  test('a token replaced by another install has an entry of its own, and the chain is intact', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    let slot_id: string
    let asset_token: string
    {
      await using on = await stage(options)
      ;({ slot_id, asset_token } = await fill(on.api))
    }
    await replaceInstallKey(options.database)
    await using on = await stage(options)
    const { body } = await on.api.accept('decisions.get', { as: key, params: { slot_id } })
    expect(body.decision?.asset_token).not.toBe(asset_token)
    const renewed = { slot_id, asset_token: body.decision!.asset_token! }
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, renewed, 'render') })
    const chains = [{ entries: 3, broken_at: null }, {}, {}]
    expect(await verify(on)).toMatchObject({ ok: true, chains })
  })
})
