/** What a recording takes the place of, and what it leaves alone. */
import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { createRecordingFile, ReplacedFileError } from './recording-file.ts'

const create = (path: string, overwrite = true) => createRecordingFile(path, { version: '1', overwrite })
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as { log: { _left_out: object } }

test('takes the place of a file, and of a link, but not of what the link leads to', () => {
  const folder = temporaryDirectory()
  const [other, link] = ['other.txt', 'link.har'].map((name) => join(folder, name)) as [string, string]
  writeFileSync(other, 'mine')
  symlinkSync(other, link)
  expect(() => create(link, false)).toThrow(/EEXIST/)
  const file = create(link)
  file.leaveOut('request_refused')
  file.close()
  expect([readFileSync(other, 'utf8'), lstatSync(link).isSymbolicLink()]).toEqual(['mine', false])
  expect(read(link).log._left_out).toEqual({ request_refused: 1 })
})

test('takes the place of no folder', () => {
  const folder = join(temporaryDirectory(), 'turn.har')
  mkdirSync(folder)
  expect(() => create(folder)).toThrow(/EEXIST/)
})

test.each([
  ['another recording has taken its place', (path: string) => create(path).close()],
  ['it was removed', (path: string) => rmSync(path)],
])('ends when %s, and writes nothing into another file', (_, replace) => {
  const path = join(temporaryDirectory(), 'turn.har')
  const file = create(path)
  file.leaveOut('request_refused')
  replace(path)
  expect(() => file.leaveOut('request_refused')).toThrow(ReplacedFileError)
  file.close()
})

test('two recordings of one file leave that of the second, whole', () => {
  const path = join(temporaryDirectory(), 'turn.har')
  const [first, second] = [create(path), create(path)]
  expect(() => first.leaveOut('request_refused')).toThrow(ReplacedFileError)
  second.leaveOut('body_too_large')
  for (const file of [first, second]) file.close()
  expect(read(path).log._left_out).toEqual({ body_too_large: 1 })
})
