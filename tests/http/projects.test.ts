import { describe, expect, test } from 'vitest'
import { defaultSettings } from '#contract/resources/projects.ts'
import { manualClock } from '#sandbox/index.ts'
import { activate, asked, beacon, fill, folder, key, origin, stage } from './stage.ts'

const demo = { client_id: 'proj_demo' }

describe('the list of projects', () => {
  test('has the seeded ones, newest first, in pages', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('projects.list')
    expect(body.items.map(({ client_id }) => client_id)).toEqual(['proj_strict', 'proj_other', 'proj_demo'])
    expect(body.items[0]).toEqual({
      client_id: 'proj_strict',
      enabled: true,
      billing_model: 'cpm_viewable',
      consent_required: true,
      allowed_origins: ['https://app.example.com'],
      config_revision: 1,
    })
    const first = await on.api.accept('projects.list', { query: { limit: 2 } })
    const rest = await on.api.accept('projects.list', { query: { limit: 2, cursor: first.body.next_cursor! } })
    expect([...first.body.items, ...rest.body.items]).toEqual(body.items)
    expect(rest.body.next_cursor).toBeNull()
  })

  test('shows a project with every setting; an unknown one is not found', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('projects.show', { params: demo })
    expect(body).toMatchObject({
      client_id: 'proj_demo',
      wrapper_tenant_id: 'ten_00000000001',
      config_revision: 1,
      settings: { ...defaultSettings, allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'] },
    })
    const params = { client_id: 'proj_nobody' }
    expect((await on.api.refuse('projects.show', { params })).status).toBe(404)
    expect((await on.api.refuse('projects.update', { params, body: {} })).status).toBe(404)
  })
})

describe('a new project', () => {
  test('has keys that are valid at once and shown once, and survives a restart', async () => {
    using dir = folder()
    const options = { database: `${dir.path}/sandbox.db`, clock: manualClock() }
    let keys: { secret_key: string; live_secret_key: string; publishable_key: string }
    const body = { client_id: 'proj_shop', allowed_origins: [origin], consent: { ttl_ms: 5_000 } }
    {
      await using on = await stage(options)
      const created = await on.api.accept('projects.create', { body })
      keys = created.body.keys
      expect(created.body).toMatchObject({ client_id: 'proj_shop', config_revision: 1 })
      expect(created.body.settings).toEqual({
        ...defaultSettings,
        allowed_origins: [origin],
        consent: { ...defaultSettings.consent, ttl_ms: 5_000 },
      })
      expect(keys.secret_key).toMatch(/^sk_test_[\w-]{43}$/)
      expect(keys.live_secret_key).toMatch(/^sk_live_[\w-]{43}$/)
      expect(keys.publishable_key).toMatch(/^pk_test_[\w-]{43}$/)
      const shown = await on.api.accept('projects.show', { params: { client_id: 'proj_shop' } })
      expect(shown.text).not.toContain('_test_')
    }
    await using on = await stage(options)
    await fill(on.api, { as: keys.secret_key, body: asked({ client_id: 'proj_shop' }) })
    await fill(on.api, { as: keys.live_secret_key, body: asked({ client_id: 'proj_shop' }) })
    await activate(on.api, keys.publishable_key)
    const { body: project } = await on.api.accept('projects.show', { params: { client_id: 'proj_shop' } })
    expect(project.settings.consent).toEqual({ ...defaultSettings.consent, ttl_ms: 5_000 })
  })

  test('needs a unique name and valid settings', async () => {
    await using on = await stage()
    const taken = await on.api.refuse('projects.create', { body: demo })
    expect(taken.body).toMatchObject({ reason_code: 'schema_invalid', fields: [{ path: 'client_id' }] })
    const body = { client_id: 'shop', fill_rate: 2 }
    const wrong = await on.api.refuse('projects.create', { body })
    expect(wrong.body.fields.map(({ path }) => path)).toEqual(['client_id', 'fill_rate'])
    expect((await on.api.accept('projects.list')).body.items).toHaveLength(3)
  })

  test('that parallel requests create exists once', async () => {
    await using on = await stage()
    const calls = Array.from({ length: 5 }, () =>
      on.api.send('POST', '/_sandbox/projects', { body: { client_id: 'proj_shop' } }),
    )
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([201, 400, 400, 400, 400])
  })

  test('is gone after a reset, and so are changed settings', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('projects.create', { body: { client_id: 'proj_shop' } })
    await on.api.accept('projects.update', { params: demo, body: { enabled: false } })
    await on.api.accept('sandbox.reset')
    const call = { as: body.keys.secret_key, body: asked({ client_id: 'proj_shop' }) }
    expect((await on.api.refuse('placements.create', call)).body.reason_code).toBe('key_unknown')
    await fill(on.api)
  })
})

