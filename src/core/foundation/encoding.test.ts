import { expect, test } from 'vitest'
import { decodeLoosely, decodeText, EncodingError, findInvalidUtf8, refuseLongText } from './encoding.ts'

const text = 'tea ☕ 🫖\r\nsecond "line"\n'
const swapped = (value: string) => Buffer.from(value, 'utf16le').swap16()

test.each([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
  ['UTF-16 LE with a byte order mark', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16 BE with a byte order mark', swapped(`\ufeff${text}`)],
])('%s is read, without its mark', (_, bytes) => {
  expect(decodeText(bytes)).toBe(text)
})

test('a text for a search has every character that is one', () => {
  const latin1 = Buffer.from('a\xe9sk_test_1', 'latin1')
  expect(decodeLoosely(Buffer.from(`\ufeff${text}`, 'utf16le'))).toBe(text)
  expect(decodeLoosely(latin1)).toBe('a\ufffdsk_test_1')
  expect(decodeLoosely(Buffer.from('sk_test_1\0'))).toBe('sk_test_1\0')
})

test('a text that no string can hold is refused before it is read', () => {
  refuseLongText(0x1fffffe8)
  expect(() => refuseLongText(600 * 1_048_576)).toThrow('It is too long, 600 MB of at most 512')
})

test('an empty file, and only a mark, are empty text', () => {
  for (const bytes of ['', '\ufeff'].flatMap((value) => [Buffer.from(value), Buffer.from(value, 'utf16le')]))
    expect(decodeText(bytes)).toBe('')
})

test.each<[string, Buffer, offset: number, line: number, what: RegExp]>([
  ['a byte of Latin-1', Buffer.from('a\nb\xe9c', 'latin1'), 3, 2, /not UTF-8.*0xe9/],
  ['the end within a character', Buffer.from([0x61, 0xef, 0xbf]), 3, 1, /ends within a character/],
  ['the end within another character', Buffer.from([0x61, 0xe2, 0x82]), 3, 1, /ends within a character/],
  ['a byte that begins as a replacement does', Buffer.from([0x61, 0xef, 0x62]), 1, 1, /0xef/],
  ['a byte after a replacement', Buffer.from([0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd, 0xe9, 0x62]), 6, 1, /0xe9/],
  ['half a surrogate pair in UTF-8', Buffer.from([0x61, 0xed, 0xa0, 0x80]), 1, 1, /0xed/],
  ['UTF-16 without a mark', Buffer.from('a\n', 'utf16le'), 1, 1, /without a byte order mark/],
  ['a zero byte', Buffer.from('a\n\0'), 2, 2, /zero byte/],
  ['half a pair in UTF-16', Buffer.from('\ufeffa\n\ud800b', 'utf16le'), 6, 2, /half a character/],
  ['half a pair in UTF-16 BE', swapped('\ufeffa\n\udc00'), 6, 2, /half a character/],
  ['an odd byte of UTF-16', Buffer.from([0xff, 0xfe, 0x61, 0, 0x62]), 4, 1, /half a character/],
])('%s is refused with its offset and line', (_, bytes, offset, line, what) => {
  let error: unknown
  try {
    decodeText(bytes)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toBeInstanceOf(EncodingError)
  expect(error).toMatchObject({ offset, line, message: expect.stringMatching(what) })
})

test('a wrong byte is found wherever it is', () => {
  const bytes = Buffer.from('tea ☕ 🫖 \ufffd!')
  expect(findInvalidUtf8(bytes)).toBeNull()
  for (let at = 0; at <= bytes.length; at++) {
    const broken = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at)])
    const offset = findInvalidUtf8(broken)!
    expect(offset).toBeLessThanOrEqual(at)
    expect(at - offset).toBeLessThan(4)
  }
})
