import { connect as openSocket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '#contract/endpoint.ts'
import { contract, type EndpointId } from '#contract/index.ts'
import type { Api, Call } from '../call.ts'
import { activate, asked, beacon, fill, key, origin, stage } from '../stage.ts'

async function readReason(api: Api, id: EndpointId, call: Call): Promise<string> {
  return (await api.refuse(id, call)).body.reason_code
}

function listPaths(fields: { path: string }[]): string[] {
  return fields.map(({ path }) => path)
}

describe('credentials', () => {
  test('a bearer that is no key at all gets another message than an unknown key', async () => {
    await using on = await stage()
    const call = { params: { slot_id: 'slot_00000000000' } }
    for (const as of ['undefined', '"sk_test_sandbox_demo"', '$SVC_SECRET_KEY']) {
      const { message, hint } = (await on.api.refuse('decisions.get', { ...call, as })).body
      expect(message).toBe('The Authorization header contains neither a key nor a token: secret keys begin with sk_.')
      expect(hint).toContain('it may be unset (Bearer undefined), quoted, or not expanded')
    }
    expect((await on.api.refuse('decisions.get', { ...call, as: 'sk_test_nobody' })).body.message).toBe(
      'The key is unknown.',
    )
  })
})

describe('paths and methods', () => {
  test('repeated slashes and one at the end get the right path as a hint', async () => {
    await using on = await stage()
    for (const [path, right] of [
      ['//v1/placements', '/v1/placements'],
      ['/v1//placements/?wait_ms=1', '/v1/placements'],
      ['/v1/decisions/slot_1/', '/v1/decisions/{slot_id}'],
      ['/_sandbox/info/', '/_sandbox/info'],
    ] as const) {
      const { status, body } = await on.api.send('POST', path)
      expect([status, body]).toMatchObject([
        404,
        { hint: `Send it to ${right}: with single slashes and no trailing slash.` },
      ])
    }
    for (const path of ['/v1/nothing/', '/v1/v1/nothing']) {
      const { body } = await on.api.send('GET', path)
      expect(body).toMatchObject({ hint: expect.stringContaining('svc contract show') })
    }
  })

  test('the version in the base URL and in the path: the hint is to leave it out', async () => {
    await using on = await stage()
    for (const [path, right] of [
      ['/v1/v1/placements', '/v1/placements'],
      ['/v1//v1/decisions/slot_1', '/v1/decisions/{slot_id}'],
      ['/v1/_sandbox/info', '/_sandbox/info'],
    ] as const) {
      const { status, body } = await on.api.send('POST', path)
      const hint = `Leave /v1 out of the base URL, and send it to ${right}.`
      expect([status, body]).toMatchObject([404, { message: 'No such path.', hint }])
    }
  })

  test('an unknown query parameter is 400 with its name at every endpoint', async () => {
    await using on = await stage()
    const token = await activate(on.api)
    // A page may add a query to the address of a script or a frame, to name a version of it.
    const media = ['render.script', 'render.frame']
    for (const [id, endpoint] of Object.entries(contract) as [EndpointId, Endpoint][]) {
      // The query of a handshake is its credential: a socket ignores the rest of it.
      if (media.includes(id) || endpoint.status === 101) continue
      const isForBrowsers = endpoint.credentials.length > 0 && !endpoint.credentials.includes('secret_key')
      const call = {
        ...(endpoint.credentials.length === 0 ? {} : isForBrowsers ? { as: token, origin } : { as: key }),
        params: Object.fromEntries(Object.keys(endpoint.params?.shape ?? {}).map((name) => [name, 'x'])),
        query: { surprise: '1' },
        ...(endpoint.method === 'GET' ? {} : { body: {} }),
        ...(id === 'sandbox.import' ? { headers: { 'content-type': 'application/gzip' } } : {}),
      }
      const { body } = await on.api.refuse(id, call)
      expect([id, body.reason_code, body.fields.map(({ path }) => path)]).toEqual([id, 'field_unknown', ['surprise']])
    }
  })

  test('an unknown field comes with the one that was probably meant', async () => {
    await using on = await stage()
    const { fields } = (
      await on.api.refuse('placements.create', {
        as: key,
        body: {
          ...{ clientId: 'proj_demo', sesion_id: 's1', job_type: 'chat', allowedFormats: ['banner'], colour: 'red' },
          slot_hint: { maxWidth: 300 },
        },
      })
    ).body
    const unknown = fields.filter(({ message }) => message === 'is unknown')
    expect(unknown.map(({ path, expected }) => [path, expected])).toEqual([
      ['slot_hint.maxWidth', 'the field slot_hint.max_width'],
      ['clientId', 'the field client_id'],
      ['sesion_id', 'the field session_id'],
      ['allowedFormats', 'the field overrides.allowed_formats'],
      ['colour', 'no field of this name; svc contract show lists the known ones'],
    ])
  })

  test('a name of another API comes with the field that it is meant for', async () => {
    await using on = await stage()
    const known = { client_id: 'proj_demo', session_id: 's1', job_type: 'chat' }
    const body = { ...known, format: 'banner', width: 300, slot_hint: { height: 250 } }
    const { fields } = (await on.api.refuse('placements.create', { as: key, body })).body
    expect(fields.map(({ path, expected }) => [path, expected])).toEqual([
      ['slot_hint.height', 'the field slot_hint.max_height'],
      ['format', 'the field overrides.allowed_formats'],
      ['width', 'the field slot_hint.max_width'],
    ])
  })

  test('an unknown event of a beacon comes with the one that was probably meant', async () => {
    await using on = await stage()
    const meant = async (event: unknown) => {
      const body = { beacon_id: 'bcn_00000001', asset_token: 'ast_x', event, occurred_at_ms: 1 }
      const { fields } = (await on.api.refuse('beacons.send', { as: key, body })).body
      return /^one of render, visible, .*, dismissed(?:; probably (.*))?$/.exec(fields[0]?.expected ?? '')?.[1]
    }
    for (const [wrong, right] of Object.entries({
      impression: 'render',
      viewable_impression: 'visible',
      Viewable: 'visible',
      clik: 'click',
      sale: undefined,
      constructor: undefined,
    }))
      expect(await meant(wrong), wrong).toBe(right)
    expect(await meant(7)).toBeUndefined()
  })

  test('a path that is not well-formed is 400', async () => {
    await using on = await stage()
    expect((await on.api.send('GET', '/v1/render/%zz')).body).toMatchObject({ reason_code: 'http_malformed' })
  })
})

describe('bodies', () => {
  test('over the limit is 413, whether the length is announced or not', async () => {
    await using on = await stage()
    const padded = (length: number) => {
      const body = JSON.stringify(asked())
      return body.replace(/}$/, `${' '.repeat(length - body.length)}}`)
    }
    for (const chunked of [false, true]) {
      await on.api.accept('placements.create', { as: key, raw: padded(65_536), chunked })
      const { status, body } = await on.api.refuse('placements.create', { as: key, raw: padded(65_537), chunked })
      expect([status, body.error]).toEqual([413, 'payload_too_large'])
    }
    const filled = await fill(on.api)
    const small = JSON.stringify(beacon(on.clock, filled, 'render'))
    const at = (length: number) => small.replace(/}$/, `${' '.repeat(length - small.length)}}`)
    expect(await readReason(on.api, 'beacons.send', { as: key, raw: at(8_193) })).toBe('payload_too_large')
    await on.api.accept('beacons.send', { as: key, raw: at(8_192) })
  })

  test('what is not JSON is 400', async () => {
    await using on = await stage()
    const bad = [
      '{',
      "{'client_id':1}",
      '{"client_id":"proj_demo",}',
      'undefined',
      '\uFEFF{}',
      '{"a":NaN}',
      'client_id=1',
    ]
    for (const raw of [...bad, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), '['.repeat(30_000)]) {
      expect(await readReason(on.api, 'placements.create', { as: key, raw })).toBe('json_malformed')
    }
  })

  test('the place of the mistake is named, and the text around it is not quoted', async () => {
    await using on = await stage()
    const readMessage = async (raw: string | Buffer) =>
      (await on.api.refuse('placements.create', { as: key, raw })).body.message
    expect(await readMessage('{"client_id": "proj_demo",}')).toBe(
      'The body is not JSON. Line 1, column 27: There is a comma before }: remove it.',
    )
    expect(await readMessage('{\n "topic": sk_test_secret }')).toBe(
      'The body is not JSON. Line 2, column 11: This is not a JSON value. Text must be in double quotes.',
    )
    expect(await readMessage(Buffer.from([0x7b, 0xff, 0x7d]))).toBe('The body is not UTF-8, at byte offset 1.')
  })

  test('a byte order mark, and the limit of the endpoint, are named', async () => {
    await using on = await stage()
    const refused = async (raw: string, id: 'placements.create' | 'beacons.send' = 'placements.create') =>
      (await on.api.refuse(id, { as: key, raw })).body
    const mark = await refused(`\uFEFF${JSON.stringify(asked())}`)
    expect(`${mark.message} ${mark.hint}`).toMatch(/byte order mark.*without a byte order mark/)
    expect((await refused('x'.repeat(8_193), 'beacons.send')).hint).toContain('8192')
    expect((await refused('x'.repeat(65_537))).hint).toContain('65536')
  })
})

