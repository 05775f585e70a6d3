/** Every way in which a start is refused: its exit code, its error code, its words, and nothing lost or left behind. */
import { chmodSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { stateDirectory, stateFailure } from '#cli/settings/state-directory.ts'
import { startSandbox } from '#sandbox/index.ts'
import { follow } from './follow.ts'
import { type Refusal, readContents, refusedAs, unprivileged, usedDatabase } from './refused-start.ts'
import { realProcesses, svc, temporaryDirectory } from './test-cli.ts'

describe('a start is refused', () => {
  test.each<[string, string, (database: string) => void]>([
    ['made by a newer version', 'database_newer', makeNewer],
    ['cut off', 'database_corrupt', (database) => truncateSync(database, 5_000)],
    ['overwritten', 'database_corrupt', (database) => writeFileSync(database, 'the only copy of something')],
  ])('on a database that was %s, which stays as it is', async (_, code, spoil) => {
    const { home, database } = await usedDatabase()
    spoil(database)
    const before = readContents(home)
    const refusal = await refused(home)
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code } })
    expect(refusal.error.message).toContain(database)
    expect(refusal.error.hint).toContain('--db')
    expect(readContents(home)).toEqual(before)
  })

  test('on a database that another sandbox uses, which is named and goes on', async () => {
    const home = temporaryDirectory()
    await using running = follow('start --port 0 -o json', { env: { SVC_HOME: home } })
    const { url, database } = JSON.parse(await running.firstLine) as { url: string; database: string }
    const refusal = await refused(home)
    expect(refusal).toMatchObject({ code: 8, error: { category: 'busy', code: 'database_in_use' } })
    expect(refusal.error.message).toContain(`${url} (pid ${process.pid}`)
    // Nor does another state directory hide it.
    const elsewhere = await refused(temporaryDirectory(), `--db ${database}`)
    expect(elsewhere).toMatchObject({ code: 8, error: { code: 'database_in_use' } })
    expect(elsewhere.error.message).toContain(`pid ${process.pid}`)
    expect((await fetch(`${url}/_sandbox/readyz`)).status).toBe(200)
    running.signal('SIGTERM')
    expect((await running.ended).code).toBe(0)
    expect(readdirSync(home).toSorted()).toEqual(['folders', 'sandboxes'])
    expect(readdirSync(dirname(database)).toSorted()).toEqual(['sandbox.db', 'sandbox.db.key'])
  })

  test('on a PostgreSQL that does not run, whose address is named without the password', {
    tags: 'depth',
  }, async () => {
    const refusal = await refused(temporaryDirectory(), '--store postgres://svc:secret@127.0.0.1:1/svc')
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
    const refusal = await refused(home, `--port ${port}`)
    expect(refusal).toMatchObject({ code: 8, error: { category: 'busy', code: 'port_in_use' } })
    expect(refusal.error.message).toContain(`Port ${port} is taken by `)
    expect(readdirSync(home)).not.toContain('sandbox.db.lock')
  })

  test('in a directory that may not be written, of which nothing is changed', { tags: 'depth' }, async () => {
    const { home, database } = await usedDatabase()
    const state = temporaryDirectory()
    chmodSync(state, 0o777)
    chmodSync(home, 0o555)
    const before = readContents(home)
    const refusal = await refusedAs(unprivileged(), state, ['--db', database])
    expect(refusal).toMatchObject({ code: 2, error: { category: 'usage', code: 'database_unwritable' } })
    expect(refusal.error.message).toContain(database)
    expect(refusal.error.hint).toContain('permissions')
    chmodSync(home, 0o755)
    expect(readContents(home)).toEqual(before)
    await using sandbox = await startSandbox({ database })
    expect((await fetch(`${sandbox.url}/_sandbox/evidence/verify`)).status).toBe(200)
  })
})

describe('a state directory that cannot be written', () => {
  const needed = [
    'start --port 0',
    'start --port 0 --db other.db',
    'start --detach --ephemeral',
    'config set client_id proj_demo',
  ]

  test.each(needed)('svc %s needs it, and ends with exit code 2 and its name', async (words) => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, 'a file')
    const { code, stdout, stderr } = await svc(words, { env: { SVC_HOME: file }, cwd: temporaryDirectory() })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(file)
    expect(stderr).toContain('hint: Set SVC_HOME to a directory that you own.')
    expect(readFileSync(file, 'utf8')).toBe('a file')
  })

  test('start --ephemeral and exec work without it', async () => {
    const file = join(temporaryDirectory(), 'file')
    writeFileSync(file, 'a file')
    const options = { env: { SVC_HOME: file, PATH: process.env.PATH ?? '' }, cwd: temporaryDirectory() }
    await using memory = follow('start --port 0 --ephemeral -o json', options)
    await memory.firstLine
    expect(memory.stderr()).toContain(
      `warning: ${file}/sandboxes cannot be written: part of its path is not a directory.`,
    )
    expect(memory.stderr()).toContain('Other commands need --base-url http://127.0.0.1:')
    const ended = await svc('exec -q -- true', { ...options, system: realProcesses })
    expect(ended).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(readFileSync(file, 'utf8')).toBe('a file')
  })

  test('a place without folders: /proc says that a parent is missing', async () => {
    const { code, stderr } = await svc('config use other', { env: { SVC_HOME: '/proc/no-such-folder/svc' } })
    expect(code, stderr).toBe(2)
    expect(stderr).toContain('/proc/no-such-folder')
  })

  test('no home directory is known: nothing is written to the current directory', async () => {
    const path = stateDirectory({ env: {}, home: '', platform: 'linux' })
    expect(stateFailure(path, Object.assign(new Error('x'), { code: 'EACCES', syscall: 'mkdir' }))).toMatchObject({
      category: 'usage',
      message: 'There is no home directory, so svc has nowhere to keep its state.',
    })
    const cwd = temporaryDirectory()
    const { code, stdout } = await svc('start --port 0', { cwd, system: { home: '', platform: 'linux' } })
    expect({ code, stdout, left: readdirSync(cwd) }).toEqual({ code: 2, stdout: '', left: [] })
    const listed = await svc('sandbox ps', { cwd, system: { home: '', platform: 'linux' } })
    expect(listed).toMatchObject({ code: 2, stdout: '' })
    expect(listed.stderr).toMatch(
      /^error: There is no home directory, .*\nhint: Set SVC_HOME to a directory that you own/,
    )
  })
})

/** Runs a start that is refused, with its error as JSON. */
async function refused(home: string, flags = ''): Promise<Refusal> {
  const { code, stdout, stderr } = await svc(`start --port 0 ${flags} -o json`, { env: { SVC_HOME: home }, cwd: home })
  expect(stdout).toBe('')
  return { code, ...(JSON.parse(stderr) as Pick<Refusal, 'error'>) }
}

function makeNewer(database: string): void {
  const db = new Database(database)
  db.pragma('user_version = 999')
  db.close()
}
