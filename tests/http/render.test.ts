import { describe, expect, test } from 'vitest'
import { nativeTemplates } from '#contract/fields.ts'
import { asked, fill, key, liveKey, type Stage, stage, stageWith, strictKey } from './stage.ts'

const load = (on: Stage, asset_token: string) => on.api.accept('render.frame', { params: { asset_token } })
const refused = (on: Stage, asset_token: string) => on.api.refusePage('render.frame', { params: { asset_token } })

/** The settings that the frame's script reads. */
function settingsOf(html: string): Record<string, unknown> {
  return JSON.parse(/id="settings"[^>]*>([^<]*)</.exec(html)![1]!) as Record<string, unknown>
}

describe('the frame', () => {
  test('has exactly the headers that isolate it', async () => {
    await using on = await stage()
    const { headers, text } = await load(on, (await fill(on.api)).asset_token)
    const policy = String(headers['content-security-policy'])
    const nonce = /'nonce-([A-Za-z0-9_-]{16,})'/.exec(policy)![1]!
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      `img-src ${on.sandbox.url}`,
      `media-src ${on.sandbox.url}`,
      "connect-src 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      'frame-ancestors http://localhost:* http://127.0.0.1:*',
      'sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox',
    ])
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'cross-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store, private',
    })
    for (const feature of ['camera', 'microphone', 'geolocation', 'payment', 'fullscreen']) {
      expect(headers['permissions-policy']).toContain(`${feature}=()`)
    }
    for (const name of ['set-cookie', 'access-control-allow-origin', 'x-frame-options'])
      expect(headers[name]).toBeUndefined()
    for (const tag of text.match(/<(script|style)[^>]*>/g)!) expect(tag).toContain(`nonce="${nonce}"`)
  })

  test('has a new nonce and a new beacon token at every load', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    const one = await load(on, asset_token)
    const two = await load(on, asset_token)
    expect(one.headers['content-security-policy']).not.toBe(two.headers['content-security-policy'])
    expect(settingsOf(one.text).beacon_token).not.toBe(settingsOf(two.text).beacon_token)
  })

  test('gives its script the settings for the renderer, on the sandbox clock', async () => {
    await using on = await stage()
    on.clock.advance(1_234)
    for (const [format, media_type] of [
      ['banner', 'image'],
      ['clip', 'video'],
      ['native', 'native'],
    ] as const) {
      const { asset_token, placement } = await fill(on.api, { format })
      expect(settingsOf((await load(on, asset_token)).text)).toEqual({
        media_type,
        width: placement.width,
        height: placement.height,
        beacon_token: expect.stringMatching(/^bt_/),
        server_time_ms: on.clock.now(),
      })
    }
  })

  test('shows the creative of its format with a safe link, and never the asset token', async () => {
    await using on = await stage()
    for (const format of ['banner', 'clip', 'native'] as const) {
      const { asset_token, placement, decision } = await fill(on.api, { format })
      const { text } = await load(on, asset_token)
      const shown = (placement.video_url ?? placement.image_url)!.replaceAll('&', '&amp;')
      expect(text).toContain(format === 'clip' ? '<video' : '<img')
      expect(text).toContain(`src="${shown}"`)
      expect(text).toMatch(/<a [^>]*target="_blank" rel="noopener noreferrer sponsored"/)
      expect(text).toContain(`href="${placement.click_url}`)
      expect(text).not.toContain(asset_token)
      if (format === 'native') expect(text).toContain(decision.assets!.cta_text)
    }
  })

  test('a clip is muted, inline and loads only its head', async () => {
    await using on = await stage()
    const { text } = await load(on, (await fill(on.api, { format: 'clip' })).asset_token)
    expect(text).toMatch(/<video [^>]*poster="[^"]+&amp;poster=true"[^>]* muted playsinline [^>]*preload="metadata">/)
  })

  test('test substitutes are marked TEST; production traffic is not', async () => {
    await using on = await stage()
    for (const format of ['banner', 'clip'] as const) {
      expect((await load(on, (await fill(on.api, { format })).asset_token)).text).toContain('>TEST<')
      const live = await fill(on.api, { format, as: liveKey })
      expect((await load(on, live.asset_token)).text).not.toContain('>TEST<')
    }
  })

  test('every native template has its own layout', async () => {
    await using on = await stage()
    const pages = new Set<string>()
    for (const native_template_id of nativeTemplates) {
      const overrides = { allowed_formats: ['native'], native_template_id }
      const { text } = await load(on, (await fill(on.api, { body: asked({ overrides }) })).asset_token)
      expect(text).toContain(`data-template="${native_template_id}"`)
      pages.add(/<style[^>]*>([^<]*)/.exec(text)![1]!)
    }
    expect(pages.size).toBe(nativeTemplates.length)
  })

  test('may be embedded by the allowed origins of its project only', async () => {
    await using on = await stage()
    const body = { client_id: 'proj_strict', session_id: 's', job_type: 'chat', consent: { semantic_targeting: true } }
    const { asset_token } = await fill(on.api, { as: strictKey, body })
    const { headers } = await load(on, asset_token)
    expect(headers['content-security-policy']).toContain('frame-ancestors https://app.example.com;')
  })

  test('of a project without origins may not be embedded', async () => {
    await using on = await stageWith({ allowed_origins: [] })
    const { headers } = await load(on, (await fill(on.api)).asset_token)
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none';")
  })

  test('needs no credential and ignores one', async () => {
    await using on = await stage()
    const params = { asset_token: (await fill(on.api)).asset_token }
    await on.api.accept('render.frame', { params, as: 'anything', origin: 'https://evil.example' })
  })

  test('is listed in the journal without its token', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    await load(on, asset_token)
    const { body } = await on.api.accept('requests.list', { query: { path: '/v1/render/' } })
    expect(body.items).toHaveLength(1)
    expect(body.items[0]!.path).toMatch(/^\/v1\/render\/ast_[0-9a-z]{11}_redacted$/)
  })
})

