/** Requests that are wrong as HTTP: their line, their head, their length, their chunks, their order. */
import type { Dice } from './dice.ts'
import type { WireCase } from './wire.ts'

const authorization = 'Authorization: Bearer sk_test_sandbox_demo'
const placement = JSON.stringify({ client_id: 'proj_demo', session_id: 'wire', job_type: 'chat' })
const routes = ['/v1/placements', '/v1/beacons', '/v1/jobs', '/v1/consent', '/v1/browser/activate', '/_sandbox/reset']

/** Cases that keep their connection open until the server ends it. There are few, since each waits for a timeout. */
export function heldCases(host: string): WireCase[] {
  const head = `POST /v1/placements HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\nContent-Type: application/json\r\n`
  return [
    hold('nothing is sent at all', ''),
    hold('a request line without an end', 'POST /v1/place'),
    hold('headers without an end', head),
    hold('a body shorter than its length', `${head}Content-Length: 500\r\n\r\n${placement}`),
    hold('a last chunk that never comes', `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"cli`),
    hold('a body that is announced and not sent', `${head}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n`),
  ]
}

export function wireCase(dice: Dice, host: string): WireCase {
  return dice.pick(makers)(dice, host)
}

const makers: ((dice: Dice, host: string) => WireCase)[] = [
  requestLine,
  oddHeader,
  oddHeader,
  oddLength,
  oddChunks,
  cutBody,
  cutBody,
  pipeline,
  oddTarget,
  oddTarget,
  mutated,
  mutated,
  mutated,
  garbage,
]

function requestLine(dice: Dice, host: string): WireCase {
  const line = dice.pick([
    'GET /v1/render.js',
    'GET  /v1/render.js HTTP/1.1',
    'GET /v1/render.js HTTP/1.1 extra',
    'GET /v1/render.js HTTP/0.9',
    'GET /v1/render.js HTTP/2.0',
    'GET /v1/render.js HTTP/1.0',
    'GET /v1/render.js HTTP/9.9',
    'GET /v1/render.js http/1.1',
    'GET /v1/render.js HTTPS/1.1',
    'get /v1/render.js HTTP/1.1',
    'G\u0000T /v1/render.js HTTP/1.1',
    ' GET /v1/render.js HTTP/1.1',
    'GET\t/v1/render.js\tHTTP/1.1',
    'GET HTTP/1.1',
    '/v1/render.js HTTP/1.1',
    'HTTP/1.1 200 OK',
    'PRI * HTTP/2.0',
    'CONNECT example.com:443 HTTP/1.1',
    'CONNECT /v1/placements HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    `${'A'.repeat(5000)} / HTTP/1.1`,
    `GET /${'a'.repeat(20_000)} HTTP/1.1`,
    `GET /v1/decisions/${'a'.repeat(2_000)} HTTP/1.1`,
    ...[
      'PUT',
      'DELETE',
      'PATCH',
      'TRACE',
      'PROPFIND',
      'MKCOL',
      'PURGE',
      'M-SEARCH',
      'QUERY',
      'BREW',
      'HEAD',
      'LINK',
    ].map((method) => `${method} ${dice.pick([...routes, '/v1/render.js', '/_sandbox/info'])} HTTP/1.1`),
  ])
  const end = dice.pick(['\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', ''])
  return idle(`request line ${line.slice(0, 60)}`, `${line}${end}Host: ${host}${end}${end}`)
}

