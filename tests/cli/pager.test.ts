/** Long text in a pager, on a terminal of 24 lines; the last is a real one. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SystemStream } from '#text/terminal.ts'
import { openScript } from './script-terminal.ts'
import { keptStream, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

/** The catalogue of scenarios is longer than 24 lines. */
const long = 'sandbox scenario list'

/** Runs a command on a terminal; returns what it printed there itself. */
async function shown(args: string, env: Record<string, string>, size: Partial<SystemStream> = {}) {
  const stdout = { ...keptStream(true), rows: 24, ...size }
  const given = { PATH: process.env.PATH ?? '', NO_COLOR: '1', TERM: 'xterm', ...env }
  const { code } = await cli.svc(args, { env: given, system: { stdout } })
  expect(code).toBe(0)
  return stdout.text
}

const whole = /^name +title +active\n[\s\S]*\nwrong_key_type .*\n$/

test('a list longer than the screen goes to the pager as a whole', async () => {
  const file = join(cli.home, 'paged')
  expect(await shown(long, { SVC_PAGER: `cat > ${file}`, PAGER: 'false' })).toBe('')
  expect(readFileSync(file, 'utf8')).toMatch(whole)
})

test('one value longer than the screen goes to the pager as well', async () => {
  const file = join(cli.home, 'explained')
  expect((await cli.svc('placements create --format banner')).code).toBe(0)
  expect(await shown('explain', { SVC_PAGER: `cat > ${file}` })).toBe('')
  expect(readFileSync(file, 'utf8')).toMatch(/^slot [\s\S]*\nPartner request\n[\s\S]*gdpr_applies .*\n$/)
})

test('closing the pager early ends the command normally', async () => {
  const file = join(cli.home, 'head')
  expect(await shown(long, { PAGER: `head -1 > ${file}` })).toBe('')
  expect(readFileSync(file, 'utf8')).toMatch(/^name +title +active\n$/)
})

test('when the pager is not installed the list is printed, without a message', async () => {
  expect(await shown(long, { PAGER: 'no-such-pager -R' })).toMatch(whole)
})

test.each<[string, string, Record<string, string>, Partial<SystemStream>]>([
  ['a list that fits', long, {}, { columns: 100, rows: 200 }],
  ['--no-pager', `${long} --no-pager`, {}, {}],
  ['--no-input', `${long} --no-input`, {}, {}],
  ['-o json', `${long} -o json`, {}, {}],
  ['a pipe', long, {}, { is_terminal: false }],
  ['a dumb terminal', long, { TERM: 'dumb' }, {}],
  ['a terminal without TERM', long, { TERM: '' }, {}],
])('no pager: %s', async (name, args, env, size) => {
  const file = join(cli.home, `not-paged-${name.replaceAll(' ', '-')}`)
  expect(await shown(args, { SVC_PAGER: `cat > ${file}`, ...env }, size)).toContain('wrong_key_type')
  expect(existsSync(file)).toBe(false)
})

test('less shows UTF-8 where no locale says so', async () => {
  const file = join(cli.home, 'charset')
  await shown(long, { SVC_PAGER: `printenv LESSCHARSET > ${file}` })
  expect(readFileSync(file, 'utf8')).toBe('utf-8\n')
})

test('on Windows more is the pager, also where no TERM is set', async () => {
  const folder = temporaryDirectory()
  const file = join(folder, 'paged')
  writeFileSync(join(folder, 'more'), `#!/bin/sh\ncat >"${file}"\n`, { mode: 0o755 })
  const env = { PATH: `${folder}:${process.env.PATH}`, NO_COLOR: '1' }
  const system = { platform: 'win32', stdout: { ...keptStream(true), rows: 24 } }
  expect(await cli.svc(long, { env, system })).toMatchObject({ code: 0 })
  expect(readFileSync(file, 'utf8')).toMatch(whole)
  expect(system.stdout.text).toBe('')
})

test('in a real terminal q closes less, and the terminal is restored', async () => {
  const terminal = await openScript(long, { SVC_HOME: cli.home, PAGER: 'less', LESS: '' })
  try {
    await expect.poll(() => terminal.lines().join('\n')).toContain('autoplay_blocked')
    terminal.type('q')
    await expect.poll(() => terminal.lines().join('\n')).toMatch(/code 0[\s\S]* icanon/)
    expect(terminal.isAlternate()).toBe(false)
  } finally {
    await terminal.close()
  }
})