describe('the window of the first load', () => {
  test('is 300 s from the decision', async () => {
    await using on = await stage()
    const late = await fill(on.api)
    const intime = await fill(on.api)
    on.clock.advance(300_000)
    await load(on, intime.asset_token)
    on.clock.advance(1)
    expect(await refused(on, late.asset_token)).toMatchObject({ status: 404, reason_code: 'asset_token_expired' })
  })

  test('a loaded frame may be loaded again for as long as beacons are accepted', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api)
    await load(on, asset_token)
    on.clock.advance(1_800_000)
    await load(on, asset_token)
    on.clock.advance(1)
    expect((await refused(on, asset_token)).reason_code).toBe('asset_token_expired')
  })

  test('is a setting of the project', async () => {
    await using on = await stageWith({ frame_load_within_ms: 1_000 })
    const { asset_token, decision } = await fill(on.api)
    expect(decision.constraints.max_render_delay_ms).toBe(1_000)
    on.clock.advance(1_001)
    expect((await refused(on, asset_token)).status).toBe(404)
  })

  test('a rejected load does not count as the first', async () => {
    await using on = await stage()
    const { slot_id, asset_token } = await fill(on.api)
    on.clock.advance(300_001)
    await refused(on, asset_token)
    const { body } = await on.api.accept('placements.explain', { params: { slot_id } })
    expect(body.first_frame_at_ms).toBeNull()
  })
})

describe('a frame that may not be shown', () => {
  test('is an HTML 404 for tokens that are unknown, malformed or forged, and notifies the renderer', async () => {
    await using on = await stage()
    const { asset_token, slot_id } = await fill(on.api)
    const flipped = asset_token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    for (const token of [flipped, 'x', 'ast_', slot_id, `${asset_token}x`, '<script>', '%', 'a b', '..', key]) {
      const { status, reason_code, text, headers } = await refused(on, token)
      expect([token, status, reason_code]).toEqual([token, 404, 'asset_token_invalid'])
      expect(settingsOf(text)).toEqual({ code: 'asset_token_invalid' })
      expect(text).not.toContain(token === '<script>' ? '<script>' : `>${token}<`)
      expect(headers['cache-control']).toBe('no-store, private')
      expect(headers['content-security-policy']).toContain("default-src 'none'")
    }
  })

  test('is an HTML 403 when consent is no longer granted, and creates no beacon token', async () => {
    await using on = await stage()
    const session = { client_id: 'proj_demo', session_id: 'sess_1' }
    await on.api.accept('consent.set', { as: key, body: session })
    const { asset_token } = await fill(on.api)
    await on.api.accept('consent.set', { as: key, body: { ...session, decision: 'withdrawn' } })
    const { status, reason_code, text } = await refused(on, asset_token)
    expect([status, reason_code]).toEqual([403, 'consent_not_granted'])
    expect(text).not.toContain('bt_')
    const { body } = await on.api.accept('requests.list', {
      query: { reason: 'consent_not_granted', path: '/v1/render/' },
    })
    expect(body.items).toMatchObject([{ status: 403, reason_code }])
  })

  test('a no-fill has no frame', async () => {
    await using on = await stage()
    const { body } = await on.api.accept('placements.create', { as: key, body: asked({ test_outcome: 'no_fill' }) })
    const guess = `${body.slot_id.replace('slot', 'ast')}_${'A'.repeat(43)}`
    expect((await refused(on, guess)).reason_code).toBe('asset_token_invalid')
  })
})

