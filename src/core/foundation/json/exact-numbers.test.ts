import { expect, test } from 'vitest'
import { mayLoseDigits, parseExactly } from './exact-numbers.ts'

test('sixteen digits in a row are found wherever they are, fifteen are not', () => {
  for (let before = 0; before < 40; before++) {
    const padding = 'x'.repeat(before)
    expect(mayLoseDigits(`${padding}1234567890.12345${padding}`), String(before)).toBe(true)
    expect(mayLoseDigits(`${padding}123456789012345${padding}`), String(before)).toBe(false)
  }
})

test('a number that loses digits is written as it was sent, any other as usual', () => {
  const written = (text: string) => JSON.stringify(parseExactly(text))
  for (const text of [
    '9007199254740993',
    '-12345678901234567890',
    '[0.12345678901234567890]',
    '{"a":1e-7000000000000000}',
  ])
    expect(written(text)).toBe(text)
  expect(written('[9007199254740992,0.30000000000000004,1.0000000000000000,"12345678901234567890"]')).toBe(
    '[9007199254740992,0.30000000000000004,1,"12345678901234567890"]',
  )
  expect(written('1e9999999999999999')).toBe('null')
  expect(parseExactly('{"a":12345678901234567890')).toBeUndefined()
})
