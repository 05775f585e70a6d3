/** `svc start`: what it prints, what others find, what refuses it, and how it ends. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { basename, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { folderState, keepPort } from '#cli/settings/sandbox-folder.ts'
import { failureReport } from '#commands/sandbox/emulator.ts'
import { startBlock } from '#commands/sandbox/start-block.ts'
import { StorageError } from '#store/store.ts'
import { plainStyle } from '#text/terminal.ts'
import { follow } from './follow.ts'
import { spawnSvc } from './process.ts'
import { realProcesses, svc, temporaryDirectory } from './test-cli.ts'

interface Ready {
  url: string
  pid: number
  database: string
}

const locators = (home: string) => readdirSync(join(home, 'sandboxes'))

test('as a process it prints one line when ready, is found without settings, and a signal leaves nothing behind', async () => {
  const home = temporaryDirectory()
  const words = ['start', '--port', '0', '--ephemeral', '-o', 'json']
  const { child, firstLine, ended } = spawnSvc(words, { SVC_HOME: home })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ready = JSON.parse(await firstLine) as Record<string, unknown>
  expect(Object.keys(ready)).toEqual(['url', 'inspector_url', 'database', 'pid', 'version', 'projects'])
  expect(ready).toMatchObject({ database: ':memory:', pid: child.pid })
  expect(locators(home)).toEqual([expect.stringMatching(`^${child.pid}(-\\d+)?\\.json$`)])
  const created = await svc('placements create --expect fill -o json', {
    env: { SVC_HOME: home },
    system: realProcesses,
  })
  expect(created.code, created.stderr).toBe(0)
  expect(JSON.parse(created.stdout)).toMatchObject({ status: 'ready' })

  child.kill('SIGTERM')
  const { code, stdout, stderr } = await ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'SIGTERM: stopping\nstopped\n' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  expect(locators(home)).toEqual([])
  expect(() => process.kill(child.pid as number, 0)).toThrow('ESRCH')
})

test('a database without a file leaves none, and npm’s doubled Ctrl-C counts once', async () => {
  const home = temporaryDirectory()
  await using running = follow('start --port 0 --db :memory: -o json', { env: { SVC_HOME: home } })
  expect(JSON.parse(await running.firstLine)).toMatchObject({ database: ':memory:' })
  running.signal()
  running.signal()
  expect(await running.ended).toMatchObject({ code: 0, stderr: 'SIGINT: stopping\nstopped\n' })
  expect(readdirSync(home)).toEqual(['sandboxes'])
})

test('svc sandbox stop asks it, without a signal, which on Windows would end it by force, and waits', async () => {
  const home = temporaryDirectory()
  const env = { SVC_HOME: home }
  await using running = follow('start --port 0 -o json', { env })
  const { url, pid, database } = JSON.parse(await running.firstLine) as Ready
  expect(database).toMatch(new RegExp(`^${join(home, 'folders')}/[^/]+-[0-9a-f]{12}/sandbox\\.db$`))
  const terminate = () => {
    throw new Error('It got a signal.')
  }
  const stopped = await svc('sandbox stop', { env, system: { terminate, isRunning: () => locators(home).length > 0 } })
  expect(stopped).toMatchObject({ code: 0, stdout: `stopped ${url} (pid ${pid})\n` })
  // What takes longer than a second says so.
  expect(['', `stopping ${url}\n`]).toContain(stopped.stderr)
  expect(await running.ended).toMatchObject({ code: 0, stderr: 'SIGTERM: stopping\nstopped\n' })
  expect(readdirSync(home).filter((name) => /-wal$|lock/.test(name))).toEqual([])
})

test.each([
  ['--strict', {}, 404],
  ['', { SVC_STRICT: '1' }, 404],
  ['--config strict.json', {}, 404],
  ['--config strict.json', { SVC_STRICT: '0' }, 401],
])('strict by %j and %j: a route of old clients has status %i', async (flags, given, expected) => {
  const home = temporaryDirectory()
  writeFileSync(join(home, 'strict.json'), JSON.stringify({ sandbox: { strict: true } }))
  await using running = follow(`start --port 0 --ephemeral -o json ${flags}`, { env: { SVC_HOME: home, ...given } })
  const { url } = JSON.parse(await running.firstLine) as Ready
  // Without a key: a route that is there says so, one that is not is not found.
  const { status } = await fetch(`${url}/public/wrapper/v1/jobs`, { method: 'POST' })
  expect([status, running.stderr().includes('Strict: ')]).toEqual([expected, expected === 404])
})

describe('the options of svc.config.json', () => {
  const write = (home: string, value: unknown) => writeFileSync(join(home, 'svc.config.json'), JSON.stringify(value))

  test('are used unless a flag is given; the database is relative to the file', async () => {
    const home = temporaryDirectory()
    write(home, { sandbox: { db: 'data/own.db', port: 1, rate_limit: '1/min' } })
    const cwd = join(home, 'data')
    mkdirSync(cwd)
    await using running = follow('start --port 0 -o json', { env: { SVC_HOME: home }, cwd })
    const ready = JSON.parse(await running.firstLine) as Ready
    expect(running.stderr()).toBe(`From ${join(home, 'svc.config.json')}: db, rate_limit.\n`)
    expect(ready.database).toBe(join(home, 'data/own.db'))
    const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
    const body = JSON.stringify({ client_id: 'proj_demo', session_id: 's', job_type: 'chat' })
    const asked = Array.from({ length: 5 }, () =>
      fetch(`${ready.url}/v1/placements`, { method: 'POST', headers, body }),
    )
    expect((await Promise.all(asked)).map(({ status }) => status)).toContain(429)
  })

  test('about the database are replaced by a flag, and --config names another file', async () => {
    const home = temporaryDirectory()
    writeFileSync(join(home, 'other.json'), '{"sandbox":{"db":"own.db","port":0}}')
    await using running = follow('start --ephemeral --config other.json -o json', { env: { SVC_HOME: home } })
    expect(JSON.parse(await running.firstLine)).toMatchObject({ database: ':memory:' })
    expect(readdirSync(home)).not.toContain('own.db')
  })

  test.each([
    [{ port: 70_000 }, 'sandbox.port', 'must be 0 to 65535'],
    [{ rate_limit: 'often' }, 'sandbox.rate_limit', 'must be a rate such as 5/s or 1/min, or off'],
    [{ db: 'a.db', ephemeral: true }, 'sandbox.ephemeral', 'cannot be combined with db'],
    [{ prot: 1 }, 'sandbox', 'has no field prot'],
  ])('%j is refused by start and by config validate, with file and member', async (section, member, problem) => {
    const home = temporaryDirectory()
    write(home, { sandbox: section })
    const path = join(home, 'svc.config.json')
    const env = { SVC_HOME: home }
    const started = await svc('start --ephemeral', { env })
    expect(started).toMatchObject({ code: 2, stdout: '' })
    expect(started.stderr).toContain(`error: ${path}, ${member}: ${problem}.`)
    const validated = await svc('config validate', { env })
    expect(validated).toMatchObject({ code: 2, stdout: `wrong  ${path}\n  ${member}: ${problem}\n` })
  })
})

describe('--open', () => {
  test.each([
    ['exit 0', 'Opened in the browser.'],
    ['exit 3', 'Not opened, no browser was found.'],
  ])('from a terminal gives the demo to a browser, which ends with %s: %s', async (ending, note) => {
    const home = temporaryDirectory()
    const shown = join(home, 'shown')
    writeFileSync(join(home, 'xdg-open'), `#!/bin/sh\necho "$1" > "${shown}"\n${ending}\n`, { mode: 0o755 })
    const env = { SVC_HOME: home, PATH: `${home}:${process.env.PATH}`, DISPLAY: ':0', NO_COLOR: '1' }
    const options = { env, isTerminal: true, system: { platform: 'linux' } }
    await using running = follow('start --port 0 --ephemeral --open', options)
    await expect.poll(running.stderr).toContain(note)
    expect(readFileSync(shown, 'utf8')).toMatch(/^http:\S+\/_sandbox\/demo\n$/)
  })

  test('without a terminal opens nothing: the URL is noted on stderr', async () => {
    await using running = follow('start --port 0 --ephemeral --open -o json', {
      env: { SVC_HOME: temporaryDirectory() },
    })
    const { url } = JSON.parse(await running.firstLine) as Ready
    await expect.poll(running.stderr).toBe(`Not opened, this is not a terminal: ${url}/_sandbox/demo\n`)
  })
})

describe('a port that is taken', () => {
  /** Listens on a port; on none when another program does. */
  async function occupy(port: number): Promise<number> {
    // It is asked what it is: a connection that nobody reads would never end.
    const server = createServer((socket) => socket.destroy())
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('error', resolve).listen(port, '127.0.0.1', () => resolve(null)))
    return server.listening ? (server.address() as AddressInfo).port : port
  }

  test('is a failure that names its holder when it was chosen', async () => {
    const port = await occupy(0)
    const { code, stdout, stderr } = await svc(`start --port ${port} --ephemeral`, {
      env: { SVC_HOME: temporaryDirectory() },
    })
    expect({ code, stdout }).toEqual({ code: 8, stdout: '' })
    const holder = process.platform === 'linux' ? `pid ${process.pid} (${basename(process.execPath)}` : ''
    expect(stderr).toContain(`error: Port ${port} is taken by ${holder}`)
    expect(stderr).toContain(`hint: Stop it, or try: svc start --port ${port + 1}, or --port 0 for any free one.\n`)
  })

  test('is refused with its holder when the folder would have it and another program does', async () => {
    const port = await occupy(0)
    const cwd = temporaryDirectory()
    const env = { SVC_HOME: temporaryDirectory() }
    keepPort(folderState({ cwd, env, home: '', platform: process.platform }), port)
    const { code, stderr } = await svc('start --ephemeral', { env, cwd })
    expect({ code, stderr }).toEqual({ code: 8, stderr: expect.stringContaining(`error: Port ${port} is taken by `) })
  })
})

