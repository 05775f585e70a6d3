/** Well-formed HTTP around an invalid request: its body, its fields, its headers, its credential or its path. */
import { gzipSync } from 'node:zlib'
import type { Dice } from './dice.ts'
import { mutate, oddValue, toLoose, write } from './loose-json.ts'
import type { Known, Sample } from './requests.ts'

export interface Malformed {
  name: string
  sample: Sample
  /** What the body was before it was made wrong. */
  good: object
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer | undefined
}

export function malformed(dice: Dice, sample: Sample, known: Known): Malformed {
  const good = sample.body?.() ?? {}
  const request: Malformed = {
    name: '',
    sample,
    good,
    method: sample.method,
    path: sample.path,
    headers: { ...sample.headers },
    body: sample.body === undefined ? undefined : Buffer.from(JSON.stringify(good)),
  }
  const changes = sample.body === undefined ? [oddQuery, oddQuery, oddMethod, oddHeader, oddCredential] : bodyChanges
  const names = []
  for (let count = dice.chance(0.2) ? 2 : 1; count > 0; count--) names.push(dice.pick(changes)(dice, request, known))
  if (isReset(request)) request.body = Buffer.from('[]')
  request.name = `${request.method} ${request.path.slice(0, 80)}: ${names.join(' and ')}`
  return request
}

/** A reset that is well-formed would take away what the other requests are about: reset.test.ts has those. */
function isReset({ method, path, body = Buffer.of() }: Malformed): boolean {
  return method === 'POST' && path.startsWith('/_sandbox/reset') && /^(\s*|\{\s*\})$/.test(body.toString())
}

type Change = (dice: Dice, request: Malformed, known: Known) => string

const bodyChanges: Change[] = [
  ...Array.from({ length: 12 }, () => oddMember),
  oddBody,
  oddBody,
  oddBytes,
  oddBytes,
  oddHeader,
  oddCredential,
  oddMethod,
  oddQuery,
]

function oddMember(dice: Dice, request: Malformed): string {
  let loose = toLoose(request.good)
  for (let count = dice.pick([1, 1, 1, 2, 5]); count > 0; count--) loose = mutate(dice, loose)
  const text = write(loose)
  request.body = Buffer.from(text)
  return `body ${text.slice(0, 600)}`
}

