/** Every way in which a start is refused: its exit code, its error code, its words, and nothing lost or left behind. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { root, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

interface Refusal {
  code: number
  error: { category: string; code: string; message: string; hint: string }
}

describe('a start is refused', () => {
  test.each<[string, string, (database: string) => void]>([
    ['made by a newer version', 'database_newer', makeNewer],
    ['cut off', 'database_corrupt', (database) => truncateSync(database, 5_000)],
    ['overwritten', 'database_corrupt', (database) => writeFileSync(database, 'the only copy of something')],
  ])('on a database that was %s, which stays as it is', async (_, code, spoil) => {
    const { home, database } = await usedDatabase()
    spoil(database)
    const before = contentsOf(home)
    const refusal = await refused(home, '--port', '0')
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code } })
    expect(refusal.error.message).toContain(database)
    expect(refusal.error.hint).toContain('--db')
    expect(contentsOf(home)).toEqual(before)
  })

  test('on a database that another sandbox uses, which is named and goes on', async () => {
    const home = temporaryDirectory()
    const { child, firstLine, ended } = spawnSvc(['start', '--port', '0', '-o', 'json'], { SVC_HOME: home })
    onTestFinished(() => void child.kill('SIGKILL'))
    const { url } = JSON.parse(await firstLine) as { url: string }
    const refusal = await refused(home, '--port', '0')
    expect(refusal).toMatchObject({ code: 8, error: { category: 'busy', code: 'database_in_use' } })
    expect(refusal.error.message).toContain(`${url} (pid ${child.pid}`)
    // Nor does another state directory hide it.
    const elsewhere = await refused(temporaryDirectory(), '--port', '0', '--db', join(home, 'sandbox.db'))
    expect(elsewhere).toMatchObject({ code: 8, error: { code: 'database_in_use' } })
    expect(elsewhere.error.message).toContain(`pid ${child.pid}`)
    expect((await fetch(`${url}/_sandbox/readyz`)).status).toBe(200)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
    expect(readdirSync(home).toSorted()).toEqual(['sandbox.db', 'sandbox.db.key', 'sandboxes'])
  })

  test('on a PostgreSQL without its driver, which is optional', async () => {
    const hook = `import { registerHooks } from 'node:module'
      registerHooks({ resolve(name, context, next) {
        if (name === 'pg') throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
        return next(name, context) } })`
    const home = temporaryDirectory()
    const url = `data:text/javascript,${encodeURIComponent(hook)}`
    const env = { SVC_HOME: home, SVC_STORE: 'postgres://svc@127.0.0.1/svc', NODE_OPTIONS: `--import=${url}` }
    const { ended, child } = spawnSvc(['start', '--port', '0', '-o', 'json'], env)
    onTestFinished(() => void child.kill('SIGKILL'))
    const { code, stderr } = await ended
    expect(code).toBe(2)
    expect(stderr).toContain('A store on PostgreSQL needs the package pg, which is not installed.')
    expect(stderr).toContain('npm install pg')
  })

  test('on a PostgreSQL that does not run, whose address is named without the password', async () => {
    const refusal = await refused(
      temporaryDirectory(),
      '--port',
      '0',
      '--store',
      'postgres://svc:secret@127.0.0.1:1/svc',
    )
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code: 'database_unreachable' } })
    expect(refusal.error.message).toBe(
      'postgres://svc@127.0.0.1:1/svc cannot be reached: connect ECONNREFUSED 127.0.0.1:1.',
    )
    expect(refusal.error.hint).toContain('Check that PostgreSQL runs there')
  })

  test('on a port that is taken', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as { port: number }
    const home = temporaryDirectory()
    const refusal = await refused(home, '--port', String(port))
    expect(refusal).toMatchObject({ code: 8, error: { category: 'busy', code: 'port_in_use' } })
    expect(refusal.error.message).toContain(`Port ${port} is taken by `)
    expect(readdirSync(home)).not.toContain('sandbox.db.lock')
  })

  test('in a directory that may not be written, of which nothing is changed', async () => {
    const { home, database } = await usedDatabase()
    const state = temporaryDirectory()
    chmodSync(state, 0o777)
    chmodSync(home, 0o555)
    const before = contentsOf(home)
    const refusal = await refusedAs(unprivileged(), state, '--port', '0', '--db', database)
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code: 'database_unwritable' } })
    expect(refusal.error.message).toContain(database)
    expect(refusal.error.hint).toContain('permissions')
    chmodSync(home, 0o755)
    expect(contentsOf(home)).toEqual(before)
    await using sandbox = await startSandbox({ database })
    expect((await fetch(`${sandbox.url}/_sandbox/evidence/verify`)).status).toBe(200)
  })

  test('on a file that may not be written, beside which no log is left', async () => {
    const { home, database } = await usedDatabase()
    const state = temporaryDirectory()
    for (const folder of [state, home]) chmodSync(folder, 0o777)
    chmodSync(database, 0o444)
    const before = contentsOf(home)
    const refusal = await refusedAs(unprivileged(), state, '--port', '0', '--db', database)
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code: 'database_unwritable' } })
    expect(refusal.error.message).toContain(database)
    expect(contentsOf(home)).toEqual(before)
  })

  test('on a full disk, on which nothing of the try is left', async () => {
    const directory = temporaryDirectory()
    const script = [
      'mount -t tmpfs -o size=64k tmpfs "$0"',
      'dd if=/dev/zero of="$0/filler" bs=1024 count=56 2>/dev/null',
      'chmod 777 "$0"',
      '"$@"',
      'echo "code $?"; ls -A "$0"',
    ].join('; ')
    const words = [process.execPath, join(root, 'bin/svc.js'), 'start', '--port', '0', '-o', 'json']
    const output = execFileSync(
      'unshare',
      ['-Urm', 'sh', '-c', `exec 2>&1; ${script}`, directory, ...words, '--db', join(directory, 'sandbox.db')],
      { encoding: 'utf8', env: { PATH: process.env.PATH, SVC_HOME: temporaryDirectory() } },
    )
    const [reported, code, ...left] = output.trimEnd().split('\n')
    expect(JSON.parse(reported!)).toMatchObject({ error: { category: 'usage', code: 'database_unwritable' } })
    expect(code).toBe('code 2')
    expect(left).not.toContain('sandbox.db.lock')
    expect(left).toContain('filler')
  })
})

describe('a state directory that cannot be written', () => {
  test('start --ephemeral and exec work without it; a start that needs it ends with exit code 2 and its name', async () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, 'a file')
    const environment = { SVC_HOME: file }
    const needs = ['start --port 0', 'start --port 0 --db other.db', 'start --detach --ephemeral', 'config use other']
    const [memory, exec, ...refusals] = await Promise.all([
      startAndStop(environment),
      spawnSvc(['exec', '-q', '--', process.execPath, '-p', '1'], environment).ended,
      ...needs.map((words) => spawnSvc(words.split(' '), environment, temporaryDirectory()).ended),
    ])
    expect(memory.code, memory.stderr).toBe(0)
    expect(memory.stderr).toContain(
      `warning: ${file}/sandboxes cannot be written: part of its path is not a directory.`,
    )
    expect(memory.stderr).toContain('Other commands need --base-url http://127.0.0.1:')
    expect(exec).toEqual({ code: 0, stdout: '1\n', stderr: '' })
    for (const { code, stdout } of refusals) expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    for (const { stderr } of refusals.slice(0, 3)) {
      expect(stderr).toContain(file)
      expect(stderr).toContain('hint: Set SVC_HOME to a directory that you own.')
    }
    expect(readFileSync(file, 'utf8')).toBe('a file')
  })

  test('what only saves a setting names the place and the cause, and does not suggest a start', async () => {
    const home = temporaryDirectory()
    // As on a full disk, every write to a file fails, with EFBIG in place of ENOSPC.
    const words = ['-c', 'ulimit -f 0; exec "$@"', 'sh', process.execPath, join(root, 'bin/svc.js')]
    const { status, stderr } = spawnSync('sh', [...words, 'config', 'set', 'client_id', 'proj_demo'], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, SVC_HOME: home },
    })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: `error: ${home}/profiles.json cannot be written: the file is too large.\nhint: Set SVC_HOME to a directory that you own.\n`,
    })
  })

  test('output that a full disk cuts off is a failure', () => {
    const home = temporaryDirectory()
    const words = [
      '-c',
      'ulimit -f 1; exec "$@" > openapi.json',
      'sh',
      process.execPath,
      join(root, 'bin/svc.js'),
      'openapi',
    ]
    const { status, stderr } = spawnSync('sh', words, {
      encoding: 'utf8',
      cwd: home,
      env: { PATH: process.env.PATH, SVC_HOME: home },
    })
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: 'error: The output cannot be written: the file is too large.\n',
    })
  })

  test('a place without folders: /proc says that a parent is missing', async () => {
    const { code, stderr } = await spawnSvc(['config', 'use', 'other'], { SVC_HOME: '/proc/no-such-folder/svc' }).ended
    expect(code, stderr).toBe(2)
    expect(stderr).toContain('/proc/no-such-folder')
  })

  test('no home directory is known: nothing is written to the current directory', async () => {
    const { stateDirectory, stateFailure } = await import('#cli/settings/state-directory.ts')
    const path = stateDirectory({ env: {}, home: '', platform: 'linux' })
    expect(stateFailure(path, Object.assign(new Error('x'), { code: 'EACCES', syscall: 'mkdir' }))).toMatchObject({
      category: 'usage',
      message: 'There is no home directory, so svc has nowhere to keep its state.',
    })
    const folder = temporaryDirectory()
    const { code, stdout } = await spawnSvc(['start', '--port', '0'], { HOME: '' }, folder).ended
    expect({ code, stdout, left: readdirSync(folder) }).toEqual({ code: 2, stdout: '', left: [] })
  })

  /** Starts a sandbox in memory and stops it when it is ready. */
  async function startAndStop(environment: Record<string, string>) {
    const { child, firstLine, ended } = spawnSvc(['start', '--port', '0', '--ephemeral', '-o', 'json'], environment)
    await firstLine
    child.kill('SIGTERM')
    return ended
  }
})