function oddHeader(dice: Dice, host: string): WireCase {
  const header = dice.pick([
    `X-Huge: ${'h'.repeat(dice.pick([8_000, 15_000, 17_000, 70_000]))}`,
    `${'X'.repeat(17_000)}: 1`,
    Array.from({ length: dice.pick([90, 500, 3_000]) }, (_, index) => `X-${index}: 1`).join('\r\n'),
    'X-Null: a\u0000b',
    'X-Bell: a\u0007b',
    'X-Delete: a\u007fb',
    'X-Return: a\rb',
    'X-Feed: a\nb',
    'X-Folded: a\r\n b',
    'X-Folded: a\r\n\tb',
    ' X-Leading: 1',
    'X-Space : 1',
    ': no name',
    'no colon',
    'X Bad: 1',
    'X-\u00e9: 1',
    'X-Latin: \u00ff\u00fe',
    '(comment): 1',
    `Host: ${host}`,
    'Host: evil.example',
    'Host:',
    'Host: [::1',
    'Host: localhost:99999999',
    `Host: ${'h'.repeat(10_000)}`,
    `${authorization}\r\n${authorization}`,
    'Authorization: Basic c2s6',
    'Authorization: Bearer',
    'Authorization: Bearer \u00ff\u00ff',
    'Authorization: Bearer sk_test_sandbox_demo, Bearer sk_live_sandbox_demo',
    `Authorization: Bearer ${'a'.repeat(14_000)}`,
    'Content-Type: application/json\r\nContent-Type: text/plain',
    'Content-Type: application/json; charset=utf-16',
    'Content-Type: application/json; charset="',
    'Content-Type: application/jsonp',
    'Content-Type: /',
    `Content-Type: application/json; ${'a=b;'.repeat(3_000)}`,
    'Content-Encoding: gzip',
    'Content-Encoding: br, gzip',
    'Origin: http://localhost\r\nOrigin: http://evil.example',
    'Origin: \u00ff',
    'Origin: null',
    `Origin: http://${'a.'.repeat(3_000)}com`,
    'Origin: http://[::1',
    'Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAA\r\nSec-WebSocket-Version: 13',
    'Connection: upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
    'Connection: close, keep-alive',
    'Connection: content-length',
    'Expect: 100-continue',
    'Expect: 200-ok',
    'Range: bytes=0-18446744073709551615',
    'Range: bytes=-0,5-,a-b',
    'If-None-Match: *',
    'Last-Event-ID: -1',
    'Accept-Version: 99.x',
    'X-HTTP-Method-Override: DELETE',
    'X-Forwarded-Host: evil.example',
    'Sec-Fetch-Site: cross-site',
    'Access-Control-Request-Method: POST\r\nOrigin: http://evil.example',
    'Access-Control-Request-Method: POST\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Private-Network: true',
  ])
  const path = dice.pick([...routes, '/v1/render.js', '/v1/projects/proj_demo/config', '/_sandbox/info', '/_sandbox/'])
  const method = routes.includes(path) ? dice.pick(['POST', 'POST', 'OPTIONS']) : dice.pick(['GET', 'OPTIONS', 'HEAD'])
  const standard = dice.chance(0.7) ? `Host: ${host}\r\n${authorization}\r\nContent-Type: application/json\r\n` : ''
  const body = method === 'POST' ? placement : ''
  const length = body === '' ? '' : `Content-Length: ${body.length}\r\n`
  return idle(
    `header ${header.slice(0, 60)}`,
    `${method} ${path} HTTP/1.1\r\n${standard}${header}\r\n${length}\r\n${body}`,
  )
}

function oddLength(dice: Dice, host: string): WireCase {
  const length = dice.pick([
    'Content-Length: -1',
    'Content-Length: +5',
    'Content-Length: 0x10',
    'Content-Length: 1e3',
    'Content-Length: 5.0',
    'Content-Length: 5, 5',
    'Content-Length: ',
    'Content-Length: 18446744073709551616',
    'Content-Length: 99999999999999999999999999',
    'Content-Length: 9007199254740993',
    'Content-Length: 65537',
    'Content-Length: 4294967296',
    'Content-Length: 5\r\nContent-Length: 6',
    `Content-Length: ${placement.length}\r\nContent-Length: ${placement.length}`,
    `Content-Length: ${placement.length}\r\nTransfer-Encoding: chunked`,
    'Transfer-Encoding: chunked\r\nContent-Length: 4',
    'Content-Length: 0',
    `Content-Length: ${placement.length - 5}`,
  ])
  const bytes = `${post(dice, host)}${length}\r\n\r\n${placement}`
  return { name: `length ${length}`, bytes: latin1(bytes), ending: dice.pick(['idle', 'end'] as const) }
}

