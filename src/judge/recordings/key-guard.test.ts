/** What the guard takes for a production key, and what passes. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findKeyReason } from './key-guard.ts'

const key = 'sk_live_q7Zk2mVd91xLr0Pc'
/** A text of some length, as other programs compress it. */
const packed = [
  ['xz', '/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAEYWJjZGUAAAAA'],
  ['bzip2', 'QlpoOTFBWSZTWYb8JhoAAACBgAAAABAALjAgADDNNBppoMINuLuSKcKEhDfhMNA='],
  ['LZMA', 'XQAAgAAFAAAAAAAAAAAwmIhMn4P//+'],
  ['LZMA of an unknown size', 'XQAAgAD//////////wAwmIhMn4P//+'],
  ['lzip', 'TFpJUAEMADCYiEyfg///'],
  ['LZ4', 'BCJNGGRApwUAAIBhYmNkZQAAAAA='],
  ['7z', 'N3q8ryccAAR5MJiITJ+D'],
  ['rar', 'UmFyIRoHAQAwmIhMn4P/'],
]

/** Returns texts with names, each of at most 23 bytes, as latin1. */
function toCbor(texts: Record<string, string>): string {
  const items = Object.entries(texts).flat()
  return (
    String.fromCharCode(0xa0 + items.length / 2) +
    items.map((each) => String.fromCharCode(0x60 + each.length) + each).join('')
  )
}

const escapeLines = (before: string, after = '') => key.replaceAll('_', `${before}5f${after}`)

test.each([
  '/v1/decisions/dec_9f8e7d6c5b4a/assets/H4sIAAAAAAAA?page=50&b=41',
  '{"type":"Buffer","data":[115,107,95,116,101,115,116,95]}',
  'sk=5Ftest=5Fq7Zk2mVd91xLr0Pc, 1+AF8-2',
  'a{content:"\\5f live"}&#000000115;k',
  '{"a":"task_live_1","b":"risk_live_9f8e7d6c5b4a39281706","c":"disk_live_usage","d":"mask_live_a81bc81b-dead-4e5d-abff-90865d1e13b1"}',
  ...[0, 2].map((space) =>
    JSON.stringify([Buffer.from('a task_live_1'), new Uint8Array(Buffer.from('task_live_1'))], null, space),
  ),
  ...['kiosk_live_counter', 'webkiosk_live_counter', 'psk_live_12345678', 'id: tusk_live_9f8e7d6c5b4a3'],
  Buffer.from('\x82\xa2id\xb2kiosk_live_counter\xa3key\xb1psk_live_12345678', 'latin1').toString('latin1'),
  'use sk_live_..., sk_live_* or <sk_live_>; SK_LIVE_KEY is its variable; sk_live_redacted',
  btoa('{"a":"task_live_1"}').replaceAll('=', ''),
  '{"note":"BZh91AY is how bzip2 begins, LZIP and Rar! others"}',
  `data:image/png;base64,${Buffer.from(Array.from({ length: 3_000 }, (_, index) => (index * 7_919) % 251)).toString('base64')}`,
])('lets pass %s', (text) => {
  expect(findKeyReason(text)).toBeNull()
})

test.each([
  ['decimal entities of nine digits', key.replace(/./g, (each) => `&#${String(each.charCodeAt(0)).padStart(9, '0')};`)],
  ['braces with zeros', escapeLines('\\u{000000', '}')],
  ['eight digits', escapeLines('\\U000000')],
  ['percent signs with four digits', escapeLines('%u00')],
  ['escapes of CSS', escapeLines('\\', ' ')],
  ['quoted-printable', escapeLines('=').toUpperCase().replace('SK=5FLIVE', 'sk=5Fli=\r\nve')],
  ['UTF-7', key.replaceAll('_', '+AF8-')],
  ['the numbers of its bytes', JSON.stringify(Buffer.from(key))],
  ['the numbers of its bytes, in lines', JSON.stringify({ a: { k: Buffer.from(key) } }, null, 2)],
  ['the numbers of its bytes, with their indexes', JSON.stringify(new Uint8Array(Buffer.from(key)))],
  ['these in lines', JSON.stringify({ k: new Uint8Array(Buffer.from(`a ${key}`)) }, null, '\t')],
  ['the numbers of its bytes, apart', [...Buffer.from(key)].join(',  ')],
  ...['sk_live_1234567', key.slice(0, 23)].map((short) => [
    'a short text of CBOR',
    toCbor({ id: 'x', k: short, z: 'y' }),
  ]),
  ['a word of its own behind an escaped line break', JSON.stringify(`a task\n${key}`)],
  ['a field whose length is a letter', Buffer.from(`\xd9P${key.padEnd(80, 'x')}`, 'latin1').toString('latin1')],
  ['hexadecimal digits behind another digit', `{"id":"a${Buffer.from(key).toString('hex')}"}`],
  ['gzip as a part of a path', `/v1/decisions/${gzipSync(key).toString('base64')}`],
  ['zlib as a part of a path', `/v1/render/${deflateSync(key).toString('base64url')}/x`],
  ['Brotli as a part of a path', `/v1/decisions/${brotliCompressSync(key).toString('base64url')}`],
])('refuses a key in %s', (_, text) => {
  expect(findKeyReason(text)).toBe('live_key')
})

test.each(packed)('cannot look into %s, as it is and in an encoding', (_, base64) => {
  for (const text of [
    Buffer.from(base64, 'base64').toString('latin1'),
    JSON.stringify({ a: base64 }),
    `a=${encodeURIComponent(base64)}`,
  ]) {
    expect(findKeyReason(text)).toBe('opaque')
  }
})