describe('fields', () => {
  const buildBeacon = (more: object) => ({ beacon_id: 'beacon-0001', asset_token: 'ast_', event: 'render', ...more })
  const anything = expect.any(String)
  test.each<[string, EndpointId, Call, [path: string, message: unknown, expected: unknown][]]>([
    [
      'wait_ms where nothing waits, with the endpoints that do',
      'jobs.create',
      { body: asked({ wait_ms: 5 }) },
      [['wait_ms', 'is unknown', expect.stringContaining('GET /v1/decisions/{slot_id}')]],
    ],
    [
      'a prompt as a list of messages, with what a prompt is',
      'placements.create',
      { body: asked({ prompt: [{ role: 'user', content: 'tea' }] }) },
      [['prompt', anything, expect.stringMatching(/\{ topic, text \} or a string/)]],
    ],
    ['null as a body', 'placements.create', { raw: 'null' }, [['', 'is null', anything]]],
    [
      'a null that cannot be left out',
      'placements.create',
      { body: asked({ session_id: null, overrides: { allowed_formats: [null] } }) },
      [
        ['overrides.allowed_formats.0', 'is null', anything],
        ['session_id', 'is null', anything],
      ],
    ],
    [
      'a limit of one, which is one character',
      'beacons.send',
      { body: buildBeacon({ asset_token: '', occurred_at_ms: 1 }) },
      [['asset_token', anything, 'at least 1 character']],
    ],
    [
      'a pattern, by what it expects',
      'beacons.send',
      { body: buildBeacon({ beacon_id: 'a b', occurred_at_ms: 1 }) },
      [['beacon_id', anything, '8 to 128 characters of A-Z, a-z, 0-9 and . _ : -']],
    ],
    [
      'all that is wrong at once',
      'placements.create',
      { body: { client_id: 'demo', job_type: 'video', slot_hint: { max_width: 0 }, wait_ms: 1.5 } },
      [
        ['client_id', anything, anything],
        ['job_type', 'is not one of the allowed values', 'one of chat, code, image, voice, agent'],
        ['session_id', 'is missing', anything],
        ['slot_hint.max_width', anything, anything],
        ['wait_ms', anything, anything],
      ],
    ],
  ])('named: %s', async (_, id, call, expected) => {
    await using on = await stage()
    const { fields } = (await on.api.refuse(id, { as: key, ...call })).body
    const found = fields.map(({ path, message, expected }) => [path, message, expected])
    expect(found.toSorted(([a], [b]) => (a! < b! ? -1 : 1))).toEqual(expected)
  })

  test('a member called __proto__ is unknown everywhere, even where any member is kept', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const render = beacon(on.clock, filled, 'render', { metadata: { deep: [{ X: 1 }] } })
    const consent = { client_id: 'proj_demo', session_id: 's', purposes: { X: true } }
    const cases: [EndpointId, unknown, string][] = [
      ['placements.create', { ...asked(), X: 1 }, '__proto__'],
      ['placements.create', asked({ overrides: { targeting: { X: { a: 1 } } } }), 'overrides.targeting.__proto__'],
      ['consent.set', consent, 'purposes.__proto__'],
      ['beacons.send', render, 'metadata.deep.0.__proto__'],
    ]
    for (const name of ['__proto__', '\\u005f_proto__']) {
      for (const [id, body, path] of cases) {
        const raw = JSON.stringify(body).replace('"X"', `"${name}"`)
        const refused = await on.api.refuse(id, { as: key, raw })
        expect([refused.body.reason_code, listPaths(refused.body.fields)]).toEqual(['field_unknown', [path]])
      }
    }
  })

  test('limits of text, topic and session are as stated', async () => {
    await using on = await stage()
    const cases: [Record<string, unknown>, boolean][] = [
      [{ prompt: 'x'.repeat(8000) }, true],
      [{ prompt: 'x'.repeat(8001) }, false],
      [{ prompt: { text: 'x'.repeat(8001) } }, false],
      [{ prompt: { topic: 'x'.repeat(200) } }, true],
      [{ prompt: { topic: 'x'.repeat(201) } }, false],
      [{ prompt: 5 }, false],
      [{ session_id: 'aZ9._:-' }, true],
      [{ session_id: 'x'.repeat(256) }, true],
      [{ session_id: 'x'.repeat(257) }, false],
      [{ session_id: '' }, false],
      [{ session_id: 'a\tb' }, false],
      [{ slot_hint: { max_width: 4097 } }, false],
      [{ slot_hint: { position: 'top' } }, false],
    ]
    for (const [more, isFine] of cases) {
      const call = { as: key, body: asked(more) }
      if (isFine) await on.api.accept('placements.create', call)
      else expect(await readReason(on.api, 'placements.create', call)).toBe('schema_invalid')
    }
  })

  test('a lone surrogate in a text is the caller mistake, never a failure of ours', async () => {
    await using on = await stage()
    const filled = await fill(on.api)
    const raw = JSON.stringify(beacon(on.clock, filled, 'render')).replace('{', '{"metadata":{"a":"\\ud800"},')
    const { status } = await on.api.refuse('beacons.send', { as: key, raw })
    expect(status).toBe(400)
    const consent = { client_id: 'proj_demo', session_id: 's', tcf_string: 'tcf' }
    const withSurrogate = JSON.stringify(consent).replace('tcf"}', '\\ud800"}')
    expect((await on.api.send('POST', '/v1/consent', { as: key, raw: withSurrogate })).status).toBeLessThan(500)
  })

  test('nothing secret that was sent is echoed', async () => {
    await using on = await stage()
    const token = await activate(on.api)
    const secret = 'sk_live_do_not_echo_me'
    const calls: [EndpointId, Call][] = [
      ['placements.create', { as: secret, body: asked() }],
      ['placements.create', { as: key, body: asked({ [secret]: 1 }) }],
      ['placements.create', { as: key, body: asked({ job_type: secret }) }],
      ['browser.activate', { origin, body: { publishable_key: secret } }],
      ['beacons.send', { as: key, body: { asset_token: token, event: secret } }],
      ['decisions.get', { as: key, params: { slot_id: token } }],
    ]
    for (const [id, call] of calls) {
      const { text: answered } = await on.api.refuse(id, call)
      expect(answered).not.toContain(secret)
      expect(answered).not.toContain(token.slice(-43))
    }
  })
})