function oddChunks(dice: Dice, host: string): WireCase {
  const size = placement.length.toString(16)
  const chunks = dice.pick([
    `${size}\r\n${placement}\r\n0\r\n\r\n`,
    `${size};name=value\r\n${placement}\r\n0\r\nX-Trailer: 1\r\n\r\n`,
    `${size};${'x'.repeat(20_000)}\r\n${placement}\r\n0\r\n\r\n`,
    `${size}\r\n${placement}\r\n0\r\nContent-Length: 5\r\nAuthorization: Bearer x\r\n\r\n`,
    `${size}\r\n${placement}\r\n0\r\n${'X: 1\r\n'.repeat(4_000)}\r\n`,
    `${size}\r\n${placement}0\r\n\r\n`,
    `${size}\n${placement}\n0\n\n`,
    'ffffffffffffffff\r\n{}\r\n0\r\n\r\n',
    'fffffffffffffffff\r\n{}\r\n0\r\n\r\n',
    '-2\r\n{}\r\n0\r\n\r\n',
    '0x2\r\n{}\r\n0\r\n\r\n',
    'zz\r\n{}\r\n0\r\n\r\n',
    ' 2\r\n{}\r\n0\r\n\r\n',
    '2 \r\n{}\r\n0\r\n\r\n',
    '\r\n{}\r\n0\r\n\r\n',
    '0\r\n\r\n',
    '2\r\n{}\r\n',
    `${'1\r\n{\r\n'.repeat(2_000)}0\r\n\r\n`,
    `${`ff\r\n${' '.repeat(255)}\r\n`.repeat(300)}0\r\n\r\n`,
  ])
  const encoding = dice.pick([
    'chunked',
    'chunked',
    'chunked',
    'Chunked',
    'gzip, chunked',
    'chunked, gzip',
    'identity',
    'chunked, chunked',
    ' chunked',
    '"chunked"',
    'chunked\r\nTransfer-Encoding: identity',
  ])
  const bytes = `${post(dice, host)}Transfer-Encoding: ${encoding}\r\n\r\n${chunks}`
  return { name: `chunks ${encoding} ${chunks.slice(0, 40)}`, bytes: latin1(bytes), ending: dice.pick(['idle', 'end']) }
}

/** A body that ends before its length: the client closes, half-closes or resets. */
function cutBody(dice: Dice, host: string): WireCase {
  const cut = dice.below(placement.length)
  const claimed = placement.length + dice.pick([0, 1, 1_000, 60_000])
  const bytes = `${post(dice, host)}Content-Length: ${claimed}\r\n\r\n${placement.slice(0, cut)}`
  return { name: `body cut at ${cut} of ${claimed}`, bytes: latin1(bytes), ending: dice.pick(['end', 'drop'] as const) }
}

function pipeline(dice: Dice, host: string): WireCase {
  const count = dice.pick([2, 10, 40])
  const pieces = Array.from({ length: count }, () => {
    const body = dice.pick([placement, '{', '[]', placement.replace('chat', 'chats')])
    return `${post(dice, host)}Content-Length: ${body.length}\r\n\r\n${body}`
  })
  if (dice.chance(0.3)) pieces.splice(dice.below(count), 0, 'NONSENSE\r\n\r\n')
  if (dice.chance(0.2)) pieces.splice(dice.below(count), 0, '\r\n\r\n')
  return idle(`${count} in a row`, pieces.join(''))
}