describe('a refused frame', () => {
  /** As a browser requests a frame. */
  const open = (on: Stage, asset_token: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') =>
    on.api.open(`/v1/render/${asset_token}`, { accept })

  test('names its cause to the renderer, whatever refused it', async () => {
    await using on = await stage()
    const causes: [string, (token: string) => Promise<unknown>][] = [
      ['consent_not_granted', () => consent('withdrawn')],
      ['consent_superseded', () => consent('granted', { semantic_targeting: true })],
      ['consent_expired', async () => on.clock.advance(1_000)],
      ['asset_token_expired', async () => on.clock.advance(300_001)],
      ['injected_fault', () => on.api.accept('faults.add', { body: { path: '/v1/render/**', times: 2 } })],
    ]
    const session_id = 'sess_1'
    const consent = (decision: string, purposes = { semantic_targeting: false }, more: object = {}) =>
      on.api.accept('consent.set', {
        as: key,
        body: { client_id: 'proj_demo', session_id, decision, purposes, ...more },
      })
    for (const [code, refuse] of causes) {
      const short = code === 'consent_expired' ? { expires_at_ms: on.clock.now() + 1_000 } : {}
      await consent('granted', undefined, short)
      const { asset_token } = await fill(on.api)
      await refuse(asset_token)
      const { status, headers, text } = await open(on, asset_token)
      expect([code, status >= 400, headers['content-type']]).toEqual([code, true, 'text/html; charset=utf-8'])
      expect(settingsOf(text)).toEqual({ code })
      expect(text).toContain("postMessage({t:'error',code:")
    }
    // What is no frame, or is asked for by a program, stays JSON.
    const { asset_token } = await fill(on.api)
    expect(JSON.parse((await open(on, asset_token, '*/*')).text)).toMatchObject({ reason_code: 'injected_fault' })
    const { body } = await on.api.accept('requests.list', { query: { path: '/v1/render/', limit: 2 } })
    expect(body.items.map(({ reason_code }) => reason_code)).toEqual(['injected_fault', 'injected_fault'])
  })
})

describe('render.js', () => {
  test('is one script that any page may load, revalidated by its tag', async () => {
    await using on = await stage()
    const { text, headers } = await on.api.accept('render.script')
    expect(text.length).toBeGreaterThan(1_000)
    expect(text).toContain('SponsoredPlacement')
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    })
    const again = await on.api.send('GET', '/v1/render.js', { headers: { 'if-none-match': headers.etag } })
    expect([again.status, again.text]).toEqual([304, ''])
    const head = await on.api.send('HEAD', '/v1/render.js')
    expect([head.status, head.text]).toEqual([200, ''])
  })

  test('needs no credential', async () => {
    await using on = await stage()
    await on.api.accept('render.script', { as: 'anything', origin: 'https://evil.example' })
  })
})

