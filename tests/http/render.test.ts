import { describe, expect, test } from 'vitest'
import { listNeeds, viewability } from '#contract/viewability.ts'
import { fill, key, type Stage, stage } from './stage.ts'

const load = (on: Stage, asset_token: string) => on.api.accept('render.frame', { params: { asset_token } })
const refused = (on: Stage, asset_token: string) => on.api.refusePage('render.frame', { params: { asset_token } })

/** The settings that the frame's script reads. */
function readSettings(html: string): Record<string, unknown> {
  return JSON.parse(/id="settings"[^>]*>([^<]*)</.exec(html)![1]!) as Record<string, unknown>
}

describe('the frame', () => {
  test('gives its script the settings for the renderer, on the sandbox clock', async () => {
    await using on = await stage()
    on.clock.advance(1_234)
    for (const [format, media_type] of [
      ['banner', 'image'],
      ['clip', 'video'],
      ['native', 'native'],
    ] as const) {
      const { asset_token, placement } = await fill(on.api, { format })
      expect(readSettings((await load(on, asset_token)).text)).toEqual({
        media_type,
        width: placement.width,
        height: placement.height,
        view_needs: listNeeds(format === 'clip', viewability),
        beacon_token: expect.stringMatching(/^bt_/),
        server_time_ms: on.clock.now(),
      })
    }
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
      expect(readSettings(text)).toEqual({ code: 'asset_token_invalid' })
      expect(text).not.toContain(token === '<script>' ? '<script>' : `>${token}<`)
      expect(headers['cache-control']).toBe('no-store, private')
      expect(headers['content-security-policy']).toContain("default-src 'none'")
    }
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
      expect(readSettings(text)).toEqual({ code })
      expect(text).toContain("postMessage({t:'error',code:")
    }
    // What is no frame, or is asked for by a program, stays JSON.
    const { asset_token } = await fill(on.api)
    expect(JSON.parse((await open(on, asset_token, '*/*')).text)).toMatchObject({ reason_code: 'injected_fault' })
    const { body } = await on.api.accept('requests.list', { query: { path: '/v1/render/', limit: 2 } })
    expect(body.items.map(({ reason_code }) => reason_code)).toEqual(['injected_fault', 'injected_fault'])
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
})
