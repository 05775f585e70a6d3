/** `svc sandbox env`: what it prints is read back by the programs it is printed for. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

const names = ['SVC_BASE_URL', 'SVC_CLIENT_ID', 'SVC_SECRET_KEY', 'SVC_PUBLISHABLE_KEY', 'SVC_ORIGIN']

describe('svc sandbox env', () => {
  test('prints the running sandbox as a .env file', async () => {
    const expected = `\
SVC_BASE_URL=${cli.sandbox.url}
SVC_CLIENT_ID=proj_demo
SVC_SECRET_KEY=sk_test_sandbox_demo
SVC_PUBLISHABLE_KEY=pk_test_sandbox_demo
SVC_ORIGIN=http://localhost:3000
`
    expect(await cli.svc('sandbox env')).toEqual({ code: 0, stdout: expected, stderr: '' })
    expect(await cli.svc('sandbox env -o dotenv')).toEqual({ code: 0, stdout: expected, stderr: '' })
    expect(await cli.svc('sandbox env -o dotenv', { env: { SVC_OUTPUT: 'none' } })).toMatchObject({ stdout: expected })
  })

  test('-o shell prints lines for a shell', async () => {
    const { stdout } = await cli.svc('sandbox env -o shell')
    expect(stdout.split('\n')[0]).toBe(`export SVC_BASE_URL='${cli.sandbox.url}'`)
    expect(shellReads(stdout, 'SVC_SECRET_KEY')).toBe('sk_test_sandbox_demo')
  })

  test('-o json prints one object', async () => {
    for (const args of ['sandbox env -o json', 'sandbox env --json']) {
      const { stdout } = await cli.svc(args)
      expect(Object.keys(JSON.parse(stdout) as object)).toEqual(names)
    }
  })

  test('follows --client-id to the keys of that project', async () => {
    const { stdout } = await cli.svc('sandbox env --client-id proj_other')
    expect(stdout).toContain('SVC_CLIENT_ID=proj_other\nSVC_SECRET_KEY=sk_test_sandbox_other\n')
  })

  test('no other command has its formats', async () => {
    expect((await cli.svc('placements list -o dotenv')).code).toBe(2)
    expect((await cli.svc('sandbox env -o yaml')).code).toBe(2)
  })

  test('without a sandbox it says what to do, with exit code 7', async () => {
    expect(await svc('sandbox env', { env: { SVC_HOME: temporaryDirectory() } })).toEqual({
      code: 7,
      stdout: '',
      stderr: 'error: No sandbox is running.\nhint: Start one: svc start. Or name a service: --base-url URL.\n',
    })
  })
})

describe('quoting', () => {
  const values = [
    "it's",
    'a"b',
    '$HOME',
    '$(date)',
    '`date`',
    'a\\b',
    '#no-comment',
    'a;b&c|d',
    '!x',
    'a\'b"c',
    '~',
    '*',
  ]

  test.each(values)('a shell reads %s unchanged', async (value) => {
    const { stdout } = await cli.svc('sandbox env -o shell', {
      env: { SVC_BASE_URL: cli.sandbox.url, SVC_SECRET_KEY: value },
    })
    expect(shellReads(stdout, 'SVC_SECRET_KEY')).toBe(value)
  })

  test.each(values)('a reader of .env files reads %s unchanged', async (value) => {
    const { stdout } = await cli.svc('sandbox env', { env: { SVC_BASE_URL: cli.sandbox.url, SVC_SECRET_KEY: value } })
    expect(parseEnv(stdout).SVC_SECRET_KEY).toBe(value)
  })

  test('a value that no .env file can hold is refused', async () => {
    const { code, stdout, stderr } = await cli.svc('sandbox env', {
      env: { SVC_BASE_URL: cli.sandbox.url, SVC_SECRET_KEY: `'"\`` },
    })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('SVC_SECRET_KEY contains quotes that a .env file cannot hold.')
  })
})

/** What a variable is in a shell after these lines. */
function shellReads(lines: string, name: string): string {
  const file = join(temporaryDirectory(), 'env.sh')
  writeFileSync(file, lines)
  return execFileSync('sh', ['-c', `. "$1"; printf %s "$${name}"`, 'sh', file], { encoding: 'utf8', env: {} })
}
