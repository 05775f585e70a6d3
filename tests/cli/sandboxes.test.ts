/** Several sandboxes, none, and one that comes back: `sandbox ps`, `status`, `stop`, `logs`, `sandbox logs`. */

import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isSandboxAt } from '#cli/run/command-client.ts'
import type { Signal, System } from '#cli/run/system.ts'
import { removeLocator, writeLocator } from '#cli/settings/state-directory.ts'
import type { RequestItem } from '#contract/resources/requests.ts'
import { manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { version } from '#text/version.ts'
import { keptStream, noon, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

/** A newer sandbox beside that of a cli. Its locator has the pid of a process that is said to run. */
async function beside(cli: TestCli, pid: number): Promise<Sandbox> {
  const sandbox = await startSandbox({ database: ':memory:', seed: 2, clock: manualClock(noon) })
  const { url, inspector_url, database, version, projects } = sandbox
  await writeLocator(cli.home, { url, inspector_url, database, pid, version, projects, started_at_ms: noon + 1 })
  onTestFinished(() => sandbox.close())
  return sandbox
}

const bothRun: Partial<System> = { isRunning: () => true, now: () => noon + 90_000 }

describe('two sandboxes', () => {
  test('ps lists both, and marks the one that was named; status shows that one', async () => {
    await using cli = await startTestCli()
    const newer = await beside(cli, 4711)
    const listed = await cli.svc(`sandbox ps --base-url ${newer.url}`, { system: bothRun })
    const [head, ...lines] = listed.stdout.trimEnd().split('\n')
    expect(head).toMatch(/^ +url +pid +state +up +folder +database$/)
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^\\* +${newer.url} +4711 +ready +1m +:memory:$`)),
      expect.stringMatching(new RegExp(`^ +${cli.sandbox.url} +\\d+ +ready +1m +:memory:$`)),
    ])
    expect(listed.stderr).toBe('')
    const rows = JSON.parse((await cli.svc('sandbox ps -o json', { system: bothRun })).stdout)
    expect(rows).toMatchObject([{ used: false }, { used: false, ready: true }])
    const named = await cli.svc(`sandbox status --base-url ${cli.sandbox.url}`, { system: bothRun })
    expect(named.stdout).toMatch(new RegExp(`^URL +${cli.sandbox.url}\nchosen by +--base-url$`, 'm'))
  })
})

test('sandbox status lists a few projects, and how many more there are', async () => {
  await using cli = await startTestCli()
  for (let number = 1; number <= 7; number++) {
    const created = await cli.svc(`sandbox projects create proj_qa_${number}`)
    expect(created.code, created.stderr).toBe(0)
  }
  expect((await cli.svc('sandbox status')).stdout).toMatch(/^projects +proj_demo {2}.* {2}proj_qa_5 {2}and 2 more$/m)
})

describe('sandbox stop', () => {
  /** Runs `sandbox stop`. Returns the processes that were asked to end; each ends at once. */
  async function stop(cli: TestCli, args = '', running = [process.pid, 4711]) {
    const ended: number[] = []
    const terminate = (pid: number) => ended.push(pid) > 0
    const isRunning = (pid: number) => running.includes(pid) && !ended.includes(pid)
    const result = await cli.svc(`sandbox stop ${args}`, { system: { terminate, isRunning } })
    return { ...result, ended }
  }
  const locatorFile = (cli: TestCli, pid: number) => join(cli.home, `sandboxes/${pid}.json`)

  test('ends the process that says it is the sandbox', async () => {
    await using cli = await startTestCli()
    const line = `stopped ${cli.sandbox.url} (pid ${process.pid})\n`
    expect(await stop(cli)).toEqual({ code: 0, stdout: line, stderr: '', ended: [process.pid] })
  })

  test('leaves a process alone that took over the pid of a sandbox, and removes its locator', async () => {
    await using cli = await startTestCli()
    const { url, ...newer } = await beside(cli, 4711)
    await writeLocator(cli.home, { ...newer, url, pid: 4711, version, started_at_ms: noon + 1 })
    const note = `${url} has ended. Left alone: pid 4711, which is now another process.\n`
    expect(await stop(cli)).toMatchObject({ code: 0, stderr: note, ended: [process.pid] })
    expect(existsSync(locatorFile(cli, 4711))).toBe(false)
  })

  test('leaves a process alone when nothing listens at the address of its locator', async () => {
    await using cli = await startTestCli()
    await cli.sandbox.close()
    const note = `${cli.sandbox.url} has ended. Left alone: pid ${process.pid}, which is now another process.\n`
    expect(await stop(cli)).toEqual({ code: 7, stdout: '', stderr: note + nothingToStop, ended: [] })
  })

  test('says that a live process cannot be reached, and keeps its locator', async () => {
    await using cli = await startTestCli()
    const { url, inspector_url, database, projects } = cli.sandbox
    const locator = { url, inspector_url, database, version, projects, pid: 4711, process_start: '100' }
    await writeLocator(cli.home, { ...locator, started_at_ms: noon })
    await cli.sandbox.close()
    const system = { isRunning: (pid: number) => pid === 4711, readProcessStart: async () => '100' }
    const { stderr } = await cli.svc('sandbox stop', { system })
    expect(stderr).toContain(`${url} cannot be reached, and its process runs.`)
    expect(stderr).toContain('To end it: kill 4711\n')
    expect(stderr).not.toContain('has ended')
    expect(existsSync(locatorFile(cli, 4711))).toBe(true)
  })

  test('leaves a process alone when something else responds there, or nothing in time', { tags: 'depth' }, async () => {
    await using cli = await startTestCli()
    let isSilent = false
    const server = createServer((_, response) => isSilent || response.end('<p>Hello</p>')).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close().closeAllConnections())
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { inspector_url, projects } = cli.sandbox
    const locator = { url, inspector_url, database: ':memory:', version, projects, started_at_ms: noon }
    await writeLocator(cli.home, { ...locator, pid: 4711 })
    expect(await stop(cli, `--base-url ${url}`)).toMatchObject({ code: 7, ended: [] })
    isSilent = true
    await writeLocator(cli.home, { ...locator, pid: 4711 })
    const stderr = expect.stringContaining(`${url} does not respond. If pid 4711 is its process, end it: kill 4711\n`)
    expect(await stop(cli, `--base-url ${url}`)).toMatchObject({ code: 7, stderr, ended: [] })
    // Too busy to respond, but it listens on the port of the sandbox.
    await writeLocator(cli.home, { ...locator, pid: process.pid })
    expect(await stop(cli, `--base-url ${url}`)).toMatchObject({ code: 0, ended: [process.pid] })
  })

  test('leaves the locator of another version alone, and reports it', async () => {
    await using cli = await startTestCli()
    const newer = await beside(cli, 4711)
    const changed = JSON.parse(readFileSync(locatorFile(cli, 4711), 'utf8'))
    writeFileSync(locatorFile(cli, 4711), JSON.stringify({ ...changed, version: '9.0.0' }))
    const { url, ...other } = changed
    writeFileSync(locatorFile(cli, 4712), JSON.stringify({ ...other, endpoint: url, pid: 4712 }))
    const note = `Left alone, because another version of svc or another user wrote it: ${locatorFile(cli, 4712)}\n`
    const { stderr, ended } = await stop(cli, '--all', [process.pid, 4711, 4712])
    expect({ stderr, ended }).toEqual({ stderr: expect.stringContaining(note), ended: [process.pid] })
    expect(stderr).toContain(`${newer.url} has ended. Left alone: pid 4711`)
    expect((await cli.svc('sandbox ps -q', { system: { isRunning: () => true } })).stderr).toBe('')
    expect((await cli.svc('sandbox ps', { system: { isRunning: () => true } })).stderr).toBe(note)
    expect([4711, 4712].map((pid) => existsSync(locatorFile(cli, pid)))).toEqual([true, true])
  })

  test('leaves a locator alone that cannot be read, and reports it', async () => {
    await using cli = await startTestCli()
    mkdirSync(locatorFile(cli, 4711))
    const { stderr, ended } = await stop(cli, '--all', [process.pid, 4711])
    expect(ended).toEqual([process.pid])
    expect(stderr).toContain(
      `Left alone, because another version of svc or another user wrote it: ${locatorFile(cli, 4711)}\n`,
    )
  })

  test('with several and no name it stops none', async () => {
    await using cli = await startTestCli()
    const newer = await beside(cli, process.pid + 1)
    const own = JSON.parse(readFileSync(locatorFile(cli, process.pid), 'utf8'))
    writeFileSync(locatorFile(cli, process.pid + 1), JSON.stringify({ ...own, url: newer.url }))
    const { code, stderr, ended } = await stop(cli)
    expect({ code, ended }).toEqual({ code: 2, ended: [] })
    expect(stderr).toContain('2 sandboxes are running, and nothing says which one is meant: ')
    expect(stderr).toContain('Or stop all: svc sandbox stop --all.')
    const { port } = new URL(cli.sandbox.url)
    expect(await stop(cli, `--base-url http://localhost:${port}`)).toMatchObject({ code: 0, ended: [process.pid] })
  })

  test('without a sandbox, or at another address, there is nothing to stop', async () => {
    const env = { SVC_HOME: temporaryDirectory() }
    const failure = (stderr: string) => ({ code: 7, stdout: '', stderr })
    expect(await svc('sandbox stop', { env })).toEqual(failure(nothingToStop))
    const all = { code: 0, stdout: '', stderr: 'No sandbox is running. Nothing to stop.\n' }
    expect(await svc('sandbox stop --all', { env })).toEqual(all)
    await using cli = await startTestCli()
    const { code, stderr, ended } = await stop(cli, '--base-url http://127.0.0.1:1')
    expect({ code, stderr, ended }).toEqual({
      code: 7,
      stderr: `error: No sandbox is running at http://127.0.0.1:1.\nhint: Running: ${cli.sandbox.url}.\n`,
      ended: [],
    })
  })
})

test('every name of loopback finds the sandbox, and its keys are used', async () => {
  await using cli = await startTestCli()
  const { port } = cli.sandbox
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    const { code, stdout } = await cli.svc(`sandbox env -o json --base-url http://${host}:${port}`)
    const variables = { SVC_CLIENT_ID: 'proj_demo', SVC_SECRET_KEY: cli.sandbox.keys.secret_key }
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, ...variables })
  }
  const first = await cli.svc(`placements create --format banner --base-url http://localhost:${port}`)
  expect(first.code).toBe(0)
  expect((await cli.svc('explain')).code).toBe(0)
  const other = await cli.svc(`sandbox env -o json --base-url http://localhost:${port + 1}`)
  expect(JSON.parse(other.stdout)).toEqual({ SVC_BASE_URL: `http://localhost:${port + 1}` })
})

