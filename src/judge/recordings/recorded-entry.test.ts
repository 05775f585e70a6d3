/** What an entry keeps of secrets that a service has set: in the exchange that sets them, and in later ones. */
import { expect, test } from 'vitest'
import { createSecretMemory } from '#contract/recordings/secret-memory.ts'
import { createCaptures } from './capture.ts'
import type { PassedExchange } from './exchange.ts'
import { recordEntry } from './recorded-entry.ts'

const origin = 'https://ads.example'
/** Long and opaque: found wherever it occurs. */
const value = 'q7Zk2mVd91xLr0Pc'
const json = ['content-type', 'application/json']

interface Parts {
  method?: string
  status?: number
  path?: string
  request_headers?: string[]
  request?: string
  response_headers?: string[]
  response?: string | Buffer
}

function passed(parts: Parts): PassedExchange {
  const { path = '/v1/placements', request_headers = [], request = '', response_headers = [], response = '{}' } = parts
  const { method = 'POST', status = 200 } = parts
  const capture = (text: string | Buffer) => {
    const opened = createCaptures().open(1_000_000)
    opened.add(Buffer.from(text))
    return opened
  }
  return {
    ...{ at_ms: 0, method, path, http_version: '1.1', duration_ms: 5, problem: null },
    request_headers: [...(request_headers[0] === 'content-type' ? [] : json), ...request_headers],
    request: capture(request),
    response: {
      ...{ status, status_text: 'OK', wait_ms: 4 },
      headers: [...(response_headers[0] === 'content-type' ? [] : json), ...response_headers],
      body: capture(response),
    },
  }
}

/** Records exchanges one after the other, and returns the text of their entries. */
async function record(...exchanges: Parts[]): Promise<string> {
  const memory = createSecretMemory(Buffer.alloc(32))
  const entries = []
  for (const parts of exchanges) entries.push((await recordEntry(passed(parts), origin, memory)).entry)
  return JSON.stringify(entries)
}

const jwt = `eyJhbGciOiJIUzI1NiJ9.${btoa('{"sub":"max"}').replaceAll('=', '')}.5mhb0V3Zr_t-1Kq9dTj2QwPz`

test.each<[string, Parts, kept: string[]]>([
  [
    'of a response with a cookie: what it is not, and values that are words',
    {
      response_headers: ['set-cookie', 'theme=dark; Path=/v1/placements; Domain=ads.example.com; HttpOnly'],
      response: '{"status":"ready","mode":"dark","url":"https://ads.example.com/v1/placements/1"}',
    },
    ['{"status":"ready","mode":"dark","url":"https://ads.example.com/v1/placements/1"}'],
  ],
  [
    'of fields that say something about a secret',
    {
      response:
        '{"token_count":"120","token_type":"Bearer","tokenizer":"cl100k_base","password_policy":"strict", "secretary":"Ann","max_tokens":4096}',
    },
    [
      '"token_count":"120","token_type":"Bearer","tokenizer":"cl100k_base","password_policy":"strict", "secretary":"Ann"',
    ],
  ],
  [
    'of identifiers',
    {
      request: '{"client_id":"proj_1","session_id":"turn-4711-abc","job_type":"chat"}',
      response:
        '{"slot_id":"slot_9f8e7d6c5b4a","placement_id":"pl_9f8e7d6c5b4a3928","job_id":"job_1","key_id":"key_9f8e7d6c5b4a3928"}',
    },
    [
      '"session_id":"turn-4711-abc"',
      '"slot_id":"slot_9f8e7d6c5b4a","placement_id":"pl_9f8e7d6c5b4a3928"',
      '"key_9f8e7d6c5b4a3928"',
    ],
  ],
  [
    'of the address of an asset, and numbers of any length',
    { response: '{ "image_url": "https://cdn.example/c/logo@2x.png?w=300", "n":12345678901234567890, "e": 1E+2 }' },
    ['{ "image_url": "https://cdn.example/c/logo@2x.png?w=300", "n":12345678901234567890, "e": 1E+2 }'],
  ],
  [
    'of keys of a cache, and what is within other words',
    {
      request_headers: ['x-api-key', 'video42', 'authorization', `Basic ${btoa('widget:sandbox')}`],
      response_headers: ['surrogate-key', 'placement banner', 'x-session', 'mobile-app', 'set-cookie', 'theme=video7x'],
      response:
        '{"a":"placement","b":"banner","c":"mobile-app","d":"myvideo42 video421","e":"the sandbox","f":"widget","g":"video7x"}',
    },
    [
      '{"a":"placement","b":"banner","c":"mobile-app","d":"myvideo42 video421","e":"the sandbox","f":"widget","g":"video7x"}',
    ],
  ],
  [
    'of headers about credentials',
    {
      request_headers: ['sec-websocket-protocol', 'graphql-transport-ws, v12.stomp, wamp.2.json, mqttv3.1'],
      response_headers: ['access-control-allow-credentials', 'true', 'link', '</v1/render.js?v=12>; rel=preload'],
    },
    [
      '"graphql-transport-ws, v12.stomp, wamp.2.json, mqttv3.1"',
      '"access-control-allow-credentials","value":"true"',
      '"</v1/render.js?v=12>; rel=preload"',
    ],
  ],
  [
    'of words that a request authenticates with, and of schemes',
    {
      request_headers: [
        ...[
          'authorization',
          'Bearer q7Zk2mVd91xLr0Pc',
          'authorization',
          'Basic eDp5',
          'cookie',
          'sid=banner; lang=video7x',
        ],
      ],
      path: '/v1/placements?token=dark11',
      request: '{"password":"password","token":"ready"}',
      response:
        '{"field":"password","status":"ready","format":"banner","type":"Bearer","scheme":"Basic","lang":"video7x","mode":"dark"}',
    },
    [
      '{"field":"password","status":"ready","format":"banner","type":"Bearer","scheme":"Basic","lang":"video7x","mode":"dark"}',
    ],
  ],
])('keeps %s', async (_, parts, kept) => {
  const text = (await record(parts)).replaceAll('\\"', '"')
  for (const each of kept) expect(text).toContain(each)
})