describe('a change of settings', () => {
  test('is a merge patch: missing fields stay, null restores the default, the revision grows', async () => {
    await using on = await stage()
    const patched = await on.api.accept('projects.update', {
      params: demo,
      body: { label_text: 'Ad', viewability: { ratio: 0.7, clip_ratio: 0.8 }, defaults: { max_width: 300 } },
    })
    expect(patched.body).toMatchObject({ config_revision: 2, settings: { label_text: 'Ad' } })
    expect(patched.body.settings.viewability).toEqual({ ...defaultSettings.viewability, ratio: 0.7, clip_ratio: 0.8 })
    const back = await on.api.accept('projects.update', {
      params: demo,
      body: { label_text: null, viewability: { ratio: null } },
    })
    expect(back.body.settings).toMatchObject({
      label_text: 'Sponsored',
      viewability: { ratio: 0.5, clip_ratio: 0.8 },
      defaults: { max_width: 300 },
      allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'],
    })
    const whole = await on.api.accept('projects.update', { params: demo, body: { viewability: null } })
    expect(whole.body.settings.viewability).toEqual(defaultSettings.viewability)
    expect(whole.body.config_revision).toBe(4)
    const same = await on.api.accept('projects.update', { params: demo, body: { label_text: 'Sponsored' } })
    expect(same.body.config_revision).toBe(4)
  })

  test('replaces a distribution of latency by a number or by another distribution', async () => {
    await using on = await stage()
    const uniform = { distribution: 'uniform', min_ms: 0, max_ms: 5 }
    const lognormal = { distribution: 'lognormal', median_ms: 1, sigma: 0.5 }
    for (const decision_latency_ms of [uniform, 7, lognormal, uniform, null]) {
      const { body } = await on.api.accept('projects.update', { params: demo, body: { decision_latency_ms } })
      expect(body.settings.decision_latency_ms).toEqual(decision_latency_ms ?? 0)
    }
  })

  test('that is invalid is rejected as a whole', async () => {
    await using on = await stage()
    const cases: [Record<string, unknown>, string, string][] = [
      [{ enabled: false, fill_rate: 1.5 }, 'schema_invalid', 'fill_rate'],
      [{ enabled: false, colour: 'red' }, 'field_unknown', 'colour'],
      [{ enabled: false, consent: { colour: 'red' } }, 'field_unknown', 'consent.colour'],
      [{ enabled: false, allowed_origins: ['https://a.example/path'] }, 'schema_invalid', 'allowed_origins.0'],
      [
        { enabled: false, decision_latency_ms: { distribution: 'uniform', min_ms: 5, max_ms: 1 } },
        'schema_invalid',
        'decision_latency_ms.max_ms',
      ],
      [{ enabled: false, rate_limits: { default: 'often' } }, 'schema_invalid', 'rate_limits.default'],
    ]
    for (const [body, reason_code, path] of cases) {
      const refused = await on.api.refuse('projects.update', { params: demo, body })
      expect([refused.body.reason_code, refused.body.fields.map((field) => field.path)]).toEqual([reason_code, [path]])
    }
    expect((await on.api.accept('projects.show', { params: demo })).body).toMatchObject({
      config_revision: 1,
      settings: { enabled: true },
    })
  })

  test('also applies to placements that were decided before', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    await on.api.accept('projects.update', { params: demo, body: { billing_model: 'cpm_render' } })
    const { body } = await on.api.accept('beacons.list')
    expect(body.items[0]).toMatchObject({ would_bill: true, metric: 'rendered_impression' })
  })

  test('by parallel requests loses nothing', async () => {
    await using on = await stage()
    const bodies = [{ label_text: 'A' }, { fill_rate: 0.5 }, { beacon_max_age_ms: 1 }, { publisher_share: 0.1 }]
    await Promise.all(bodies.map((body) => on.api.accept('projects.update', { params: demo, body })))
    const { body } = await on.api.accept('projects.show', { params: demo })
    expect(body.settings).toMatchObject(Object.assign({}, ...bodies))
    expect(body.config_revision).toBe(5)
  })
})