test('two sandboxes at once keep apart, in one state directory', async () => {
  const home = temporaryDirectory()
  const started = [
    spawnSvc(['start', '--port', '0', '-o', 'json'], { SVC_HOME: home }),
    spawnSvc(['start', '--port', '0', '--db', join(home, 'other.db'), '-o', 'json'], { SVC_HOME: home }),
  ]
  onTestFinished(() => {
    for (const { child } of started) child.kill('SIGKILL')
  })
  const urls = []
  for (const { firstLine } of started) urls.push((JSON.parse(await firstLine) as { url: string }).url)
  const svc = (...args: string[]) => spawnSvc(args, { SVC_HOME: home }).ended
  await svc('placements', 'create', '--base-url', urls[0]!, '-o', 'none')
  const counts = await Promise.all(urls.map((url) => svc('requests', 'count', '--base-url', url)))
  expect(counts.map(({ stdout }) => stdout)).toEqual(['1\n', '0\n'])
  expect(JSON.parse((await svc('sandbox', 'ps', '-o', 'json')).stdout)).toHaveLength(2)
  expect((await svc('sandbox', 'stop', '--all')).code).toBe(0)
  expect((await Promise.all(started.map(({ ended }) => ended))).map(({ code }) => code)).toEqual([0, 0])
  expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
})