/** The request of a frame: its document is code of the service. */
const frame: Parts = { method: 'GET', path: '/v1/render/ast_1' }
const basic = (text: string) => `Basic ${btoa(text)}`
/** As a word, as a value, and encoded. */
const repeated = JSON.stringify({
  a: 'it was hunter2x',
  b: 'hunter2x',
  c: btoa('hunter2x'),
  d: '%68unter2x',
  e: '&#104;unter2x',
})

test.each<[string, ...Parts[]]>([
  ...['access_token', 'refresh_token', 'api_key', 'apiKey', 'session_secret', 'clientSecret', 'password'].map(
    (name): [string, Parts] => [`in the field ${name}`, { response: JSON.stringify({ [name]: 'hunter2' }) }],
  ),
  ['in a field with an escaped name', { response: '{"pass\\u0077ord": "hunter2"}' }],
  ['in a list', { response: '{"tokens":["hunter2"]}' }],
  ['below a field', { response: '{"credentials":{"user":{"value":"hunter2"}}}' }],
  ['in JSON in a text', { response: JSON.stringify({ body: JSON.stringify({ password: 'hunter2' }) }) }],
  [
    'in the metadata of a request',
    {
      path: '/v1/beacons',
      request: '{"beacon_id":"b","asset_token":"ast_1","event":"click","metadata":{"auth":{"passphrase":"hunter2"}}}',
    },
  ],
  ...[
    'x-password',
    'x-jwt',
    'x-credential',
    'x-user-secret',
    'x-authorization',
    'x-authorisation',
    'x-auth-token',
    'x-a-hmac-sha256',
    'dpop',
    'x-wsse',
    'x-saml-assertion',
    'x-sid',
  ].map((name): [string, Parts, Parts] => [
    `in ${name}`,
    { request_headers: [name, 'hunter2'] },
    { response_headers: [name, 'hunter2'] },
  ]),
  ['in a parameter of a header', { response_headers: ['link', '</v1/x?access_token=hunter2>; rel=next'] }],
  ['in the protocol of a WebSocket', { request_headers: ['sec-websocket-protocol', `bearer, hunter2, ${value}`] }],
  [
    'in a form',
    {
      request_headers: ['content-type', 'application/x-www-form-urlencoded'],
      request: `client_secret=${value}`,
      response: `{"seen":"${value}"}`,
    },
  ],
  ['in a query', { path: `/v1/placements?client_secret=${value}`, response: `{"seen":"${value}"}` }],
  [
    'beside its name in a frame',
    {
      ...frame,
      response_headers: ['content-type', 'text/html'],
      response: `<script>const accessToken = "${value}"</script>`,
    },
  ],
  ['a signed token in a field', { response: JSON.stringify({ seen: `it was ${jwt}` }) }],
  ['a signed token in a header', { response_headers: ['x-seen', jwt] }],
  ['a signed token in the path', { path: `/v1/decisions/${jwt}` }],
  [
    'a signed token in a frame',
    { ...frame, response_headers: ['content-type', 'text/html'], response: `<p title=${jwt}>` },
  ],
  [
    'the bearer as base64',
    { request_headers: ['authorization', `Bearer ${value}`], response: JSON.stringify({ seen: btoa(value) }) },
  ],
  [
    'the bearer in base64',
    {
      request_headers: ['authorization', `Bearer ${value}`],
      response: JSON.stringify({ a: btoa(`Bearer ${value}`), b: btoa(`x ${value}`), c: btoa(`xy ${value}.`) }),
    },
  ],
  [
    'the password of basic authentication',
    { request_headers: ['authorization', basic(`max:${value}`)], response: JSON.stringify({ seen: `${value}` }) },
  ],
  [
    'the bearer percent-encoded',
    { request_headers: ['authorization', 'Bearer q7Zk2mVd/91xLr0Pc'], response: '{"seen":"q7Zk2mVd%2F91xLr0Pc"}' },
  ],
  [
    'the bearer with every character percent-encoded',
    {
      request_headers: ['authorization', 'Bearer q7Zk2mVd-91xLr_0Pc'],
      response: JSON.stringify({
        a: [...'q7Zk2mVd-91xLr_0Pc'].map((each) => `%${each.charCodeAt(0).toString(16)}`).join(''),
        b: 'q7Zk2mVd%2D91xLr%5F0Pc',
      }),
    },
  ],
  [
    'in a header of JSON',
    { request_headers: ['x-a', '{"password":"hunter2"}', 'x-b', btoa('{"password":"hunter2"}')] },
    { response_headers: ['x-a', '{"password":"hunter2"}'] },
  ],
  [
    'in an address in a header',
    { response_headers: ['refresh', '0; url=/v1/x?password=hunter2', 'server-timing', 'db;desc="password=hunter2"'] },
    { request_headers: ['x-pin', 'hunter2', 'x-user-pin', 'hunter2'] },
    { response_headers: ['server', 'a <password>hunter2</password>', 'via', '"user[password]=\\"hunter2\\""'] },
  ],
  ['in an address in the path', { path: '/v1/x/https://bob:hunter2@h/' }],
  ...[
    '{"password":"hunter2x"}',
    '{"a":[{"api_key":"hunter2x"}]}',
    '{"credentials":{"user":"hunter2x"}}',
    '[{"name":"db_password","value":"hunter2x"}]',
  ].map((request): [string, Parts] => [
    `that a response repeats of the request ${request}`,
    { request, response: repeated },
  ]),
  ...[
    ['application/x-www-form-urlencoded', 'a=1&password=hunter2x'],
    [
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2x\r\n--b--',
    ],
  ].map(([type = '', request = '']): [string, Parts] => [
    `that a response repeats of ${type}`,
    { request_headers: ['content-type', type], request, response: repeated },
  ]),
  ...[
    ['authorization', `Bearer ${value}`, 'Authorization', basic('max:hunter2x')],
    ['authorization', 'Bearer aaaaaaaaaaaaaaaa', 'authorization', 'Bearer hunter2x'],
    ['cookie', 'theme=dark', 'cookie', 'sid=hunter2x'],
    ['cookie', 'theme=dark; connect.sid=hunter2x'],
    ['x-api-key', 'a', 'X-Api-Key', 'hunter2x'],
  ].map((request_headers): [string, Parts] => [
    `that a response repeats of ${request_headers}`,
    { request_headers, response: repeated },
  ]),
  [
    'of a cookie that is encoded',
    { request_headers: ['cookie', 'connect.sid=s%3Ahunter2x.a%2Bb'], response: '{"a":"s:hunter2x.a+b"}' },
  ],
  [
    'of the second cookie that a response sets',
    { response_headers: ['set-cookie', 'theme=dark', 'set-cookie', 'session=hunter2x; Path=/'], response: repeated },
  ],
  ['an address', { path: '/v1/decisions/max@example.org', request_headers: ['x-user', 'max%40example.org'] }],
  [
    'an address in a response',
    { response: '{"a":"max%40example.org","b":"max%2540example.org","c":"max\\u0040example.org"}' },
  ],
])('keeps no secret %s', async (_, ...exchanges) => {
  for (const parts of exchanges) {
    const text = await record(parts)
    expect(text).toContain(`"url":"${origin}/v1/`)
    expect(text).not.toMatch(/hunter2|aHVudGVyM|%71%37|q7Zk2m|5mhb0V3Zr|max(?:@|%|\\\\u)/)
    for (const within of ['q7Zk2mVd91xLr0Pc', ' q7Zk2mVd91xLr0Pc', 'y q7Zk2mVd91xLr0Pc']) {
      expect(text).not.toContain(btoa(within).slice(2, 16))
    }
  }
})

