/** Names beyond loopback: the public URL, allowed hosts, the admin token, and https. */
import { once } from 'node:events'
import { request } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { generate } from 'selfsigned'
import { Agent, request as send, WebSocket } from 'undici'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LegacyDecision } from '#contract/compat.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract } from '#contract/index.ts'
import { SandboxError, startSandbox } from '#sandbox/index.ts'
import { activate, asked, fill, key, liveKey, origin, publishable, stage } from '../stage.ts'

const public_url = 'http://192.168.1.5:4010'
const named = { public_url, allowed_hosts: ['Sandbox', 'fe80::1'] }

describe('a public URL', () => {
  test('is what frame URLs, links, config and info say; the address stays in info', async () => {
    await using on = await stage(named)
    const { placement } = await fill(on.api)
    expect(placement.render.frame_url).toMatch(`${public_url}/v1/render/ast_`)
    expect(placement.render.script_url).toBe(`${public_url}/v1/render.js`)
    const { body: config } = await on.api.accept('projects.config', { as: key, params: { client_id: 'proj_demo' } })
    expect(config.renderer.script_url).toBe(`${public_url}/v1/render.js`)
    const missing = await on.api.send('GET', '/v1/nothing')
    expect(missing.body).toMatchObject({ docs_url: `${public_url}/_sandbox/docs/errors/not_found` })
    const headers = { 'x-sandbox-token': on.sandbox.admin_token }
    const { body: info } = await on.api.accept('sandbox.info', { headers })
    expect(info).toMatchObject({ url: on.sandbox.url, public_url })
    expect([on.sandbox.url, on.sandbox.public_url]).toEqual([expect.stringContaining('127.0.0.1'), public_url])
  })

  test('its pages may act for every project in test mode, and embed frames; other origins as before', async () => {
    await using on = await stage(named)
    const token = await activate(on.api, undefined, public_url)
    const call = { as: token, origin: public_url, body: asked() }
    const { headers, body } = await on.api.accept('placements.create', call)
    expect(headers['access-control-allow-origin']).toBe(public_url)
    const frame = await on.api.send('GET', new URL(body.placement!.render.frame_url).pathname)
    expect(frame.headers['content-security-policy']).toContain(
      `frame-ancestors http://localhost:* http://127.0.0.1:* ${public_url}`,
    )
    const other = await on.api.refuse('browser.activate', {
      origin: 'http://192.168.1.6:4010',
      body: { publishable_key: 'pk_test_sandbox_demo' },
    })
    expect(other.body.reason_code).toBe('origin_not_allowed')
  })

  test.each([
    ['http://host/path', 'is not an origin'],
    ['ftp://host', 'is not an origin'],
    ['host:4010', 'is not an origin'],
    ['http://user@host', 'is not an origin'],
    ['http://*', 'is not an origin'],
    ['https://*.example.com', 'is not an origin'],
    ["http://a;script-src'self'", 'is not an origin'],
    ['http://ci:hunter2@host', 'The public URL http://ci:***@host is not an origin.'],
  ])('%s is refused', async (wrong, problem) => {
    await expect(startSandbox({ public_url: wrong })).rejects.toThrow(problem)
  })
})

describe('the Host header', () => {
  test('may name the public URL and allowed hosts, whatever their port; any other name is misdirected', async () => {
    await using on = await stage(named)
    const readStatus = async (host: string) =>
      (await on.api.send('GET', '/_sandbox/readyz', { headers: { host } })).status
    for (const host of ['192.168.1.5:4010', '192.168.1.5', 'sandbox:80', 'SANDBOX', '[fe80::1]:4010', 'localhost:1']) {
      expect([host, await readStatus(host)]).toEqual([host, 200])
    }
    for (const host of ['192.168.1.6:4010', 'sandbox.evil.example', 'evil.example', 'xsandbox', 'fe80::1', '0.0.0.0']) {
      expect([host, await readStatus(host)]).toEqual([host, 421])
    }
  })

  test.each(['http://name', 'name:4010', 'a/b', '', '*'])('an allowed host %j is refused', async (name) => {
    await expect(startSandbox({ allowed_hosts: [name] })).rejects.toThrow('is not a host name')
  })
})