function oddTarget(dice: Dice, host: string): WireCase {
  const target = dice.pick([
    '/v1/decisions/%',
    '/v1/decisions/%zz',
    '/v1/decisions/%00',
    '/v1/decisions/%c0%af',
    '/v1/decisions/%ff%fe',
    '/v1/decisions/%2e%2e%2f%2e%2e',
    '/v1/decisions/%ed%a0%80',
    '/v1/decisions/%u0041',
    '/v1/decisions/',
    '/v1/decisions//',
    '/v1/decisions/a/b',
    '/v1/decisions/..',
    '/v1/render/%',
    `/v1/render/${'%41'.repeat(2_000)}`,
    `/v1/render/ast_00000000001_${'A'.repeat(1_100)}`,
    '/v1/projects/%5f/config',
    '/v1/projects//config',
    '/v1/%70lacements',
    '/%5fsandbox/info',
    '/%5Fsandbox/requests/%',
    '/_sandbox/requests/%00',
    '/_sandbox/placements/%ff',
    '/_sandbox/../v1/placements',
    '/_sandbox/..%2f..%2fetc/passwd',
    '/assets/creatives/..%2f..%2fpackage.json/x',
    '/assets/creatives/../../package.json',
    '/assets/creatives/%2e%2e/package.json',
    '/assets/creatives/alderway-trust/%00',
    '/v1/test-assets/%',
    '/v1/test-assets/banner?width=__proto__&width=2',
    '/v1/test-assets/constructor',
    '//v1/placements',
    '///',
    '/\\v1\\placements',
    '/v1/placements#fragment',
    '/v1/placements?',
    '/v1/placements?wait_ms',
    '/v1/placements?wait_ms=1&wait_ms=2',
    '/v1/placements?wait_ms[]=1',
    '/v1/placements?wait_ms=%',
    '/v1/placements?%=%&%zz',
    '/v1/placements?__proto__=1&constructor=2',
    '/_sandbox/placements?__proto__[limit]=1',
    '/_sandbox/events?since_seq=-1',
    '/_sandbox/events?since_seq=1e999',
    '/_sandbox/events?since_seq=1&since_seq=2',
    `/_sandbox/requests?path=${'%25'.repeat(100)}`,
    `/_sandbox/placements?${'limit=1&'.repeat(1_500)}`,
    `/_sandbox/placements?${Array.from({ length: 1_500 }, (_, index) => `a${index}=1`).join('&')}`,
    `http://${host}/v1/render.js`,
    `http://evil.example/v1/render.js`,
    `http://${host}/_sandbox/info`,
    'evil.example:80',
    '*',
    'v1/placements',
    '/v1/pla\u00e9cements',
    '/v1/render/\u0001',
    '/v1/render/a b',
    '?',
    '#',
    '/;/../v1/placements',
  ])
  const method = dice.pick(['GET', 'GET', 'HEAD', 'POST', 'OPTIONS'])
  const length = method === 'POST' ? `Content-Length: ${placement.length}\r\n` : ''
  const body = method === 'POST' ? placement : ''
  const head = `Host: ${host}\r\n${authorization}\r\nContent-Type: application/json\r\n`
  return idle(`${method} ${target.slice(0, 60)}`, `${method} ${target} HTTP/1.1\r\n${head}${length}\r\n${body}`)
}

/** A good request with a few bytes flipped, doubled or gone. */
function mutated(dice: Dice, host: string): WireCase {
  const bytes = [...latin1(`${post(dice, host)}Content-Length: ${placement.length}\r\n\r\n${placement}`)]
  const changes = 1 + dice.below(4)
  const where: number[] = []
  for (let change = 0; change < changes; change++) {
    const index = dice.below(bytes.length)
    where.push(index)
    switch (dice.below(3)) {
      case 0:
        bytes[index] = dice.below(256)
        break
      case 1:
        bytes.splice(index, 0, dice.below(256))
        break
      default:
        bytes.splice(index, 1)
    }
  }
  return {
    name: `changed at ${where.join(', ')}`,
    bytes: Buffer.from(bytes),
    ending: dice.pick(['idle', 'end'] as const),
  }
}

function garbage(dice: Dice): WireCase {
  const tlsHello = Buffer.from('16030100c8010000c40303', 'hex')
  const noise = Buffer.from(Array.from({ length: dice.pick([1, 10, 500, 20_000]) }, () => dice.below(256)))
  const bytes = dice.pick([
    noise,
    Buffer.concat([tlsHello, noise]),
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from('\r\n\r\n\r\n\r\n'),
    Buffer.from('\u0000'.repeat(1_000)),
    Buffer.from('HELO localhost\r\n'),
    Buffer.from('*1\r\n$4\r\nPING\r\n'),
  ])
  return { name: `${bytes.length} bytes of noise`, bytes, ending: dice.pick(['idle', 'end'] as const) }
}

function post(dice: Dice, host: string): string {
  return `POST ${dice.pick(routes)} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\nContent-Type: application/json\r\n`
}

function idle(name: string, text: string): WireCase {
  return { name, bytes: latin1(text), ending: 'idle' }
}

function hold(name: string, text: string): WireCase {
  return { name, bytes: latin1(text), ending: 'hold' }
}

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}
