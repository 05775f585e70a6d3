/** What the guard takes for a production key, and what passes. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { findKeyReason } from './key-guard.ts'

const key = 'sk_live_q7Zk2mVd91xLr0Pc'
const escapeLines = (before: string, after = '') => key.replaceAll('_', `${before}5f${after}`)

test.each([
  '/v1/decisions/dec_9f8e7d6c5b4a/assets/H4sIAAAAAAAA?page=50&b=41',
  '{"type":"Buffer","data":[115,107,95,116,101,115,116,95]}',
  'sk=5Ftest=5Fq7Zk2mVd91xLr0Pc, 1+AF8-2',
  'a{content:"\\5f live"}&#000000115;k',
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
  ['gzip as a part of a path', `/v1/decisions/${gzipSync(key).toString('base64')}`],
  ['zlib as a part of a path', `/v1/render/${deflateSync(key).toString('base64url')}/x`],
  ['Brotli as a part of a path', `/v1/decisions/${brotliCompressSync(key).toString('base64url')}`],
])('refuses a key in %s', (_, text) => {
  expect(findKeyReason(text)).toBe('live_key')
})
