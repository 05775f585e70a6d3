/** What an unclean end leaves is looked into at the next start: damage of the file, and a log that was cut or removed. */
import { closeSync, copyFileSync, existsSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Sandbox, type SandboxError, startSandbox } from '#sandbox/index.ts'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { addBeacons } from '#tests/reliability/large-state.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const page_bytes = 8_192
const reports: unknown[] = []

afterEach(() => {
  reports.length = 0
})

/** Later than the start of a check. A stop waits until it has ended. */
const checkStarts_ms = 250

describe('after a kill', () => {
  test('a page that is damaged becomes a warning, printed and in the info; a reset takes it back', async () => {
    const database = await killed()
    damagePage(database)
    await using sandbox = await start(database)
    expect(sandbox.warnings).toEqual([])
    await expect.poll(() => reports.join('\n')).toContain('is damaged, as found after an unclean end')
    const [warning, ...others] = await listWarnings(sandbox)
    expect(others).toEqual([])
    expect(warning).toMatch(/^\S+sandbox\.db is damaged, as found after an unclean end: .+ svc sandbox reset$/)
    expect((await fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })).status).toBe(200)
    expect(await listWarnings(sandbox)).toEqual([])
  })

  test('an intact file has no warning, and is checked once', async () => {
    const database = await killed()
    const sandbox = await start(database)
    await pause(checkStarts_ms)
    await sandbox.close()
    expect([sandbox.warnings, reports]).toEqual([[], []])
    expect(existsSync(`${database}.lock`)).toBe(false)
  })

  test('a start that fails, or a stop before the check, leaves it to the next', async () => {
    const database = await killed()
    damagePage(database)
    rmSync(`${database}-wal`)
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    onTestFinished(() => void taken.close())
    const { port } = taken.address() as { port: number }
    const failed = await startSandbox({ database, port }).catch((error: SandboxError) => error.code)
    expect(failed).toBe('port_in_use')
    await (await startSandbox({ database })).close()
    await using sandbox = await start(database)
    expect(sandbox.warnings).toEqual([expect.stringContaining('was cut or removed')])
    await expect.poll(() => reports.join('\n')).toContain('is damaged')
  })
})

test('after an orderly stop nothing is checked', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  await fill(database)
  damagePage(database)
  const sandbox = await start(database)
  await pause(checkStarts_ms)
  await sandbox.close()
  expect(reports).toEqual([])
})

describe('the log of a sandbox that was killed', () => {
  const missing = (database: string) =>
    `${database}-wal, the log of a sandbox that was killed, was cut or removed: the last of what it had acknowledged is missing`

  test.each([
    ['removed', (log: string) => rmSync(log)],
    ['emptied', (log: string) => truncateSync(log)],
    ['cut by one page', (log: string) => truncateSync(log, statSync(log).size - page_bytes)],
    ['cut by one byte', (log: string) => truncateSync(log, statSync(log).size - 1)],
  ])('%s: the start warns, and so does the info', async (_how, change) => {
    const database = await killed()
    change(`${database}-wal`)
    await using sandbox = await start(database)
    expect(sandbox.warnings).toEqual([missing(database)])
    expect(await listWarnings(sandbox)).toContain(missing(database))
  })

  test('removed with its index: the start says what may be missing', async () => {
    const database = await killed()
    for (const ending of ['-wal', '-shm']) rmSync(`${database}${ending}`)
    await using sandbox = await start(database)
    expect(sandbox.warnings).toEqual([
      `${database}-wal, the log of a sandbox that was killed, is gone: unless another program copied it, the last of what it had acknowledged is missing`,
    ])
  })

  test('whole, or copied before it was removed: no warning', async () => {
    const database = await killed()
    const child = await startKillable(database)
    const db = new Database(database)
    db.pragma('wal_checkpoint(PASSIVE)')
    db.close()
    await child.kill()
    rmSync(`${database}-wal`)
    await using sandbox = await start(database)
    expect([child.warnings, sandbox.warnings]).toEqual([[], []])
  })
})

