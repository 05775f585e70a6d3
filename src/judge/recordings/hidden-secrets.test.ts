/** Every kind of secret, in every encoding and every pair of two, in every place of an exchange: none is in the entry. */
import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  inflateRawSync,
  unzipSync,
} from 'node:zlib'
import { expect, test } from 'vitest'
import { createSecretMemory } from '#contract/recordings/secret-memory.ts'
import { escapeHtml } from '#foundation/html.ts'
import { createCaptures } from './capture.ts'
import type { PassedExchange } from './exchange.ts'
import { recordEntry } from './recorded-entry.ts'

/** A text with a secret. The mark is what is looked for. */
interface Kind {
  name: string
  text: string
  mark: string
}

const own = 'q7Zk_2mVd91xLr0Pc-aaB4'
const short = 'hunter2w'
const id = 'svc-client-4711'
const authentication = ['authorization', `Basic ${btoa(`${id}:Vb7~kk29`)}`, 'x-api-key', short, 'x-auth-token', own]
const kinds: Kind[] = [
  { name: 'the own credential', text: own, mark: 'mVd91xLr' },
  { name: 'the own credential in a text', text: `{"a":"it is ${own}, then"}`, mark: 'mVd91xLr' },
  { name: 'a short one', text: short, mark: short },
  { name: 'the password of basic authentication', text: `for Vb7~kk29 now`, mark: 'Vb7~kk29' },
  { name: 'its user', text: `{"user":"${id}"}`, mark: 'client-4711' },
  { name: 'a field', text: '{"password":"rosebud 1941"}', mark: 'rosebud' },
  { name: 'a field within others', text: '{"a":{"clientSecret":{"value":"rosebud-1941-x"}},"b":[1]}', mark: 'rosebud' },
  { name: 'a dashed token', text: '{"token":"ABCD-1234-EFGH-5678"}', mark: 'EFGH' },
  { name: 'a parameter', text: 'https://h.example/?a=1&password=rosebud1941&b=2', mark: 'rosebud' },
  { name: 'a parameter with brackets', text: 'a=1&user[password]=rosebud1941&b=2', mark: 'rosebud' },
  { name: 'a parameter with an encoded name', text: 'a=1&p%61ssword=rosebud1941&b=2', mark: 'rosebud' },
  { name: 'a header as text', text: 'Host: a\r\nAuthorization: Token rosebud1941\r\nAccept: b', mark: 'rosebud' },
  { name: 'a cookie as text', text: 'Cookie: theme=rosebud1941; sid=2\nAccept: b', mark: 'rosebud' },
  { name: 'a bearer', text: 'sent with Bearer rosebud1941abcdef', mark: 'rosebud' },
  {
    name: 'a token with a blank in its header',
    text: `${Buffer.from('{ "alg": "HS256" }').toString('base64url')}.${btoa('{"sub":"rosebud"}').replaceAll('=', '')}.5mhb0V3Zr_t-1Kq9dTj2QwPz`,
    mark: '5mhb0V3Zr',
  },
  {
    name: 'a token with a line break in its header',
    text: `${Buffer.from('{\n  "typ": "JWT"\n}').toString('base64url')}.${btoa('{"sub":"rosebud"}').replaceAll('=', '')}.5mhb0V3Zr_t-1Kq9dTj2QwPz`,
    mark: '5mhb0V3Zr',
  },
  { name: 'a form of markup', text: '<input type=password value="rosebud 1941">', mark: 'rosebud' },
]

const digits = (text: string, before: string, after = '') =>
  Buffer.from(text).toString('hex').replace(/../g, `${before}$&${after}`)
