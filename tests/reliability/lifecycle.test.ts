/** Starting, stopping, restarting; databases that cannot be used; storage that refuses. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { Client, request } from 'undici'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '#contract/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { SandboxInfo } from '#contract/resources/sandbox/sandbox.ts'
import { manualClock, type Sandbox, SandboxError, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type ChildOptions, startChild } from './child.ts'
import { problemOf } from './responses.ts'
import { exchange, responsesIn } from './wire.ts'

const reports: unknown[] = []

afterEach(() => {
  expect(reports.splice(0)).toEqual([])
})

describe('a database that cannot be used', () => {
  test('in use by another sandbox: the error names its pid, and after a kill the file opens at once', async () => {
    const database = newDatabase()
    const owner = await startChild({ database })
    const failure = await failureOf({ database })
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
    const failure = await failureOf({ database })
    expect(failure.code).toBe('database_in_use')
    expect(failure.message).toContain(`pid ${process.pid}`)
  })

  test('made by a newer version', async () => {
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

  test.each([100, 1_000, 4_096, 10_000, 40_000])('a database cut off after %i bytes', async (bytes) => {
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

  test('a lock that a power loss has left without its content is used again', async () => {
    const database = await usedDatabase()
    writeFileSync(`${database}.lock`, Buffer.alloc(4_096))
    await using _sandbox = await start({ database })
    expect((await failureOf({ database })).code).toBe('database_in_use')
  })

  test('a lock with the content of another file: not the database is at fault', async () => {
    const database = await usedDatabase()
    writeFileSync(`${database}.lock`, Buffer.alloc(4_096, 'x'))
    const failure = await failureOf({ database })
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
    const failure = await failureOf({ database })
    expect(failure.code).toBe('database_unwritable')
    expect(failure.hint).not.toBe('')
  })

  test('a database that another program has locked', async () => {
    const database = await usedDatabase()
    const other = new Database(database)
    other.exec('BEGIN EXCLUSIVE')
    const failure = await failureOf({ database })
    other.close()
    expect(failure).toMatchObject({ code: 'database_unwritable', message: expect.stringContaining('another program') })
    expect(failure.hint).toContain('Close the program that has it open')
  })

  test('a path below a regular file', async () => {
    const file = newDatabase()
    writeFileSync(file, 'a file')
    for (const database of [join(file, 'sandbox.db'), join(file, 'deeper', 'sandbox.db')]) {
      const failure = await failureOf({ database })
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
  expect((await failureOf({ database })).code).toBe('database_in_use')
  expect((await failureOf({ database, scenario: 'unheard_of' })).code).toBe('option_invalid')
  expect(isLocked()).toBe(true)
  await first.close()
  expect(isLocked()).toBe(false)
  expect((await failureOf({ database, scenario: 'unheard_of' })).code).toBe('option_invalid')
  expect(isLocked()).toBe(false)
})

test('of several processes that open one database at a time, exactly one succeeds', async () => {
  const database = newDatabase()
  for (let round = 0; round < 3; round++) {
    const wanted = await Promise.allSettled(Array.from({ length: 4 }, () => startChild({ database })))
    const owners = wanted.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    const refusals = wanted.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []))
    expect(owners).toHaveLength(1)
    expect(refusals).toEqual(Array(3).fill('database_in_use'))
    await Promise.all(owners.map((owner) => owner.close()))
    expect(existsSync(`${database}.lock`)).toBe(false)
  }
})

describe('storage that is full', () => {
  test('a limit on the size of files', async () => {
    const database = newDatabase()
    const lift = (pid: number) => execFileSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:unlimited'])
    await survivesFullStorage(database, { file_limit_bytes: 6_000_000 }, canRun('prlimit', ['--version']) ? lift : null)
  })

  test('a file system without space', async () => {
    const directory = temporaryDirectory()
    if (!canRun('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', directory])) {
      return survivesFullStorage(join(directory, 'sandbox.db'), { small_disk: directory }, null)
    }
    onTestFinished(() => void execFileSync('umount', ['-l', directory]))
    const lift = () => execFileSync('mount', ['-o', 'remount,size=100m', directory])
    await survivesFullStorage(join(directory, 'sandbox.db'), {}, lift)
  })

  test('a stop says that the log could not be copied, with exit code 2, and loses nothing', async () => {
    const [disk, left, home] = [temporaryDirectory(), temporaryDirectory(), temporaryDirectory()]
    const script = 'mount -t tmpfs -o size=3m tmpfs "$0"; left=$1; shift; "$@"; code=$?; cp "$0"/* "$left"; exit $code'
    const database = join(disk, 'sandbox.db')
    const words = ['start', '--port', '0', '--rate-limit', 'off', '--db', database, '-o', 'json']
    const svc = [process.execPath, join(import.meta.dirname, '../../bin/svc.js'), ...words]
    const process_ = spawn('unshare', ['-Urm', 'sh', '-c', script, disk, left, ...svc], {
      env: { PATH: process.env.PATH, SVC_HOME: home },
    })
    const ended = new Promise((resolve) => process_.once('close', resolve))
    let printed = ''
    process_.stderr.on('data', (chunk: Buffer) => {
      printed += chunk.toString()
    })
    const first = await new Promise<Buffer>((resolve) => process_.stdout.once('data', resolve))
    const served = JSON.parse(first.toString()) as Served & { pid: number }
    onTestFinished(() => void (process_.exitCode ?? process.kill(served.pid, 'SIGKILL')))
    const acknowledged: string[] = []
    for (let turn = 0, status = 200; status === 200; turn++) {
      const placed = await post(served, '/v1/placements', placementOf(`stop-${turn}`))
      status = placed.status
      if (status === 200) acknowledged.push((placed.body as PlacementResponse).slot_id)
    }
    process.kill(served.pid, 'SIGTERM')
    expect(await ended, printed).toBe(2)
    expect(printed).toContain(`${database} could not take in its log: database or disk is full.`)
    expect(printed).toContain(`Nothing is lost: keep ${database}-wal next to it.`)
    expect(readdirSync(join(home, 'sandboxes'))).toEqual([])
    await using sandbox = await start({ database: join(left, 'sandbox.db'), rate_limit: 'off' })
    for (const slot_id of acknowledged) {
      expect(await get(sandbox, `/v1/decisions/${slot_id}`)).toMatchObject({ slot_id, status: 'ready' })
    }
  })

  /** Fills the storage, and lifts the limit where that is possible. */
  async function survivesFullStorage(
    database: string,
    limits: ChildOptions,
    lift: ((pid: number) => void) | null,
  ): Promise<void> {
    const child = await startChild({ database, rate_limit: 'off' }, limits)
    onTestFinished(() => child.kill())
    const acknowledged: string[] = []
    let refused = 0
    for (let turn = 0; turn < 20_000 && refused < 40; turn++) {
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, lane) => post(child, '/v1/placements', placementOf(`full-${turn}-${lane}`))),
      )
      for (const { status, body, headers } of results) {
        if (status === 200) acknowledged.push((body as PlacementResponse).slot_id)
        else {
          refused++
          expect(body).toMatchObject({ error: 'unavailable', reason_code: 'storage_unavailable', retryable: true })
          expect(status).toBe(503)
          expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
        }
      }
    }
    expect(refused).toBeGreaterThan(0)
    expect(acknowledged.length).toBeGreaterThan(50)
    // The responses come over a socket, the reports over another channel: either may be first.
    await vi.waitFor(() => expect(child.reports.join('\n')).toContain('refused a write'))

    for (const slot_id of [acknowledged[0]!, acknowledged.at(-1)!]) {
      expect(await get(child, `/v1/decisions/${slot_id}`)).toMatchObject({ slot_id, status: 'ready' })
    }
    expect(await get(child, '/_sandbox/placements?limit=5')).toMatchObject({ next_cursor: expect.anything() })
    expect(await get(child, '/_sandbox/requests?limit=5')).toHaveProperty('items')
    expect(await get(child, '/v1/projects/proj_demo/config')).toHaveProperty('client_id', 'proj_demo')
    expect(await get(child, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
    // What cannot be stored is refused, and has not happened.
    const unmoved = await get<{ offset_ms: number }>(child, '/_sandbox/clock')
    const moves = [
      await post(child, '/_sandbox/clock/advance', { by_ms: 86_400_000 }),
      await post(child, '/_sandbox/snapshots/full', {}),
      await request(`${child.url}/_sandbox/export`),
    ]
    const outcomes = moves.map((reply) => ('status' in reply ? reply.status : reply.statusCode))
    // A copy is smaller than its database: under a limit on the size of files it still fits.
    const copied = limits.file_limit_bytes === undefined ? 503 : 200
    expect(outcomes).toEqual([503, copied, copied])
    expect(await get(child, '/_sandbox/clock')).toMatchObject({ offset_ms: unmoved.offset_ms })
    if (copied === 503) expect(await get(child, '/_sandbox/snapshots')).toEqual({ items: [] })

    if (lift !== null) {
      lift(child.pid)
      const again = await post(child, '/v1/placements', placementOf('after'))
      expect(again.status, JSON.stringify(again.body)).toBe(200)
      acknowledged.push((again.body as PlacementResponse).slot_id)
    }
    // The private file system of the process is removed with it.
    const seen = limits.small_disk === undefined ? database : `/proc/${child.pid}/root${database}`
    const restarted = lift === null ? copyOf(seen) : database
    await child.kill()

    await using sandbox = await start({ database: restarted, rate_limit: 'off' })
    for (const slot_id of acknowledged) {
      expect(await get(sandbox, `/v1/decisions/${slot_id}`)).toMatchObject({ slot_id, status: 'ready' })
    }
    expect(await get(sandbox, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  }
})

test('a file that is removed while in use: no other takes its place, the sandbox says so, and an export has everything', async () => {
  const database = newDatabase()
  const told: string[] = []
  await using sandbox = await startSandbox({ database, rate_limit: 'off', report: (error) => told.push(String(error)) })
  for (const file of [database, `${database}-wal`, `${database}-shm`]) rmSync(file)
  // As many as make the log worth copying, which a thread does on a connection of its own.
  for (let turn = 0; turn < 50; turn++) {
    await Promise.all(Array.from({ length: 10 }, (_, lane) => place(sandbox, `${turn}-${lane}`)))
  }
  const warning = `${database} was removed or replaced while in use: its data is lost when this sandbox stops, unless you export it: svc sandbox export`
  expect(await get(sandbox, '/_sandbox/info')).toMatchObject({ warnings: [warning] })
  expect(await get(sandbox, '/_sandbox/integrity')).toMatchObject({ ok: false, database: { problems: [warning] } })
  expect((await post(sandbox, '/_sandbox/reset', {})).status).toBe(503)
  const exported = await (await request(`${sandbox.url}/_sandbox/export`)).body.bytes()
  await using other = await start({})
  const headers = { 'content-type': 'application/gzip' }
  const { body } = await request(`${other.url}/_sandbox/import`, { method: 'POST', headers, body: exported })
  expect(await body.json()).toMatchObject({ ok: true, evidence_entries: 500 })
  await sandbox.close()
  expect(told.filter((line) => line !== `DamageWarning: ${warning}`)).toEqual([
    `StorageError: The database refused a write: ${warning}`,
  ])
  expect(existsSync(database)).toBe(false)
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
  const failure = await failureOf({ port, database })
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
    await post(before, '/v1/beacons', beaconOf(token, 'before.1', 'render'))
    await before.close()

    await using after = await start({ database })
    const decision = await get<PlacementResponse>(after, `/v1/decisions/${placed.slot_id}`)
    expect(decision.decision?.asset_token).toBe(token)
    const same = (value: unknown) => JSON.stringify(value).replaceAll(/127\.0\.0\.1:\d+/g, 'host')
    expect(same(decision)).toBe(same(placed))
    const repeated = await post(after, '/v1/beacons', beaconOf(token, 'after.01', 'visible'))
    expect(repeated.body).toMatchObject({ accepted: true, duplicate: false })
    const frame = await request(`${after.url}/v1/render/${token}`)
    expect(frame.statusCode).toBe(200)
    await frame.body.dump()
    const { beacons } = await get<{ beacons: { beacon_id: string }[] }>(after, `/_sandbox/placements/${placed.slot_id}`)
    expect(beacons.map((beacon) => beacon.beacon_id)).toEqual(['before.1', 'after.01'])
    expect(await get(after, '/_sandbox/evidence/verify')).toMatchObject({ ok: true })
  })

  test('resumes pending decisions', async () => {
    const database = newDatabase()
    const clock = manualClock()
    const before = await start({ database, clock, decision_latency_ms: 5_000 })
    const pending = await place(before, 'pending', 0)
    expect(pending).toMatchObject({ status: 'pending', decision: null })
    await before.close()
    clock.advance(1_000)

    await using after = await start({ database, clock, decision_latency_ms: 5_000 })
    expect(await get(after, `/v1/decisions/${pending.slot_id}`)).toMatchObject({ status: 'pending' })
    clock.advance(4_000)
    expect(await get(after, `/v1/decisions/${pending.slot_id}?wait_ms=2000`)).toMatchObject({
      status: 'ready',
      decision: { fill: true },
    })
  })

  test('decides what became due while it was stopped', async () => {
    const database = newDatabase()
    const clock = manualClock()
    const before = await start({ database, clock, decision_latency_ms: 5_000 })
    const { slot_id } = await place(before, 'overdue', 0)
    await before.close()
    clock.advance(60_000)
    await using after = await start({ database, clock })
    expect(await get(after, `/v1/decisions/${slot_id}?wait_ms=2000`)).toMatchObject({ status: 'ready' })
  })
})