function oddBody(dice: Dice, request: Malformed): string {
  const good = request.body?.toString() ?? '{}'
  const text = dice.pick([
    '',
    ' ',
    '\n\n',
    '{',
    '}',
    '[]',
    '[{}]',
    `[${good}]`,
    'null',
    '"text"',
    '0',
    good.slice(0, dice.below(good.length)),
    `${good}${good}`,
    `${good},`,
    `${good}x`,
    good.replace('}', ',}'),
    good.replaceAll('"', "'"),
    `/* comment */${good}`,
    `while(1);${good}`,
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    '['.repeat(60_000),
    `${'{"a":'.repeat(12_000)}1`,
    `{"client_id":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
    `{"prompt":"${'a'.repeat(dice.pick([7_000, 60_000, 70_000, 1_000_000]))}"}`,
    `{${Array.from({ length: 4_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
    `{"metadata":{${Array.from({ length: 700 }, (_, index) => `"${index}":{}`).join(',')}}}`,
    `{"a":${'9'.repeat(40_000)}}`,
    `{"a":${write(oddValue(dice))}}`,
    'publishable_key=pk_test_sandbox_demo',
    '<xml/>',
  ])
  request.body = Buffer.from(text)
  return `body ${text.slice(0, 80)}`
}

function oddBytes(dice: Dice, request: Malformed): string {
  const good = request.body ?? Buffer.from('{}')
  const text = good.toString()
  switch (dice.below(8)) {
    case 0:
      request.body = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), good])
      return 'a byte order mark'
    case 1:
      request.body = Buffer.from(text, 'utf16le')
      return 'UTF-16'
    case 2:
      request.body = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
      return 'UTF-16 with a mark'
    case 3:
      request.body = gzipSync(good)
      request.headers['content-encoding'] = dice.pick(['gzip', 'br', 'deflate', 'zstd', 'x', 'gzip, gzip'])
      return 'compressed'
    case 4:
      request.body = gzipSync(good)
      return 'compressed without saying so'
    case 5: {
      const bad = dice.pick(['ff', 'c0af', 'eda080', 'f8888080', 'e28228', '80', 'f4908080'])
      const index = 1 + dice.below(good.length - 1)
      request.body = Buffer.concat([good.subarray(0, index), Buffer.from(bad, 'hex'), good.subarray(index)])
      return `invalid UTF-8 at ${index}`
    }
    case 6: {
      const index = dice.below(good.length)
      const changed = Buffer.from(good)
      changed[index] = dice.below(256)
      request.body = changed
      return `byte ${index} is ${changed[index]}`
    }
    default:
      request.body = Buffer.from(Array.from({ length: 1 + dice.below(2_000) }, () => dice.below(256)))
      return 'noise'
  }
}

function oddHeader(dice: Dice, request: Malformed, known: Known): string {
  const [name, value] = dice.pick<readonly [string, string | null]>([
    ['content-type', null],
    ['content-type', ''],
    ['content-type', 'text/plain'],
    ['content-type', 'application/json, application/json'],
    ['content-type', 'application/json;'],
    ['content-type', 'application/json; charset=utf-16'],
    ['content-type', 'APPLICATION/JSON'],
    ['content-type', 'application/vnd.api+json'],
    ['content-type', 'application/x-www-form-urlencoded'],
    ['content-type', 'multipart/form-data; boundary=x'],
    ['content-type', 'application'],
    ['content-type', '\u00ff'],
    ['content-type', `application/json${' '.repeat(5_000)}`],
    ['origin', 'null'],
    ['origin', known.origin],
    ['origin', 'https://evil.example'],
    ['origin', 'http://localhost:3000/path'],
    ['origin', 'http://user@localhost:3000'],
    ['origin', 'http://LOCALHOST:80'],
    ['origin', 'file://'],
    ['origin', ''],
    ['sec-fetch-site', 'cross-site'],
    ['sec-fetch-site', 'same-origin'],
    ['sec-fetch-site', 'nonsense'],
    ['host', 'evil.example'],
    ['host', ''],
    ['host', 'localhost'],
    ['host', '[::1]:1'],
    ['host', '127.0.0.1.evil.example'],
    ['x-sandbox-token', 'sbx_guess'],
    ['accept-version', '2.0.0'],
    ['x-http-method-override', 'DELETE'],
    ['range', 'bytes=5-1'],
    ['range', 'bytes=0-0'],
    ['range', 'bytes=999999999-'],
    ['if-none-match', '*'],
    ['last-event-id', 'abc'],
    ['x-long', 'v'.repeat(12_000)],
  ])
  if (value === null) delete request.headers[name]
  else request.headers[name] = value
  return `${name}: ${value?.slice(0, 60)}`
}

function oddCredential(dice: Dice, request: Malformed, known: Known): string {
  const token = dice.pick([
    'sk_test_sandbox_demo',
    'sk_live_sandbox_demo',
    'sk_test_sandbox_other',
    'sk_test_sandbox_strict',
    'sk_test_unknown',
    'sk_',
    'pk_test_sandbox_demo',
    'pk_live_none',
    known.activation_token,
    known.beacon_token,
    known.asset_token,
    known.asset_token.replace(/.$/, 'x'),
    known.activation_token.replace(/.$/, '.'),
    'at_00000000001_',
    'bt_zzzzzzzzzzz_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    'ast_',
    known.slot_id,
    'null',
    '__proto__',
    'a'.repeat(10_000),
    '',
  ])
  const scheme = dice.pick(['Bearer ', 'Bearer ', 'Bearer ', 'bearer ', 'Basic ', 'Bearer  ', '', 'Bearer,'])
  const place = dice.pick(['authorization', 'authorization', 'path', 'key', 'asset', 'none'])
  if (place === 'none') delete request.headers.authorization
  else if (place === 'path')
    request.path = request.path.replace(/(slot|ast|req|proj)_[^/?]+/, encodeURIComponent(token))
  else if (place === 'authorization') request.headers.authorization = `${scheme}${token}`
  else if (request.body !== undefined) {
    const member = place === 'key' ? 'publishable_key' : 'asset_token'
    request.body = Buffer.from(JSON.stringify({ ...request.good, [member]: token }))
  }
  return `${place} ${scheme}${token.slice(0, 80)}`
}

function oddMethod(dice: Dice, request: Malformed): string {
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'SEARCH']
  request.method = dice.pick(methods)
  if (['GET', 'HEAD', 'TRACE'].includes(request.method) && dice.chance(0.8)) request.body = undefined
  return `method ${request.method}`
}

function oddQuery(dice: Dice, request: Malformed): string {
  const value = dice.pick([
    '',
    '0',
    '-1',
    '1.5',
    '1e999',
    '1e2',
    '0x10',
    ' 5 ',
    'NaN',
    'null',
    'true',
    '99999999999999999999',
    '9007199254740993',
    '1001',
    '%00',
    '%ff',
    '%ed%a0%80',
    '%F0%9F%98%80',
    '%27%20OR%201%3D1--',
    '__proto__',
    'zzzzzzzzzzz',
    '00000000000',
    'slot_zzzzzzzzzzz',
    '999999999d',
    '9999999999999999',
    '10m',
    'a'.repeat(3_000),
    'banner,clip',
    'beacon.*,*',
  ])
  const name = dice.pick(queryNames)
  const [path, query = ''] = request.path.split('?') as [string, string?]
  const members = query === '' ? [] : query.split('&')
  switch (dice.below(4)) {
    case 0:
      request.path = `${path}?${name}=${value}`
      break
    case 1:
      request.path = `${path}?${[...members, `${name}=${value}`].join('&')}`
      break
    case 2:
      request.path = `${path}?${members.map((member) => `${member.split('=')[0]}=${value}`).join('&')}`
      break
    default:
      request.path = `${path.replace(/[^/]+$/, encodeURIComponent(decodeURIComponent(safe(value))))}?${query}`
  }
  return `query ${name}=${value.slice(0, 40)}`
}

function safe(value: string): string {
  return /%(00|ff|ed)/.test(value) ? 'a%2Fb' : value
}

const queryNames = [
  'wait_ms',
  'limit',
  'cursor',
  'since',
  'since_seq',
  'slot_id',
  'client_id',
  'session_id',
  'format',
  'fill',
  'event',
  'verdict',
  'method',
  'path',
  'status',
  'reason',
  'type',
  'width',
  'duration_ms',
  '__proto__',
  'constructor',
  'wait_ms[]',
  'wait_ms[a]',
  '%00',
]
