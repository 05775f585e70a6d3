import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { flushNames, flushToDisk } from './file-system.ts'

const folder = temporaryDirectory()

test('a file that is flushed keeps its content; one that is missing is an error', () => {
  const path = join(folder, 'key')
  writeFileSync(path, 'content')
  flushToDisk(path)
  expect(readFileSync(path, 'utf8')).toBe('content')
  expect(() => flushToDisk(join(folder, 'missing'))).toThrow('ENOENT')
})

test('names are flushed where folders can be: not on Windows', () => {
  flushNames(folder, 'linux')
  expect(() => flushNames(join(folder, 'missing'), 'linux')).toThrow('ENOENT')
  flushNames(join(folder, 'missing'), 'win32')
})