test('a full disk is one line on stderr, however many writes it refuses; any other failure is printed whole', () => {
  const lines: string[] = []
  const report = failureReport((line) => lines.push(line))
  for (let count = 0; count < 5; count++) report(new StorageError(new Error('database or disk is full')))
  expect(lines).toEqual([
    'The database refused a write: database or disk is full. Requests that need it get a 503 until this is solved.',
  ])
  report(new StorageError(new Error('disk I/O error')))
  report(new Error('a bug'))
  expect(lines).toHaveLength(3)
  expect(lines[2]).toContain('at ')
})

test('the start block shows the URLs, the keys, and commands to copy', () => {
  const sandbox = {
    url: 'http://127.0.0.1:4010',
    inspector_url: 'http://127.0.0.1:4010/_sandbox/',
    database: '/home/dev/.local/state/svc/sandbox.db',
    pid: 4711,
    version: '0.1.0',
    projects: ['demo', 'other'].map((name) => ({
      client_id: `proj_${name}`,
      secret_key: `sk_test_sandbox_${name}`,
      live_secret_key: `sk_live_sandbox_${name}`,
      publishable_key: `pk_test_sandbox_${name}`,
      allowed_origins: ['http://localhost:*', 'http://127.0.0.1:*'],
    })),
  }
  expect(startBlock(sandbox, { command_name: 'npx svc', home: '/home/dev' }, plainStyle).join('\n')).toBe(`\
svc 0.1.0: the sandbox is ready

  URL              http://127.0.0.1:4010
  demo             http://127.0.0.1:4010/_sandbox/demo
  inspector        http://127.0.0.1:4010/_sandbox/
  database         ~/.local/state/svc/sandbox.db
  project          proj_demo
  secret key       sk_test_sandbox_demo
  live key         sk_live_sandbox_demo
  publishable key  pk_test_sandbox_demo
  allowed origins  http://localhost:*  http://127.0.0.1:*
  more projects    proj_other

Try, in another terminal
  npx svc placements create --format banner --topic coffee
  npx svc placements list
  npx svc requests list

Ctrl-C stops it.`)
})