describe('what is hardly HTTP', () => {
  function bytes(port: number, sent: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let received = ''
      const socket = openSocket(port, '127.0.0.1', () => socket.write(sent))
      socket.on('data', (chunk) => {
        received += String(chunk)
        if (received.includes('\r\n\r\n') && /\}$/.test(received)) socket.end()
      })
      socket.on('close', () => resolve(received))
      socket.on('error', reject)
    })
  }

  test('broken requests get an error body and the connection is closed', async () => {
    await using on = await stage()
    const head = `x-big: ${'x'.repeat(20_000)}\r\n`
    const tooLarge = `GET /v1/render.js HTTP/1.1\r\nhost: localhost\r\n${head}\r\n`
    for (const [sent, status, reason_code] of [
      ['nonsense\r\n\r\n', '400 Bad Request', 'http_malformed'],
      [tooLarge, '431 Request Header Fields Too Large', 'headers_too_large'],
    ] as const) {
      const answer = await bytes(on.sandbox.port, sent)
      expect(answer.startsWith(`HTTP/1.1 ${status}\r\n`)).toBe(true)
      expect(answer).toContain(`"reason_code":"${reason_code}"`)
      expect(answer).toMatch(/x-request-id: req_/)
    }
  })

  test('an expectation that nobody knows is not met, and the request is answered', async () => {
    await using on = await stage()
    const sent = 'GET /v1/nothing HTTP/1.1\r\nhost: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n'
    expect(await bytes(on.sandbox.port, sent)).toMatch(/^HTTP\/1\.1 404 .*"reason_code":"not_found"/s)
  })

  test('a request without a Host is 400', async () => {
    await using on = await stage()
    const answer = await bytes(on.sandbox.port, 'GET /v1/render.js HTTP/1.1\r\nconnection: close\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"message":"The request has no Host header\."/s)
    expect(answer).toContain('"reason_code":"http_malformed"')
  })
})