const nothingToStop = 'error: No sandbox is running.\nhint: Nothing to stop.\n'
const noSandboxText = 'error: No sandbox is running.\nhint: Start one: svc start. Or name a service: --base-url URL.\n'

test.each([
  'sandbox status',
  'sandbox reset',
  'sandbox export',
  'sandbox logs',
  'sandbox env',
  'placements create',
  'requests list',
  'beacons tail',
  'sandbox events',
  'contract check',
])('without a sandbox %s ends with the one message and exit code 7', async (args) => {
  const env = { SVC_HOME: temporaryDirectory() }
  const result = await svc(args, { env, cwd: env.SVC_HOME })
  expect(result).toEqual({ code: 7, stdout: '', stderr: noSandboxText })
})

test.each(['sandbox status', 'placements create', 'sandbox ps'])(
  '%s names a sandbox at the default URL whose locator another user has',
  async (args) => {
    const env = { SVC_HOME: temporaryDirectory() }
    const url = 'http://127.0.0.1:4010'
    const { stderr } = await svc(args, {
      env,
      cwd: env.SVC_HOME,
      system: { respondsAt: async (asked) => asked === url },
    })
    expect(
      stderr
        .replace(/^error: |hint: /gm, '')
        .replace('\n', ' ')
        .trim(),
    ).toBe(
      `None of your sandboxes is running. One that belongs to another user or another SVC_HOME is running at ${url}. To use it: --base-url ${url}. To start your own: svc start`,
    )
  },
)

