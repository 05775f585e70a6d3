/** The pass-through with services that share nothing with the sandbox, so that every byte of theirs is chosen. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request, Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { HarEntry } from '#contract/recordings/har.ts'
import { openRecorder } from './recorder.ts'
import { createRecordingFile } from './recording-file.ts'
import { createSession, type RecordingSummary } from './session.ts'

type Handler = (incoming: IncomingMessage, response: ServerResponse) => void

interface Stage {
  url: string
  service: string
  /** Ends the recording and returns the entries of its file. */
  finish(): Promise<HarEntry[]>
  text(): string
  summary(): RecordingSummary
  refusals: string[]
  [Symbol.asyncDispose](): Promise<void>
}

interface StageOptions {
  allow_live?: boolean
  onUpgrade?: (incoming: IncomingMessage, socket: Duplex) => void
}

/** A recorder in front of a service; bytes instead of a handler are its response to every connection. */
async function stage(service: Handler | string, options: StageOptions = {}): Promise<Stage> {
  const { allow_live = false, onUpgrade } = options
  const server =
    typeof service === 'string'
      ? createTcpServer((socket) => {
          socket.on('error', () => undefined)
          socket.once('data', () => socket.end(Buffer.from(service, 'latin1')))
        })
      : createServer({ maxHeaderSize: 1_000_000 }, service)
  if (onUpgrade !== undefined) server.on('upgrade', onUpgrade)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const folder = mkdtempSync(join(tmpdir(), 'svc-record-'))
  const path = join(folder, 'recording.har')
  const refusals: string[] = []
  const session = createSession({
    origin,
    file: createRecordingFile(path, { version: '1', overwrite: false }),
    onEntry: () => undefined,
    onFailure: (error) => {
      throw error
    },
  })
  const recorder = await openRecorder({
    upstream: new URL(origin),
    port: 0,
    allow_live,
    now: () => Date.parse('2026-11-27T12:00:00Z'),
    onExchange: session.add,
    onRefusal(refusal) {
      refusals.push(refusal)
      session.countRefusal()
    },
  })
  let summary: RecordingSummary | null = null
  const text = () => readFileSync(path, 'utf8')
  const end = async () => {
    if (summary !== null) return
    await recorder.close()
    summary = await session.finish()
  }
  return {
    url: recorder.url,
    service: origin,
    refusals,
    text,
    summary: () => summary!,
    async finish() {
      await end()
      return (JSON.parse(text()) as { log: { entries: HarEntry[] } }).log.entries
    },
    async [Symbol.asyncDispose]() {
      await end()
      if (server instanceof Server) server.closeAllConnections()
      server.close()
      rmSync(folder, { recursive: true })
    },
  }
}

const json = { 'content-type': 'application/json' }
const respondWith =
  (body: string | Buffer, headers: Record<string, string | string[]> = json, status = 200): Handler =>
  (incoming, response) => {
    incoming.resume()
    incoming.on('end', () => response.writeHead(status, headers).end(body))
  }

/** Sends bytes to the recorder and resolves to all that comes back. */
async function exchangeBytes(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  socket.write(bytes)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString('latin1')
}

const place = '/v1/placements'