test.each([
  ['http://localhost:4010', []],
  ['http://localhost:6000', [expect.stringMatching(/^browsers and fetch refuse port 6000 \(ERR_UNSAFE_PORT\)/)]],
])('a port that browsers refuse is warned of: %s', async (public_url, warned) => {
  await using sandbox = await startSandbox({ public_url })
  expect(sandbox.warnings).toEqual(warned)
})

describe('beyond loopback the control plane', () => {
  test.each([
    ['a public URL', named],
    ['an allowed host', { allowed_hosts: ['sandbox'] }],
    ['an address', { host: '0.0.0.0' }],
  ])('with %s demands the admin token of every client; probes and static files need none', async (_, options) => {
    await using on = await stage(options)
    const { admin_token, is_public, warnings } = on.sandbox
    expect([is_public, warnings[0]]).toEqual([
      true,
      'reachable beyond loopback: the control plane needs the admin token',
    ])
    expect((await on.api.refuse('sandbox.info')).body.reason_code).toBe('origin_refused')
    expect((await on.api.refuse('sandbox.reset')).body.reason_code).toBe('origin_refused')
    expect((await on.api.send('GET', '/_sandbox/demo/settings')).status).toBe(403)
    for (const path of [
      '/_sandbox/demo',
      '/_sandbox/livez',
      '/_sandbox/readyz',
      '/_sandbox/docs/',
      '/_sandbox/docs/errors/not_found',
    ]) {
      for (const token of ['', `?token=${admin_token}`, '?token=sbx_guess']) {
        expect([path, token, (await on.api.send('GET', `${path}${token}`)).status]).toEqual([path, token, 200])
      }
    }
    const evil = { origin: 'https://evil.example' }
    expect((await on.api.send('GET', '/_sandbox/readyz', evil)).status).toBe(403)
    // A page has its asset tokens instead, and to act a grant.
    const slots = { body: { asset_tokens: [] } }
    expect((await on.api.send('POST', '/_sandbox/console/page/slots', { ...slots, origin })).status).toBe(200)
    expect((await on.api.send('POST', '/_sandbox/console/page/slots', { ...slots, ...evil })).status).toBe(403)
    const noFill = { body: { action: 'no_fill', on: true }, origin, as: admin_token }
    expect((await on.api.send('POST', '/_sandbox/console/page/act', noFill)).status).toBe(401)
    const headers = { 'x-sandbox-token': admin_token }
    await on.api.accept('sandbox.info', { headers })
    await on.api.accept('sandbox.reset', { headers })
    expect((await on.api.refuse('sandbox.info', { headers: { 'x-sandbox-token': 'sbx_guess' } })).status).toBe(403)
  })

  test('takes the token from the query of a read, so that a browser opens its pages; never of a write', async () => {
    await using on = await stage(named)
    const query = `?token=${on.sandbox.admin_token}`
    const headers = { host: '192.168.1.5:4010', 'sec-fetch-site': 'none' }
    for (const path of ['info', 'placements', 'evidence/verify', 'openapi.json']) {
      expect([path, (await on.api.send('GET', `/_sandbox/${path}${query}`, { headers })).status]).toEqual([path, 200])
      expect([path, (await on.api.send('GET', `/_sandbox/${path}`, { headers })).status]).toEqual([path, 403])
    }
    const demo = await on.api.send('GET', `/_sandbox/demo/settings${query}`, { headers })
    expect([demo.status, demo.text.includes(on.sandbox.admin_token)]).toEqual([200, true])
    expect((await on.api.send('GET', '/_sandbox/info?token=sbx_guess', { headers })).status).toBe(403)
    expect((await on.api.send('POST', `/_sandbox/reset${query}`)).status).toBe(403)
  })

  describe('a token in the address of a tab', () => {
    const opened = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
    const paths = [
      ...Object.values<Endpoint>(contract).filter(
        ({ method, path }) => method === 'GET' && path.startsWith('/_sandbox'),
      ),
      ...['/', '/demo', '/demo/settings', '/docs/', '/docs/server', '/inspector/session', '/unknown'].map((path) => ({
        path: `/_sandbox${path}`,
      })),
      { path: '/_sandbox/placements/{slot_id}/preview' },
    ].map(({ path }) => path.replaceAll(/\{\w+\}/g, 'x'))
    let on: Awaited<ReturnType<typeof stage>>
    beforeAll(async () => {
      on = await stage(named)
    })
    afterAll(() => on[Symbol.asyncDispose]())

    test.each([...new Set(paths)])('%s', async (path) => {
      const { admin_token } = on.sandbox
      const host = '192.168.1.5:4010'
      const open = (address: string, more: Record<string, string> = {}) =>
        on.api.open(address, { host, ...opened, ...more })
      // The pages have a script that moves it, and JSON has none: ?raw shows it in place of a page.
      for (const query of [`?raw&token=${admin_token}`, `?token=${admin_token}&limit=1`]) {
        const { status, headers } = await open(`${path}${query}`)
        if (headers['content-type']?.startsWith('text/html') === true) continue
        expect([status, headers.location].join(' ')).toMatch(/^303 \/_sandbox\/(?!.*token=)/)
        if (/z$/.test(path)) {
          // A probe needs no token.
          expect(headers['set-cookie']).toBeUndefined()
          continue
        }
        expect(headers['set-cookie']).toEqual([
          `svc_token_4010=${admin_token}; Path=/_sandbox; HttpOnly; SameSite=Strict`,
        ])
        const cookie = `other=1; svc_token_4010=${admin_token}`
        const { status: next } = await open(headers.location!, { cookie })
        expect([next, path]).not.toEqual([403, path])
        expect((await open(headers.location!)).status).toBe(403)
      }
    })

    test('only a known token is moved, and the cookie neither writes nor serves another site', async () => {
      const { admin_token } = on.sandbox
      const host = '192.168.1.5:4010'
      const guess = await on.api.send('GET', '/_sandbox/info?token=sbx_guess', { headers: { host, ...opened } })
      expect([guess.status, guess.headers['set-cookie']]).toEqual([403, undefined])
      const headers = { host, cookie: `svc_token_4010=${admin_token}` }
      expect((await on.api.send('GET', '/_sandbox/info', { headers })).status).toBe(200)
      expect((await on.api.send('POST', '/_sandbox/reset', { headers })).status).toBe(403)
      const elsewhere = { ...headers, 'sec-fetch-site': 'cross-site' }
      expect((await on.api.send('GET', '/_sandbox/info', { headers: elsewhere })).status).toBe(403)
      const program = await on.api.send('GET', `/_sandbox/info?token=${admin_token}`, { headers: { host } })
      expect([program.status, program.headers['set-cookie']]).toEqual([200, undefined])
    })
  })

  test('the page of the inspector opens without the token, and has nothing of the sandbox until it is given', async () => {
    await using on = await stage(named)
    const headers = { host: '192.168.1.5:4010', 'sec-fetch-site': 'none' }
    const home = await on.api.send('GET', '/_sandbox/', { headers })
    expect([home.status, home.text.includes(on.sandbox.admin_token)]).toEqual([200, false])
    const session = '/_sandbox/inspector/session'
    expect((await on.api.send('GET', session, { headers })).status).toBe(403)
    const given = { ...headers, 'x-sandbox-token': on.sandbox.admin_token }
    expect((await on.api.send('GET', session, { headers: given })).body).toMatchObject({
      token: on.sandbox.admin_token,
      is_public: true,
    })
  })

  test('a well-known key serves this computer alone, unless --allow-known-keys lets others use it', async () => {
    const elsewhere = [
      { host: '192.168.1.5:4010' },
      { 'x-forwarded-for': '203.0.113.9' },
      { 'x-real-ip': '203.0.113.9' },
      { forwarded: 'for=203.0.113.9' },
      { via: '1.1 proxy' },
    ]
    const callback_url = 'http://127.0.0.1:9/'
    for (const allow_known_keys of [false, true]) {
      await using on = await stage({ ...named, allow_known_keys })
      const listStatuses = async (headers: Record<string, string>) => {
        const calls = [key, liveKey].map((as) => on.api.send('POST', '/v1/placements', { as, headers, body: asked() }))
        const activation = { headers, origin: public_url, body: { publishable_key: publishable } }
        const paths = ['/v1/browser/activate', '/public/browser/v1/activate']
        const activations = paths.map((path) => on.api.send('POST', path, activation))
        return (await Promise.all([...calls, ...activations])).map(({ status }) => status)
      }
      const served = await listStatuses({})
      expect(served.slice(0, 3)).toEqual([200, 200, 200])
      for (const headers of elsewhere) {
        expect(await listStatuses(headers)).toEqual(allow_known_keys ? served : served.map(() => 401))
      }
      const token = { 'x-sandbox-token': on.sandbox.admin_token }
      const created = await on.api.send('POST', '/_sandbox/projects/proj_demo/keys', {
        headers: token,
        body: { class: 'secret', mode: 'test' },
      })
      const { key: own } = created.body as { key: string }
      const call = { as: own, headers: elsewhere[0]!, body: asked() }
      expect((await on.api.send('POST', '/v1/placements', call)).status).toBe(200)
      // Whoever holds a key cannot make this sandbox POST to its own loopback.
      const { body } = await on.api.refuse('jobs.create', { as: own, body: { job_type: 'chat', callback_url } })
      expect(body.message).toBe(
        'The callback URL goes to loopback, and this sandbox can be reached from other computers.',
      )
    }
  })

  test('on loopback alone a token in the query is an unknown parameter', async () => {
    await using on = await stage()
    const { status } = await on.api.send('GET', `/_sandbox/info?token=${on.sandbox.admin_token}`)
    expect(status).toBe(400)
  })

  test('writes from the pages of the public URL, with the token', async () => {
    await using on = await stage(named)
    const headers = { 'x-sandbox-token': on.sandbox.admin_token, 'sec-fetch-site': 'same-origin' }
    await on.api.accept('sandbox.reset', { origin: public_url, headers })
    const other = await on.api.refuse('sandbox.reset', { origin: 'http://192.168.1.5:4011', headers })
    expect(other.body.reason_code).toBe('origin_refused')
  })
})

