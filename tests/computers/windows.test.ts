/**
 * Windows, under Wine: the package with its native module, and programs that its user names. Wine's cmd.exe differs from
 * Windows' in two ways, by itself: it reads variables a second time in what `%*` stands for, and it does not run the
 * scripts that npm writes into `node_modules/.bin`. No test depends on either.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test, vi } from 'vitest'
import { freePort } from '../cli/process.ts'
import { wait_ms } from '../patience.ts'
import { temporaryDirectory } from '../temporary.ts'
import { Computer } from './run.ts'

const computer = new Computer('windows')

/** Returns a path of this computer as Windows has it. */
const windowsPath = (path: string) => `Z:${path.replaceAll('/', '\\')}`

test('svc prints its version', async () => {
  expect(await computer.svc(['--version'])).toMatchObject({
    code: 0,
    stdout: `${inject('version')}
`,
  })
})

test('a sandbox with a database places, takes beacons, and ends by itself when it is asked to stop', async () => {
  const folder = temporaryDirectory()
  const database = windowsPath(join(folder, 'sandbox.db'))
  const first = await computer.start(['--db', database])
  try {
    const { database: opened, url } = first.ready
    expect(opened).toBe(database)
    const placed = await computer.svc(['placements', 'create', '--format', 'banner', '-q', '-o', 'json'])
    expect(JSON.parse(placed.stdout)).toMatchObject({ status: 'ready', decision: { fill: true, format: 'banner' } })
    expect(await computer.svc(['beacons', 'send', '--event', 'render'])).toMatchObject({ code: 0 })
    const { items } = (await (await fetch(`${url}/_sandbox/beacons`)).json()) as { items: { verdict: string }[] }
    expect(items.map(({ verdict }) => verdict)).toEqual(['accepted'])
    for (const path of ['/v1/render.js', '/_sandbox/', '/_sandbox/demo', '/_sandbox/docs/'])
      expect((await fetch(`${url}${path}`)).status, path).toBe(200)
    await stops(first)
  } finally {
    first.kill()
  }
  // The log is in the database. An open file cannot be removed there: the lock file stays, and locks nobody out.
  expect(readdirSync(folder).toSorted()).toEqual(['sandbox.db', 'sandbox.db.key', 'sandbox.db.lock'])
  const second = await computer.start(['--db', database])
  try {
    await stops(second)
  } finally {
    second.kill()
  }
})

/** Expects that a sandbox ends by itself when it is asked to stop, without a warning. */
async function stops({ ended }: Awaited<ReturnType<Computer['start']>>): Promise<void> {
  expect(await computer.svc(['sandbox', 'stop'])).toMatchObject({ code: 0, stdout: expect.stringContaining('stopped') })
  expect(await ended).toMatchObject({ code: 0, stderr: 'SIGTERM: stopping\nstopped\n' })
}

describe('exec', () => {
  const folder = temporaryDirectory()
  writeFileSync(
    join(folder, 'show.cjs'),
    'console.log(JSON.stringify([process.argv.slice(2), process.env.SVC_BASE_URL !== undefined])); process.exit(7)',
  )
  writeFileSync(join(folder, 'show.cmd'), '@echo off\r\n"%NODE_EXE%" "%~dp0show.cjs" %*\r\n')
  writeFileSync(join(folder, 'plain.cmd'), '@echo off\r\necho plain\r\nexit /b 5\r\n')
  const args = ['a b', '', 'q"uote', 'a&echo injected', '"&echo injected', '^x', 'dir\\', '(a|b)>c']
  const exec = (words: readonly string[]) =>
    computer.svc(['exec', '-q', '--', ...words], { NODE_EXE: windowsPath(computer.node) }, folder)

  test('runs an .exe with any arguments, and takes its exit code', async () => {
    const ended = await exec([windowsPath(computer.node), 'show.cjs', ...args, '50% off', '%PATH%'])
    expect(ended.code, ended.stderr).toBe(7)
    expect(JSON.parse(ended.stdout)).toEqual([[...args, '50% off', '%PATH%'], true])
  })

  test('runs a .cmd by its name without the ending, and takes its exit code', async () => {
    for (const name of ['plain', './plain.cmd'])
      expect(await exec([name]), name).toEqual({ code: 5, stdout: 'plain\r\n', stderr: '' })
  })

  test('runs a .cmd that passes any arguments on, and no argument is a command of cmd.exe', async () => {
    const ended = await exec(['show.cmd', ...args])
    expect(ended.code, ended.stderr).toBe(7)
    expect(JSON.parse(ended.stdout)).toEqual([args, true])
    expect(existsSync(join(folder, 'c'))).toBe(false)
  })

  test('names a program that does not exist', async () => {
    expect(await exec(['no-such-program'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no program'),
    })
  })
})

test('the server of the template browser-chat serves its page and its settings', async () => {
  const empty = temporaryDirectory()
  const made = await computer.svc(['init', 'browser-chat', 'app'], {}, empty)
  expect(made, made.stderr).toMatchObject({ code: 0 })
  const app = join(empty, 'app')
  const until = "setInterval(() => existsSync('end') && process.exit(3), 100)"
  writeFileSync(join(app, 'serve.mjs'), `import { existsSync } from 'node:fs'\n${until}\nawait import('./server.js')`)
  const port = await freePort()
  const words = ['exec', '-q', '--', windowsPath(computer.node), 'serve.mjs']
  const ended = computer.svc(words, { PORT: String(port) }, app)
  const get = (path: string) => fetch(`http://localhost:${port}${path}`)
  try {
    await vi.waitUntil(() => get('/').catch(() => null), { timeout: wait_ms, interval: 200 })
    expect(await (await get('/config.json')).json()).toEqual({
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      publishable_key: 'pk_test_sandbox_demo',
    })
    const statuses = ['/', '/styles.css', '/..%5cserver.js', '/nothing.js'].map(
      async (path) => (await get(path)).status,
    )
    expect(await Promise.all(statuses)).toEqual([200, 200, 404, 404])
  } finally {
    writeFileSync(join(app, 'end'), '')
  }
  expect((await ended).code).toBe(3)
})
