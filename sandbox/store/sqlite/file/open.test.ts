/** Why a database cannot be opened: damage is only what SQLite calls so, and everything else names its cause. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { SandboxError } from '#sandbox/sandbox-error.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { StorageError } from '../../store.ts'
import { explain } from './explain.ts'
import { openDatabase } from './open.ts'

/** Every code that the driver has a name for. */
const driver = join(createRequire(import.meta.url).resolve('better-sqlite3/package.json'), '../src/util/constants.cpp')
const codes = [...readFileSync(driver, 'utf8').matchAll(/"(SQLITE_\w+)"/g)].map(([, code = '']) => code)
const failures = codes.filter((code) => !/^SQLITE_(OK|ROW|DONE|NOTICE|WARNING)/.test(code))

/** What is wrong with the content of a file, by the code that SQLite gives it. */
const content =
  /^SQLITE_(CORRUPT|NOTADB|ERROR|SCHEMA|CONSTRAINT|MISMATCH|TOOBIG|RANGE|FORMAT|EMPTY|NOTFOUND)|_(SHORT_READ|DATA|CORRUPTFS)$/

test('the driver has names for all the codes', () => expect(failures.length).toBeGreaterThan(80))

describe.each(failures)('%s', (code) => {
  const thrown = new Database.SqliteError('words of SQLite', code)

  test.each([
    ['when it is opened', thrown],
    ['when it is read', new StorageError(thrown, 'read')],
  ])('%s', (_, error) => {
    const explained = explain(error, '/data/sandbox.db') as SandboxError
    expect(explained).toBeInstanceOf(SandboxError)
    expect(explained.code).toBe(content.test(code) ? 'database_corrupt' : 'database_unwritable')
    expect(explained.message).toMatch(/^\/data\S* (is|cannot be) [^\n]+\.$/)
    expect(explained.message.includes('damaged')).toBe(content.test(code))
    expect(explained.hint).toMatch(/^[A-Z][^\n]+$/)
  })
})

test.each([
  ['SQLITE_IOERR_READ', 'cannot be read: the disk reports an error.'],
  ['SQLITE_IOERR_WRITE', 'cannot be written: the disk reports an error.'],
  ['SQLITE_FULL', 'cannot be written: the disk is full.'],
  ['SQLITE_PERM', 'cannot be opened: permission denied.'],
  ['SQLITE_IOERR_NOMEM', 'cannot be opened: there is not enough memory.'],
])('%s is named in words', (code, words) => {
  const path = join(temporaryDirectory(), 'sandbox.db')
  expect((explain(new Database.SqliteError('', code), path) as Error).message).toBe(`${path} ${words}`)
})

test.each(Object.keys(constants.errno))('%s of the system is no damage', (code) => {
  const error = Object.assign(new Error(`${code}: words, read`), { code, errno: -1, syscall: 'read' })
  for (const each of [error, new StorageError(error, 'read')]) {
    const explained = explain(each, '/data/sandbox.db') as SandboxError
    expect(explained.code).toBe('database_unwritable')
    expect(explained.message).toMatch(/^\/data\/sandbox\.db cannot be read: [a-z][^\n]+\.$/)
  }
})

test.each(['', '.lock', '-wal'])('a folder in place of the file with the ending "%s" is named', (ending) => {
  const path = join(temporaryDirectory(), 'sandbox.db')
  mkdirSync(`${path}${ending}`)
  expect(() => openDatabase(path, process.pid)).toThrow(`${path}${ending} cannot be opened: it is a folder.`)
})

test.each([':memory:', join(temporaryDirectory(), 'sandbox.db')])(
  'without add-ons, %s is refused with the flag',
  (path) => {
    const script = `const { openDatabase } = await import('#store/sqlite/file/open.ts')
    try { openDatabase(${JSON.stringify(path)}, process.pid) } catch (error) { console.log(error.code, error.message) }`
    const args = ['--no-addons', '--input-type=module', '--eval', script]
    const { stdout } = spawnSync(process.execPath, args, {
      cwd: join(import.meta.dirname, '../../../..'),
      encoding: 'utf8',
    })
    expect(stdout).toMatch(/^option_invalid Node was started with --no-addons/)
  },
)