describe('https', () => {
  test('a client that knows the certificate completes a handshake, one that does not refuses it', async () => {
    const tls = await pair(['localhost', '127.0.0.1'])
    await using on = await stage({ tls, public_url: 'https://sandbox.test:4010' })
    expect(on.sandbox.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect(await readStatus(`${on.sandbox.url}/_sandbox/readyz`, tls.cert)).toBe(200)
    await expect(readStatus(`${on.sandbox.url}/_sandbox/readyz`)).rejects.toThrow('self-signed')
    // Neither plain HTTP nor a broken handshake is reported as a failure of the sandbox.
    const plain = await fetch(on.sandbox.url.replace('https', 'http'))
    expect([plain.status, await plain.json()]).toMatchObject([
      400,
      { reason_code: 'http_malformed', hint: 'Use https://sandbox.test:4010' },
    ])
  })

  test('a decision is pushed over a socket of the same port, to a client that knows the certificate', async () => {
    const tls = await pair(['localhost', '127.0.0.1'])
    await using on = await stage({ tls })
    const { url } = on.sandbox
    const agent = new Agent({ connect: { ca: tls.cert } })
    onTestFinished(() => agent.destroy())
    const post = async (path: string, body?: object) => {
      const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
      const sent = { method: 'POST', dispatcher: agent, headers, ...(body && { body: JSON.stringify(body) }) } as const
      return (await send(url + path, sent)).body.json() as Promise<Record<string, unknown>>
    }
    const { slot_ids } = await post('/v1/jobs', { client_id: 'proj_demo', session_id: 's' })
    const slot = `/public/wrapper/v1/slots/${(slot_ids as string[])[0]}`
    const { ticket } = await post(`${slot}/decision-ticket`)
    const pushed = (dispatcher?: Agent) =>
      new Promise<string>((resolve, reject) => {
        const address = `${url.replace('https', 'wss')}${slot}/decision/ws?ticket=${ticket}`
        const socket = new WebSocket(address, dispatcher && { dispatcher })
        socket.addEventListener('error', () => reject(new Error('the handshake was refused')))
        socket.addEventListener('message', ({ data }) => {
          resolve(String(data))
          socket.close()
        })
      })
    await expect(pushed()).rejects.toThrow('refused')
    const decision = LegacyDecision.parse(JSON.parse(await pushed(agent)))
    expect(decision).toMatchObject({ slot_id: (slot_ids as string[])[0], status: 'ready', fill: true })
  })

  test('the address is a name of the certificate; a certificate without one is warned of', async () => {
    await using local = await startSandbox({ tls: await pair(['localhost']) })
    expect([new URL(local.url).hostname, local.warnings]).toEqual(['localhost', []])
    await using other = await startSandbox({ tls: await pair(['sandbox.test']) })
    expect(new URL(other.url).hostname).toBe('127.0.0.1')
    expect(other.warnings[0]).toContain('does not name 127.0.0.1')
  })

  test('a key of another certificate, and files that are neither, are refused', async () => {
    const [one, other] = [await pair(['localhost']), await pair(['localhost'])]
    const failure = async (tls: { cert: string; key: string }, public_url?: string) => {
      const error = await startSandbox({ tls, ...(public_url === undefined ? {} : { public_url }) }).catch(
        (error) => error,
      )
      expect(error).toBeInstanceOf(SandboxError)
      return [error.code, error.message]
    }
    expect(await failure({ cert: one.cert, key: other.key })).toEqual([
      'option_invalid',
      'The TLS key does not belong to the certificate.',
    ])
    expect((await failure({ cert: 'nothing', key: one.key }))[1]).toContain('The TLS certificate is not a certificate')
    expect((await failure({ cert: one.cert, key: 'nothing' }))[1]).toContain('The TLS key is not a private key')
    expect((await failure(one, 'http://a:1'))[1]).toContain('is http, and the sandbox serves https')
  })
})

async function pair(names: readonly string[]): Promise<{ cert: string; key: string }> {
  const altNames = names.map((name) =>
    /^\d/.test(name) ? { type: 7 as const, ip: name } : { type: 2 as const, value: name },
  )
  const made = await generate([{ name: 'commonName', value: 'test' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames }],
  })
  return { cert: made.cert, key: made.private }
}

