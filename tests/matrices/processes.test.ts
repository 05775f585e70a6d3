/** Sandboxes in processes of their own: storage that refuses, several on one database, stops under load, threads of a script. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client, request } from 'undici'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { contract } from '#contract/index.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { root } from '#tests/cli/process.ts'
import { type ChildOptions, startChild } from '#tests/reliability/child.ts'
import { findProblem } from '#tests/reliability/responses.ts'
import { buildPlacement, get, newDatabase, place, post, type Served } from '#tests/reliability/served.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const reports: unknown[] = []

afterEach(() => {
  expect(reports.splice(0)).toEqual([])
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

describe('a database that another program holds', () => {
  const held = async () => {
    const database = newDatabase()
    const child = await startChild({ database })
    onTestFinished(() => child.kill())
    const other = new Database(database)
    onTestFinished(() => void other.close())
    other.exec('BEGIN IMMEDIATE')
    return { child, other }
  }

  test('is waited for', async () => {
    const { child, other } = await held()
    const placed = post(child, '/v1/placements', buildPlacement('waits'))
    await new Promise((resolve) => setTimeout(resolve, 200))
    other.exec('ROLLBACK')
    expect(await placed).toMatchObject({ status: 200 })
    expect(child.reports).toEqual([])
  })

  test('and does not let go of is named, and needs no more once it does', async () => {
    const { child, other } = await held()
    const { status, headers, body } = await post(child, '/v1/placements', buildPlacement('refused'))
    expect([status, headers['retry-after']]).toEqual([503, '1'])
    expect(body).toMatchObject({
      reason_code: 'storage_unavailable',
      message: 'Another program holds the database of the sandbox, and did not let go of it in time.',
      hint: 'Close the program that has it open, such as a database browser with a transaction, then send it again.',
    })
    other.exec('ROLLBACK')
    await place(child, 'refused')
  })
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
    const svc = [process.execPath, join(root, 'bin/svc.js'), ...words]
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
      const placed = await post(served, '/v1/placements', buildPlacement(`stop-${turn}`))
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
        Array.from({ length: 8 }, (_, lane) => post(child, '/v1/placements', buildPlacement(`full-${turn}-${lane}`))),
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
      const again = await post(child, '/v1/placements', buildPlacement('after'))
      expect(again.status, JSON.stringify(again.body)).toBe(200)
      acknowledged.push((again.body as PlacementResponse).slot_id)
    }
    // The private file system of the process is removed with it.
    const seen = limits.small_disk === undefined ? database : `/proc/${child.pid}/root${database}`
    const restarted = lift === null ? makeCopy(seen) : database
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

test('a stop under load responds by the contract to the last and leaves nothing behind', async () => {
  for (let round = 0; round < 6; round++) {
    let responses = 0
    const child = await startChild({ rate_limit: 'off', decision_latency_ms: 300 })
    onTestFinished(() => child.kill())
    const problems: string[] = []
    const lanes = Array.from({ length: 16 }, async () => {
      const client = new Client(child.url)
      try {
        for (;;) {
          const { status, headers, body } = await post(
            child,
            '/v1/placements?wait_ms=0',
            buildPlacement('load'),
            client,
          )
          responses++
          const problem = findProblem({ status, headers, body: JSON.stringify(body) }, contract['placements.create'])
          if (problem !== null) problems.push(problem)
        }
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error
      } finally {
        await client.destroy()
      }
    })
    await expect.poll(() => responses, { interval: 5 + round }).toBeGreaterThan(20)
    const exit_code = await child.close()
    await Promise.all(lanes)
    expect(problems).toEqual([])
    expect(child.reports).toEqual([])
    expect(exit_code).toBe(0)
  }
})

test('a script on the command line: its threads start without the options of its process, and have ended when it stops', () => {
  const script = `
    import { startSandbox } from ${JSON.stringify(join(root, 'sandbox/index.ts'))}
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

function start(options: SandboxOptions = {}): Promise<Sandbox> {
  return startSandbox({ report: (error) => reports.push(error), ...options })
}

/** A copy of a database with its log, in a directory with space. */
function makeCopy(database: string): string {
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
