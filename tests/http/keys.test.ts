import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { activate, asked, edit, fill, folder, key, stage } from './stage.ts'

const params = { client_id: 'proj_demo' }

describe('the keys of a project', () => {
  test('are listed newest first, in pages, without the key itself', async () => {
    await using on = await stage()
    on.clock.advance(5)
    const created = await on.api.accept('keys.create', { params, body: { class: 'publishable', mode: 'live' } })
    const { key: _, ...shown } = created.body
    const { body, text } = await on.api.accept('keys.list', { params })
    expect(body.items[0]).toEqual(shown)
    expect(body.items.map(({ class: key_class, mode }) => `${key_class} ${mode}`)).toEqual([
      'publishable live',
      'publishable test',
      'secret live',
      'secret test',
    ])
    expect(text).not.toMatch(/(sk|pk)_/)
    const first = await on.api.accept('keys.list', { params, query: { limit: 3 } })
    const rest = await on.api.accept('keys.list', { params, query: { limit: 3, cursor: first.body.next_cursor! } })
    expect([...first.body.items, ...rest.body.items]).toEqual(body.items)
    const nobody = { params: { client_id: 'proj_nobody' } }
    expect((await on.api.refuse('keys.list', nobody)).status).toBe(404)
    expect((await on.api.refuse('keys.create', nobody)).status).toBe(404)
  })

  test('a new one is random, valid at once and after a restart; only its hash is in the file', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    let made: string[]
    {
      await using on = await stage(options)
      const create = async (body: object) => (await on.api.accept('keys.create', { params, body })).body
      const secret = await create({})
      const live = await create({ class: 'secret', mode: 'live' })
      const page = await create({ class: 'publishable' })
      made = [secret.key, live.key, page.key]
      expect(secret).toMatchObject({ class: 'secret', mode: 'test', client_id: 'proj_demo', revoked_at_ms: null })
      expect(secret.key).toMatch(/^sk_test_[\w-]{43}$/)
      expect(live.key).toMatch(/^sk_live_[\w-]{43}$/)
      expect(page.key).toMatch(/^pk_test_[\w-]{43}$/)
      expect(new Set(made.map((text) => text.slice(8))).size).toBe(3)
      await fill(on.api, { as: secret.key })
      const journal = JSON.stringify((await on.api.send('GET', '/_sandbox/requests')).body)
      for (const text of made) expect(journal).not.toContain(text)
    }
    edit(options.database, (db) => {
      const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[]
      for (const table of tables) {
        const rows = JSON.stringify(db.prepare(`SELECT * FROM "${table}"`).all())
        for (const text of made) expect(rows).not.toContain(text.slice(8))
      }
    })
    await using on = await stage(options)
    await fill(on.api, { as: made[0]! })
    expect((await fill(on.api, { as: made[1]! })).decision.fill).toBe(true)
    await activate(on.api, made[2]!)
  })

  test('of a sandbox with a seed are new ones also after a restart', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock(), seed: 1 }
    const made = new Set<string>()
    for (let start = 0; start < 3; start++) {
      await using on = await stage(options)
      made.add((await on.api.accept('keys.create', { params, body: {} })).body.key)
    }
    expect(made.size).toBe(3)
  })

  test('have a known class and mode only', async () => {
    await using on = await stage()
    for (const body of [{ class: 'admin' }, { mode: 'prod' }]) {
      expect((await on.api.refuse('keys.create', { params, body })).body.reason_code).toBe('schema_invalid')
    }
    expect((await on.api.refuse('keys.create', { params, body: { key: 'pk_test_mine' } })).body.reason_code).toBe(
      'field_unknown',
    )
    expect((await on.api.accept('keys.list', { params })).body.items).toHaveLength(3)
  })
})

describe('a revoked key', () => {
  test('of the seed stays revoked after a restart, and is restored by a reset', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    {
      await using on = await stage(options)
      await on.api.accept('keys.revoke', { params: { key_id: 'key_00000000001' } })
    }
    await using on = await stage(options)
    const refused = await on.api.refuse('placements.create', { as: key, body: asked() })
    expect(refused.body.reason_code).toBe('key_revoked')
    await on.api.accept('sandbox.reset')
    await fill(on.api)
  })

  test('that does not exist is not found, and the key itself is not a key_id', async () => {
    await using on = await stage()
    for (const key_id of ['key_0000000zzzz', 'key_1', key]) {
      const refused = await on.api.refuse('keys.revoke', { params: { key_id } })
      expect([key_id, refused.status]).toEqual([key_id, 404])
      expect(refused.text).not.toContain('sk_test')
    }
    await fill(on.api)
  })
})
