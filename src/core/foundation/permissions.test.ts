/** What Windows does instead of modes, with its programs as scripts that note how they are called. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { createFolder, createPrivate, replaceFile, writePrivate } from './file-system.ts'
import { ownerOnly, restrictToOwner } from './permissions.ts'

const { platform } = process
const user = 'S-1-5-21-1004336348-1177238915-682003330-1001'
let folder: string
let calls: string

beforeEach(() => {
  folder = temporaryDirectory()
  calls = join(folder, 'calls')
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  const install = (name: string, script: string) =>
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  install('whoami', `[ "$1" = /user ] && printf '"pc\\\\\\\\user","${user}"\\r\\n'`)
  // The size shows that a file has no content yet.
  install('icacls', `echo "$(test -d "$1" || wc -c <"$1") $@" >>"${calls}"`)
  vi.stubEnv('PATH', `${programs}:${process.env.PATH}`)
})
afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  vi.unstubAllEnvs()
})

const granted = (rights: string) =>
  `/inheritance:r /grant:r *${user}:${rights} *S-1-5-18:${rights} *S-1-5-32-544:${rights} /q`
const restricted = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : [])

test('on Windows, what is outside of the profile is for its owner alone; inside, and elsewhere, nothing is done', () => {
  const home = join(folder, 'profile')
  const path = join(folder, 'profile-2')
  writeFileSync(path, '')
  restrictToOwner(path, 'file', { platform: 'linux', home })
  restrictToOwner(join(home, 'AppData/Local/svc/key'), 'file', { platform: 'win32', home })
  restrictToOwner('c:\\users\\ME\\AppData\\Local\\svc', 'folder', { platform: 'win32', home: 'C:\\Users\\me' })
  expect(restricted()).toEqual([])
  restrictToOwner(path, 'file', { platform: 'win32', home })
  expect(restricted()).toEqual([`0 ${path} ${granted('F')}`])
})

test('each way to create what has keys restricts it on Windows, before anything is in it', () => {
  expect(folder.startsWith(homedir())).toBe(false)
  Object.defineProperty(process, 'platform', { value: 'win32' })
  const state = join(folder, 'state')
  createFolder(join(state, 'sandboxes'), ownerOnly.folder)
  writePrivate(join(state, 'key'), 'key')
  createPrivate(join(state, 'db'))
  replaceFile(join(state, 'keys.json'), '{}', ownerOnly)
  replaceFile(join(state, 'report.html'), '<p>')
  createFolder(join(state, 'report'))
  expect(restricted()).toEqual([
    `${state} ${granted('(OI)(CI)F')}`,
    `0 ${join(state, 'key')} ${granted('F')}`,
    `0 ${join(state, 'db')} ${granted('F')}`,
    `0 ${join(state, 'keys.json')}.${process.pid}.new ${granted('F')}`,
  ])
  expect(readFileSync(join(state, 'key'), 'utf8')).toBe('key')
})
