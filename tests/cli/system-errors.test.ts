/** A failure of the system is never called a bug: every code that Node knows, thrown through the command runner. */
import { constants } from 'node:os'
import { getSystemErrorMap } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Command } from '#cli/run/command.ts'
import { runCommand } from '#cli/run/command-line.ts'
import { unwritable } from '#cli/run/file-errors.ts'
import { systemErrorBehind } from '#foundation/system-error.ts'
import { exitCodes } from '#text/cli-error.ts'
import { temporaryDirectory } from './test-cli.ts'
import { keptStream, testHost } from './test-host.ts'

/** The name service has codes of its own, and a file system of Windows one that libuv does not know. */
const names = new Set([
  ...Object.keys(constants.errno),
  ...Array.from(getSystemErrorMap().values(), ([name]) => name),
  ...['ENOTFOUND', 'UNKNOWN', 'WSAEMFILE'],
])
const words = new Map(getSystemErrorMap().values())

/** As Node makes one: `EACCES: permission denied, open '/data/file'`. */
function systemError(code: string, fields: object = { syscall: 'open', path: '/data/file' }): Error {
  const message = `${code}: ${words.get(code) ?? 'unknown error'}, open '/data/file'`
  return Object.assign(new Error(message), { code, errno: -1, ...fields })
}

async function thrown(error: unknown): Promise<{ exit_code: number; stderr: string }> {
  const home = temporaryDirectory()
  const [stdout, stderr] = [keptStream(false), keptStream(false)]
  const run = () => Promise.reject(error)
  const command: Command = { name: 'fail', summary: 'Fail', examples: ['fail', 'fail'], run }
  const system = testHost({ env: { SVC_HOME: home }, cwd: home, stdin: '', stdout, stderr })
  return { exit_code: await runCommand([command], () => '', ['fail'], system), stderr: stderr.text }
}

describe('a failure of the system is a sentence that says what to do', () => {
  test.each([...names])('%s', async (code) => {
    const causes = [systemError(code), new TypeError('fetch failed', { cause: systemError(code) })]
    for (const cause of [...causes, new AggregateError([systemError(code)])]) {
      const { exit_code, stderr } = await thrown(cause)
      expect(stderr).toMatch(/^error: \/data\/file cannot be opened: [a-z][^\n]+\.\nhint: [A-Z][^\n]+\.\n$/)
      expect(stderr).not.toMatch(/\bbug\b|, open '/)
      expect(exit_code).not.toBe(exitCodes.unexpected.exit_code)
    }
  })

  test.each([
    [{ syscall: 'spawn git', path: 'git' }, 'EMFILE', 'git cannot be started: this process has too many files and'],
    [{ syscall: 'connect', address: '::1', port: 4010 }, 'ECONNREFUSED', '::1:4010 cannot be reached: nothing listens'],
    [{ syscall: 'getaddrinfo', hostname: 'ads.example' }, 'ENOTFOUND', 'ads.example cannot be found: no such host.'],
    [{ syscall: 'write' }, 'EIO', 'Something on this computer cannot be written: the disk reports an error.'],
  ])('%j', async (fields, code, sentence) => {
    expect((await thrown(systemError(code, fields))).stderr).toContain(`error: ${sentence}`)
  })
})

test.each([
  ['ENOSPC', 'Choose another folder.'],
  ['EMFILE', 'Close some programs, or raise the limit: ulimit -n 4096. Then try again.'],
])('a file that cannot be written for %s has a fix that helps', (code, hint) => {
  expect(unwritable('/data/file', systemError(code), 'Choose another folder.')).toMatchObject({ hint })
})

test.each([
  new TypeError('undefined is not a function'),
  Object.assign(new Error('Invalid URL'), { code: 'ERR_INVALID_URL' }),
  Object.assign(new Error('of a library'), { code: 'EXAMPLE' }),
])('%s is still a bug', async (error) => {
  expect(systemErrorBehind(error)).toBeNull()
  const { exit_code, stderr } = await thrown(error)
  expect(stderr).toContain('This looks like a bug in svc.')
  expect(exit_code).toBe(exitCodes.unexpected.exit_code)
})