describe('compression', () => {
  const get = (on: Stage, path: string, coding: string, more: RequestInit = {}) =>
    fetch(`${on.sandbox.url}${path}`, { ...more, headers: { 'accept-encoding': coding, ...more.headers } })

  test('of render.js follows Accept-Encoding, with a tag for each form', async () => {
    await using on = await stage()
    const plain = await get(on, '/v1/render.js', 'identity')
    const text = await plain.text()
    expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([null, 'Accept-Encoding'])
    const tags = new Set([plain.headers.get('etag')!])
    for (const coding of ['br', 'gzip']) {
      const response = await get(on, '/v1/render.js', coding, { headers: { origin: 'https://any.example' } })
      const { headers } = response
      expect(await response.text()).toBe(text)
      const sent_bytes = Number(headers.get('content-length'))
      expect(sent_bytes).toBeLessThanOrEqual(8_000)
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-encoding': coding,
        vary: 'Accept-Encoding',
        'content-type': 'text/javascript; charset=utf-8',
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
      })
      tags.add(headers.get('etag')!)
      const head = await get(on, '/v1/render.js', coding, { method: 'HEAD' })
      const same = ['content-encoding', 'content-length', 'etag', 'vary'] as const
      expect(same.map((name) => head.headers.get(name))).toEqual(same.map((name) => headers.get(name)))
      const unchanged = await get(on, '/v1/render.js', coding, { headers: { 'if-none-match': headers.get('etag')! } })
      expect([unchanged.status, await unchanged.text()]).toEqual([304, ''])
      expect([unchanged.headers.get('etag'), unchanged.headers.get('vary')]).toEqual([
        headers.get('etag'),
        'Accept-Encoding',
      ])
      const other = await get(on, '/v1/render.js', 'identity', { headers: { 'if-none-match': headers.get('etag')! } })
      expect([other.status, await other.text()]).toEqual([200, text])
      // A range is of the file as it is.
      const part = await get(on, '/v1/render.js', coding, { headers: { range: 'bytes=0-9' } })
      expect([part.status, part.headers.get('content-encoding'), await part.text()]).toEqual([
        206,
        null,
        text.slice(0, 10),
      ])
    }
    expect(tags.size).toBe(3)
  })

  test('is for text: demo and inspector, but neither images nor video', async () => {
    await using on = await stage()
    const { sandbox } = on
    for (const path of [
      '/_sandbox/demo/demo.js',
      '/_sandbox/demo/demo.css',
      '/_sandbox/inspector/inspector.js',
      '/_sandbox/inspector/inspector.css',
      '/_sandbox/docs/index.json',
    ]) {
      const plain = await get(on, path, 'identity')
      const packed = await get(on, path, 'gzip, deflate, br, zstd')
      expect([path, plain.status, packed.headers.get('content-encoding')]).toEqual([path, 200, 'br'])
      expect(await packed.text()).toBe(await plain.text())
      const [sent, whole] = [packed, plain].map(({ headers }) => Number(headers.get('content-length')))
      expect(sent).toBeLessThan(whole! / 2)
    }
    const { placement } = await fill(on.api, { format: 'banner' })
    const clip = await fill(on.api, { format: 'clip' })
    for (const url of [placement.image_url!, clip.placement.video_url!]) {
      const { headers } = await get(on, url.slice(sandbox.url.length), 'br')
      expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([null, null])
    }
  })
})

describe('assets', () => {
  test('a range of a clip can be requested', async () => {
    await using on = await stage()
    const path = '/v1/test-assets/clip?width=320&height=180&duration_ms=6000'
    const whole = await on.api.send('GET', path)
    const size = Number(whole.headers['content-length'])
    const part = await on.api.send('GET', path, { headers: { range: 'bytes=0-99' } })
    expect([part.status, part.headers['content-range'], part.headers['content-length']]).toEqual([
      206,
      `bytes 0-99/${size}`,
      '100',
    ])
    const rest = await on.api.send('GET', path, { headers: { range: `bytes=${size - 10}-` } })
    expect(rest.headers['content-range']).toBe(`bytes ${size - 10}-${size - 1}/${size}`)
    const tail = await on.api.send('GET', path, { headers: { range: 'bytes=-10' } })
    expect(tail.headers['content-range']).toBe(`bytes ${size - 10}-${size - 1}/${size}`)
    // A client that has another version, or knows none, gets all of it.
    const etag = whole.headers.etag!
    for (const [condition, status] of [
      [etag, 206],
      ['"other"', 200],
      [`W/${etag}`, 200],
      [new Date(0).toUTCString(), 200],
    ] as const) {
      const headers = { range: 'bytes=0-99', 'if-range': condition }
      expect([condition, (await on.api.send('GET', path, { headers })).status]).toEqual([condition, status])
    }
  })

  test('only known files are served: no other size, no path out of the folder', async () => {
    await using on = await stage()
    const paths = [
      '/v1/test-assets/native',
      '/v1/test-assets/banner?width=1&height=1',
      '/v1/test-assets/clip?duration_ms=1',
      '/assets/creatives/latchwell/none.webp',
      '/assets/creatives/../demand.json',
      '/assets/creatives/%2e%2e/demand.json',
      '/assets/creatives/latchwell/..%2f..%2fdemand.json',
      '/assets/creatives/latchwell/',
      '/assets/creatives',
      '/assets/',
      '/v1/test-assets/',
    ]
    for (const path of paths) {
      const { status, body } = await on.api.send('GET', path)
      expect([path, status]).toEqual([path, 404])
      expect(body).toMatchObject({ reason_code: 'not_found' })
    }
  })
})

test('HEAD of a frame does not count as its first load', async () => {
  await using on = await stage()
  const { slot_id, asset_token } = await fill(on.api)
  await on.api.send('HEAD', `/v1/render/${asset_token}`)
  const { body } = await on.api.accept('placements.explain', { params: { slot_id } })
  expect(body.first_frame_at_ms).toBeNull()
})

test('the script is in the journal like every other exchange', async () => {
  await using on = await stage()
  await on.api.accept('render.script')
  expect((await on.api.accept('requests.list')).body.items).toMatchObject([{ path: '/v1/render.js', status: 200 }])
})