function readStatus(url: string, ca?: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { ...(ca === undefined ? {} : { ca }), agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

const addresses = Object.values(networkInterfaces()).flatMap((of = []) => of.map(({ address }) => address))
const hasIpv6 = addresses.includes('::1')
if (!hasIpv6) console.warn('Left out: tests of ::1, which this computer does not have.')
const describeIpv6 = hasIpv6 ? describe : null

describeIpv6?.('a port that another program has on ::1 alone', () => {
  async function occupy(): Promise<number> {
    const other = createServer().listen(0, '::1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    return (other.address() as AddressInfo).port
  }

  test.each([[undefined], ['0.0.0.0']])(
    'is taken, since localhost would reach that program (host %s)',
    async (host) => {
      const port = await occupy()
      const starting = startSandbox({ port, ...(host === undefined ? {} : { host }) })
      await expect(starting).rejects.toMatchObject({ code: 'port_in_use' })
      const free = createServer().listen(port, '127.0.0.1')
      await once(free, 'listening')
      await new Promise((resolve) => free.close(resolve))
    },
  )

  test('a free port is one that is free on both', async () => {
    await using sandbox = await startSandbox({ port: 0 })
    const response = await fetch(`http://[::1]:${sandbox.port}/_sandbox/livez`)
    expect(response.status).toBe(200)
  })
})