const base64 = (bytes: Buffer) => bytes.toString('base64')
type Encoding = [name: string, encode: (text: string) => string]
const encodings: Encoding[] = [
  ['percent signs', (text) => digits(text, '%')],
  ['some percent signs', (text) => text.replace(/[^a-z0-9]|[qhVpt]/g, (each) => digits(each, '%'))],
  ['a part of an address', encodeURIComponent],
  ['escapes of JSON', (text) => digits(text, '\\u00')],
  ['some escapes', (text) => text.replace(/[_" =]|[qhVpt]/g, (each) => digits(each, '\\u00'))],
  ['a string of JSON', (text) => JSON.stringify({ a: text })],
  ['escapes of scripts', (text) => digits(text, '\\x')],
  ['entities', (text) => digits(text, '&#x', ';')],
  ['an attribute', escapeHtml],
  ['base64', (text) => base64(Buffer.from(text))],
  ['base64 for addresses', (text) => Buffer.from(text).toString('base64url')],
  ['base64 in lines', (text) => base64(Buffer.from(`note: ${text}`)).replace(/.{20}/g, '$&\r\n')],
  ['hexadecimal digits', (text) => Buffer.from(text).toString('hex')],
  ['UTF-16 in base64', (text) => base64(Buffer.from(text, 'utf16le'))],
  ['gzip in base64', (text) => base64(gzipSync(text))],
  ['zlib in base64', (text) => base64(deflateSync(text, { windowBits: 10 }))],
  ['deflate in base64', (text) => base64(deflateRawSync(`a text in front: ${text}`))],
  ['Brotli in base64', (text) => base64(brotliCompressSync(`a text in front: ${text}`))],
]

interface Parts {
  method?: string
  path?: string
  request_headers?: string[]
  request?: string
  response_headers?: string[]
  response?: string
}

const json = ['content-type', 'application/json']
const frame: Parts = { method: 'GET', path: '/v1/render/ast_1', response_headers: ['content-type', 'text/html'] }
const script: Parts = { method: 'GET', path: '/v1/render.js', response_headers: ['content-type', 'text/javascript'] }
/** What HTTP lets a header have. */
const inHeader = (text: string) => text.replace(/[\r\n]+/g, text.includes(':') ? ' ' : '')
type Place = [name: string, put: (text: string) => Parts]
const places: Place[] = [
  ['a request header', (text) => ({ request_headers: ['x-note', inHeader(text)] })],
  ['a response header', (text) => ({ response_headers: [...json, 'server', inHeader(text)] })],
  ['a query', (text) => ({ path: `/v1/placements?note=${encodeURIComponent(text)}` })],
  ['a path', (text) => ({ method: 'GET', path: `/v1/decisions/${encodeURIComponent(text)}` })],
  [
    'a form',
    (text) => ({
      request_headers: ['content-type', 'application/x-www-form-urlencoded'],
      request: `a=${encodeURIComponent(text)}&b=2`,
      response: JSON.stringify({ seen: `a=${encodeURIComponent(text)}` }),
    }),
  ],
  [
    'parts of a form',
    (text) => ({
      request_headers: ['content-type', 'multipart/form-data; boundary=b'],
      request: `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${text}\r\n--b--`,
    }),
  ],
  ['a string of a response', (text) => ({ response: JSON.stringify({ a: [{ note: text }] }) })],
  ['the name of a field', (text) => ({ response: JSON.stringify({ [text]: 1 }) })],
  ['a string of an event', (text) => ({ response: `event: a\ndata: ${JSON.stringify({ note: text })}\n\n` })],
  [
    'the metadata of a request',
    (text) => ({
      path: '/v1/beacons',
      request: JSON.stringify({ beacon_id: 'b', asset_token: 'ast_1', event: 'click', metadata: { note: text } }),
    }),
  ],
  ['another request', (text) => ({ path: '/v1/other', request: JSON.stringify({ session_id: text, event: text }) })],
  ['an attribute', (text) => ({ ...frame, response: `<div class=a data-state="${escapeHtml(text)}">x</div>` })],
  ['a text of a page', (text) => ({ ...frame, response: `<p>${escapeHtml(text)}</p><script>go(1)</script>` })],
  ['a comment', (text) => ({ ...frame, response: `<p>a</p><!-- ${text.replaceAll('--', '-')} --><p>b</p>` })],
  ['a handler', (text) => ({ ...frame, response: `<a onclick="go(${escapeHtml(JSON.stringify(text))})">x</a>` })],
  ['a literal', (text) => ({ ...script, response: `var a=1;const b=JSON.parse(${JSON.stringify(text)});go(b)` })],
  [
    'a literal in single quotes',
    (text) => ({
      ...script,
      response: `go('${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}',2)`,
    }),
  ],
]

function toExchange(parts: Parts): PassedExchange {
  const {
    method = 'POST',
    path = '/v1/placements',
    request_headers = json,
    request = '',
    response_headers = json,
    response = '{}',
  } = parts
  const capture = (text: string) => {
    const opened = createCaptures().open(1_000_000)
    opened.add(Buffer.from(text))
    return opened
  }
  return {
    ...{ at_ms: 0, method, path, http_version: '1.1', duration_ms: 5, problem: null },
    request_headers: [...authentication, ...request_headers],
    request: capture(request),
    response: { status: 200, status_text: 'OK', wait_ms: 4, headers: response_headers, body: capture(response) },
  }
}

/** Returns whether a text has a mark once everything is decoded that can be, by other means than those of the product. */
function hasMark(text: string, mark: string, depth: number): boolean {
  if (text.replaceAll('\0', '').includes(mark)) return true
  if (depth === 0) return false
  const inner = new Set([
    text.replace(/(?:%[\da-f]{2})+/gi, (each) => Buffer.from(each.replaceAll('%', ''), 'hex').toString('latin1')),
    text.replace(/\\u00(..)|\\x(..)|&#x(..);/g, (_, ...each: string[]) =>
      String.fromCharCode(Number.parseInt(each.slice(0, 3).join(''), 16)),
    ),
    text.replace(/\\(["\\/])/g, '$1').replace(/\\[rn]/g, '\n'),
    text.replaceAll('&quot;', '"').replaceAll('&amp;', '&').replaceAll('&lt;', '<').replaceAll('&gt;', '>'),
  ])
  for (const [word] of text.replace(/[\r\n]+/g, '').matchAll(/[\w+/-]{10,}/g)) {
    for (const bytes of [Buffer.from(word, 'base64'), Buffer.from(word, 'hex')]) {
      inner.add(bytes.toString('latin1'))
      for (const unpack of [unzipSync, inflateRawSync, brotliDecompressSync]) {
        try {
          inner.add(unpack(bytes).toString('latin1'))
        } catch {
          // It is something else.
        }
      }
    }
  }
  inner.delete(text)
  return [...inner].some((each) => hasMark(each, mark, depth - 1))
}

/**
 * @param depth that of the encodings, and one for the string of JSON around them
 * @param step to take a case in so many, of every kind, encoding and place
 */
async function findLeaks(
  some: readonly Kind[],
  encoded: readonly Encoding[],
  wheres: readonly Place[],
  depth: number,
  step = 1,
): Promise<string[]> {
  const leaks: string[] = []
  let count = 0
  for (const [place, put] of wheres) {
    const usual = new Set(await recordTexts(put('x')))
    for (const [encoding, encode] of encoded) {
      count++
      for (const { name, text, mark } of some) {
        if (count++ % step !== 0) continue
        const texts = await recordTexts(put(encode(text)))
        if (texts.some((each) => !usual.has(each) && hasMark(each, mark, depth))) {
          leaks.push(`${name} in ${encoding} in ${place}`)
        }
      }
    }
  }
  return leaks
}

async function recordTexts(parts: Parts): Promise<string[]> {
  const { entry } = await recordEntry(toExchange(parts), 'https://ads.example', createSecretMemory(Buffer.alloc(32)))
  return listTexts(entry)
}

function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => [name, ...listTexts(inner)])
    : []
}

test('the search finds each of them where nothing is redacted', () => {
  for (const { text, mark } of kinds) {
    for (const [, encode] of encodings) expect(hasMark(JSON.stringify([encode(text)]), mark, 3)).toBe(true)
  }
})

const plain: Encoding = ['nothing', (text) => text]

test('in each encoding: a case in four', async () => {
  expect(await findLeaks(kinds, [plain, ...encodings], places, 2, 4)).toEqual([])
})

test('in each encoding', { tags: 'depth' }, async () => {
  expect(await findLeaks(kinds, [plain, ...encodings], places, 2)).toEqual([])
})

const someKinds = kinds.filter(({ name }) => /in a text|^a field$|encoded name/.test(name))
const somePlaces = places.filter(([name]) => /response|path|^an attribute|^a literal$/.test(name))

test.each(encodings)('in each encoding within %s', { tags: 'depth' }, async (outer, encode) => {
  const pairs = encodings.map(([inner, write]): Encoding => [`${inner} in ${outer}`, (text) => encode(write(text))])
  expect(await findLeaks(someKinds, pairs, somePlaces, 3)).toEqual([])
})

/** What stays as it is: none of these is a secret, whatever it becomes. */
test.each([
  ...['iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='],
  ...['pl_9f8e7d6c5b4a3928', 'a81bc81b-dead-4e5d-abff-90865d1e13b1', 'imp-2026-11-30-000017-a', 'turn-4711-abc'],
  'sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  ...[btoa('{"offset":100,"sort":"created_at","ids":[17,18]}'), gzipSync('{"page":2,"of":7}').toString('base64')],
  btoa('{"tokenizer":"cl100k_base","max_tokens":100,"password_required":true}'),
  'https://cdn.example/c/logo@2x.png?w=300&h=250&next=https%3A%2F%2Fshop.example%2F%3Fpage%3D2%26b%3D1',
  'max_tokens: 100, password_required: true, tokenizer: cl100k, cookie: required, key: render.viewable',
  'The hunter2win tournament: a demo of 50%25 off, "quoted" \\ and \u00e9 &amp; more.',
])('%s stays', async (text) => {
  for (const [place, put] of places.filter(([name]) => /string|attribute|literal|text of/.test(name))) {
    const parts = put(text)
    const texts = await recordTexts(parts)
    expect(texts, place).toContain(parts.response ?? JSON.stringify(JSON.parse(parts.request!)))
  }
})

test.each([
  'if(i<n&&p){p.tokens[0].raw=f.raw+p.tokens[0].raw;g()}',
  'for(i=0;i<n;i++)t.tokens[0].raw=f.raw+t.tokens[0].raw2;g()',
  'while(i<items.length) last.tokenRaw=first.raw+last.tokenRaw2; g()',
  'if(a<r.length||(x={bday:["text","search"],token:["text"]})){}',
  'if(typeof apiKey === "string"&&typeof e.accessToken!="undefined"){f("object"==typeof password)}',
  String.raw`f={letters:()=>{e??=RegExp("^(\\p{L})+$","u")},jwt:/^[A-Za-z0-9-_]+\.[A-Za-z0-9-_]*$/};for(i=0;i<n;i++)g()`,
  String.raw`f=e=>{"use strict";x={line:"\n",token:form.token4};for(i=0;i<n;i++)g()}`,
  String.raw`r=/=>|>{1,3}|\\|\u00e9/g;x={password: e.password2};for(i=0;i<n;i++)g()`,
  String.raw`f=e=>{a="\\";throw Error("Missing token: pass2it");i<n}`,
  `h={"x-api-key":\`\${config.apiKey2}\`,Authorization:\`Token \${t1.value}\`,token:\`tok_\${id4}\`};g()`,
  `h.set("authorization",\`Basic \${Buffer.from(o.auth).toString("base64")}\`);password=\`\${f(a)}\`;g()`,
])('the short script %s stays', async (code) => {
  expect(await recordTexts({ ...script, response: code })).toContain(code)
})

test('a script stays', async () => {
  const code =
    'var a=/[\\s\\x20"\']+/g,b=c?token:e.t0ken2,u="a%20b"+(d&&e%10),s=\'it\\\'s \\u2026\';fetch("/x",{headers:{Authorization:await t0ken()}});f(`a\\n`)'
  for (const parts of [
    { ...script, response: code },
    { ...frame, response: `<style>a{b:url(c%20d)}</style><script>${code}</script>` },
  ]) {
    expect(await recordTexts(parts)).toContain(parts.response)
  }
})
