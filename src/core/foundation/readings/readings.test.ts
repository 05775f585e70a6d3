/** Every encoding, and every pair of two, is undone; what is no encoding of a text has no reading that says something. */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { escapeHtml } from '../html.ts'
import { createReadingBudget, readAll, replaceEncoded } from './readings.ts'

const text = '{"password":"correct horse 4711 battery"}'
const toDigits = (bytes: Buffer, before: string, after = '') =>
  bytes.toString('hex').replace(/../g, `${before}$&${after}`)

/** What turns bytes into text, then what turns text into bytes. */
const toText: [string, (bytes: Buffer) => string][] = [
  ['base64', (bytes) => bytes.toString('base64')],
  ['base64 in lines', (bytes) => bytes.toString('base64').replace(/.{19}/g, '$&\r\n  ')],
  ['base64 for addresses', (bytes) => bytes.toString('base64url')],
  ['base64 behind a word', (bytes) => `id/${bytes.toString('base64')}`],
  ['hexadecimal digits', (bytes) => bytes.toString('hex')],
  ['percent signs', (bytes) => toDigits(bytes, '%')],
  ['escapes of scripts', (bytes) => toDigits(bytes, '\\x')],
  ['escapes of JSON', (bytes) => toDigits(bytes, '\\u00')],
  ['entities', (bytes) => toDigits(bytes, '&#x', ';')],
]
const toBytes: [string, (text: string) => Buffer][] = [
  ['nothing', (inner) => Buffer.from(inner)],
  ['a string of JSON', (inner) => Buffer.from(JSON.stringify(inner))],
  ['an attribute', (inner) => Buffer.from(escapeHtml(inner))],
  ['UTF-16', (inner) => Buffer.from(inner, 'utf16le')],
  ['UTF-16 of the other order', (inner) => Buffer.from(inner, 'utf16le').swap16()],
  ['gzip', (inner) => gzipSync(inner)],
  ['zlib', (inner) => deflateSync(inner)],
  ['zlib with a small window', (inner) => deflateSync(inner, { windowBits: 9 })],
  ['deflate', (inner) => deflateRawSync(inner)],
  ['deflate of fixed codes', (inner) => deflateRawSync(inner, { strategy: constants.Z_FIXED })],
  ['Brotli', (inner) => brotliCompressSync(inner)],
  ['zstd', (inner) => zstdCompressSync(inner)],
  [
    'other bytes',
    (inner) => Buffer.concat([Buffer.from([0x82, 0, 0xd9, inner.length]), Buffer.from(inner), Buffer.from([0xff])]),
  ],
]
const kinds = toText.flatMap(([outer, write]) =>
  toBytes.map(([inner, pack]): [string, (plain: string) => string] => [
    `${outer} of ${inner}`,
    (plain) => write(pack(plain)),
  ]),
)

function read(encoded: string): string[] {
  const budget = createReadingBudget(encoded.length)
  const readings = [...readAll(encoded, budget)]
  expect(budget.left).toBeGreaterThan(0)
  return readings
}

test.each(kinds)('%s', (_, encode) => {
  expect(read(encode(text)).some((reading) => reading.includes(text))).toBe(true)
})

test.each([
  ['a decimal entity of nine digits', '&#000000095;'],
  ['a hexadecimal entity with zeros', '&#x000000005f;'],
  ['braces with zeros', '\\u{0000005f}'],
  ['a percent sign and four digits', '%u005f'],
  ['an escape of CSS', '\\5f '],
  ['an escape of CSS with six digits', '\\00005f'],
  ['an escape of eight digits', '\\U0000005f'],
])('%s is read as its character', (_, code) => {
  expect(read(`a${code}live${code}b`)).toContain('a_live_b')
})

test.each([gzipSync, deflateSync, deflateRawSync, brotliCompressSync])(
  'base64 of compressed data as a part of a path: %o',
  (pack) => {
    for (const before of ['/v1/decisions/', '/v1/render/', '/a/bc/def/ghij/', 'v1/x/'])
      expect(read(before + pack(Buffer.from(text)).toString('base64url'))).toContain(text)
  },
)

test('a text is read once, and not for each kind of piece that it is', () => {
  const seen: string[] = []
  replaceEncoded(
    '%c3%a9'.repeat(100),
    (reading) => {
      seen.push(reading)
      return null
    },
    true,
  )
  // As a text, and as bytes.
  expect(seen).toEqual(['é'.repeat(100), 'é'.repeat(100)])
})

test('16 MB of other bytes are read', () => {
  const long = 'a.'.repeat(8_000_000)
  const [, reading] = readAll(`${long}%e9`, createReadingBudget(long.length))
  expect(reading).toBe(long)
})

test('each of them within each other', () => {
  const missing = kinds.flatMap(([outer, encode]) =>
    toText.flatMap(([inner, write]) => {
      const found = read(encode(write(Buffer.from(text)))).some((reading) => reading.includes(text))
      return found ? [] : [`${inner} in ${outer}`]
    }),
  )
  expect(missing).toEqual([])
})

test.each([
  'pl_9f8e7d6c5b4a3928',
  'a81bc81b-dead-4e5d-abff-90865d1e13b1',
  'sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'document.documentElement.getBoundingClientRect',
  'https://cdn.example/c/logo@2x.png?w=300&h=250',
  'A text of more than sixteen letters, and nothing else.',
  '.icon::before{content:"\\f101"}.a\\:b,.w-1\\/2{color:#0a0a0a}',
  '/v1/decisions/banner-300x250-home-2/assets/9f8e7d6c5b4a3928',
])('%s says nothing else', (plain) => {
  expect(read(plain).filter((reading) => reading !== plain && /[\w"]{9,}/.test(reading))).toEqual([])
})