describe('what passes', () => {
  test('headers keep their order, spelling and repetitions; those of one connection stay behind', async () => {
    const seen: IncomingMessage[] = []
    await using on = await stage((incoming, response) => {
      seen.push(incoming)
      response.writeHead(200, 'Fine', ['X-Two', 'a', 'X-Two', 'b', 'Connection', 'x-mine', 'X-Mine', '1', 'X-Own', 'é'])
      response.end(Buffer.from('ok'))
    })
    const { host } = new URL(on.url)
    const bytes = await exchangeBytes(
      on.url,
      `GET /v1/x?a=%20b HTTP/1.1\r\nHost: ${host}\r\nX-CaSe: 1\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: 5\r\nX-CaSe: 2\r\n\r\n`,
    )
    const { rawHeaders, url } = seen[0]!
    expect(url).toBe('/v1/x?a=%20b')
    expect(rawHeaders).toEqual(['Host', new URL(on.service).host, 'X-CaSe', '1', 'X-CaSe', '2', 'Connection', 'close'])
    expect(bytes).toMatch(/^HTTP\/1\.1 200 /)
    expect(bytes).toContain('X-Two: a\r\nX-Two: b\r\n')
    expect(bytes).toContain('X-Own: \xe9\r\n')
    expect(bytes).not.toContain('X-Mine')
  })

  test('bodies pass byte for byte, framed as the sender framed them, and a GET with one is no second request', async () => {
    const seen: [string, string, string | undefined][] = []
    await using on = await stage(async (incoming, response) => {
      const bytes = Buffer.concat(await incoming.toArray())
      seen.push([incoming.method!, bytes.toString('latin1'), incoming.headers['transfer-encoding']])
      response.end(bytes)
    })
    const { host } = new URL(on.url)
    const smuggled = 'GET /v1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
    const chunked = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`
    const bytes = await exchangeBytes(
      on.url,
      `GET /v1/a HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunked}`,
    )
    expect(bytes).toContain(smuggled)
    expect(
      await (await fetch(`${on.url}/v1/b`, { method: 'POST', body: Buffer.from([0, 255, 13, 10]) })).bytes(),
    ).toEqual(new Uint8Array([0, 255, 13, 10]))
    await fetch(`${on.url}/v1/c`, { method: 'POST' })
    expect(seen).toEqual([
      ['GET', smuggled, 'chunked'],
      ['POST', '\0\xff\r\n', undefined],
      ['POST', '', undefined],
    ])
  })

  test('the first bytes of a response and of a request arrive while the rest is still on its way', async () => {
    const waiting: ServerResponse[] = []
    const received: string[] = []
    await using on = await stage((incoming, response) => {
      if (incoming.method === 'POST') incoming.on('data', (chunk: Buffer) => received.push(chunk.toString()))
      waiting.push(response)
      if (incoming.method === 'POST') return
      response.writeHead(200, {
        'content-type': incoming.url === '/v1/render.js' ? 'text/javascript' : 'text/event-stream',
      })
      response.write('first;')
    })
    for (const path of ['/v1/render.js', '/v1/stream']) {
      const response = await fetch(on.url + path)
      const reader = response.body!.getReader()
      expect(new TextDecoder().decode((await reader.read()).value)).toBe('first;')
      waiting.shift()!.end('last')
      expect(new TextDecoder().decode((await reader.read()).value)).toBe('last')
    }
    const sent = request(`${on.url}/v1/beacons`, { method: 'POST' })
    sent.write('started')
    await expect.poll(() => received).toEqual(['started'])
    sent.end()
    await expect.poll(() => waiting.length).toBe(1)
    waiting[0]!.end()
    await once(sent, 'response')
  })

  test('a redirect goes to the client, with an address of the service rewritten and any other as it is', async () => {
    let location = ''
    let hits = 0
    await using on = await stage((_, response) => {
      hits++
      response.writeHead(302, { location }).end()
    })
    location = `${on.service}/v1/render.js`
    const follow = { redirect: 'manual' } as const
    expect((await fetch(`${on.url}/v1/a`, follow)).headers.get('location')).toBe(`${on.url}/v1/render.js`)
    for (location of ['http://169.254.169.254/latest/meta-data/', 'http://10.0.0.1/?token=secret', '//evil.example/']) {
      expect((await fetch(`${on.url}/v1/a`, follow)).headers.get('location')).toBe(location)
    }
    expect(hits).toBe(4)
    const entries = await on.finish()
    expect(entries.map(({ response }) => response.redirectURL)).toEqual([
      `${on.service}/v1/render.js`,
      'http://169.254.169.254/latest/meta-data/',
      'http://10.0.0.1/?token=[removed]',
      '//evil.example/',
    ])
  })

  test('addresses of the service become those of the pass-through, for the client and not in the file', async () => {
    const origin = { text: '' }
    await using on = await stage((incoming, response) => {
      const { text } = origin
      const isScript = incoming.url === '/v1/render.js'
      const escaped = text.replaceAll('/', '\\/')
      const body = isScript
        ? `load("${text}/a.js");import("${escaped}/b.js");x="${text}.evil.example/";y="${text.replace('http', 'ws')}/s"`
        : `{"render":{"frame_url":"${escaped}/v1/render/ast_x","script_url" : "${text}/v1/render.js"},"title":"${text}/é","big":12345678901234567890}`
      const type = isScript ? 'text/javascript' : 'application/json'
      const policy = `frame-ancestors http://localhost:3000 ${text}; img-src ${new URL(text).host}; upgrade-insecure-requests`
      response.writeHead(200, { 'content-type': type, 'content-security-policy': policy })
      response.end(incoming.headers['accept-encoding'] === 'gzip' ? gzipSync(body) : body)
    })
    origin.text = on.service
    const { text } = origin
    const placement = await fetch(on.url + place, { method: 'POST' })
    expect(await placement.text()).toBe(
      `{"render":{"frame_url":"${on.url}/v1/render/ast_x","script_url" : "${on.url}/v1/render.js"},"title":"${text}/é","big":12345678901234567890}`,
    )
    expect(placement.headers.get('content-security-policy')).toBe(
      `frame-ancestors http://localhost:3000 ${on.url}; img-src ${on.url}`,
    )
    expect(await (await fetch(`${on.url}/v1/render.js`)).text()).toBe(
      `load("${on.url}/a.js");import("${on.url}/b.js");x="${text}.evil.example/";y="${on.url.replace('http', 'ws')}/s"`,
    )
    await on.finish()
    expect(on.text()).not.toContain(new URL(on.url).host)
    expect(on.text()).toContain(`load(\\"${text}/a.js\\")`)
  })

  test('a compressed body passes as it came, unless it is rewritten, and is in the file decoded', async () => {
    const body = '{"slot_id":"slot_1"}'
    await using on = await stage((incoming, response) => {
      const text = incoming.url === '/v1/decisions/1' ? body : `{"click_url":"http://${incoming.headers.host}/c"}`
      response.writeHead(200, { ...json, 'content-encoding': 'br' }).end(brotliCompressSync(text))
    })
    const [same, changed] = await Promise.all(
      ['1', '2'].map(async (id) => {
        const sent = request(`${on.url}/v1/decisions/${id}`).end()
        const [received] = (await once(sent, 'response')) as [IncomingMessage]
        return { encoding: received.headers['content-encoding'], bytes: Buffer.concat(await received.toArray()) }
      }),
    )
    expect(same).toEqual({ encoding: 'br', bytes: brotliCompressSync(body) })
    expect([changed!.encoding, changed!.bytes.toString()]).toEqual([undefined, `{"click_url":"${on.url}/c"}`])
    const texts = (await on.finish()).map(({ response }) => response.content.text)
    expect(texts.toSorted()).toEqual([`{"click_url":"${on.service}/c"}`, body])
  })

  test('headers of 100 kB pass both ways', async () => {
    const long = 'a'.repeat(100_000)
    await using on = await stage((incoming, response) => {
      response.writeHead(200, { 'x-length': String(incoming.headers['x-long']!.length), 'x-long': long }).end('ok')
    })
    const bytes = await exchangeBytes(
      on.url,
      `GET /v1/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Long: ${long}\r\n\r\n`,
    )
    expect(bytes).toContain('x-length: 100000\r\n')
    expect(bytes).toContain(`x-long: ${long}\r\n`)
  })

  test('a client that ends its side after its request gets the response', async () => {
    await using on = await stage(respondWith('{"a":1}'))
    const socket = connect({ port: Number(new URL(on.url).port), host: '127.0.0.1', allowHalfOpen: true })
    socket.end('GET /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const bytes = Buffer.concat(await socket.toArray()).toString()
    expect(bytes).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"a":1\}/)
  })

  test.each([
    ['once to a client that waits for it', 'Expect: 100-continue\r\n', 1],
    ['to no other', '', 0],
  ])('100 Continue passes %s', async (_, header, count) => {
    await using on = await stage(
      `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(5)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    )
    const bytes = await exchangeBytes(
      on.url,
      `POST ${place} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n${header}\r\n1`,
    )
    expect(bytes.match(/HTTP\/1\.1 \d+/g)).toEqual([...Array(count).fill('HTTP/1.1 100'), 'HTTP/1.1 200'])
  })

  test('every POST reaches a service that closes idle connections as the next request comes, and none twice', async () => {
    const used = new Set<unknown>()
    const seen: string[] = []
    await using on = await stage(async (incoming, response) => {
      if (used.has(incoming.socket)) return void incoming.socket.destroy()
      used.add(incoming.socket)
      seen.push(Buffer.concat(await incoming.toArray()).toString())
      response.end('ok')
    })
    const bodies = Array.from({ length: 5 }, (_, index) => String(index))
    for (const body of bodies) expect((await fetch(on.url + place, { method: 'POST', body })).status).toBe(200)
    expect(seen).toEqual(bodies)
  })

  test('a WebSocket is tunnelled both ways, and its handshake recorded; a refused one is passed on', async () => {
    await using on = await stage((incoming, response) => {
      const location = `http://${incoming.headers.host}/v1/x`
      response.writeHead(incoming.url!.includes('/bad') ? 401 : 426, { ...json, location }).end('{"error":"x"}')
    })
    const { host } = new URL(on.url)
    const refused = await exchangeBytes(
      on.url,
      `GET /public/wrapper/v1/slots/bad/decision/ws?ticket=abcdefghijklmnop HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    )
    expect(refused).toMatch(/^HTTP\/1\.1 401 /)
    expect(refused).toContain('{"error":"x"}')
    expect(refused).toContain(`location: ${on.url}/v1/x\r\n`)
    const entries = await on.finish()
    expect(entries.map(({ request, response }) => [request.url, response.status])).toEqual([
      [`${on.service}/public/wrapper/v1/slots/bad/decision/ws?ticket=[removed]`, 401],
    ])
    expect(on.text()).not.toContain('abcdefghijklmnop')
  })
})

describe('keys', () => {
  const live = `sk_live_${'k'.repeat(32)}`

  /** A page of another site without a credential would be refused for that. */
  const withToken = { authorization: 'Bearer at_1' }
  const inJson = JSON.stringify({ publishable_key: 'pk_live_abc' })
  /** More than 64 KiB, with a key at the end. */
  const packLong = () => {
    const numbers = Array.from({ length: 40_000 }, (_, index) => (index * 7919) % 10_007)
    return gzipSync(JSON.stringify([...numbers, inJson]))
  }
  const post = (body: string | Buffer, headers: Record<string, string> = {}): RequestInit => ({
    method: 'POST',
    headers: { ...withToken, ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  const places: [string, RequestInit][] = [
    ['a header', { headers: { authorization: `Bearer ${live}` } }],
    ['basic authentication', { headers: { authorization: `Basic ${btoa(`${live}:`)}` } }],
    ['a header as base64', { headers: { ...withToken, 'x-api-key': btoa(live) } }],
    ['a header as base64 of base64', { headers: { ...withToken, 'x-api-key': btoa(`key ${btoa(`it is ${live}`)}`) } }],
    ['a body', post(inJson)],
    ['an escaped body', post('{"k":"sk\\u005flive\\u005fabc"}')],
    ['a body as base64', post(JSON.stringify({ a: btoa(inJson) }))],
    ['a body after an escape', post(JSON.stringify({ note: `my key:\n${live}` }))],
    ['a body after an encoded character', post(`payload=%7B%22secret_key%22%3A%22${live}%22%7D`)],
    ['a body after the length of a field', post(Buffer.from(`\u0081\u00a3key\u00d93${live}`, 'latin1'))],
    ['a body in hexadecimal digits', post(Buffer.from(live).toString('hex'))],
    ['a body with an entity', post('<key>sk&#95;live&lowbar;abc</key>')],
    ['a body as base64 in lines', post(btoa(`a note: ${live} ${'.'.repeat(60)}`).replace(/.{19}/g, '$&\r\n'))],
    ['a body of gzip', post(gzipSync(inJson), { 'content-encoding': 'gzip' })],
    ['a body of Brotli', post(brotliCompressSync(inJson), { 'content-encoding': 'br' })],
    ['a body of deflate', post(deflateSync(inJson), { 'content-encoding': 'deflate' })],
    ['a body of zstd', post(zstdCompressSync(inJson), { 'content-encoding': 'zstd' })],
    ['a body compressed twice', post(gzipSync(gzipSync(inJson)), { 'content-encoding': 'gzip, gzip' })],
    ['a field of gzip in base64', post(JSON.stringify({ data: gzipSync(inJson).toString('base64') }))],
    ['a header of gzip in base64', { headers: { ...withToken, 'x-data': gzipSync(inJson).toString('base64') } }],
    ['a field of zlib in base64', post(JSON.stringify({ data: deflateSync(inJson).toString('base64url') }))],
    ['a field of gzip in base64, far from its end', post(JSON.stringify({ data: packLong().toString('base64') }))],
    ['a form of gzip, percent-encoded', post(`data=${gzipSync(inJson).toString('hex').replace(/../g, '%$&')}`)],
    [
      'a field of gzip in base64, percent-encoded',
      post(`a=${encodeURIComponent(gzipSync(inJson).toString('base64'))}`),
    ],
    [
      'a field of zlib with a small window',
      post(JSON.stringify([deflateSync(inJson, { windowBits: 9 }).toString('base64')])),
    ],
    ['a field of Brotli in base64', post(JSON.stringify([brotliCompressSync(inJson).toString('base64')]))],
    [
      'base64 with escapes',
      post(`{"a":"${btoa(inJson).replace(/[XY]/g, (each) => `\\u00${each.charCodeAt(0).toString(16)}`)}"}`),
    ],
    ['base64 in escaped lines', post(JSON.stringify([btoa(inJson).replace(/.{7}/g, '$&\r\n')]))],
    ['UTF-16 with escapes', post(Buffer.from('{"k":"sk\\u005flive\\u005fabc"}', 'utf16le'))],
    ['base64 of UTF-16 in base64', post(btoa(Buffer.from(inJson, 'utf16le').toString('base64')))],
    ['a body of UTF-16', post(Buffer.from(inJson, 'utf16le'))],
    ['a body of UTF-16, big-endian', post(Buffer.from(inJson, 'utf16le').swap16())],
    ['a body of gzip with UTF-16', post(gzipSync(Buffer.from(inJson, 'utf16le')), { 'content-encoding': 'gzip' })],
  ]

  test.each([
    ['gzip', gzipSync('{"key":"sk_test_a"}')],
    ['br', brotliCompressSync('{"key":"sk_test_a"}')],
    ['identity', Buffer.from('{"key":"sk_test_a"}', 'utf16le')],
    ['identity', Buffer.from([0, 255, 13, 10, 0])],
    ['identity', Buffer.from('x=1&y=PK')],
    ['identity', Buffer.from('xylophone')],
    ['identity', Buffer.from('hb is the beginning of zlib, and so is x^')],
    ['identity', Buffer.from('x^2 + 1')],
    ['identity', Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7919 + (index >> 3) * 104_729) % 256))],
    [
      'identity',
      Buffer.from(JSON.stringify([gzipSync('{"key":"sk_test_a"}').toString('base64'), 'H4sIAAAA'.repeat(9)])),
    ],
  ])('of none, or of a test, in a body of %s pass byte for byte', async (encoding, body) => {
    const seen: Buffer[] = []
    await using on = await stage(async (incoming, response) => {
      seen.push(Buffer.concat(await incoming.toArray()))
      response.end()
    })
    const response = await fetch(on.url + place, post(body, { 'content-encoding': encoding }))
    expect([response.status, seen]).toEqual([200, [body]])
  })

  test.each<[string, RequestInit]>([
    ['an encoding that nobody knows', post('x', { 'content-encoding': 'aes128gcm' })],
    ['a damaged one', post('no gzip', { 'content-encoding': 'gzip' })],
    ['a bomb', post(gzipSync(Buffer.alloc(2_000_000)), { 'content-encoding': 'gzip' })],
    [
      'bytes behind the end of deflate',
      post(Buffer.concat([deflateSync('x'), deflateSync('y')]), { 'content-encoding': 'deflate' }),
    ],
    [
      'bytes behind the end of Brotli',
      post(Buffer.concat([brotliCompressSync('x'), Buffer.from('y')]), { 'content-encoding': 'br' }),
    ],
    ['gzip that no header names', post(gzipSync('x'))],
    ['gzip within gzip of which one is named', post(gzipSync(gzipSync('x')), { 'content-encoding': 'gzip' })],
    ['deflate that no header names', post(deflateSync('x'))],
    ['deflate with a small window', post(deflateSync('x', { windowBits: 9 }))],
    ['Brotli that no header names', post(brotliCompressSync('{"a":"a text of some length"}'))],
    ['deflate without a header', post(deflateRawSync(`{"a":"${live}","b":"${live}"}`))],
    ['a bomb in base64', post(JSON.stringify([gzipSync(Buffer.alloc(2_000_000)).toString('base64')]))],
    ['a zip file', post('PK\u0003\u0004...')],
    ['bzip2', post(Buffer.from('425a68393141592653590000', 'hex'))],
    ['compress', post(Buffer.from('1f9d90616263', 'hex'))],
    ['four encodings', post(gzipSync('x'), { 'content-encoding': 'gzip, gzip, gzip, gzip' })],
  ])('cannot be looked for in %s, so that it passes with --allow-live only', async (_, init) => {
    for (const allow_live of [false, true]) {
      let hits = 0
      await using on = await stage(
        (incoming, response) => void incoming.resume().on('end', () => response.end(String(++hits))),
        { allow_live },
      )
      const response = await fetch(on.url + place, init)
      expect([response.status, response.headers.get('x-svc-record')]).toEqual(
        allow_live ? [200, null] : [403, 'opaque'],
      )
      expect([hits, on.refusals]).toEqual(allow_live ? [1, []] : [0, ['opaque']])
    }
  })

  test.each(places)('of production are refused in %s, and nothing reaches the service or the file', async (_, init) => {
    const bodies: string[] = []
    await using on = await stage((incoming, response) => {
      incoming.on('data', (chunk: Buffer) => bodies.push(chunk.toString()))
      incoming.on('end', () => response.end())
      incoming.on('error', () => undefined)
    })
    const response = await fetch(on.url + place, {
      ...init,
      headers: { origin: 'http://a.example', ...init.headers },
    })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([403, 'http://a.example'])
    expect(await response.json()).toMatchObject({
      error: 'forbidden',
      message: expect.stringContaining('production'),
    })
    expect(await on.finish()).toEqual([])
    expect([bodies, on.refusals]).toEqual([[], ['live_key']])
    expect(on.summary()).toMatchObject({ exchanges: 0, left_out: { request_refused: 1 } })
  })

  test('cannot be looked for in gzip whose first byte comes alone: the rest is not passed on', async () => {
    const seen: Buffer[] = []
    await using on = await stage((incoming, response) => {
      incoming.on('data', (chunk: Buffer) => seen.push(chunk))
      incoming.on('end', () => response.end())
      incoming.on('error', () => undefined)
    })
    const packed = gzipSync(inJson)
    const parts = async function* () {
      yield packed.subarray(0, 1)
      await setImmediate()
      yield packed.subarray(1)
    }
    const init: unknown = { method: 'POST', headers: withToken, body: parts(), duplex: 'half' }
    expect((await fetch(on.url + place, init as RequestInit)).status).toBe(403)
    await on.finish()
    expect(Buffer.concat(seen).length).toBeLessThanOrEqual(1)
    expect(on.refusals).toEqual(['opaque'])
  })

  test('of production pass with --allow-live, and test keys always; the file has neither', async () => {
    const seen: (string | undefined)[] = []
    const service: Handler = (incoming, response) => {
      seen.push(incoming.headers.authorization)
      respondWith('{}')(incoming, response)
    }
    for (const [key, allow_live] of [
      [live, true],
      [live.replace('live', 'test'), false],
    ] as const) {
      await using on = await stage(service, { allow_live })
      const headers = { authorization: `Bearer ${key}` }
      expect((await fetch(on.url + place, { method: 'POST', headers, body: '{}' })).status).toBe(200)
      await on.finish()
      expect(on.text()).not.toContain('kkkk')
    }
    expect(seen).toEqual([`Bearer ${live}`, `Bearer ${live.replace('live', 'test')}`])
  })

  test('a request for another host, or for a proxy, is refused', async () => {
    let hits = 0
    await using on = await stage((_, response) => response.end(String(++hits)))
    const send = (line: string, host: string) =>
      exchangeBytes(on.url, `${line}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await send('GET /v1/x HTTP/1.1', 'rebound.example')).toMatch(/^HTTP\/1\.1 421 /)
    expect(await send('GET http://other.example/ HTTP/1.1', 'localhost')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await send('GET //other.example/ HTTP/1.1', 'localhost')).toMatch(/^HTTP\/1\.1 200 /)
    expect([hits, on.refusals]).toEqual([1, ['host', 'target']])
  })
})