describe('a copy of the database file alone', () => {
  test.each([
    ['of a sandbox that has stopped', async () => stoppedOne()],
    ['of one that was killed, with its log', async () => copied(await killed(), ['', '-wal', '.key'])],
    [
      'of a snapshot',
      async () => {
        const database = await stoppedOne()
        await using sandbox = await start(database)
        await post(sandbox, '/_sandbox/snapshots/copied', '{}')
        return copied(`${database}.snapshots/snapshot-copied.db`, [''])
      },
    ],
    [
      'of a sandbox that could not start',
      async () => {
        const database = await stoppedOne()
        const refused = await startSandbox({ database, host: '192.0.2.1' }).catch((error: SandboxError) => error.code)
        expect(refused).toEqual(expect.any(String))
        return copied(database, [''])
      },
    ],
  ])('%s: no warning', async (_whose, make) => {
    const copy = await make()
    await using sandbox = await start(copy)
    expect(sandbox.warnings).toEqual([])
  })

  const alone = (database: string) =>
    `${database} comes from a sandbox that had not stopped, without the log of that sandbox: what was only in the log is missing. Stop a sandbox before you copy its files, or use: svc sandbox export`

  test.each([
    ['of a running sandbox', async (_sandbox: Sandbox) => {}],
    ['of one that was reset', async (sandbox: Sandbox) => post(sandbox, '/_sandbox/reset', '{}')],
    [
      'of one whose state was restored',
      async (sandbox: Sandbox) => {
        await post(sandbox, '/_sandbox/snapshots/back', '{}')
        await post(sandbox, '/_sandbox/snapshots/back/restore', '{}')
      },
    ],
  ])('%s: the start warns, the info too, and once it has stopped no longer', async (_whose, change) => {
    const database = await stoppedOne()
    await using running = await start(database)
    await change(running)
    const checkpointed = new Database(database)
    checkpointed.pragma('wal_checkpoint(PASSIVE)')
    checkpointed.close()
    await write(running)
    const copy = copied(database, [''])
    const first = await start(copy)
    expect([first.warnings, await listWarnings(first)]).toEqual([[alone(copy)], [alone(copy)]])
    await pause(checkStarts_ms)
    await first.close()
    await using second = await start(copy)
    expect(second.warnings).toEqual([])
  })
})

/** Copies the files with these endings into another folder. */
function copied(path: string, endings: string[]): string {
  const copy = join(temporaryDirectory(), 'copy.db')
  for (const ending of endings) copyFileSync(`${path}${ending}`, `${copy}${ending}`)
  return copy
}

async function stoppedOne(): Promise<string> {
  const database = join(temporaryDirectory(), 'sandbox.db')
  await using sandbox = await start(database)
  await write(sandbox)
  return database
}

/** A copy of a database whose sandbox was killed, with what that left: most pages are in the file, the newest in the log. */
async function killed(): Promise<string> {
  example ??= killOne()
  const copy = join(temporaryDirectory(), 'sandbox.db')
  for (const ending of ['', '-wal', '-shm', '.lock', '.key'])
    copyFileSync(`${await example}${ending}`, `${copy}${ending}`)
  return copy
}

let example: Promise<string> | undefined

async function killOne(): Promise<string> {
  const database = join(temporaryDirectory(), 'sandbox.db')
  await fill(database)
  const child = await startKillable(database)
  await write(child)
  await child.kill()
  expect(statSync(`${database}-wal`).size).toBeGreaterThan(page_bytes)
  return database
}

/** Makes a database of some megabytes, whose sandbox was stopped in order. */
async function fill(database: string): Promise<void> {
  await using sandbox = await start(database)
  await write(sandbox)
  await sandbox.close()
  addBeacons(database, 2_000)
}

function start(database: string): Promise<Sandbox> {
  return startSandbox({ database, report: (error) => reports.push(error) })
}

async function startKillable(database: string): Promise<Child> {
  const child = await startChild({ database })
  onTestFinished(() => child.kill())
  return child
}

async function write({ url }: { url: string }): Promise<void> {
  const response = await fetch(`${url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
    body: '{"client_id":"proj_demo","session_id":"unclean","job_type":"chat"}',
  })
  expect(response.status, await response.text()).toBe(200)
}

/** Overwrites a page of evidence that no start reads. */
function damagePage(database: string): void {
  const db = new Database(database, { readonly: true })
  const page = db
    .prepare<[], number>("SELECT pageno FROM dbstat WHERE name = 'evidence' AND pagetype = 'leaf' LIMIT 1 OFFSET 10")
    .pluck()
    .get()
  db.close()
  if (page === undefined) throw new Error('The database has no such page.')
  const file = openSync(database, 'r+')
  writeSync(file, Buffer.alloc(page_bytes, 0x55), 0, page_bytes, (page - 1) * page_bytes)
  closeSync(file)
}

async function post({ url }: Sandbox, path: string, body: string): Promise<void> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  expect(response.ok, await response.text()).toBe(true)
}

async function listWarnings({ url }: { url: string }): Promise<string[]> {
  return ((await (await fetch(`${url}/_sandbox/info`)).json()) as { warnings: string[] }).warnings
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
