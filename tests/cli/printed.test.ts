/** What reaches a terminal. `tests/matrices/hostile-output.test.ts` tries every command. */
import { expect, test } from 'vitest'
import {
  chooseStyle,
  clipboardControl,
  jsonText,
  oneLine,
  ownControl,
  plainStyle,
  printable,
  streamText,
} from '#text/terminal.ts'
import { hostile, steering, walkHostileFiles, walkHostileOutput } from './hostile-output.ts'

test('control characters of a text are written out, codes of the program pass', () => {
  const style = chooseStyle({ write: () => {}, is_terminal: true, columns: 80 }, 'always', {})
  expect(printable('a\u001b[31mb\u009b2Jc\u202ed\r\ne\rf\tg')).toBe('a\\u001b[31mb\\u009b2Jc\\u202ed\r\ne\\u000df\tg')
  expect(oneLine('a\nb\tc')).toBe('a b c')
  expect(plainStyle.red('x')).toBe('x')
  const styled = `${style.red(`a \u001b[32m${style.bold('b')}`)} \u001b[0m${ownControl('K')}`
  expect(streamText(styled, true)).toBe('\u001b[31ma \\u001b[32m\u001b[1mb\u001b[22m\u001b[39m \\u001b[0m\u001b[K')
  expect(style.dim('a\nb').replaceAll(/\u001b\[[\d;]+m/g, '|')).toBe('|a|\n|b|')
})

test('a text goes to the clipboard as base64 alone, and no other text gets there', () => {
  const own = clipboardControl('a\u001b]0;x\u0007\nü')
  expect(streamText(`x${own}y`, true)).toBe('x\u001b]52;c;YRtdMDt4BwrDvA==\u0007y')
  const foreign = `${own.slice(0, -1)};\u001b[31m\u0007`
  expect(streamText(foreign, true)).not.toContain('\u001b')
  expect(streamText('\u001b]52;c;YQ==\u0007', true)).toBe('\\u001b]52;c;YQ==\\u0007')
})

test('a style that ends within another begins it again', () => {
  const style = chooseStyle({ write: () => {}, is_terminal: true, columns: 80 }, 'always', {})
  expect(streamText(style.red(`a${style.green('b')}c`), true)).toBe(
    '\u001b[31ma\u001b[32mb\u001b[39m\u001b[31mc\u001b[39m',
  )
})

test('JSON stays equal and has no character that steers', () => {
  const value = { [hostile]: [hostile, 1, null, 'grün 🙂'] }
  expect(steering(jsonText(value), true)).toEqual([])
  expect(JSON.parse(jsonText(value))).toEqual(value)
  expect(JSON.parse(streamText(JSON.stringify(value), true))).toEqual(value)
})

test('the check finds what steers', () => {
  for (const text of ['\u001b]0;x\u0007', '\u001b[35m', '\u009b1m', '\u202e', 'a\rb', 'x\nFORGED', '\u001b[31mOWNED'])
    expect(steering(text, false).length, JSON.stringify(text)).toBeGreaterThan(0)
})

test('nothing that was stored, received or read steers a terminal: a sample of every command', async () => {
  const tallies = [await walkHostileOutput({ step: 193 }), await walkHostileFiles({ step: 83 })]
  expect(tallies.flatMap(({ problems }) => problems)).toEqual([])
  expect(tallies.reduce((sum, { cases }) => sum + cases, 0)).toBeGreaterThan(20)
})