/** A handshake of a WebSocket. */
const handshake = (headers = '', protocol = 'websocket') =>
  `GET /public/wrapper/v1/slots/x/decision/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n${headers}\r\n`

/** A frame of a client. */
function frame(first: number, text: string, { isMasked = true } = {}): Buffer {
  const mask = isMasked ? [1, 2, 3, 4] : [0, 0, 0, 0]
  const payload = Buffer.from(text).map((byte, index) => byte ^ mask[index % 4]!)
  const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 255]
  if (isMasked) length[0]! |= 0x80
  return Buffer.concat([Buffer.from([first, ...length, ...(isMasked ? mask : [])]), payload])
}

describe('a message of a WebSocket', () => {
  const long = `${'x'.repeat(1_000)} sk_test_abc`
  const parts = [frame(0x01, 'sk_li'), frame(0x89, 'ping'), frame(0x80, 've_abc')]
  test.each<[name: string, passes: 'always' | 'live_key' | 'opaque', messages: Buffer[]]>([
    ['text', 'always', [frame(0x81, 'hello')]],
    ['nothing', 'always', [frame(0x81, ''), frame(0x88, '')]],
    ['a long text with a test key', 'always', [frame(0x81, long)]],
    ['bytes', 'always', [frame(0x82, '\0\x01\x02')]],
    ['a production key', 'live_key', [frame(0x81, 'sk_live_abc')]],
    ['one after others', 'live_key', [frame(0x81, long), frame(0x89, ''), frame(0x82, 'sk_live_abc')]],
    ['one as base64', 'live_key', [frame(0x81, btoa('{"key":"sk_live_abc"}'))]],
    ['one of UTF-16', 'live_key', [frame(0x82, 's\0k\0_\0l\0i\0v\0e\0_\0a\0')]],
    ['one in the reason of its end', 'live_key', [frame(0x88, '\x03\xe8sk_live_abc')]],
    ['one in two frames around a ping', 'live_key', parts],
    ['a compressed one', 'opaque', [frame(0xc1, 'hello')]],
    ['one without a mask', 'opaque', [frame(0x81, 'hello', { isMasked: false })]],
  ])('with %s: %s', async (_, passes, messages) => {
    for (const step of [1, 10_000]) {
      const received: Buffer[] = []
      let asked: IncomingMessage | undefined
      await using on = await stage(respondWith('{}'), {
        onUpgrade(incoming, socket) {
          asked = incoming
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
          socket.on('data', (chunk: Buffer) => received.push(chunk))
          socket.on('error', () => undefined)
        },
      })
      const socket = connect(Number(new URL(on.url).port), '127.0.0.1')
      const answers: Buffer[] = []
      socket.on('data', (chunk: Buffer) => answers.push(chunk))
      socket.write(handshake('Sec-WebSocket-Extensions: permessage-deflate\r\n'))
      await expect.poll(() => Buffer.concat(answers).toString()).toContain('\r\n\r\n')
      const all = Buffer.concat(messages)
      for (let at = 0; at < all.length; at += step) socket.write(all.subarray(at, at + step))
      if (passes === 'always') {
        await expect.poll(() => Buffer.concat(received)).toEqual(all)
        socket.destroy()
      } else {
        await once(socket, 'close')
        expect(Buffer.concat(answers).toString('latin1')).toContain('\x03\xf0svc record passes on no production keys')
        expect(Buffer.concat(received).length).toBeLessThan(all.length)
      }
      expect(on.refusals).toEqual(passes === 'always' ? [] : [passes])
      expect(asked!.headers['sec-websocket-extensions']).toBeUndefined()
    }
  })

  test('of another protocol cannot be looked into, so that it is refused', async () => {
    await using on = await stage(respondWith('{}'))
    expect(await exchangeBytes(on.url, handshake('', 'h2c'))).toMatch(/^HTTP\/1\.1 403 [\s\S]*"reason_code":"opaque"/)
    expect(on.refusals).toEqual(['opaque'])
  })
})