describe('close()', () => {
  test('ends long polls and event streams, frees the port, and may be called twice', async () => {
    const sandbox = await start({ decision_latency_ms: 60_000 })
    const polls = Array.from({ length: 3 }, () => post(sandbox, '/v1/placements?wait_ms=5000', placementOf('poll')))
    const stream = await request(`${sandbox.url}/_sandbox/events`)
    const streamed = stream.body.text()
    await pause(200)
    const began = performance.now()
    await Promise.all([sandbox.close(), sandbox.close()])
    expect(performance.now() - began).toBeLessThan(4_500)
    for (const poll of polls) expect((await poll).body).toMatchObject({ status: 'pending' })
    expect(await streamed).toContain(': connected')

    const next = createServer().listen(sandbox.port, '127.0.0.1')
    await new Promise((resolve, reject) => next.once('listening', resolve).once('error', reject))
    next.close()
  })

  test('does not wait longer than five seconds for requests that never finish', async () => {
    const sandbox = await start()
    const { host } = new URL(sandbox.url)
    const head = `POST /v1/placements HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 9\r\n\r\n`
    const held = [head, 'GET /_sandbox/events HTTP/1.1\r\nHost: localhost\r\n\r\n', ''].map((text) =>
      exchange(sandbox.url, { name: text, bytes: Buffer.from(text), ending: 'hold' }, 12_000),
    )
    await pause(100)
    const began = performance.now()
    await sandbox.close()
    expect(performance.now() - began).toBeLessThan(11_000)
    for (const { isSettled } of await Promise.all(held)) expect(isSettled).toBe(true)
  })

  test('under load, responds by the contract to the last and leaves nothing behind', async () => {
    for (let round = 0; round < 6; round++) {
      let responses = 0
      const child = await startChild({ rate_limit: 'off', decision_latency_ms: 300 })
      onTestFinished(() => child.kill())
      const problems: string[] = []
      const lanes = Array.from({ length: 16 }, async () => {
        const client = new Client(child.url)
        try {
          for (;;) {
            const { status, headers, body } = await post(child, '/v1/placements?wait_ms=0', placementOf('load'), client)
            responses++
            const problem = problemOf({ status, headers, body: JSON.stringify(body) }, contract['placements.create'])
            if (problem !== null) problems.push(problem)
          }
        } catch (error) {
          if (!(error instanceof Error && 'code' in error)) throw error
        } finally {
          await client.destroy()
        }
      })
      await expect.poll(() => responses, { interval: 5 + round }).toBeGreaterThan(20)
      const exit_code = await Promise.race([child.close(), pause(30_000).then(() => 'still running')])
      await Promise.all(lanes)
      expect(problems).toEqual([])
      expect(child.reports).toEqual([])
      expect(exit_code).toBe(0)
    }
  })

  test('fifty starts and stops leave no handle open', async () => {
    const database = newDatabase()
    const cycle = async (round: number) => {
      await using sandbox = await start(round % 2 === 0 ? { decision_latency_ms: 60_000 } : { database })
      await post(sandbox, '/v1/placements?wait_ms=0', placementOf('cycle'))
      const stream = await request(`${sandbox.url}/_sandbox/events`)
      stream.body.on('error', () => {}).destroy()
    }
    await cycle(0)
    await cycle(1)
    const before = await activeResources()
    for (let round = 0; round < 50; round++) await cycle(round)
    const after = await activeResources()
    for (const name in after) expect(after[name], name).toBeLessThan((before[name] ?? 0) + 10)
  })
})