test('a sandbox is known by its probe, and no other server is', async () => {
  await using cli = await startTestCli()
  const other = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  const prober = { env: {}, randomText: (length: number) => 'a'.repeat(length) }
  // A probe gives up after a time that a busy machine may need.
  await expect.poll(() => isSandboxAt(prober, cli.sandbox.url)).toBe(true)
  expect(await isSandboxAt(prober, url)).toBe(false)
  other.close()
  await once(other, 'close')
  expect(await isSandboxAt(prober, url)).toBe(false)
})

test.each([
  ['qa run formats', 'svc qa run --fresh'],
  ['sandbox callbacks listen --port 0', '--secret-key KEY'],
])('without a sandbox %s says so, and what it can do without', async (args, hint) => {
  const env = { SVC_HOME: temporaryDirectory() }
  const { code, stderr } = await svc(args, { env, cwd: env.SVC_HOME })
  expect([code, stderr]).toEqual([7, expect.stringMatching(/^error: No sandbox is running\.\nhint: /)])
  expect(stderr).toContain(hint)
})

test.each(['sandbox ps', 'sandbox stop'])(
  '%s does not take a state directory that cannot be read for an empty one',
  async (args) => {
    const env = { SVC_HOME: temporaryDirectory() }
    writeFileSync(join(env.SVC_HOME, 'sandboxes'), '')
    const { code, stdout, stderr } = await svc(args, { env })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(/^error: The state directory cannot be read: ENOTDIR: .*\.\nhint: Set SVC_HOME to /)
  },
)