describe('a request of a browser', () => {
  const elsewhere = 'Sec-Fetch-Site: cross-site'
  test.each<[name: string, status: number, line: string, headers: string[]]>([
    ['a page of the app', 200, 'POST /v1/browser/activate', [elsewhere, 'Origin: http://localhost:3000']],
    ['a page of the app by its referrer', 200, 'GET /v1/x.png', [elsewhere, 'Referer: http://127.0.0.1:3000/']],
    [
      'a page with a token',
      200,
      'POST /v1/beacons',
      [elsewhere, 'Origin: https://app.test', 'Authorization: Bearer x'],
    ],
    ['its preflight', 200, 'OPTIONS /v1/beacons', [elsewhere, 'Origin: https://app.test']],
    ['a frame', 200, 'GET /v1/render/ast_x', [elsewhere, 'Sec-Fetch-Dest: iframe']],
    ['a picture in a frame', 200, 'GET /assets/one.png', [elsewhere, 'Sec-Fetch-Dest: image']],
    ['a typed address', 200, 'GET /v1/decisions/x', ['Sec-Fetch-Site: none']],
    ['a program', 200, 'POST /v1/placements', []],
    ['another site', 403, 'POST /v1/placements', [elsewhere, 'Origin: https://evil.example']],
    ['a browser without Sec-Fetch', 403, 'POST /v1/placements', ['Origin: https://evil.example']],
    ['a sandboxed frame of another site', 403, 'POST /v1/placements', [elsewhere, 'Origin: null']],
    ['a picture of another site', 403, 'GET /assets/x', [elsewhere, 'Referer: https://evil.example/']],
    ['a picture without a referrer', 403, 'GET /v1/decisions/x', [elsewhere]],
    ['a form without a referrer', 403, 'POST /assets/x', [elsewhere]],
  ])('of %s: %i', async (_, status, line, headers) => {
    let hits = 0
    await using on = await stage((_, response) => response.end(String(++hits)))
    const head = [`${line} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers, '', '']
    expect(await exchangeBytes(on.url, head.join('\r\n'))).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect([hits, on.refusals]).toEqual(status === 200 ? [1, []] : [0, ['other_site']])
  })
})

describe('a hostile service', () => {
  test('an endless body ends with its client, is not kept, and others pass meanwhile', async () => {
    await using on = await stage((incoming, response) => {
      if (incoming.url !== '/v1/endless') return respondWith('{}')(incoming, response)
      response.writeHead(200, { 'content-type': 'text/plain' })
      const chunk = Buffer.alloc(65_536, 'x')
      const pump = () => {
        while (!response.destroyed && response.write(chunk)) {}
        if (!response.destroyed) response.once('drain', pump)
      }
      pump()
    })
    const response = await fetch(`${on.url}/v1/endless`)
    const reader = response.body!.getReader()
    for (let read = 0; read < 20_000_000; ) read += (await reader.read()).value!.length
    expect((await fetch(on.url + place, { method: 'POST' })).status).toBe(200)
    await reader.cancel()
    await expect.poll(() => on.text()).toContain('The client left.')
    const [, endless] = await on.finish()
    expect(endless).toMatchObject({
      _error: 'The client left.',
      response: { content: { comment: expect.any(String) } },
    })
    expect(on.text().length).toBeLessThan(10_000)
  })

  test.each([
    ['a body shorter than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort', /terminated|closed/],
    ['a body longer than its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nlonger', null],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc', 502],
    ['a length and chunks', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 502],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', /terminated|closed/],
    ['a header that is split', 'HTTP/1.1 200 OK\r\nX-A: a\r\n\tfolded: b\r\nContent-Length: 0\r\n\r\n', 502],
    ['a bare line feed in a header', 'HTTP/1.1 200 OK\r\nX-A: a\nSet-Cookie: b=c\r\nContent-Length: 0\r\n\r\n', 502],
    ['a header of 300 kB', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(300_000)}\r\n\r\n`, 502],
    ['a status of zeros', 'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n', 502],
    ['100 Continue without end', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(20), 502],
    ['another protocol', 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n', 502],
    ['a control character in its reason', 'HTTP/1.1 200 \x1b[31mred\r\nContent-Length: 0\r\n\r\n', null],
    ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n', 502],
    ['nothing', '', 502],
  ])('%s harms nobody, and the recording goes on', async (_, bytes, expected) => {
    await using on = await stage(bytes)
    const outcome = await fetch(`${on.url}/v1/render.js`)
      .then(
        async (response) => (response.status === 502 ? 502 : response.text().then(() => null)),
        (error: Error) => error,
      )
      .catch((error: Error) => error)
    if (expected instanceof RegExp) expect(String((outcome as Error).message)).toMatch(expected)
    else expect(outcome).toBe(expected)
    const entries = await on.finish()
    expect(entries).toHaveLength(1)
    expect(entries[0]!.response.status).toBe(expected === 502 ? 0 : 200)
    expect('_error' in entries[0]!).toBe(expected !== null)
    expect(on.text()).not.toMatch(/folded|Set-Cookie|\\u001b/)
  })

  test('a bomb is passed as it came, and is not in the file', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000))
    await using on = await stage(respondWith(bomb, { ...json, 'content-encoding': 'gzip' }))
    const sent = request(`${on.url}${place}`, { method: 'POST' }).end()
    const [received] = (await once(sent, 'response')) as [IncomingMessage]
    expect(Buffer.concat(await received.toArray()).equals(bomb)).toBe(true)
    const [entry] = await on.finish()
    expect(entry!.response.content).toEqual({
      size: bomb.length,
      mimeType: 'application/json',
      comment: 'Left out: body_undecodable.',
    })
  })

  test.each([
    [
      'a status of zeros',
      'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n',
      /^HTTP\/1\.1 502 [\s\S]*"reason_code":"unreadable"/,
    ],
    ['a status below 100', 'HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 502 /],
    ['a status of nines', 'HTTP/1.1 999 No\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1\.1 999 /],
    ['nothing', '', /^HTTP\/1\.1 502 [\s\S]*"reason_code":"unreachable"/],
  ])('%s in response to a handshake harms nobody', async (_, bytes, expected) => {
    await using on = await stage(bytes)
    expect(await exchangeBytes(on.url, handshake())).toMatch(expected)
    expect(await on.finish()).toHaveLength(1)
  })

  test.each<[what: string, request: string, service: Handler | string, status: number, reason: string, said: RegExp]>([
    [
      'a response with headers that are too long',
      'GET /v1/x HTTP/1.1\r\nHost: localhost\r\n\r\n',
      `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(300_000)}\r\n\r\n`,
      ...([502, 'unreadable', /its headers are longer than 256 kB/] as const),
    ],
    [
      'a request with headers that are too long',
      `GET /v1/x HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(300_000)}\r\n\r\n`,
      respondWith('{}'),
      ...([431, 'headers', /"request_refused":1/] as const),
    ],
  ])('%s is named', async (_, request, service, status, reason, said) => {
    await using on = await stage(service)
    const bytes = await exchangeBytes(on.url, request)
    expect(bytes).toContain(`HTTP/1.1 ${status} `)
    expect(bytes).toContain(`"reason_code":"${reason}"`)
    await on.finish()
    expect(on.text()).toMatch(said)
  })

  test('a response that comes before all of the request was read is passed on, and the request sent once', async () => {
    let count = 0
    await using on = await stage((incoming, response) => {
      count++
      let length = 0
      incoming.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length < 65_536 || response.headersSent) return
        response.writeHead(413, { ...json, connection: 'close' }).end('{"a":1}', () => incoming.destroy())
      })
    })
    const body = JSON.stringify({ a: 'x y '.repeat(500_000) })
    for (let call = 0; call < 20; call++) {
      const response = await fetch(on.url + place, { method: 'POST', body })
      expect([response.status, await response.text()]).toEqual([413, '{"a":1}'])
    }
    expect(count).toBe(20)
    expect(new Set((await on.finish()).map((entry) => entry.response.status))).toEqual(new Set([413]))
  })

  test('a service that is gone is a 502 that names itself, and an entry without a response', async () => {
    await using on = await stage((incoming) => incoming.socket.destroy())
    const response = await fetch(on.url + place, { method: 'POST', body: '{}' })
    expect([response.status, response.headers.get('x-svc-record')]).toEqual([502, 'unreachable'])
    expect(await on.finish()).toMatchObject([
      { response: { status: 0 }, _error: expect.stringContaining('did not respond') },
    ])
  })
})