test('a script on the command line: its threads start without the options of its process, and have ended when it stops', () => {
  const script = `
    import { startSandbox } from ${JSON.stringify(join(import.meta.dirname, '../../sandbox/index.ts'))}
    const sandbox = await startSandbox({ database: process.argv[1], rate_limit: 'off' })
    const send = (path, body) => fetch(sandbox.url + path, {
      method: 'POST',
      headers: { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const saved = await send('/_sandbox/snapshots/one', {})
    const body = { client_id: 'proj_demo', session_id: 'script', job_type: 'chat' }
    // As many as a thread for checkpoints starts after.
    await Promise.all(Array.from({ length: 410 }, () => send('/v1/placements', body)))
    await sandbox.close()
    console.log(saved.status)
    process.exit()`
  const args = ['--input-type=module', '-e', script, newDatabase()]
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
    stdout: '200\n',
  })
})

test('the journal is bounded, and counts what it dropped', async () => {
  await using sandbox = await start({ journal_limit: 100, rate_limit: 'off' })
  for (let turn = 0; turn < 100; turn++) {
    const path = '/v1/projects/proj_demo/config'
    await Promise.all(Array.from({ length: 10 }, () => get(sandbox, path)))
  }
  const list = await get<{ items: unknown[] }>(sandbox, '/_sandbox/requests?limit=1000')
  const { journal } = await get<SandboxInfo>(sandbox, '/_sandbox/info')
  expect(journal).toMatchObject({ enabled: true, limit: 100, size: list.items.length })
  expect(journal.size).toBeGreaterThanOrEqual(100)
  expect(journal.size).toBeLessThanOrEqual(100 + 64)
  expect(journal.dropped).toBe(1_000 - journal.size)
})