test('keeps no key of letters or digits as a whole value, in later exchanges too', async () => {
  const text = await record(
    { request_headers: ['x-api-key', 'rosebud'], response: '{"a":"rosebud","b":"the rosebud"}' },
    { request: '{"password":"4711"}', response: '{"a":"4711","b":"4711 of 5","c":"rosebud"}' },
  )
  expect(text).not.toMatch(/\\"(?:rosebud|4711)\\"/)
  expect(text).toContain('the rosebud')
  expect(text).toContain('4711 of 5')
})

const sets: Parts = { response_headers: ['set-cookie', `sid=${value}; Path=/; HttpOnly`] }

test.each<[string, Parts[]]>([
  ['set by the response', [sets]],
  ['sent by the request', [{ request_headers: ['cookie', `a=1; sid=${value}`] }]],
  ['repeated in its body', [{ ...sets, response: JSON.stringify({ status: 'ready', seen: value }) }]],
  ['repeated in another header', [{ response_headers: [...sets.response_headers!, 'x-session', `s-${value}`] }]],
  [
    'sent later in a body',
    [sets, { request: JSON.stringify({ client_id: 'p', session_id: value, job_type: 'chat' }) }],
  ],
  ['sent later in the path', [sets, { path: `/v1/decisions/${value}?wait_ms=5` }]],
  ['sent later in the query', [sets, { path: `/v1/placements?sid=${value}` }]],
  ['repeated later in a body', [sets, { response: JSON.stringify({ message: `for ${value}` }) }]],
])('keeps no value of a cookie: %s', async (_, exchanges) => {
  const text = await record(...exchanges)
  expect(text).toContain(`"url":"${origin}/v1/`)
  expect(text).not.toContain(value)
})