describe('the file', () => {
  test('has tokens of any shape redacted alike, wherever they occur, in this exchange and in later ones', async () => {
    const token = 'ast_9f8e7d6c5b4a39281706f5e4d3c2b1a0'
    const activation = 'opaque.credential/with+signs=='
    const beacons = 'bt_a81bc81b-dead-4e5d-abff-90865d1e13b1'
    await using on = await stage((incoming, response) => {
      const answers: Record<string, () => void> = {
        '/v1/browser/activate': () => respondWith(JSON.stringify({ activation_token: activation }))(incoming, response),
        [place]: () =>
          respondWith(
            JSON.stringify({
              placement: { asset_token: token, render: { frame_url: `${on.service}/v1/render/${token}` } },
            }),
          )(incoming, response),
      }
      const answer = answers[incoming.url!]
      if (answer !== undefined) return answer()
      respondWith(`<script>start("${token}", "${beacons}", at_most_some)</script>`, { 'content-type': 'text/html' })(
        incoming,
        response,
      )
    })
    const call = async (path: string, init: RequestInit = {}) => (await fetch(on.url + path, init)).text()
    await call('/v1/browser/activate', { method: 'POST', body: '{"publishable_key":"pk_test_abcdefgh"}' })
    await call(place, { method: 'POST', headers: { authorization: `Bearer ${activation}` }, body: '{}' })
    await call(`/v1/render/${token}`)
    await call('/v1/beacons', {
      method: 'POST',
      body: JSON.stringify({ beacon_id: 'b', asset_token: token, event: 'load' }),
    })
    const entries = await on.finish()
    const text = on.text()
    expect(text).not.toContain(token.slice(4, 20))
    expect(text).not.toContain(activation)
    expect(text).not.toContain('abcdefgh')
    const [name] = /ast_[0-7][0-9a-z]{10}_redacted/.exec(text)!
    expect(text.split(name).length - 1).toBeGreaterThanOrEqual(4)
    expect(new Set(text.match(/ast_\w+/g))).toEqual(new Set([name]))
    expect(entries[2]!.request.url).toBe(`${on.service}/v1/render/${name}`)
    expect(entries[2]!.response.content.text).toMatch(
      new RegExp(`^<script>start\\("${name}", "bt_[0-7][0-9a-z]{10}_redacted", at_most_some\\)</script>$`),
    )
  })

  test('has no prompt that a response repeats, no address of a user and no device', async () => {
    const prompt = 'my aunt Zephyrine asked about a "quiet" divorce'
    const body = {
      client_id: 'proj_demo',
      session_id: 'zephyrine@example.com',
      job_type: 'chat',
      prompt: { topic: 'law', text: prompt },
    }
    await using on = await stage((incoming, response) => {
      const isFrame = incoming.method === 'GET'
      const html = `<p>${prompt.replaceAll('"', '&quot;')}</p><a href="/?q=${encodeURIComponent(prompt)}">`
      const type = isFrame ? 'text/html' : 'application/json'
      respondWith(isFrame ? html : JSON.stringify({ message: `no ad for ${prompt}`, for: body.session_id }), {
        'content-type': type,
        'x-echo': encodeURIComponent(prompt),
        'set-cookie': ['id=zephyrine; Path=/', 'b=2'],
      })(incoming, response)
    })
    const headers = { 'x-forwarded-for': '203.0.113.7', 'cf-connecting-ip': '203.0.113.8', cookie: 'me=zephyrine' }
    await fetch(on.url + place, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
    await fetch(`${on.url}/v1/render/ast_1`)
    const beacon = { beacon_id: 'b', asset_token: 'ast_1', event: 'click', metadata: { note: 'call +49 170 1234567' } }
    await fetch(`${on.url}/v1/beacons`, { method: 'POST', headers: json, body: JSON.stringify(beacon) })
    await fetch(`${on.url}/v1/unknown?q=${encodeURIComponent(prompt)}`, {
      method: 'POST',
      body: JSON.stringify({ note: prompt }),
    })
    const entries = await on.finish()
    expect(entries).toHaveLength(4)
    expect(on.text()).not.toMatch(/zephyrine|divorce|203\.0\.113|170 ?1234567/i)
    expect(entries[0]!.request.postData!.text).toContain('"topic":"law"')
    expect(entries[0]!._session_id).toBeDefined()
  })

  test('keeps media as base64 up to 5 MB, and counts larger ones and what is not of the API', async () => {
    const image = Buffer.from('89504e470d0a1a0a00fffe', 'hex')
    await using on = await stage((incoming, response) => {
      const body = incoming.url!.endsWith('large.png') ? Buffer.alloc(5_000_001) : image
      respondWith(body, { 'content-type': incoming.url === '/page' ? 'text/html' : 'image/png' })(incoming, response)
    })
    for (const path of ['/media/a.png?w=300&q=a+b', '/assets/large.png', '/page']) {
      await (await fetch(on.url + path)).bytes()
    }
    const entries = await on.finish()
    expect(entries.map(({ response }) => response.content)).toEqual([
      { size: 11, mimeType: 'image/png', text: image.toString('base64'), encoding: 'base64' },
      { size: 5_000_001, mimeType: 'image/png', comment: 'Left out: body_too_large.' },
      { size: 11, mimeType: 'text/html', comment: 'Left out: body_not_of_api.' },
    ])
    expect(entries[0]!.request.url).toBe(`${on.service}/media/a.png?w=300&q=[removed]`)
    expect(on.summary()).toMatchObject({
      exchanges: 3,
      endpoints: { file: 2, other: 1 },
      left_out: { body_too_large: 1, body_not_of_api: 1 },
    })
    expect(on.text()).toContain('"_left_out":{"body_too_large":1,"body_not_of_api":1}}}')
  })
})