async function refused(home: string, ...args: string[]): Promise<Refusal> {
  return refusedAs({}, home, ...args)
}

async function refusedAs(user: { uid?: number; gid?: number }, home: string, ...args: string[]): Promise<Refusal> {
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'start', ...args, '-o', 'json'], {
    ...user,
    cwd: '/',
    env: { PATH: process.env.PATH, SVC_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk: Buffer) => {
    stdout += chunk.toString()
  })
  child.stderr!.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  const code = await new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)))
  expect(stdout).toBe('')
  return { code, ...(JSON.parse(stderr) as Pick<Refusal, 'error'>) }
}

/** Somebody whom permissions bind: not the superuser. */
function unprivileged(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
}

/** A state directory with a database that a sandbox has made and used. */
async function usedDatabase(): Promise<{ home: string; database: string }> {
  const home = temporaryDirectory()
  mkdirSync(join(home, 'sandboxes'))
  const database = join(home, 'sandbox.db')
  await using sandbox = await startSandbox({ database })
  await fetch(`${sandbox.url}/_sandbox/readyz`)
  onTestFinished(() => chmodSync(home, 0o755))
  return { home, database }
}

function makeNewer(database: string): void {
  const db = new Database(database)
  db.pragma('user_version = 999')
  db.close()
}

/** Every file of a directory, with the digest of what it holds. */
function contentsOf(directory: string): Record<string, string> {
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile())
  return Object.fromEntries(
    files.map(({ name }) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(directory, name)))
        .digest('hex'),
    ]),
  )
}