test('a journal that is off stores nothing', async () => {
  await using sandbox = await start({ journal_limit: 0 })
  await place(sandbox, 'off')
  const { journal } = await get<SandboxInfo>(sandbox, '/_sandbox/info')
  expect(journal).toEqual({ enabled: false, limit: 0, size: 0, dropped: 0, foreign: 0 })
  expect(await get(sandbox, '/_sandbox/requests')).toEqual({ items: [], next_cursor: null })
})

test('a consent conflict in the same turn as successful beacons affects none of them', async () => {
  await using sandbox = await start({ rate_limit: 'off' })
  const placed = await Promise.all(Array.from({ length: 8 }, (_, index) => place(sandbox, `turn-${index}`)))
  const stale = { client_id: 'proj_demo', session_id: 'shared', purposes: { ads: true }, expected_revision: 0 }
  const bodies = placed.flatMap(({ decision }, index) => [
    wirePost(sandbox, '/v1/beacons', beaconOf(decision!.asset_token!, `turn.${index}.a`, 'render')),
    wirePost(sandbox, '/v1/consent', { ...stale, decision: index % 2 === 0 ? 'granted' : 'denied' }),
    wirePost(sandbox, '/v1/beacons', beaconOf(decision!.asset_token!, `turn.${index}.b`, 'visible')),
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

type Served = Pick<Sandbox, 'url'>

function start(options: SandboxOptions = {}): Promise<Sandbox> {
  return startSandbox({ report: (error) => reports.push(error), ...options })
}

async function failureOf(options: SandboxOptions): Promise<SandboxError> {
  const outcome = await start(options).catch((error: unknown) => error)
  if (!(outcome instanceof SandboxError)) throw new Error('The sandbox did not refuse to start.', { cause: outcome })
  return outcome
}

/** Expects a code and a hint, an unchanged file, and no lock. */
async function isRefusedUntouched(database: string, code: SandboxError['code']): Promise<void> {
  const before = digestOf(database)
  const beside = readdirSync(dirname(database))
  for (let attempt = 0; attempt < 2; attempt++) {
    const failure = await failureOf({ database })
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(database)
    expect(failure.hint).not.toBe('')
    expect(digestOf(database)).toBe(before)
    expect(readdirSync(dirname(database))).toEqual(beside)
  }
}

function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function newDatabase(): string {
  return join(temporaryDirectory(), 'sandbox.db')
}

/** A database that a sandbox has created, used and closed. */
async function usedDatabase(): Promise<string> {
  const database = newDatabase()
  await using sandbox = await start({ database })
  for (let turn = 0; turn < 30; turn++) await place(sandbox, `used-${turn}`)
  return database
}

/** A copy of a database with its log, in a directory with space. */
function copyOf(database: string): string {
  const copy = newDatabase()
  for (const ending of ['', '-wal', '.key']) {
    if (existsSync(`${database}${ending}`)) writeFileSync(`${copy}${ending}`, readFileSync(`${database}${ending}`))
  }
  return copy
}

function canRun(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function placementOf(session_id: string) {
  return { client_id: 'proj_demo', session_id, job_type: 'chat', overrides: { allowed_formats: ['banner'] } }
}

function beaconOf(asset_token: string, beacon_id: string, event: string) {
  return { beacon_id, asset_token, event, occurred_at_ms: Date.now() }
}

async function place(sandbox: Served, session_id: string, wait_ms = 1_500): Promise<PlacementResponse> {
  const { status, body } = await post(sandbox, `/v1/placements?wait_ms=${wait_ms}`, placementOf(session_id))
  expect(status, JSON.stringify(body)).toBe(200)
  return body as PlacementResponse
}

async function get<T = unknown>({ url }: Served, path: string): Promise<T> {
  const reply = await request(`${url}${path}`, { headers: path.startsWith('/v1/') ? headers : {} })
  const body = (await reply.body.json()) as T
  expect(reply.statusCode, `${path}: ${JSON.stringify(body)}`).toBe(200)
  return body
}

async function post({ url }: Served, path: string, body: object, client?: Client) {
  const options = { method: 'POST', headers, body: JSON.stringify(body) } as const
  const reply = await (client === undefined ? request(`${url}${path}`, options) : client.request({ ...options, path }))
  return { status: reply.statusCode, headers: reply.headers, body: await reply.body.json() }
}

function wirePost({ url }: Served, path: string, body: object): string {
  const text = JSON.stringify(body)
  const head = Object.entries({ ...headers, host: new URL(url).host, 'content-length': String(text.length) })
  return `POST ${path} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`
}

/** Returns the active resources of the process, after sockets of finished requests are closed. */
async function activeResources(): Promise<Record<string, number>> {
  await pause(300)
  const counts: Record<string, number> = {}
  for (const name of process.getActiveResourcesInfo()) {
    if (name === 'Timeout' || name === 'TCPServerWrap' || name === 'TCPSocketWrap' || name === 'FSReqCallback') {
      counts[name] = (counts[name] ?? 0) + 1
    }
  }
  return counts
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
