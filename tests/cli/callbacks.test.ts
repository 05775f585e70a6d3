/** `svc callbacks`: receives callbacks of a real sandbox, verifies and forwards them; lists them and sends them again. */
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ReceivedCallback } from '#commands/callbacks.ts'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import { receiver } from '#tests/http/receiver.ts'
import { keptStream, noon, startTestCli, svc, type TestCli } from './test-cli.ts'

const key = 'sk_test_sandbox_demo'

/** Listens until `stop`, with the JSON lines that it has printed so far. */
async function listen(cli: TestCli, args = '') {
  const stdout = keptStream(false)
  let stop = () => {}
  const onSignal = (handler: (signal: 'SIGINT') => void) => {
    stop = () => handler('SIGINT')
    return () => {}
  }
  const ended = cli.svc(`sandbox callbacks listen --port 0 -o jsonl ${args}`, { system: { stdout, onSignal } })
  const lines = <Line>() => stdout.text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))
  await expect.poll(() => lines().length > 0).toBe(true)
  const [{ url }] = lines<{ url: string }>() as [{ url: string }]
  const end = () => {
    stop()
    return ended
  }
  return { url, callbacks: () => lines<ReceivedCallback>().slice(1), end }
}

const post = (url: string, body: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body, headers })

test('listen verifies callbacks, and responds 401 to one whose signature is not right', async () => {
  await using cli = await startTestCli()
  const listening = await listen(cli)
  const { stdout } = await cli.svc(`api jobs.create --callback-url ${listening.url}/hook -o json`)
  const [slot_id] = (JSON.parse(stdout) as { slot_ids: string[] }).slot_ids
  await expect.poll(() => listening.callbacks().length === 1).toBe(true)
  expect(listening.callbacks()).toEqual([
    expect.objectContaining({
      type: 'callback',
      at_ms: noon,
      path: '/hook',
      slot_id,
      signature: 'verified',
      status: 200,
    }),
  ])
  const body = '{"slot_id":"slot_x"}'
  const signed = (secret: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  expect((await post(listening.url, body)).status).toBe(401)
  expect((await post(listening.url, body, { 'x-csl-signature': signed('another') })).status).toBe(401)
  expect((await post(listening.url, body, { 'x-csl-signature': signed('sk_live_sandbox_demo') })).status).toBe(200)
  expect((await post(listening.url, `${body} `, { 'x-csl-signature': signed(key) })).status).toBe(401)
  expect((await fetch(listening.url)).status).toBe(405)
  const signatures = listening.callbacks().map(({ signature }) => signature)
  expect(signatures).toEqual(['verified', 'missing', 'wrong', 'other_key', 'wrong'])
  await listening.end()
})

test('listen forwards the exact bytes and headers, and responds with the status that it gets', async () => {
  await using cli = await startTestCli()
  await using program = await receiver([503])
  const listening = await listen(cli, `--forward-to ${program.url}`)
  await cli.svc(`api jobs.create --callback-url ${listening.url} -q`)
  await expect.poll(() => program.received.length === 2).toBe(true)
  await expect.poll(() => listening.callbacks().length === 2).toBe(true)
  expect(listening.callbacks().map(({ status, signature }) => [status, signature])).toEqual([
    [503, 'verified'],
    [200, 'verified'],
  ])
  const [, sent] = program.received
  const right = createHmac('sha256', key).update(sent!.body).digest('hex')
  expect(sent!.headers['x-csl-signature']).toBe(`sha256=${right}`)
  expect(sent!.headers.host).toBe(new URL(program.url).host)
  await listening.end()
})

test('listen says what holds its port', async () => {
  await using cli = await startTestCli()
  const { code, stderr } = await cli.svc(`sandbox callbacks listen --port ${cli.sandbox.port}`)
  expect(code).toBe(8)
  expect(stderr).toContain(`error: Port ${cli.sandbox.port} is taken by`)
  expect(stderr).toContain(`sandbox callbacks listen --port ${cli.sandbox.port + 1}`)
  expect((await cli.svc('sandbox callbacks listen --forward-to ftp://x')).code).toBe(2)
})

test('list and observe show what failed, and resend delivers it', async () => {
  await using cli = await startTestCli()
  await using program = await receiver([500, 500, 500])
  await cli.svc(`api jobs.create --callback-url ${program.url} -q`)
  const list = async () =>
    (JSON.parse((await cli.svc('sandbox callbacks list -o json')).stdout) as { items: CallbackItem[] }).items
  await expect.poll(async () => (await list())[0]?.status === 'failed').toBe(true)
  const observed = (await cli.svc('observe --since 1h')).stdout.replaceAll(/\s+/g, ' ')
  expect(observed).toContain('✗ error callback-failing every callback is delivered 1 of 1 callback to http://127.0.0.1')
  expect(observed).toContain('svc sandbox callbacks resend')
  const { code, stdout } = await cli.svc('sandbox callbacks resend -o json')
  expect([code, (JSON.parse(stdout) as CallbackItem).status]).toEqual([0, 'delivered'])
  expect(await list()).toMatchObject([{ status: 'delivered', attempts: 4 }])
})

test('listen refuses a port that there is not, before anything else', async () => {
  const { code, stderr } = await svc('sandbox callbacks listen --port 99999', {})
  expect(code).toBe(2)
  expect(stderr).toContain('It must be a port from 0 to 65535.')
})
