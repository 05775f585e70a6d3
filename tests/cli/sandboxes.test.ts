/** Several sandboxes, none, and one that comes back: `sandbox ps`, `status`, `logs`, `requests tail`. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { manualClock, type Sandbox, startSandbox } from '../../sandbox/index.ts'
import { removeLocator, writeLocator } from '../../src/cli/process/locator.ts'
import type { Host, Signal } from '../../src/cli/run/host.ts'
import type { RequestItem } from '../../src/contract/control/requests.ts'
import { keptStream, noon, startTestCli, svc, type TestCli, temporaryDirectory } from './test-cli.ts'

/** A newer sandbox beside that of a cli. Its locator has the pid of a process that is said to run. */
async function beside(cli: TestCli, pid: number): Promise<Sandbox> {
  const sandbox = await startSandbox({ database: ':memory:', seed: 2, clock: manualClock(noon) })
  const { url, inspector_url, database, version, projects } = sandbox
  await writeLocator(cli.home, { url, inspector_url, database, pid, version, projects, started_at_ms: noon + 1 })
  onTestFinished(() => sandbox.close())
  return sandbox
}

const bothRun: Partial<Host> = { isRunning: () => true, now: () => noon + 90_000 }

describe('two sandboxes', () => {
  test('ps lists both and marks the used one; status shows that one', async () => {
    await using cli = await startTestCli()
    const newer = await beside(cli, 4711)
    const listed = await cli.svc('sandbox ps', { host: bothRun })
    const [head, ...lines] = listed.stdout.trimEnd().split('\n')
    expect(head).toMatch(/^ +url +pid +state +up +database$/)
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^\\* +${newer.url} +4711 +ready +1m +:memory:$`)),
      expect.stringMatching(new RegExp(`^ +${cli.sandbox.url} +\\d+ +ready +1m +:memory:$`)),
    ])
    expect(listed.stderr).toBe('')
    const older = `--base-url ${cli.sandbox.url}`
    const rows = JSON.parse((await cli.svc(`sandbox ps -o json ${older}`, { host: bothRun })).stdout)
    expect(rows).toMatchObject([
      { url: newer.url, used: false },
      { url: cli.sandbox.url, used: true, ready: true },
    ])

    const used = await cli.svc('sandbox status -o json', { host: bothRun })
    expect(JSON.parse(used.stdout)).toMatchObject({ url: newer.url, ready: true, source: 'sandbox' })
    expect(used).toMatchObject({ code: 0, stderr: '2 sandboxes are running. List them: svc sandbox ps\n' })
    const named = await cli.svc(`sandbox status ${older}`, { host: bothRun })
    expect(named.stdout).toMatch(new RegExp(`^URL +${cli.sandbox.url}\nchosen by +--base-url$`, 'm'))
  })

  test('a command that chooses one says which, once, on stderr; not when one was named', async () => {
    await using cli = await startTestCli()
    const { url } = await beside(cli, 4711)
    const note = `2 sandboxes run: using ${url}, the newest. Another: --base-url URL, as in svc sandbox ps\n`
    const run = (args: string, env = {}) => cli.svc(args, { host: bothRun, env })
    expect(await run('requests count -o json')).toEqual({ code: 0, stdout: '{"count":0}\n', stderr: note })
    expect((await run('env -o json')).stderr).toBe(note)
    expect((await run('placements create --format banner -o none')).stderr).toBe(note)
    expect((await run('requests count -q')).stderr).toBe('')
    expect((await run(`requests count --base-url ${url}`)).stderr).toBe('')
    expect((await run('requests count', { SVC_BASE_URL: url })).stderr).toBe('')
    expect((await run('config list')).stderr).toBe('')
  })

  test('stop without a name stops none', async () => {
    await using cli = await startTestCli()
    await beside(cli, 4711)
    const { code, stderr } = await cli.svc('sandbox stop', { host: bothRun })
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Choose one with --base-url URL'),
    })
  })
})

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
    stderr: 'error: No sandbox is running.\nhint: Start one: svc start\n',
  })
  const elsewhere = await svc('sandbox status -o json --base-url http://127.0.0.1:1', { env })
  expect(elsewhere).toMatchObject({ code: 7, stdout: '' })
  expect(JSON.parse(elsewhere.stderr)).toMatchObject({ error: { code: 'sandbox_missing' } })
})

test('a sandbox that does not respond is reported, with exit code 7', async () => {
  await using cli = await startTestCli()
  await cli.sandbox.close()
  const { code, stdout } = await cli.svc('sandbox status')
  expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringMatching(/^state +no answer$/m) })
  expect((await cli.svc('sandbox ps')).stdout).toMatch(/ no answer /)
})

describe('sandbox logs', () => {
  test('--no-follow prints the latest requests, oldest first, and ends', async () => {
    await using cli = await startTestCli()
    expect(await cli.svc('sandbox logs --no-follow')).toEqual({ code: 0, stdout: '', stderr: 'The list is empty.\n' })
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
    await expect.poll(following.lines, { timeout: 20_000 }).toHaveLength(1)
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(following.lines, { timeout: 20_000 }).toHaveLength(2)
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
  })
})

describe('requests tail', () => {
  test('reconnects to a restarted sandbox, says so on stderr, and misses nothing', { timeout: 40_000 }, async () => {
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
    const following = follow(cli, 'requests tail --since 1h -o jsonl')
    await expect.poll(following.lines, { timeout: 20_000 }).toHaveLength(1)
    await first.close()
    await removeLocator(cli.home, first.pid)
    await expect.poll(following.notes, { timeout: 20_000 }).toMatch(/^Connection lost: .*\n$/)

    const { url } = await start()
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(following.lines, { timeout: 20_000 }).toHaveLength(2)
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
    const [lost, reconnected, interrupted] = following.notes().split('\n')
    // A request in flight is reset, the next one is refused.
    expect(lost).toMatch(
      /^Connection lost: http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*\bECONN(RESET|REFUSED)\b.*\.$/,
    )
    expect(lost).toContain(first.url)
    expect(reconnected).toBe(`Reconnected to ${url}.`)
    expect(JSON.parse(interrupted!)).toMatchObject({ error: { code: 'interrupted' } })
    const sessions = following.lines().map((line) => (JSON.parse(line) as RequestItem).session_id)
    expect(sessions).toEqual(['s1', 's2'])
  })

  test('continues with new requests when the sandbox is reset', { timeout: 40_000 }, async () => {
    await using cli = await startTestCli()
    await cli.svc('placements create --session s1 -o none')
    const following = follow(cli, 'requests tail --since 1h -o jsonl')
    await expect.poll(following.lines, { timeout: 20_000 }).toHaveLength(1)
    await cli.svc('sandbox reset -o none')
    await cli.svc('placements create --session s2 -o none')
    await expect.poll(() => following.lines().at(-1), { timeout: 20_000 }).toContain('"s2"')
    following.ctrlC()
    expect((await following.ended).code).toBe(130)
  })
})

/** Runs a command that follows something, until `ctrlC`. */
function follow(cli: TestCli, args: string) {
  const handlers = new Set<(signal: Signal) => void>()
  const stdout = keptStream(false)
  const stderr = keptStream(false)
  const host: Partial<Host> = {
    stdout,
    stderr,
    onSignal(handler) {
      handlers.add(handler)
      return () => handlers.delete(handler)
    },
  }
  const ended = cli.svc(args, { host })
  return {
    lines: () => stdout.text.split('\n').slice(0, -1),
    notes: () => stderr.text,
    ended,
    ctrlC() {
      for (const handler of handlers) handler('SIGINT')
    },
  }
}
