import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { connect } from './call.ts'
import {
  activate,
  asked,
  edit,
  fill,
  folder,
  key,
  liveKey,
  origin,
  publishable,
  stage,
  stageWith,
  startSandbox,
} from './stage.ts'

const strictOrigin = 'https://app.example.com'

describe('the seeded projects', () => {
  test('exist with their well-known keys, and are printed at the start', async () => {
    await using on = await stage()
    expect(on.sandbox.projects).toEqual([
      {
        client_id: 'proj_demo',
        secret_key: 'sk_test_sandbox_demo',
        live_secret_key: 'sk_live_sandbox_demo',
        publishable_key: 'pk_test_sandbox_demo',
        allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'],
      },
      {
        client_id: 'proj_other',
        secret_key: 'sk_test_sandbox_other',
        live_secret_key: 'sk_live_sandbox_other',
        publishable_key: 'pk_test_sandbox_other',
        allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'],
      },
      {
        client_id: 'proj_strict',
        secret_key: 'sk_test_sandbox_strict',
        live_secret_key: 'sk_live_sandbox_strict',
        publishable_key: 'pk_test_sandbox_strict',
        allowed_origins: [strictOrigin],
      },
    ])
    expect(on.sandbox.keys.client_id).toBe('proj_demo')
    for (const { client_id, secret_key, live_secret_key, publishable_key, allowed_origins } of on.sandbox.projects) {
      const params = { client_id }
      const test = await on.api.accept('projects.config', { as: secret_key, params })
      const live = await on.api.accept('projects.config', { as: live_secret_key, params })
      expect([test.body.mode, live.body.mode]).toEqual(['test', 'live'])
      const from = allowed_origins[0]!.replace('*', '3000')
      const { body } = await on.api.accept('browser.activate', { origin: from, body: { publishable_key } })
      expect(body.project_id).toBe(client_id)
    }
  })

  test('a database holds hashes of keys only', async () => {
    using dir = folder()
    const database = `${dir.path}/sandbox.db`
    await (await startSandbox({ database, clock: manualClock() })).close()
    let rows: { hash: Buffer }[] = []
    edit(database, (db) => {
      rows = db.prepare('SELECT * FROM api_key').all() as typeof rows
    })
    await (await startSandbox({ database, clock: manualClock() })).close()
    expect(rows).toHaveLength(9)
    for (const { hash } of rows) expect(hash).toHaveLength(32)
    expect(JSON.stringify(rows)).not.toMatch(/(sk|pk)_(test|live)_/)
  })
})

