import { describe, expect, test } from 'vitest'
import { asked, beacon, fill, publishable, type stage, stageWith } from './stage.ts'

const demo = { client_id: 'proj_demo' }
const shells = [
  'capacitor://localhost',
  'ionic://localhost',
  'tauri://localhost',
  'app://-',
  'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
  'moz-extension://3c078156-979c-498b-8990-85f7987dd929',
]

/** What every part of the service says about a page of one origin: preflight, activation, a request, a frame, a beacon. */
async function verdicts(on: Awaited<ReturnType<typeof stage>>, origin: string) {
  const preflight = await on.api.send('OPTIONS', '/v1/placements', {
    origin,
    headers: { 'access-control-request-method': 'POST' },
  })
  const filled = await fill(on.api)
  const { asset_token } = filled
  const frame = await on.api.accept('render.frame', { params: { asset_token } })
  const sources =
    /frame-ancestors ([^;]*)/.exec(String(frame.headers['content-security-policy']))?.[1]?.split(' ') ?? []
  const as = /"beacon_token":"(bt_[\w-]+)"/.exec(frame.text)![1]!
  const body = beacon(on.clock, filled, 'render')
  const sent = await on.api.send('POST', '/v1/beacons', { as, origin, body })
  const activation = await on.api.send('POST', '/v1/browser/activate', {
    origin,
    body: { publishable_key: publishable },
  })
  return {
    preflight: preflight.status,
    activation: activation.status,
    beacon: sent.status,
    readable_by: sent.headers['access-control-allow-origin'],
    embeds: sources.some(
      (source) => source === origin || (source.endsWith(':*') && origin.startsWith(source.slice(0, -1))),
    ),
    activation_token: (activation.body as { activation_token?: string }).activation_token,
  }
}

describe('origins (A100)', () => {
  test('are normalized when they are set, whatever sets them, and matched alike everywhere', async () => {
    // Settings of an older version, an import or a file are read from the store without the endpoint.
    const typed = ['HTTP://LocalHost:3000', 'https://BÜCHER.example:443', 'http://localhost:3000', ...shells]
    await using on = await stageWith({ allowed_origins: typed })
    const kept = ['http://localhost:3000', 'https://xn--bcher-kva.example', ...shells]
    const { settings } = (await on.api.accept('projects.show', { params: demo })).body
    expect(settings.allowed_origins).toEqual(kept)
    const updated = await on.api.accept('projects.update', { params: demo, body: { allowed_origins: typed } })
    expect(updated.body.settings.allowed_origins).toEqual(kept)
    expect(updated.body.config_revision).toBe(1)
    const created = { client_id: 'proj_typed', allowed_origins: ['HTTP://127.0.0.1:*', 'APP://-'] }
    const { body } = await on.api.accept('projects.create', { body: created })
    expect(body.settings.allowed_origins).toEqual(['http://127.0.0.1:*', 'app://-'])

    for (const origin of kept) {
      const { activation_token, ...all } = await verdicts(on, origin)
      expect([origin, all]).toEqual([
        origin,
        { preflight: 204, activation: 200, beacon: 200, readable_by: origin, embeds: true },
      ])
      await on.api.accept('placements.create', { as: activation_token!, origin, body: asked() })
    }
    for (const origin of [
      'https://localhost:3000',
      'capacitor://localhost:1',
      'vscode-webview://a',
      'file://',
      'null',
    ]) {
      const all = await verdicts(on, origin)
      expect([origin, all]).toEqual([
        origin,
        {
          preflight: 403,
          activation: 403,
          beacon: 403,
          readable_by: undefined,
          embeds: false,
          activation_token: undefined,
        },
      ])
    }
  })

  test('that no page can have are refused with what to write; one that was stored before matches nothing', async () => {
    await using on = await stageWith({ allowed_origins: ['https://*.example.com', 'null'] })
    for (const origin of ['https://a.example.com', 'https://*.example.com', 'null']) {
      expect(await verdicts(on, origin)).toMatchObject({ preflight: 403, activation: 403, beacon: 403, embeds: false })
    }
    const { body } = await on.api.accept('projects.update', { params: demo, body: { label_text: 'Ad' } })
    expect(body.settings.allowed_origins).toEqual(['https://*.example.com', 'null'])
    const allowed_origins = ['https://*.example.com', 'file:///app', 'electron://app', 'https://a.example/chat']
    const refused = await on.api.refuse('projects.update', { params: demo, body: { allowed_origins } })
    expect(refused.body.fields).toMatchObject([
      { path: 'allowed_origins.0', message: 'has a wildcard' },
      { path: 'allowed_origins.1', expected: 'the origin of a server: open the page over http or https' },
      { path: 'allowed_origins.2', message: 'has the scheme electron:' },
      { path: 'allowed_origins.3', expected: 'only scheme, host and port, such as https://a.example' },
    ])
  })
})
