import { describe, expect, test } from 'vitest'
import { manualClock } from '#sandbox/index.ts'
import { connect } from './call.ts'
import { activate, asked, edit, fill, folder, origin, stage, startSandbox } from './stage.ts'

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

test('the key of an activation is judged, and counted, before the rest of its body (A13)', async () => {
  await using on = await stage()
  await on.api.accept('projects.update', {
    params: { client_id: 'proj_demo' },
    body: { rate_limits: { activate: '1/min' } },
  })
  const refuse = async (publishable_key: string) => {
    const body = { publishable_key, colour: 'red' } as never
    return (await on.api.refuse('browser.activate', { origin, body })).body.reason_code
  }
  expect(await refuse('pk_test_unknown')).toBe('key_unknown')
  expect(await refuse('pk_test_sandbox_demo')).toBe('field_unknown')
  expect(await refuse('pk_test_sandbox_demo')).toBe('rate_limited')
})

describe('an activation token', () => {
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