describe('activation', () => {
  test('responds with a token that expires in 600 s, and the key, tenant and project it is bound to', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(body).toEqual({
      ok: true,
      activation_token: expect.stringMatching(/^at_[A-Za-z0-9_-]{43,}$/),
      expires_at_ms: on.clock.now() + 600_000,
      key_id: expect.stringMatching(/^key_[0-9a-z]{11}$/),
      wrapper_tenant_id: expect.stringMatching(/^ten_[0-9a-z]{11}$/),
      project_id: 'proj_demo',
    })
  })

  test('a missing or malformed key is 400; an empty, unknown or revoked key is 401, a secret key 403', async () => {
    await using on = await stage()
    const cases: [unknown, number, string][] = [
      [undefined, 400, 'publishable_key_malformed'],
      [null, 400, 'publishable_key_malformed'],
      [5, 400, 'publishable_key_malformed'],
      [['pk_test_sandbox_demo'], 400, 'publishable_key_malformed'],
      ['sk_test_sandbox_demo', 403, 'key_class'],
      ['sk_live_nobody', 403, 'key_class'],
      ['PK_TEST_SANDBOX_DEMO', 400, 'publishable_key_malformed'],
      [' pk_test_sandbox_demo', 400, 'publishable_key_malformed'],
      ['pk_prod_x', 400, 'publishable_key_malformed'],
      ['', 401, 'credential_missing'],
      ['pk_test_nobody', 401, 'key_unknown'],
      ['pk_live_nobody', 401, 'key_unknown'],
      ['pk_test_', 401, 'key_unknown'],
    ]
    for (const [publishable_key, status, reason] of cases) {
      const { body, ...response } = await on.api.refuse('browser.activate', { origin, body: { publishable_key } })
      expect([publishable_key, response.status, body.reason_code]).toEqual([publishable_key, status, reason])
      if (status === 400) expect(body.fields.map(({ path }) => path)).toEqual(['publishable_key'])
    }
    const { body } = await on.api.refuse('browser.activate', { origin, body: { publishable_key: publishable, ttl: 1 } })
    expect([body.reason_code, body.fields[0]?.path]).toEqual(['field_unknown', 'ttl'])
    const empty = await on.api.refuse('browser.activate', { origin, body: { publishable_key: '' } })
    expect(empty.body.hint).toMatch(/^Send the key that begins with pk_test_/)
  })

  test('a revoked key is 401, and so is a revoked secret key', async () => {
    using dir = folder()
    const database = `${dir.path}/sandbox.db`
    await (await startSandbox({ database, clock: manualClock() })).close()
    edit(database, (db) => void db.exec('UPDATE api_key SET revoked_at_ms = 1'))
    await using on = await stage({ database })
    const activation = await on.api.refuse('browser.activate', { origin, body: { publishable_key: publishable } })
    const placement = await on.api.refuse('placements.create', { as: key, body: asked() })
    expect([activation.status, activation.body.reason_code]).toEqual([401, 'key_revoked'])
    expect([placement.status, placement.body.reason_code]).toEqual([401, 'key_revoked'])
  })

  test('a missing Origin is 400, one that is not allowed 403', async () => {
    await using on = await stage()
    const body = { publishable_key: publishable }
    const missing = await on.api.refuse('browser.activate', { body })
    expect([missing.status, missing.body.reason_code]).toEqual([400, 'origin_missing'])
    const refused = [
      'null',
      'https://localhost:3000',
      'http://localhost.evil.example',
      'http://localhost:3000.evil.example',
      'http://evil.example',
      'http://localhost:3000/',
      'http://localhost:3000/path',
      'http://user@localhost:3000',
      'file://',
      'http://[::1]:3000',
      'localhost:3000',
      '*',
      'http://localhost:*',
    ]
    for (const from of refused) {
      const response = await on.api.refuse('browser.activate', { origin: from, body })
      expect([from, response.status, response.body.reason_code]).toEqual([from, 403, 'origin_not_allowed'])
    }
    for (const from of ['http://localhost', 'http://localhost:1', 'HTTP://LOCALHOST:3000', 'http://127.0.0.1:65535']) {
      await on.api.accept('browser.activate', { origin: from, body })
    }
  })

  test('an origin matches exactly, except for its case and its default port', async () => {
    await using on = await stage()
    const body = { publishable_key: 'pk_test_sandbox_strict' }
    for (const from of [strictOrigin, 'https://app.example.com:443', 'HTTPS://APP.EXAMPLE.COM']) {
      await on.api.accept('browser.activate', { origin: from, body })
    }
    for (const from of [
      'http://app.example.com',
      'https://app.example.com:444',
      'https://example.com',
      'https://x.app.example.com',
      origin,
    ]) {
      expect((await on.api.refuse('browser.activate', { origin: from, body })).status).toBe(403)
    }
  })

  test('any port of localhost is a pattern for test keys only', async () => {
    await using on = await stageWith({ allowed_origins: ['http://localhost:*', 'http://localhost:8080'] })
    const body = { publishable_key: 'pk_live_sandbox_test' }
    expect((await on.api.refuse('browser.activate', { origin, body })).body.reason_code).toBe('origin_not_allowed')
    const live = await activate(on.api, 'pk_live_sandbox_test', 'http://localhost:8080')
    await activate(on.api, publishable, origin)
    const config = { as: live, origin: 'http://localhost:8080', params: { client_id: 'proj_demo' } }
    expect((await on.api.accept('projects.config', config)).body.mode).toBe('live')
  })

  test('the lifetime is a setting of the project', async () => {
    await using on = await stageWith({ activation_ttl_ms: 5_000 })
    const { body } = await on.api.accept('browser.activate', { origin, body: { publishable_key: publishable } })
    expect(body.expires_at_ms).toBe(on.clock.now() + 5_000)
  })

  test('the same key can be activated many times; each token is independent', async () => {
    await using on = await stage()
    const tokens = await Promise.all(Array.from({ length: 10 }, () => activate(on.api)))
    expect(new Set(tokens).size).toBe(10)
    for (const as of tokens) await on.api.accept('projects.config', { as, origin, params: { client_id: 'proj_demo' } })
  })
})

