import { readdirSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { plainStyle } from '#cli/output/terminal.ts'
import { failureReport } from '#commands/sandbox/emulator.ts'
import { startBlock } from '#commands/sandbox/start-block.ts'
import { StorageError } from '#store/store.ts'
import { type Running, spawnSvc } from './process.ts'
import { svc, temporaryDirectory } from './test-cli.ts'

const started: Running[] = []
let blocker: Server | undefined

afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.splice(0).map(({ ended }) => ended))
  await new Promise((resolve) => (blocker === undefined ? resolve(null) : blocker.close(resolve)))
  blocker = undefined
})

function start(home: string, ...args: string[]): Running {
  return startWith({ SVC_HOME: home }, ...args)
}

function startWith(env: Record<string, string>, ...args: string[]): Running {
  const running = spawnSvc(['start', ...args], env)
  started.push(running)
  return running
}

describe('svc start -o json', () => {
  const inMemory = [['--ephemeral'], ['--db', ':memory:']]
  test.each(inMemory)(
    'prints one line when ready, is found without settings, and a signal leaves nothing behind: %s %s',
    async (...flags) => {
      const home = temporaryDirectory()
      const { child, firstLine, ended } = start(home, '--port', '0', ...flags, '-o', 'json')
      const ready = JSON.parse(await firstLine) as Record<string, unknown>
      expect(Object.keys(ready)).toEqual(['url', 'inspector_url', 'database', 'pid', 'version', 'projects'])
      expect(ready).toMatchObject({ database: ':memory:', pid: child.pid })
      expect(await readdir(join(home, 'sandboxes'))).toEqual([expect.stringMatching(`^${child.pid}(-\\d+)?\\.json$`)])

      const created = await spawnSvc(['placements', 'create', '--expect', 'fill', '-o', 'json'], { SVC_HOME: home })
        .ended
      expect(created.code, created.stderr).toBe(0)
      expect(JSON.parse(created.stdout)).toMatchObject({ status: 'ready' })

      child.kill('SIGTERM')
      const { code, stdout, stderr } = await ended
      expect({ code, stderr }).toEqual({ code: 0, stderr: 'SIGTERM: stopping\nstopped\n' })
      expect(stdout.trimEnd().split('\n')).toHaveLength(1)
      expect(await readdir(join(home, 'sandboxes'))).toEqual([])
      expect(() => process.kill(child.pid as number, 0)).toThrow('ESRCH')
    },
  )

  test('npm’s doubled Ctrl-C counts once', async () => {
    const { child, firstLine, ended } = start(temporaryDirectory(), '--port', '0', '--ephemeral', '-o', 'json')
    await firstLine
    child.kill('SIGINT')
    child.kill('SIGINT')
    expect((await ended).code).toBe(0)
  })

  test('svc sandbox stop asks it, without a signal, which on Windows would end it by force', async () => {
    const home = temporaryDirectory()
    const { firstLine, ended } = start(home, '--port', '0', '-o', 'json')
    await firstLine
    const terminate = () => {
      throw new Error('It got a signal.')
    }
    const isRunning = () => readdirSync(join(home, 'sandboxes')).length > 0
    const stopped = await svc('sandbox stop', { env: { SVC_HOME: home }, system: { terminate, isRunning } })
    expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining('stopped http') })
    const { code, stderr } = await ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/SIGTERM: stopping\nstopped\n$/) })
    expect(readdirSync(home).filter((name) => /-wal$|lock/.test(name))).toEqual([])
  })

  test('svc sandbox stop ends it and waits', async () => {
    const home = temporaryDirectory()
    const { child, firstLine, ended } = start(home, '--port', '0', '-o', 'json')
    const { url, database } = JSON.parse(await firstLine) as { url: string; database: string }
    expect(database).toBe(join(home, 'sandbox.db'))
    const stopped = await spawnSvc(['sandbox', 'stop'], { SVC_HOME: home }).ended
    expect(stopped).toMatchObject({ code: 0, stdout: `stopped ${url} (pid ${child.pid})\n` })
    // What takes longer than a second says so.
    expect(['', `stopping ${url}\n`]).toContain(stopped.stderr)
    expect((await ended).code).toBe(0)
    const status = await spawnSvc(['sandbox', 'status'], { SVC_HOME: home }).ended
    expect(status).toEqual({
      code: 7,
      stdout: '',
      // Another sandbox may run at the default port of this computer.
      stderr: expect.stringMatching(
        /^error: No sandbox is running\.\nhint: Start one: svc start\. Or name a service: --base-url URL\.\n$|^error: None of your sandboxes is running\.\nhint: One of another user, /,
      ),
    })
  })
})

test('strict by flag, variable and config file; the variable wins over the file', async () => {
  const home = temporaryDirectory()
  const config = join(home, 'strict.json')
  await writeFile(config, JSON.stringify({ sandbox: { strict: true } }))
  const legacyStatus = async (args: string[], env: Record<string, string> = {}) => {
    const words = ['--port', '0', '--ephemeral', '-o', 'json', ...args]
    const { child, firstLine, ended } = startWith({ SVC_HOME: home, ...env }, ...words)
    const { url } = JSON.parse(await firstLine) as { url: string }
    // Without a key: a route that is there says so, one that is not is not found.
    const { status } = await fetch(`${url}/public/wrapper/v1/jobs`, { method: 'POST' })
    child.kill('SIGTERM')
    return [status, (await ended).stderr.includes('Strict: ')]
  }
  const statuses = [
    legacyStatus(['--strict']),
    legacyStatus([], { SVC_STRICT: '1' }),
    legacyStatus(['--config', config]),
    legacyStatus(['--config', config], { SVC_STRICT: '0' }),
  ]
  expect(await Promise.all(statuses)).toEqual([
    [404, true],
    [404, true],
    [404, true],
    [401, false],
  ])
})

describe('a busy port or database', () => {
  test('a chosen port that is taken is a failure that names its holder', async () => {
    const port = await occupy()
    const { ended } = start(temporaryDirectory(), '--port', String(port), '--ephemeral')
    const { code, stdout, stderr } = await ended
    expect({ code, stdout }).toEqual({ code: 8, stdout: '' })
    const holder = process.platform === 'linux' ? `pid ${process.pid} (${basename(process.execPath)}` : ''
    expect(stderr).toContain(`error: Port ${port} is taken by ${holder}`)
    expect(stderr).toContain(`hint: Stop it, or try: svc start --port ${port + 1}, or --port 0 for any free one.\n`)
  })

  test('a database that another sandbox has open is a failure that names it', async () => {
    const home = temporaryDirectory()
    const first = start(home, '--port', '0', '-o', 'json')
    const { url, pid } = JSON.parse(await first.firstLine) as { url: string; pid: number }
    const { code, stderr } = await start(home, '--port', '0').ended
    expect(code).toBe(8)
    expect(stderr).toContain(`error: A sandbox with this database is already running: ${url} (pid ${pid}).\n`)
  })

  test('an option that the sandbox refuses is a usage error', async () => {
    const { ended } = start(temporaryDirectory(), '--port', '0', '--ephemeral', '--rate-limit', 'often')
    expect(await ended).toMatchObject({ code: 2, stdout: '' })
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

/** A port that this test listens on. */
async function occupy(): Promise<number> {
  // It is asked what it is: a connection that nobody reads would never end.
  const server = createServer((socket) => socket.destroy())
  blocker = server
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}