const png = Buffer.from('89504e470d0a1a0a0000', 'hex')
const html = '<form><input name="csrf" value="hunter2"></form>'

test.each<[string, Parts, 'kept' | 'body_not_of_api']>([
  ['JSON', { response: '{"a":1}' }, 'kept'],
  ['JSON of another type', { response: '{"a":1}', response_headers: ['content-type', 'text/plain'] }, 'kept'],
  ['a text of JSON', { response: '"a"' }, 'kept'],
  ['the beginning of JSON', { response: '{"a":"b","c":' }, 'kept'],
  ['JSON behind a guard', { response: ')]}\',\n{"a":1}' }, 'kept'],
  ['JSON in a call', { response: 'render.done({"a":1});' }, 'kept'],
  ['lines of JSON', { response: '{"a":1}\n{"b":[true,null,-1.5e3]}\n' }, 'kept'],
  ['events', { response: 'event: a.b\nid: 7\n:\ndata: {"a":"b"}\n\ndata: [DONE]\n\n' }, 'kept'],
  ['a frame', { ...frame, response_headers: ['content-type', 'text/html'], response: '<p>Hi</p>' }, 'kept'],
  [
    'a script',
    { method: 'GET', path: '/v1/render.js', response_headers: ['content-type', 'text/javascript'], response: 'go()' },
    'kept',
  ],
  [
    'a picture',
    { method: 'GET', path: '/assets/a.png', response_headers: ['content-type', 'image/png'], response: png },
    'kept',
  ],
  ['HTML', { response_headers: ['content-type', 'text/html'], response: html }, 'body_not_of_api'],
  [
    'the error page of a frame',
    { ...frame, status: 502, response_headers: ['content-type', 'text/html'], response: html },
    'body_not_of_api',
  ],
  ['XML', { response: '<r><password><![CDATA[hunter2]]></password></r>' }, 'body_not_of_api'],
  ['a property list', { response: '<key>password</key><string>hunter2</string>' }, 'body_not_of_api'],
  ['YAML', { response: 'db:\n  password:\n    hunter2\n' }, 'body_not_of_api'],
  ['YAML in braces', { response: '{password: hunter2, user: bob}' }, 'body_not_of_api'],
  ['a dictionary of Python', { response: "{'password': 'hunter2'}" }, 'body_not_of_api'],
  ['a log', { response: '[2026-01-01] failed, password: hunter2' }, 'body_not_of_api'],
  ['properties', { response: '[client]\r\nsecret = hunter2\r\n' }, 'body_not_of_api'],
  ['a form', { response: 'user=bob&password=hunter2' }, 'body_not_of_api'],
  ['a table', { response: 'user,password\nbob,hunter2\n' }, 'body_not_of_api'],
  ['parts', { response: '--b\r\nname="password"\r\n\r\nhunter2\r\n--b--' }, 'body_not_of_api'],
  ['a text in events', { response: 'data: password hunter2\n\n' }, 'body_not_of_api'],
  ['an open string', { response: '{"password":"hunter2' }, 'body_not_of_api'],
  ['a text behind JSON', { response: '{"a":1} password=hunter2' }, 'body_not_of_api'],
  ['bytes', { response_headers: ['content-type', 'application/octet-stream'], response: 'hunter2' }, 'body_not_of_api'],
  [
    'what is no picture',
    { response_headers: ['content-type', 'image/png'], response: '{"a":"hunter2"}' },
    'body_not_of_api',
  ],
  ['a picture of another type', { response_headers: ['content-type', 'image/gif'], response: png }, 'body_not_of_api'],
])('the body of %s is %s', async (_, parts, expected) => {
  const { entry, left_out } = await recordEntry(passed(parts), origin, createSecretMemory(Buffer.alloc(32)))
  expect(left_out ?? 'kept').toBe(expected)
  const { content } = entry.response
  expect(content.text !== undefined).toBe(expected === 'kept')
  expect([content.size, content.mimeType]).toEqual([
    Buffer.byteLength(parts.response!),
    parts.response_headers?.[1] ?? 'application/json',
  ])
  expect(JSON.stringify(entry)).not.toContain('hunter2')
})