test('without any, ps prints an empty list and status ends with exit code 7', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  expect(await svc('sandbox ps -o json', { env })).toEqual({
    code: 0,
    stdout: '[]\n',
    stderr: 'No sandbox is running. Start one: svc start\n',
  })
  expect(await svc('sandbox status', { env })).toEqual({
    code: 7,
    stdout: '',
    stderr: noSandboxText,
  })
  const elsewhere = await svc('sandbox status -o json --base-url http://127.0.0.1:1', { env })
  expect(elsewhere).toMatchObject({ code: 7, stdout: '' })
  expect(JSON.parse(elsewhere.stderr)).toMatchObject({ error: { code: 'sandbox_missing' } })
})

test('a sandbox that does not respond is reported, with exit code 7', async () => {
  await using cli = await startTestCli()
  await cli.sandbox.close()
  const { code, stdout } = await cli.svc('sandbox status')
  expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringMatching(/^state +no response$/m) })
  expect((await cli.svc('sandbox ps')).stdout).toMatch(/ no response /)
})

describe('sandbox logs', () => {
  test('--no-follow prints the latest requests, oldest first, and ends', async () => {
    await using cli = await startTestCli()
    expect(await cli.svc('sandbox logs --no-follow')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'The journal is empty. Send a request: svc placements create\n',
    })
    for (let turn = 1; turn <= 22; turn++) await cli.svc(`placements create --session s${turn} -o none`)
    const all = JSON.parse((await cli.svc('requests list -o json')).stdout) as { items: RequestItem[] }
    const ids = (stdout: string) =>
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as RequestItem).request_id)
    const oldestFirst = all.items.map(({ request_id }) => request_id).reverse()
    expect(ids((await cli.svc('sandbox logs --no-follow -o jsonl')).stdout)).toEqual(oldestFirst.slice(-20))
    expect(ids((await cli.svc('sandbox logs --no-follow --since 1h -o jsonl')).stdout)).toEqual(oldestFirst)
  })

  test('follows after them, until Ctrl-C', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session s1 -o none')
    const following = follow(cli, 'sandbox logs')
    await expect.poll(following.lines).toHaveLength(1)
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(following.lines).toHaveLength(2)
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
  })
})

describe('sandbox logs', () => {
  test('reconnects to a restarted sandbox, says so on stderr, and misses nothing', { tags: 'depth' }, async () => {
    await using cli = await startTestCli()
    const database = join(cli.home, 'sandbox.db')
    const start = async () => {
      const sandbox = await startSandbox({ database, clock: manualClock(noon) })
      const { url, inspector_url, pid, version, projects } = sandbox
      // In place of the sandbox of the test.
      await writeLocator(cli.home, { url, inspector_url, database, pid, version, projects, started_at_ms: noon })
      onTestFinished(() => sandbox.close())
      return sandbox
    }
    const first = await start()
    await cli.svc('placements create --session s1 -o none')
    const following = follow(cli, 'sandbox logs --since 1h -o jsonl')
    await expect.poll(following.lines).toHaveLength(1)
    await first.close()
    await removeLocator(cli.home, first)
    await expect.poll(following.notes).toMatch(/^Connection lost: .*\n$/)

    const { url } = await start()
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(following.lines).toHaveLength(2)
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
    const [lost, reconnected, ...rest] = following.notes().split('\n')
    // A request in flight is reset, the next one is refused.
    expect(lost).toMatch(
      /^Connection lost: http:\/\/127\.0\.0\.1:\d+ cannot be reached: (it closed the connection without a response|nothing listens there \(ECONNREFUSED\))\.$/,
    )
    expect(lost).toContain(first.url)
    expect(reconnected).toBe(`Reconnected to ${url}.`)
    expect(rest).toEqual([''])
    const sessions = following.lines().map((line) => (JSON.parse(line) as RequestItem).session_id)
    expect(sessions).toEqual(['s1', 's2'])
  })

  test('continues with new requests when the sandbox is reset', async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session s1 -o none')
    const following = follow(cli, 'sandbox logs --since 1h -o jsonl')
    await expect.poll(following.lines).toHaveLength(1)
    await cli.svc('sandbox reset -o none')
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(() => following.lines().at(-1)).toContain('"s2"')
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
  })
})

/** Runs a command that follows something, until `ctrlC`. */
function follow(cli: TestCli, args: string) {
  const handlers = new Set<(signal: Signal) => void>()
  const stdout = keptStream(false)
  const stderr = keptStream(false)
  const system: Partial<System> = {
    stdout,
    stderr,
    onSignal(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  }
  const ended = cli.svc(args, { system })
  return {
    lines: () => stdout.text.split('\n').slice(0, -1),
    notes: () => stderr.text,
    ended,
    ctrlC() {
      for (const handler of handlers) handler('SIGINT')
    },
  }
}