describe('an activation token', () => {
  test('is accepted by every endpoint that takes one, from its origin', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const call = { as, origin }
    const { body } = await on.api.accept('placements.create', { ...call, body: asked() })
    await on.api.accept('jobs.create', { ...call, body: { client_id: 'proj_demo' } })
    await on.api.accept('decisions.get', { ...call, params: { slot_id: body.slot_id } })
    await on.api.accept('consent.set', { ...call, body: { client_id: 'proj_demo', session_id: 'sess_9' } })
    await on.api.accept('projects.config', { ...call, params: { client_id: 'proj_demo' } })
    const render = {
      beacon_id: 'beacon-1',
      asset_token: body.placement?.asset_token,
      event: 'render',
      occurred_at_ms: on.clock.now(),
    }
    await on.api.accept('beacons.send', { ...call, body: render })
  })

  test('must come with the origin it is bound to', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    for (const from of [
      undefined,
      'null',
      'http://localhost:3001',
      'http://localhost',
      'https://localhost:3000',
      strictOrigin,
    ]) {
      const call = { as, body: asked(), ...(from === undefined ? {} : { origin: from }) }
      const { status, body } = await on.api.refuse('placements.create', call)
      expect([from, status, body.reason_code]).toEqual([from, 403, 'origin_mismatch'])
    }
    await on.api.accept('placements.create', { as, origin: 'HTTP://LOCALHOST:3000', body: asked() })
  })

  test('a same-origin GET without Origin passes when Sec-Fetch-Site confirms it; a POST never does', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const { slot_id } = await fill(on.api)
    const params = { slot_id, client_id: 'proj_demo' }
    const site = (value: string) => ({ headers: { 'sec-fetch-site': value } })
    await on.api.accept('decisions.get', { as, params, ...site('same-origin') })
    await on.api.accept('projects.config', { as, params, ...site('same-origin') })
    for (const value of ['cross-site', 'same-site', 'none']) {
      expect((await on.api.refuse('decisions.get', { as, params, ...site(value) })).body.reason_code).toBe(
        'origin_mismatch',
      )
    }
    expect((await on.api.refuse('decisions.get', { as, params })).body.reason_code).toBe('origin_mismatch')
    const wrong = { as, params, origin: 'http://localhost:3001', ...site('same-origin') }
    expect((await on.api.refuse('decisions.get', wrong)).body.reason_code).toBe('origin_mismatch')
    const post = { as, body: asked(), ...site('same-origin') }
    expect((await on.api.refuse('placements.create', post)).body.reason_code).toBe('origin_mismatch')
  })

  test('expires at expires_at_ms, on the sandbox clock', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    on.clock.advance(599_999)
    await on.api.accept('placements.create', { as, origin, body: asked() })
    on.clock.advance(1)
    const { status, body } = await on.api.refuse('placements.create', { as, origin, body: asked() })
    expect([status, body.error, body.reason_code]).toEqual([401, 'unauthorized', 'activation_token_expired'])
  })

  test('that is forged, truncated or of another kind is invalid', async () => {
    await using on = await stage()
    const as = await activate(on.api)
    const flipped = as.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const body = {
      beacon_id: 'beacon-1',
      asset_token: 'ast_x',
      event: 'render',
      occurred_at_ms: on.clock.now(),
    } as const
    for (const forged of [flipped, as.slice(0, -1), `${as}x`, 'at_', 'at_00000000000', as.replace('at_', 'bt_')]) {
      const { status, body: refused } = await on.api.refuse('beacons.send', { as: forged, origin, body })
      expect([forged.slice(0, 3), status, refused.reason_code]).toEqual([
        forged.slice(0, 3),
        401,
        'activation_token_invalid',
      ])
    }
  })

  test('never crosses projects', async () => {
    await using on = await stage()
    const as = await activate(on.api, 'pk_test_sandbox_other')
    const { slot_id } = await fill(on.api)
    const call = { as, origin }
    expect((await on.api.refuse('decisions.get', { ...call, params: { slot_id } })).status).toBe(404)
    expect((await on.api.refuse('placements.create', { ...call, body: asked() })).body.reason_code).toBe(
      'project_mismatch',
    )
    expect((await on.api.refuse('projects.config', { ...call, params: { client_id: 'proj_demo' } })).status).toBe(404)
  })

  test('survives a restart of the sandbox over the same file', async () => {
    using dir = folder()
    const database = `${dir.path}/sandbox.db`
    const clock = manualClock()
    const first = await startSandbox({ database, clock })
    const as = await activate(connect(first))
    const { asset_token } = await fill(connect(first))
    await first.close()
    await using on = await stage({ database, clock })
    await on.api.accept('placements.create', { as, origin, body: asked() })
    await on.api.accept('render.frame', { params: { asset_token } })
  })
})