test('headers that say who a user is are not kept, nor what repeats them; others are', async () => {
  const plain = ['x-app-version', '1.2.3.4', 'x-csl-wrapper-version', '4.1.0.2', 'x-trace', 'trace-1', 'x-plan', 'user']
  const guilty = [
    ...[
      'x-cluster-client-ip',
      '203.0.113.77',
      'x-envoy-external-address',
      '203.0.113.77:80, 10.0.0.1',
      'x-b',
      '2001:db8::1',
    ],
    ...['cf-ipcity', 'hunter2-d', 'cf-iplatitude', 'hunter2-e', 'x-appengine-citylatlong', 'hunter2-f'],
    ...[
      'cf-iplongitude',
      'hunter2-g',
      'cf-ja3-hash',
      'hunter2-h',
      'cf-ja4',
      'hunter2-i',
      'x-appengine-city',
      'hunter2',
    ],
    ...['x-device-id', 'hunter2-a', 'x-remote-user', 'hunter2-b', 'x-forwarded-user', 'hunter2-c'],
  ]
  const text = await record(
    { request_headers: plain, response_headers: plain },
    { request_headers: guilty, response_headers: guilty, response: '{"client":"203.0.113.77","for":"hunter2-b"}' },
  )
  for (const each of plain.filter((_, index) => index % 2 === 1)) expect(text.split(`"${each}"`)).toHaveLength(3)
  expect(text).not.toMatch(/203\.0\.113|2001:db8|hunter2/)
})

test('addresses in headers have no tokens', async () => {
  const kept = '</v1/render.js?v=12>; rel=preload'
  const text = await record({
    path: `/assets/a.png?w=300&pin=483920`,
    method: 'GET',
    response_headers: [
      ...['link', `${kept}, <https://x.example/${value}/y?sig=${value}>; rel=next`],
      ...['location', `https://x.example/reset/${value}?a=1`],
    ],
  })
  expect(text).toContain(kept)
  expect(text).toContain('/assets/a.png?w=300&pin=[removed]')
  expect(text).toContain('https://x.example/reset/[removed]?a=[removed]')
  expect(text).not.toMatch(new RegExp(value))
})

test('a token of a known shape in a path is not kept; identifiers are', async () => {
  const kept = await record(
    { path: '/v1/decisions/dec_9f8e7d6c5b4a' },
    { path: `/v1/decisions/ghp_${value}${value}abcd` },
  )
  expect(kept).toContain('/v1/decisions/dec_9f8e7d6c5b4a')
  expect(kept).not.toContain(value)
  expect(await record({ path: `/v1/decisions/d?ghp_${value}${value}abcd=1` })).not.toContain(value)
})
