/** Starting, stopping, restarting, and databases that cannot be used. What needs processes: tests/matrices/processes.test.ts. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Sandbox, SandboxError, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { startChild } from './child.ts'
import { buildBeacon, buildPlacement, get, headers, newDatabase, place, post, type Served } from './served.ts'
import { exchange, responsesIn } from './wire.ts'

const reports: unknown[] = []

afterEach(() => {
  expect(reports.splice(0)).toEqual([])
})

describe('a database that cannot be used', () => {
  test('in use by another sandbox: the error names its pid, and after a kill the file opens at once', async () => {
    const database = newDatabase()
    const owner = await startChild({ database })
    const failure = await readFailure({ database })
    expect(failure.code).toBe('database_in_use')
    expect(failure.message).toContain(`pid ${owner.pid}`)
    expect(failure.hint).not.toBe('')
    await owner.kill()
    await using sandbox = await start({ database })
    expect(await get(sandbox, '/_sandbox/readyz')).toEqual({ ok: true })
  })

  test('in use by the same process', async () => {
    const database = newDatabase()
    await using _first = await start({ database })
    const failure = await readFailure({ database })
    expect(failure.code).toBe('database_in_use')
    expect(failure.message).toContain(`pid ${process.pid}`)
  })

  test('made by a newer version', { tags: 'depth' }, async () => {
    const database = await usedDatabase()
    const db = new Database(database)
    db.pragma('user_version = 999')
    db.close()
    await isRefusedUntouched(database, 'database_newer')
  })

  test('a text file', async () => {
    const database = newDatabase()
    writeFileSync(database, 'not a database, but the only copy of something\n'.repeat(100))
    await isRefusedUntouched(database, 'database_corrupt')
  })

  test.each([100, 40_000])('a database cut off after %i bytes', async (bytes) => {
    const database = await usedDatabase()
    truncateSync(database, bytes)
    await isRefusedUntouched(database, 'database_corrupt')
  })

  test('a database with pages overwritten', async () => {
    const database = await usedDatabase()
    const content = readFileSync(database)
    content.fill(0x55, 4_096)
    writeFileSync(database, content)
    await isRefusedUntouched(database, 'database_corrupt')
  })

  test('a lock that a power loss has left without its content is used again', { tags: 'depth' }, async () => {
    const database = await usedDatabase()
    writeFileSync(`${database}.lock`, Buffer.alloc(4_096))
    await using _sandbox = await start({ database })
    expect((await readFailure({ database })).code).toBe('database_in_use')
  })

  test('a lock with the content of another file: not the database is at fault', { tags: 'depth' }, async () => {
    const database = await usedDatabase()
    writeFileSync(`${database}.lock`, Buffer.alloc(4_096, 'x'))
    const failure = await readFailure({ database })
    expect(failure.code).toBe('database_corrupt')
    expect(failure.message).toBe(`${database}.lock is damaged, as by a power loss: file is not a database.`)
    expect(failure.hint).toBe('Remove it if no sandbox runs: it holds no data.')
    rmSync(`${database}.lock`)
    await using _sandbox = await start({ database })
  })

  test('a SQLite database of another program', async () => {
    const database = newDatabase()
    const db = new Database(database)
    db.exec("CREATE TABLE photos (name TEXT); INSERT INTO photos VALUES ('holiday')")
    db.close()
    await isRefusedUntouched(database, 'database_corrupt')
  })

  test('a directory in place of the file', async () => {
    const database = newDatabase()
    mkdirSync(database)
    const failure = await readFailure({ database })
    expect(failure.code).toBe('database_unwritable')
    expect(failure.hint).not.toBe('')
  })

  test('a database that another program has locked', { tags: 'depth' }, async () => {
    const database = await usedDatabase()
    const other = new Database(database)
    other.exec('BEGIN EXCLUSIVE')
    const failure = await readFailure({ database })
    other.close()
    expect(failure).toMatchObject({ code: 'database_unwritable', message: expect.stringContaining('another program') })
    expect(failure.hint).toContain('Close the program that has it open')
  })

  test('a path below a regular file', async () => {
    const file = newDatabase()
    writeFileSync(file, 'a file')
    for (const database of [join(file, 'sandbox.db'), join(file, 'deeper', 'sandbox.db')]) {
      const failure = await readFailure({ database })
      expect(failure.code).toBe('database_unwritable')
      expect(failure.hint).not.toBe('')
    }
    expect(readFileSync(file, 'utf8')).toBe('a file')
  })
})

test('neither a failed start nor an orderly stop leaves a lock beside the database', async () => {
  const database = newDatabase()
  const isLocked = () => existsSync(`${database}.lock`)
  const first = await start({ database })
  expect(isLocked()).toBe(true)
  expect((await readFailure({ database })).code).toBe('database_in_use')
  expect((await readFailure({ database, scenario: 'unheard_of' })).code).toBe('option_invalid')
  expect(isLocked()).toBe(true)
  await first.close()
  expect(isLocked()).toBe(false)
  expect((await readFailure({ database, scenario: 'unheard_of' })).code).toBe('option_invalid')
  expect(isLocked()).toBe(false)
})

test('with the default host, clients that resolve localhost to ::1 reach it too; with a host of its own, only that', async () => {
  await using sandbox = await start({})
  await using own = await start({ host: '127.0.0.1' })
  expect((await fetch(`http://[::1]:${sandbox.port}/_sandbox/livez`)).status).toBe(200)
  await expect(fetch(`http://[::1]:${own.port}/_sandbox/livez`)).rejects.toThrow('fetch failed')
})

test('a port that is taken', async () => {
  const other: Server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  onTestFinished(() => void other.close())
  const { port } = other.address() as { port: number }
  const database = newDatabase()
  const failure = await readFailure({ port, database })
  expect(failure.code).toBe('port_in_use')
  expect(failure.message).toContain(String(port))
  await using sandbox = await start({ database })
  expect(sandbox.port).not.toBe(port)
})

describe('a restart on the same database', () => {
  test('keeps placements, and their tokens stay valid', async () => {
    const database = newDatabase()
    const before = await start({ database })
    const placed = await place(before, 'restart')
    const token = placed.decision!.asset_token!
    await post(before, '/v1/beacons', buildBeacon(token, 'before.1', 'render'))
    await before.close()

    await using after = await start({ database })
    const decision = await get<PlacementResponse>(after, `/v1/decisions/${placed.slot_id}`)
    expect(decision.decision?.asset_token).toBe(token)
    const same = (value: unknown) => JSON.stringify(value).replaceAll(/127\.0\.0\.1:\d+/g, 'host')
    expect(same(decision)).toBe(same(placed))
    const repeated = await post(after, '/v1/beacons', buildBeacon(token, 'after.01', 'visible'))
    expect(repeated.body).toMatchObject({ accepted: true, duplicate: false })
    const frame = await request(`${after.url}/v1/render/${token}`)
    expect(frame.statusCode).toBe(200)
    await frame.body.dump()
    const { beacons } = await get<{ beacons: { beacon_id: string }[] }>(after, `/_sandbox/placements/${placed.slot_id}`)
    expect(beacons.map((beacon) => beacon.beacon_id)).toEqual(['before.1', 'after.01'])
    expect(await get(after, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  })
})

describe('close()', () => {
  test('ends event streams, frees the port, and may be called twice', async () => {
    const sandbox = await start()
    const { body } = await request(`${sandbox.url}/_sandbox/events`)
    const pieces = body[Symbol.asyncIterator]()
    expect(String((await pieces.next()).value)).toContain(': connected')
    await Promise.all([sandbox.close(), sandbox.close()])
    expect((await pieces.next()).done).toBe(true)

    const next = createServer().listen(sandbox.port, '127.0.0.1')
    await new Promise((resolve, reject) => next.once('listening', resolve).once('error', reject))
    next.close()
  })

  test('waits five seconds for requests that never finish, and no longer', async () => {
    const sandbox = await start()
    const { host } = new URL(sandbox.url)
    const head = `POST /v1/placements HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\n`
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      const held = [head, 'GET /_sandbox/events HTTP/1.1\r\nHost: localhost\r\n\r\n', ''].map((text) =>
        exchange(sandbox.url, { name: text, bytes: Buffer.from(text), ending: 'hold' }, 12_000),
      )
      // All of them have arrived once a later request has its response.
      await get(sandbox, '/_sandbox/livez')
      let isClosed = false
      const closing = sandbox.close().then(() => {
        isClosed = true
      })
      await vi.advanceTimersByTimeAsync(4_999)
      expect(isClosed).toBe(false)
      await vi.advanceTimersByTimeAsync(1)
      await closing
      for (const { isSettled } of await Promise.all(held)) expect(isSettled).toBe(true)
    } finally {
      vi.useRealTimers()
    }
  })

  test('twenty starts and stops leave no handle open', { tags: 'depth' }, async () => {
    const database = newDatabase()
    const cycle = async (round: number) => {
      await using sandbox = await start(round % 2 === 0 ? { decision_latency_ms: 60_000 } : { database })
      await post(sandbox, '/v1/placements?wait_ms=0', buildPlacement('cycle'))
      const stream = await request(`${sandbox.url}/_sandbox/events`)
      stream.body.on('error', () => {}).destroy()
    }
    await cycle(0)
    await cycle(1)
    const before = activeResources()
    for (let round = 0; round < 20; round++) await cycle(round)
    // Sockets of finished requests are closed a moment later.
    await expect.poll(() => activeResources() - before).toBeLessThan(10)
  })
})

test('a consent conflict in the same turn as successful beacons affects none of them', async () => {
  await using sandbox = await start({ rate_limit: 'off' })
  const placed = await Promise.all(Array.from({ length: 8 }, (_, index) => place(sandbox, `turn-${index}`)))
  const stale = { client_id: 'proj_demo', session_id: 'shared', purposes: { ads: true }, expected_revision: 0 }
  const bodies = placed.flatMap(({ decision }, index) => [
    wirePost(sandbox, '/v1/beacons', buildBeacon(decision!.asset_token!, `turn.${index}.a`, 'render')),
    wirePost(sandbox, '/v1/consent', { ...stale, decision: index % 2 === 0 ? 'granted' : 'denied' }),
    wirePost(sandbox, '/v1/beacons', buildBeacon(decision!.asset_token!, `turn.${index}.b`, 'visible')),
  ])
  const results = await Promise.all(
    bodies.map((text) =>
      exchange(sandbox.url, { name: 'turn', bytes: Buffer.from(text), ending: 'hold' }, 5_000).then(
        ({ received }) => responsesIn(received)[0]!,
      ),
    ),
  )
  const statuses = (offset: number) => results.filter((_, index) => index % 3 === offset).map(({ status }) => status)
  expect(statuses(0)).toEqual(Array(8).fill(200))
  expect(statuses(2)).toEqual(Array(8).fill(200))
  expect(statuses(1).toSorted()).toEqual([200, ...Array(7).fill(400)])
  const { items } = await get<{ items: { beacon_id: string }[] }>(sandbox, '/_sandbox/beacons?verdict=accepted')
  expect(items.filter(({ beacon_id }) => beacon_id.startsWith('turn.'))).toHaveLength(16)
  expect(await get(sandbox, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
})

function start(options: SandboxOptions = {}): Promise<Sandbox> {
  return startSandbox({ report: (error) => reports.push(error), ...options })
}

async function readFailure(options: SandboxOptions): Promise<SandboxError> {
  const outcome = await start(options).catch((error: unknown) => error)
  if (!(outcome instanceof SandboxError)) throw new Error('The sandbox did not refuse to start.', { cause: outcome })
  return outcome
}

/** Expects a code and a hint, an unchanged file, and no lock. */
async function isRefusedUntouched(database: string, code: SandboxError['code']): Promise<void> {
  const before = makeDigest(database)
  const beside = readdirSync(dirname(database))
  for (let attempt = 0; attempt < 2; attempt++) {
    const failure = await readFailure({ database })
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(database)
    expect(failure.hint).not.toBe('')
    expect(makeDigest(database)).toBe(before)
    expect(readdirSync(dirname(database))).toEqual(beside)
  }
}

function makeDigest(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/** A database that a sandbox has created, used and closed. */
async function usedDatabase(): Promise<string> {
  const database = newDatabase()
  await using sandbox = await start({ database })
  for (let turn = 0; turn < 30; turn++) await place(sandbox, `used-${turn}`)
  return database
}

function wirePost({ url }: Served, path: string, body: object): string {
  const text = JSON.stringify(body)
  const head = Object.entries({ ...headers, host: new URL(url).host, 'content-length': String(text.length) })
  return `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`
}

/** How many timers, sockets and files the process has open. */
function activeResources(): number {
  const counted = ['Timeout', 'TCPServerWrap', 'TCPSocketWrap', 'FSReqCallback']
  return process.getActiveResourcesInfo().filter((name) => counted.includes(name)).length
}
