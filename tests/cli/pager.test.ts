/** Long lists in a pager: in a real terminal of 24 lines. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openScript } from './script-terminal.ts'
import { keptStream, startTestCli, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(async () => cli[Symbol.asyncDispose]())

/** The catalogue of scenarios is longer than 24 lines. */
const long = 'sandbox scenario list'

/** Runs a command in a terminal to its end. Returns the lines of the screen before the exit code. */
async function shown(args: string, env: Record<string, string>, size?: { columns: number; rows: number }) {
  const terminal = await openScript(args, { SVC_HOME: cli.home, NO_COLOR: '1', ...env }, size)
  try {
    await expect.poll(() => terminal.lines().some((line) => line.startsWith('code '))).toBe(true)
    const lines = terminal.lines()
    const end = lines.findIndex((line) => line.startsWith('code '))
    return { code: lines[end], lines: lines.slice(0, end) }
  } finally {
    await terminal.close()
  }
}

test('a list longer than the screen goes to the pager as a whole', async () => {
  const file = join(cli.home, 'paged')
  const { code } = await shown(long, { SVC_PAGER: `tee ${file}`, PAGER: 'false' })
  expect(code).toBe('code 0')
  const paged = readFileSync(file, 'utf8')
  expect(paged).toMatch(/^name +title +active\n/)
  expect(paged).toMatch(/\nwrong_key_type .*\n$/)
})

test('closing the pager early ends the command normally', async () => {
  const { code, lines } = await shown(long, { PAGER: 'head -1' })
  expect(code).toBe('code 0')
  expect(lines.filter((line) => /true|false/.test(line))).toEqual([])
  expect(lines.some((line) => /^name +title/.test(line))).toBe(true)
})

test('when the pager is not installed the list is printed, without a message', async () => {
  const { code, lines } = await shown(long, { PAGER: 'no-such-pager -R' })
  expect(code).toBe('code 0')
  expect(lines.join('\n')).not.toContain('no-such-pager')
  expect(lines.at(-1)).toMatch(/^wrong_key_type /)
})

test.each([
  ['a list that fits', long, {}, { columns: 100, rows: 200 }],
  ['--no-pager', `${long} --no-pager`, {}, undefined],
  ['--no-input', `${long} --no-input`, {}, undefined],
  ['-o json', `${long} -o json`, {}, undefined],
  ['a pipe', `${long} | cat`, {}, undefined],
  ['a dumb terminal', long, { TERM: 'dumb' }, undefined],
  ['a terminal without TERM', long, { TERM: '' }, undefined],
])('no pager: %s', async (name, args, env, size) => {
  const file = join(cli.home, `not-paged-${name.replaceAll(' ', '-')}`)
  expect((await shown(args, { SVC_PAGER: `tee ${file}`, ...env }, size)).code).toBe('code 0')
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
  expect(readFileSync(file, 'utf8')).toMatch(/^name +title +active\n[\s\S]*\nwrong_key_type .*\n$/)
  expect(system.stdout.text).toBe('')
})

test('less: q closes it, and the terminal is restored', async () => {
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
