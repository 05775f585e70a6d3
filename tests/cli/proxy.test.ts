/** Nothing for loopback goes to the proxy of the environment: neither from svc, nor from the client library. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Certificate, ownCertificate } from '#cli/process/certificate.ts'
import { createClient } from '#client/index.ts'
import { manualClock, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { root } from './process.ts'
import { keptStream, noon, temporaryDirectory, testHost } from './test-cli.ts'

const received: string[] = []
const proxy = createServer((request, response) => {
  received.push(`${request.method} ${request.url}`)
  response.writeHead(502).end('proxy')
}).on('connect', (request, socket) => {
  received.push(`CONNECT ${request.url}`)
  socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
})
const home = temporaryDirectory()
const usual = getCACertificates('default')
let tls: Certificate
let env: Record<string, string>

beforeAll(async () => {
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const address = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const host = testHost({ env: {}, stdin: '', cwd: home, stdout: keptStream(false), stderr: keptStream(false) })
  tls = await ownCertificate({ ...host, now: Date.now }, home, [])
  setDefaultCACertificates([...usual, readFileSync(tls.path, 'utf8')])
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']
  env = {
    NODE_USE_ENV_PROXY: '1',
    NODE_EXTRA_CA_CERTS: tls.path,
    ...Object.fromEntries(names.map((name) => [name, address])),
  }
})
afterAll(() => {
  setDefaultCACertificates(usual)
  proxy.close().closeAllConnections()
})

/** Runs Node with the proxy in its environment. Resolves with what it printed on both streams. */
async function readOutput(...words: string[]): Promise<string> {
  const child = spawn(process.execPath, words, { env: { ...env, SVC_HOME: home }, cwd: home })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
  await once(child, 'close')
  return text
}

test('commands and checks reach a sandbox over http and https', { tags: 'depth' }, async () => {
  await using plain = await startSandbox()
  await using secure = await startSandbox({ tls })
  const at = (words: string, { url, keys }: Sandbox) =>
    `${words} --base-url ${url} --client-id ${keys.client_id} --secret-key ${keys.secret_key} -q -o none`
  const lines = [
    ...['placements create', 'contract check', 'qa run config'].map((words) => at(words, plain)),
    ...['placements create', 'qa run config'].map((words) => at(words, secure)),
  ]
  const output = await readOutput(join(root, 'tests/processes/every-command.ts'), JSON.stringify(lines))
  const codes = [...output.matchAll(/"code":(\d+)/g)].map(([, code]) => Number(code))
  expect(codes, output).toEqual([0, 0, 0, 0, 0])
  expect(received).toEqual([])
})

test('the client library reaches loopback directly, also to wait on a socket; a service elsewhere takes the proxy', async () => {
  const latency = { decision_latency_ms: 8_000 }
  const clocks = [manualClock(noon), manualClock(noon)] as const
  await using plain = await startSandbox({ ...latency, clock: clocks[0] })
  await using secure = await startSandbox({ ...latency, clock: clocks[1], tls })
  const script = `
    const { createClient } = await import(${JSON.stringify(join(root, 'dist/client.js'))})
    for (const base_url of ${JSON.stringify([plain.url, secure.url])}) {
      const client = createClient({ base_url, credential: 'sk_test_sandbox_demo' })
      const { slot_ids } = await client.createJob({ job_type: 'chat', client_id: 'proj_demo', session_id: 'sess_1' })
      const decision = await client.getDecision(slot_ids[0], { push: true, timeout_ms: 100_000 })
      const { items } = await client.requests.list({ query: { limit: 50 } })
      console.log(decision.status, items.filter(({ path }) => path.startsWith('/v1/decisions/')).length)
    }
    const away = createClient({ base_url: 'http://service.invalid' })
    console.log(await away.health.live().then(() => 'direct', () => 'proxied'))
    process.exit()`
  const output = readOutput('--input-type=module', '-e', script)
  for (const [index, { url, keys }] of [plain, secure].entries()) {
    const { sandbox } = createClient({ base_url: url, credential: keys.secret_key })
    const isWaiting = async () => /decision_socket"\} 1$/m.test(await sandbox.metrics())
    await expect.poll(isWaiting).toBe(true)
    clocks[index]!.advance(latency.decision_latency_ms)
  }
  // One poll, after the announcement: without a socket it would poll twice, and then with pauses.
  expect(await output).toBe('ready 1\nready 1\nproxied\n')
  expect(received.splice(0)).toEqual([expect.stringContaining('service.invalid')])
})
