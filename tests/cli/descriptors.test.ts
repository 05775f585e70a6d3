/** A sandbox that has used up its file descriptors says so, and serves again when they return. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, expect, test, vi } from 'vitest'
import { watchDescriptors } from '#platform/descriptors.ts'
import { type Running, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

const started: Running[] = []
const sockets: Socket[] = []
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
afterAll(async () => {
  agent.destroy()
  for (const socket of sockets) socket.destroy()
  for (const { child } of started) child.kill('SIGTERM')
  await Promise.all(started.map(({ ended }) => ended))
})

/** Sends a GET on the one connection of the agent, or on one of its own. */
function get(url: string, on?: Agent): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent: on ?? false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.on('error', reject).end()
  })
}

const limitTest = process.platform === 'win32' ? null : test

limitTest?.('with a low limit it warns once, is not ready, and goes on when connections close', async () => {
  const limited = ['sh', '-c', 'ulimit -n 64; exec "$@"', 'sh']
  const words = ['start', '--ephemeral', '--port', '0', '-o', 'json']
  const sandbox = spawnSvc(words, { SVC_HOME: temporaryDirectory() }, undefined, limited)
  started.push(sandbox)
  let stderr = ''
  sandbox.child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const { url } = JSON.parse(await sandbox.firstLine) as { url: string }
  expect((await get(`${url}/_sandbox/readyz`, agent)).status).toBe(200)
  for (let count = 0; count < 80; count++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
  const warning =
    'warning: connections are closed without a response: this process has too many files and connections open'
  await expect.poll(() => stderr, { timeout: 20_000 }).toContain(warning)
  const refused = await get(`${url}/_sandbox/readyz`, agent)
  expect(refused.status).toBe(503)
  expect(JSON.parse(refused.text)).toMatchObject({ message: expect.stringContaining('cannot accept connections') })
  expect((await get(`${url}/_sandbox/info`, agent)).text).toContain('connections are closed without a response')
  for (const socket of sockets) socket.destroy()
  await expect
    .poll(
      () =>
        get(`${url}/_sandbox/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 20_000 },
    )
    .toBe(200)
  expect((await get(`${url}/_sandbox/info`)).text).not.toContain('connections are closed')
  expect(stderr.split('connections are closed')).toHaveLength(2)
})

test('a lack that comes and goes is reported once a minute, and other failures are none', () => {
  vi.useFakeTimers()
  const reports: string[] = []
  let code: string | null = 'EMFILE'
  const watch = watchDescriptors(
    (warning) => reports.push(warning.message),
    () => {
      if (code !== null) throw Object.assign(new Error(code), { code, errno: -1 })
    },
  )
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBe('this process has too many files and connections open')
  code = null
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBeNull()
  code = 'ENFILE'
  vi.advanceTimersByTime(1_000)
  expect(watch.problem()).toBe('this computer has too many files open')
  expect(reports).toHaveLength(1)
  code = null
  vi.advanceTimersByTime(60_000)
  code = 'ENFILE'
  vi.advanceTimersByTime(1_000)
  expect(reports).toHaveLength(2)
  code = 'EACCES'
  expect(watch.problem()).toBeNull()
  watch.stop()
  vi.useRealTimers()
})
