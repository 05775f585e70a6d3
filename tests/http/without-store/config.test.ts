import { describe, expect, test } from 'vitest'
import { activate, key, liveKey, origin, otherKey, stage, stageWith, strictKey } from '../stage.ts'

const params = { client_id: 'proj_demo' }

describe('the config of a project', () => {
  test('contains everything that a renderer needs', async () => {
    await using on = await stage()
    const { body, headers } = await on.api.accept('projects.config', { as: key, params })
    expect(body).toEqual({
      client_id: 'proj_demo',
      mode: 'test',
      enabled: true,
      defaults: {
        allowed_formats: ['banner', 'clip', 'native'],
        formats: ['banner', 'clip', 'native'],
        native_template_id: 'card',
        timing: 'during',
        position: 'inline',
        max_width: null,
        max_height: null,
        decision_delivery: 'polling',
      },
      disclosure: { label_text: 'Sponsored', label_required: true },
      consent: { required: false, mechanism: 'none', required_purposes: [], ttl_ms: 180 * 86_400_000 },
      viewability: {
        ratio: 0.5,
        duration_ms: 1_000,
        large_area_px2: 242_500,
        large_ratio: 0.3,
        clip_ratio: 0.5,
        clip_duration_ms: 2_000,
        billing_model: 'cpm_viewable',
      },
      beacons: { max_age_ms: 300_000, max_future_skew_ms: 60_000, heartbeat_interval_ms: 10_000 },
      allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'],
      renderer: { script_url: `${on.sandbox.url}/v1/render.js`, version: on.sandbox.version },
      server_time_ms: on.clock.now(),
      config_revision: 1,
      request_id: headers['x-request-id'],
    })
    expect(headers['cache-control']).toBe('private, max-age=60')
    expect(headers.etag).toMatch(/^(W\/)?".+"$/)
  })

  test('has the mode of the credential, also from a page', async () => {
    await using on = await stage()
    expect((await on.api.accept('projects.config', { as: liveKey, params })).body.mode).toBe('live')
    const as = await activate(on.api)
    expect((await on.api.accept('projects.config', { as, origin, params })).body.mode).toBe('test')
  })

  test('shows that consent is required', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('projects.config', { as: strictKey, params: { client_id: 'proj_strict' } })
    expect(body.consent).toMatchObject({
      required: true,
      mechanism: 'svc_consent',
      required_purposes: ['semantic_targeting'],
    })
    expect(body.allowed_origins).toEqual(['https://app.example.com'])
  })

  test('shows changed settings, and never a key', async () => {
    await using on = await stageWith({ enabled: false, label_text: 'Ad', billing_model: 'cpc' })
    const { body, text } = await on.api.accept('projects.config', { as: key, params })
    expect([body.enabled, body.disclosure.label_text, body.viewability.billing_model]).toEqual([false, 'Ad', 'cpc'])
    expect(text).not.toMatch(/(sk|pk|at|bt|ast)_(test|live|[0-9a-z]{11})_/)
  })

  test('of another or an unknown project is 404', async () => {
    await using on = await stage()
    for (const client_id of ['proj_other', 'proj_nobody', 'x', 'PROJ_DEMO']) {
      const { status } = await on.api.refuse('projects.config', { as: key, params: { client_id } })
      expect([client_id, status]).toEqual([client_id, 404])
    }
    await on.api.accept('projects.config', { as: otherKey, params: { client_id: 'proj_other' } })
  })
})

describe('caching', () => {
  test('an unchanged config is 304 without a body, also minutes later', async () => {
    await using on = await stage()
    const first = await on.api.accept('projects.config', { as: key, params })
    on.clock.advance(120_000)
    const headers = { 'if-none-match': first.headers.etag }
    const again = await on.api.send('GET', '/v1/projects/proj_demo/config', { as: key, headers })
    expect([again.status, again.text]).toEqual([304, ''])
    expect(again.headers['content-type']).toBeUndefined()
    expect(again.headers.etag).toBe(first.headers.etag)
    expect(again.headers['cache-control']).toBe('private, max-age=60')
    expect(again.headers.vary).toContain('Origin')
  })

  test('another tag, another mode and another project are not the same', async () => {
    await using on = await stage()
    const first = await on.api.accept('projects.config', { as: key, params })
    const etag = first.headers.etag!
    await on.api.accept('projects.config', { as: key, params, headers: { 'if-none-match': '"other"' } })
    await on.api.accept('projects.config', { as: liveKey, params, headers: { 'if-none-match': etag } })
    const other = await on.api.accept('projects.config', { as: otherKey, params: { client_id: 'proj_other' } })
    expect(other.body.client_id).toBe('proj_other')
  })

  test('a list of tags and a star match as HTTP defines', async () => {
    await using on = await stage()
    const { headers } = await on.api.accept('projects.config', { as: key, params })
    for (const tags of [`"a", ${headers.etag}`, '*', headers.etag!.replace(/^W\//, '')]) {
      const call = { as: key, headers: { 'if-none-match': tags } }
      expect((await on.api.send('GET', '/v1/projects/proj_demo/config', call)).status).toBe(304)
    }
  })

  test('the credential is checked before the tag', async () => {
    await using on = await stage()
    const { headers } = await on.api.accept('projects.config', { as: key, params })
    const call = { params, headers: { 'if-none-match': headers.etag } }
    expect((await on.api.refuse('projects.config', call)).status).toBe(401)
  })
})
