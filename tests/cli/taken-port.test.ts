/** A port that something else has: who that is, what it answers, and what to do. Real servers, in this process. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { describeServer } from '#cli/process/port-holder.ts'
import { isSandboxAt } from '#cli/run/command-client.ts'
import { usualAddress } from '#foundation/http.ts'
import { runInProcess } from './in-process.ts'
import { type RunOptions, startTestCli, svc, temporaryDirectory } from './test-cli.ts'

/** A mock server of another project, in this process. */
async function mockServer(respond: RequestListener = (_, response) => void response.writeHead(404).end()) {
  const server = createServer((request, response) => {
    response.setHeader('server', 'mockery/5.1')
    respond(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}` }
}

/** Looks at ports as the program does. */
const respondsAt = (url: string) => isSandboxAt({ env: {}, randomText: () => 'x' }, url)
const system: RunOptions['system'] = {
  respondsAt,
  describeServer: (url) => describeServer({ platform: process.platform, respondsAt }, url),
}
const runAt = (line: string, SVC_HOME = temporaryDirectory(), cwd = SVC_HOME) =>
  svc(line, { env: { SVC_HOME }, cwd, system })

/** Starts a sandbox in a folder, and resolves when it is ready. */
async function startIn(folder: string, SVC_HOME: string, flags = '--ephemeral') {
  const sandbox = await runInProcess(`start --port 0 -o json ${flags}`, { env: { SVC_HOME }, cwd: folder })
  onTestFinished(async () => void (await sandbox.end()))
  return JSON.parse(sandbox.firstLine) as { url: string; pid: number }
}

const holder = process.platform === 'linux' ? `pid ${process.pid} \\(\\S+.* in .+\\)` : '.+'

describe('svc start on a port', () => {
  test('of another server says by what it is taken, what that answers, and what to do', async () => {
    const { port } = await mockServer()
    const { code, stderr } = await runAt(`start --port ${port} --ephemeral`)
    expect(code).toBe(8)
    expect(stderr).toMatch(
      new RegExp(
        `^error: Port ${port} is taken by ${holder}, which answers GET / with 404 \\(server: mockery/5\\.1\\)\\.\n` +
          `hint: Stop it, or try: svc start --port ${port + 1}, or --port 0 for any free one\\.\n$`,
      ),
    )
  })

  test('of a server that is silent is not kept waiting', { tags: 'depth' }, async () => {
    const { port } = await mockServer(() => {})
    expect((await runAt(`start --port ${port} --ephemeral`)).stderr).toContain(
      ', which accepts connections and does not answer HTTP.\n',
    )
  })

  test('of a sandbox says in which folder that was started, and how to use or stop it', async () => {
    const [home, shop] = [temporaryDirectory(), temporaryDirectory()]
    const { url, pid } = await startIn(shop, home)
    const { port } = new URL(url)
    const { code, stderr } = await runAt(`start --port ${port} --ephemeral`, home)
    expect({ code, stderr }).toEqual({
      code: 8,
      stderr:
        `error: Port ${port} is taken by another sandbox, pid ${pid}, started in ${shop}.\n` +
        `hint: Commands use it with --base-url ${url}. Stop it: svc sandbox stop --base-url ${url}. ` +
        `Or try: svc start --port ${Number(port) + 1}, or --port 0 for any free one.\n`,
    })
  })

  test('of a sandbox with another SVC_HOME says that it is one', async () => {
    const { url, pid } = await startIn(temporaryDirectory(), temporaryDirectory())
    const { port } = new URL(url)
    const { stderr } = await runAt(`start --port ${port} --ephemeral`)
    expect(stderr).toContain(
      `error: Port ${port} is taken by a sandbox of another user or another SVC_HOME, or svc sandbox record before one: `,
    )
    if (process.platform === 'linux') expect(stderr).toContain(`: pid ${pid} (`)
  })
})

test('a database that a sandbox of another folder has open is named with that folder', async () => {
  const [home, shop] = [temporaryDirectory(), temporaryDirectory()]
  const db = join(home, 'shared.db')
  const { url, pid } = await startIn(shop, home, `--db ${db}`)
  const { code, stderr } = await runAt(`start --port 0 --db ${db}`, home)
  expect(code).toBe(8)
  expect(stderr).toContain(`is already running: ${url} (pid ${pid}, started in ${shop}).\n`)
})

describe('a command that finds another server', () => {
  test.each([
    ['placements list', 'GET /_sandbox/placements responded with 404'],
    ['sandbox clock show', 'GET /_sandbox/clock responded with 404'],
    ['sandbox status', 'No sandbox is running at'],
    [
      'placements create --client-id proj_demo --secret-key sk_test_mine --session-id s1',
      'POST /v1/placements responded',
    ],
  ])('svc %s at its URL names it', async (args, said) => {
    const { url } = await mockServer()
    const { code, stderr } = await runAt(`${args} --base-url ${url}`)
    expect(code).toBeGreaterThan(0)
    expect(stderr).toContain(`error: ${said}`)
    expect(stderr).toMatch(
      new RegExp(`taken by ${holder}, which answers GET / with 404 \\(server: mockery/5\\.1\\)\\.`),
    )
  })

  test.each(['sandbox status', 'placements create', 'sandbox env', 'sandbox ps'])(
    'svc %s at the default URL names it, beside that no sandbox is running',
    async (args) => {
      const SVC_HOME = temporaryDirectory()
      const server = 'pid 4711 (node prism in /srv/api), which answers GET / with 404'
      const usual = { describeServer: async (asked: string) => (asked === usualAddress ? server : null) }
      const { stderr } = await svc(args, { env: { SVC_HOME }, cwd: SVC_HOME, system: usual })
      expect(stderr).toContain(`No sandbox is running. Port 4010 is taken by ${server}.`)
    },
  )

  test('svc doctor names it', async () => {
    const { url, port } = await mockServer()
    const { stdout } = await runAt(`doctor --base-url ${url}`)
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      new RegExp(`What responds at http://127\\.0\\.0\\.1:${port} is not a sandbox.*: ${holder}, which answers GET`),
    )
  })
})

test('a mock server that responds as the OpenAPI document says is not taken for a sandbox', async () => {
  await using cli = await startTestCli()
  const refusal = await (await fetch(`${cli.sandbox.url}/_sandbox/livez?probe_x=1`)).text()
  for (const body of ['{"ok":true}', refusal]) {
    const { url } = await mockServer((_, response) => void response.end(body))
    expect(await isSandboxAt({ env: {}, randomText: () => 'y' }, url)).toBe(false)
  }
  expect(await isSandboxAt({ env: {}, randomText: () => 'x' }, cli.sandbox.url)).toBe(true)
})

test('looking for a sandbox leaves no trace in its journal', async () => {
  await using cli = await startTestCli()
  const size = async () => ((await (await fetch(`${cli.sandbox.url}/_sandbox/info`)).json()) as Info).journal.size
  const before = await size()
  expect(await isSandboxAt({ env: {}, randomText: () => 'x' }, cli.sandbox.url)).toBe(true)
  expect(await size()).toBe(before)
})

interface Info {
  journal: { size: number }
}
