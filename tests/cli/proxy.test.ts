/** Nothing for loopback goes to the proxy of the environment: neither from svc, nor from the programs that it runs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Running, root, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

const received: string[] = []
const proxy = createServer((request, response) => {
  received.push(`${request.method} ${request.url}`)
  response.writeHead(502).end('proxy')
}).on('connect', (request, socket) => {
  received.push(`CONNECT ${request.url}`)
  socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
})
const started: Running[] = []
let env: Record<string, string> = {}

/** Runs a module in a process of its own. Resolves with what it printed. */
async function outputOf(script: string, environment: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  return text
}

beforeAll(async () => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']
  env = { NODE_USE_ENV_PROXY: '1', ...Object.fromEntries(names.map((name) => [name, address])) }
})
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await Promise.all(started.map(({ ended }) => ended))
  proxy.close().closeAllConnections()
})

/** Runs svc in a state directory. */
function svc(home: string, ...args: string[]): Running {
  const running = spawnSvc(args, { ...env, SVC_HOME: home }, home)
  started.push(running)
  return running
}

describe.each([['http'], ['https', '--tls']])('with a sandbox over %s', (_name, ...flags) => {
  test('commands and checks reach it, and stop ends it', async () => {
    const home = temporaryDirectory()
    const sandbox = svc(home, 'start', '--ephemeral', '--port', '0', '-o', 'json', ...flags)
    await sandbox.firstLine
    const commands = [
      ['placements', 'create', '-q', '-o', 'none'],
      ['contract', 'check', '-q', '-o', 'none'],
      ['qa', 'run', 'smoke', '-q', '-o', 'none'],
    ]
    for (const words of commands) {
      const { stderr } = await svc(home, ...words).ended
      expect(stderr).not.toContain('proxy')
    }
    const { code, stdout } = await svc(home, 'sandbox', 'stop').ended
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('stopped http') })
    expect((await sandbox.ended).code).toBe(0)
    expect(received).toEqual([])
  })
})

test('the client library reaches loopback directly, and follows its caller’s fetch', async () => {
  const home = temporaryDirectory()
  const sandbox = svc(home, 'start', '--ephemeral', '--port', '0', '-o', 'json')
  const { url } = JSON.parse(await sandbox.firstLine) as { url: string }
  const script = `
    const { createClient } = await import(${JSON.stringify(join(root, 'dist/client.js'))})
    const client = createClient({ base_url: ${JSON.stringify(url)}, credential: 'sk_test_sandbox_demo' })
    console.log((await client.health.live()).ok)
    const away = createClient({ base_url: 'http://service.invalid' })
    console.log(await away.health.live().then(() => 'direct', () => 'proxied'))`
  expect(await outputOf(script, env)).toBe('true\nproxied\n')
  // The service elsewhere takes the proxy, which shows that this one is used at all.
  expect(received.splice(0)).toEqual([expect.stringContaining('service.invalid')])
})

test.each([['http'], ['https', '--tls']])(
  'push over %s waits on a socket that takes no proxy',
  async (_name, ...flags) => {
    const home = temporaryDirectory()
    const words = ['start', '--ephemeral', '--port', '0', '--decision-latency', '8s', '-o', 'json', ...flags]
    const sandbox = svc(home, ...words)
    const { url, certificate } = JSON.parse(await sandbox.firstLine) as { url: string; certificate?: string }
    const script = `
    const { createClient } = await import(${JSON.stringify(join(root, 'dist/client.js'))})
    const client = createClient({ base_url: ${JSON.stringify(url)}, credential: 'sk_test_sandbox_demo' })
    const { slot_ids } = await client.createJob({ job_type: 'chat', client_id: 'proj_demo', session_id: 'sess_1' })
    const decision = await client.getDecision(slot_ids[0], { push: true, timeout_ms: 20_000 })
    const { items } = await client.requests.list({ query: { limit: 50 } })
    const polls = items.filter(({ path }) => path.startsWith('/v1/decisions/'))
    console.log(decision.status, polls.length)
    process.exit()`
    const trusted = certificate === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificate }
    // One poll, after the announcement: without a socket it would poll twice, and then with pauses. A slow machine needs
    // seconds until the socket is open.
    expect(await outputOf(script, { ...env, ...trusted })).toBe('ready 1\n')
    expect(received).toEqual([])
  },
)