describe('the Authorization header of an activation', () => {
  test('is not needed, and of no scheme but Bearer', async () => {
    await using on = await stage()
    const body = { publishable_key: publishable }
    for (const authorization of ['Basic c3Zj', publishable, `Token ${publishable}`]) {
      const refused = await on.api.refuse('browser.activate', { origin, headers: { authorization }, body })
      expect([refused.status, refused.body.reason_code], authorization).toEqual([401, 'credential_missing'])
      expect(refused.body.hint).toContain('in the body')
    }
    for (const authorization of ['', 'Bearer', `Bearer ${publishable}`, `bearer ${await activate(on.api)}`]) {
      await on.api.accept('browser.activate', { origin, headers: { authorization }, body })
    }
  })

  test('with a secret key that no project has is 401', async () => {
    await using on = await stage()
    const call = { as: 'sk_test_nobody', origin, body: { publishable_key: publishable } }
    const { status, body } = await on.api.refuse('browser.activate', call)
    expect([status, body.reason_code]).toEqual([401, 'key_unknown'])
  })
})

describe('a secret key together with an Origin', () => {
  test('is rejected: it leaked into a page', async () => {
    await using on = await stage()
    for (const as of [key, liveKey]) {
      const { status, body } = await on.api.refuse('placements.create', { as, origin, body: asked() })
      expect([status, body.reason_code]).toEqual([403, 'secret_key_in_browser'])
      const activation = await on.api.refuse('browser.activate', { as, origin, body: { publishable_key: publishable } })
      expect([activation.status, activation.body.reason_code]).toEqual([403, 'secret_key_in_browser'])
    }
  })

  test('passes with a warning when the project allows it', async () => {
    await using on = await stageWith({ secret_key_in_browser: 'warn' })
    const { warnings } = await on.api.accept('placements.create', { as: key, origin, body: asked() })
    expect(warnings).toEqual(['secret_key_in_browser'])
    const activation = { as: key, origin, body: { publishable_key: publishable } }
    expect((await on.api.accept('browser.activate', activation)).warnings).toEqual(['secret_key_in_browser'])
    expect((await on.api.accept('placements.create', { as: key, body: asked() })).warnings).toEqual([])
  })
})
