/** Callbacks (C07), received by a plain HTTP server that checks signatures with code of its own. */
import { createHmac } from 'node:crypto'
import dns from 'node:dns'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { LegacyDecision } from '#contract/compat.ts'
import type { CallbackItem } from '#contract/resources/callbacks.ts'
import { storedTexts } from '#tests/postgres/shared-store.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { receiver } from './receiver.ts'
import { activate, key, liveKey, origin, type Stage, stage, withoutTimeouts } from './stage.ts'

const signature = (secret: string, body: string) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

async function job(on: Stage, callback_url: string, more: Record<string, unknown> = {}, as = key): Promise<string[]> {
  const body = { client_id: 'proj_demo', session_id: 's', job_type: 'chat', callback_url, ...more }
  return (await on.api.accept('jobs.create', { as, body })).body.slot_ids
}

const items = async (on: Stage, query: Record<string, string> = {}) =>
  (await on.api.accept('callbacks.list', { query })).body.items

/** Resolves to the callback of a slot when it has a status. */
async function callback(on: Stage, slot_id: string, status: CallbackItem['status']): Promise<CallbackItem> {
  for (;;) {
    const [item] = await items(on, { slot_id })
    if (item?.status === status) return item
    await wait(10)
  }
}

const listAttempts = async (on: Stage, slot_id: string) =>
  (await on.api.accept('requests.list', { query: { path: 'http', details: 'true' } })).body.items
    .filter((item) => item.slot_id === slot_id)
    .reverse()

describe('a callback', () => {
  test('is one signed POST for each slot, with the decision as a poll returns it', async () => {
    await using on = await stage()
    await using hook = await receiver()
    const slot_ids = await job(on, hook.url, { slots_requested: 2 })
    for (const slot_id of slot_ids) {
      expect(await callback(on, slot_id, 'delivered')).toMatchObject({
        client_id: 'proj_demo',
        url: hook.url,
        attempts: 1,
        http_status: 200,
        problem: null,
      })
    }
    expect(hook.received).toHaveLength(2)
    for (const { method, url, headers, body } of hook.received) {
      expect([method, url, headers['content-type']]).toEqual(['POST', '/hook?app=1', 'application/json'])
      expect(headers['x-csl-signature']).toBe(signature(key, body))
      const decision = LegacyDecision.parse(JSON.parse(body))
      const { slot_id } = decision
      expect(decision).toEqual((await on.api.accept('wrapper.decision', { as: key, params: { slot_id } })).body)
    }
    expect(new Set(hook.received.map(({ body }) => LegacyDecision.parse(JSON.parse(body)).slot_id))).toEqual(
      new Set(slot_ids),
    )
  })

  test('of the contract form goes out when the slot is decided, signed with the key of its own call', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    await using hook = await receiver()
    const body = {
      contract_version: 'csl_wrapper_ingress_create/v1',
      job: { job_type: 'chat', slots_requested: 1 },
      delivery: { mode: 'callback', callback_url: hook.url },
    }
    const created = await on.api.accept('wrapper.job', { as: liveKey, body })
    expect(created.body.decision_delivery.mode).toBe('callback')
    const [slot_id] = created.body.slot_ids
    expect((await items(on))[0]).toMatchObject({ slot_id, status: 'waiting', attempts: 0, attempted_at_ms: null })
    expect(hook.received).toEqual([])
    on.clock.advance(2_000)
    await callback(on, slot_id!, 'delivered')
    const [sent] = hook.received
    expect(sent!.headers['x-csl-signature']).toBe(signature(liveKey, sent!.body))
  })

  test('whose receiver fails twice is delivered by the third attempt, which is the last', async () => {
    await using on = await stage()
    await using hook = await receiver([500, 503])
    const [slot_id] = await job(on, hook.url)
    const [gone] = await job(on, 'http://127.0.0.1:1/')
    expect(await callback(on, slot_id!, 'retrying')).toMatchObject({ attempts: 1, http_status: 500 })
    expect(await callback(on, slot_id!, 'delivered')).toMatchObject({ attempts: 3, http_status: 200, problem: null })
    expect(hook.received.map(({ body }) => body)).toEqual(Array.from({ length: 3 }, () => hook.received[0]!.body))
    const attempts = await listAttempts(on, slot_id!)
    expect(attempts.map(({ method, path, status }) => [method, path, status])).toEqual([
      ['POST', hook.url, 500],
      ['POST', hook.url, 503],
      ['POST', hook.url, 200],
    ])
    expect(attempts[0]).toMatchObject({ client_id: 'proj_demo', response_body: 'thanks' })
    expect(attempts[0]!.request_headers!['x-csl-signature']).toBe(hook.received[0]!.headers['x-csl-signature'])
    const token = LegacyDecision.parse(JSON.parse(hook.received[0]!.body)).asset_token!
    expect(JSON.stringify(attempts)).not.toContain(token)
    const failed = await callback(on, gone!, 'failed')
    expect(failed).toMatchObject({ attempts: 3, http_status: null })
    expect(failed.problem).toBe('No response: connect ECONNREFUSED 127.0.0.1:1.')
    const refusals = await listAttempts(on, gone!)
    expect(refusals.map(({ status }) => status)).toEqual([0, 0, 0])
    expect(refusals[0]!.response_headers!['x-sandbox-problem']).toBe(failed.problem)
    expect(await eventTypes(on, slot_id!)).toEqual(['callback.retried', 'callback.retried', 'callback.delivered'])
    expect(await eventTypes(on, gone!)).toEqual(['callback.retried', 'callback.retried', 'callback.failed'])
    const { request_id } = refusals[0]!
    const replayed = await on.api.refuse('requests.replay', { params: { request_id }, body: {} })
    expect(replayed.body).toMatchObject({ reason_code: 'replay_incomplete', hint: expect.stringContaining(gone!) })
  })

  test('that is redirected fails, and nothing follows', async () => {
    await using on = await stage()
    await using target = await receiver()
    await using moved = await receiver([307], { location: target.url })
    const [slot_id] = await job(on, moved.url)
    expect(await callback(on, slot_id!, 'failed')).toMatchObject({
      attempts: 1,
      http_status: 307,
      problem: 'The receiver responded 307; redirects are not followed.',
    })
    expect(target.received).toEqual([])
  })

  test('waits for no other receiver, however many callbacks of a slow one are due', { tags: 'depth' }, async () => {
    await using on = await stage({ rate_limit: 'off' })
    await using slow = await openTcp()
    await using hook = await receiver()
    for (let count = 0; count < 40; count++) {
      await job(on, `http://127.0.0.1:${slow.port}/${count}`, { slots_requested: 4 })
    }
    await slow.connected
    const [slot_id] = await job(on, hook.url)
    await callback(on, slot_id!, 'delivered')
    // The others that are due wait for these, whose attempts end after 5 s.
    expect(slow.connections()).toBeLessThan(160)
  })

  test('to a receiver that never responds does not keep the sandbox from stopping', { tags: 'depth' }, async () => {
    await using silent = await openTcp()
    const on = await stage()
    await job(on, `http://127.0.0.1:${silent.port}/`)
    await silent.connected
    await withoutTimeouts(() => on[Symbol.asyncDispose]())
  })
})

/** Accepts connections, and says nothing. */
async function openTcp(): Promise<
  { port: number; connected: Promise<unknown>; connections(): number } & AsyncDisposable
> {
  let connections = 0
  const server = createTcpServer((socket) => {
    connections++
    socket.on('error', () => {}).resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connected: once(server, 'connection'),
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close()
      await once(server, 'close')
    },
  }
}

/** The types of the first three events of a slot's callback. */
async function eventTypes(on: Stage, slot_id: string): Promise<string[]> {
  const stopped = new AbortController()
  const path = `/_sandbox/events?since_seq=0&type=callback.*&slot_id=${slot_id}`
  const response = await fetch(`${on.sandbox.url}${path}`, { signal: stopped.signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const types = () => [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type!)
  while (types().length < 3) text += (await reader.read()).value ?? ''
  stopped.abort()
  return types()
}

describe('a callback URL', () => {
  test.each([
    ['http://192.168.0.10/hook', 'goes to 192.168.0.10, a private address'],
    ['https://10.1.2.3/hook', 'goes to 10.1.2.3, a private address'],
    ['https://169.254.169.254/latest', 'goes to 169.254.169.254, a link-local address'],
    ['https://[fd00::1]/', 'goes to fd00::1, a unique local address'],
    ['https://[::ffff:10.0.0.1]/', 'goes to ::ffff:a00:1, a private address'],
    ['http://example.com/', 'is http to a host other than this one'],
    ['ftp://localhost/', 'begins with ftp:, not https:'],
    ['https://ci:hunter2@example.com/', 'has a user name or a password in it'],
    ['https://ci:hunter2@', 'is not a URL'],
    ['localhost', 'is not a URL'],
    ['', 'is not a URL'],
  ])('%s is refused when the job is created', async (callback_url, problem) => {
    await using on = await stage()
    const flat = { client_id: 'proj_demo', job_type: 'chat', callback_url }
    const { status, body } = await on.api.refuse('jobs.create', { as: key, body: flat })
    expect([status, body.reason_code, body.message]).toEqual([
      400,
      'callback_url_refused',
      `The callback URL ${problem}.`,
    ])
    expect(body.fields![0]!.path).toBe('callback_url')
    const form = {
      contract_version: 'csl_wrapper_ingress_create/v1',
      job: { job_type: 'chat', slots_requested: 1 },
      delivery: { mode: 'callback', callback_url },
    }
    const other = await on.api.refuse('jobs.create', { as: key, body: form })
    expect(other.body.fields![0]!.path).toBe('delivery.callback_url')
    expect(await items(on)).toEqual([])
    const journal = await on.api.accept('requests.list', { query: { details: 'true' } })
    expect([journal.body.items.length, journal.text.includes('hunter2')]).toEqual([2, false])
    expect((await on.api.accept('placements.list')).body.items).toEqual([])
  })

  test('of the sandbox itself is refused', async () => {
    await using on = await stage()
    const callback_url = `http://localhost:${on.sandbox.port}/_sandbox/reset`
    const { body } = await on.api.refuse('jobs.create', { as: key, body: { job_type: 'chat', callback_url } })
    expect(body.message).toBe('The callback URL goes to the sandbox itself.')
  })

  test('needs a secret key, which signs: a page has none', async () => {
    await using on = await stage()
    const body = { job_type: 'chat', callback_url: 'http://localhost:4020/' }
    const refused = await on.api.refuse('jobs.create', { as: await activate(on.api), origin, body })
    expect([refused.status, refused.body.reason_code]).toEqual([400, 'callback_key_missing'])
  })

  test('is accepted and not called with --strict', async () => {
    await using on = await stage({ strict: true })
    await using hook = await receiver()
    const [slot_id] = await job(on, hook.url)
    await on.api.accept('decisions.get', { as: key, params: { slot_id: slot_id! } })
    expect(await items(on)).toEqual([])
    expect(hook.received).toEqual([])
  })
})

describe('a name', () => {
  const { lookup } = dns
  const answers = new Map<string, string[][]>()

  /** Has the resolver of the system answer for a name: each time the next list, and the last one from then on. */
  function resolveTo(name: string, ...lists: string[][]): void {
    answers.set(name, lists)
    const answering = (host: string, options: object, done: (error: null, found: object[]) => void) => {
      const known = answers.get(host)
      if (known === undefined) return Reflect.apply(lookup, dns, [host, options, done])
      const list = known.length > 1 ? known.shift()! : known[0]!
      done(
        null,
        list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    }
    Object.assign(dns, { lookup: answering })
    syncBuiltinESMExports()
  }

  afterEach(() => {
    Object.assign(dns, { lookup })
    syncBuiltinESMExports()
    answers.clear()
  })

  test('that resolves to a private address, beside a public one too, is refused when the job is created', async () => {
    await using on = await stage()
    resolveTo('hooks.example', ['93.184.215.14', '10.0.0.9'])
    const body = { client_id: 'proj_demo', job_type: 'chat', callback_url: 'https://hooks.example/' }
    const refused = await on.api.refuse('jobs.create', { as: key, body })
    expect(refused.body.message).toBe('The callback URL goes to 10.0.0.9 (hooks.example), a private address.')
  })

  test('that resolves to a private address later fails, and nothing is sent', async () => {
    await using on = await stage()
    resolveTo('hooks.example', ['93.184.215.14'], ['fd00::1'])
    const [slot_id] = await job(on, 'https://hooks.example/')
    expect(await callback(on, slot_id!, 'failed')).toMatchObject({
      attempts: 1,
      http_status: null,
      problem: 'Nothing was sent: callback_url goes to fd00::1 (hooks.example), a unique local address.',
    })
  })

  test('is connected to at the very address that was checked', async () => {
    await using on = await stage()
    await using hook = await receiver()
    // The third answer would be for a socket that resolves the name again.
    resolveTo('app.localhost', ['127.0.0.1'], ['127.0.0.1'], ['10.0.0.9'])
    const url = hook.url.replace('127.0.0.1', 'app.localhost')
    const [slot_id] = await job(on, url)
    await callback(on, slot_id!, 'delivered')
    expect(hook.received[0]!.headers.host).toBe(new URL(url).host)
    expect(answers.get('app.localhost')).toEqual([['10.0.0.9']])
  })
})

describe('a callback that is sent again', () => {
  test('is one more attempt, signed like the first', async () => {
    await using on = await stage()
    await using hook = await receiver()
    const [slot_id] = await job(on, hook.url)
    await callback(on, slot_id!, 'delivered')
    const { body } = await on.api.accept('callbacks.resend', { params: { slot_id: slot_id! }, body: {} })
    expect(body).toMatchObject({ slot_id, status: 'delivered', attempts: 2 })
    expect(hook.received[1]).toMatchObject({ body: hook.received[0]!.body })
    expect(hook.received[1]!.headers['x-csl-signature']).toBe(signature(key, hook.received[1]!.body))
  })

  test('is refused before its slot is decided, and for a slot without a callback', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    await using hook = await receiver()
    const [slot_id] = await job(on, hook.url)
    const early = await on.api.refuse('callbacks.resend', { params: { slot_id: slot_id! }, body: {} })
    expect(early.body.reason_code).toBe('callback_undecided')
    const none = await on.api.refuse('callbacks.resend', { params: { slot_id: 'slot_00000000001' }, body: {} })
    expect(none.status).toBe(404)
  })

  test('that was not delivered by a restart of the only process is lost, and says so', async () => {
    const database = join(temporaryDirectory(), 'sandbox.db')
    const first = await stage({ database, decision_latency_ms: 60_000 })
    const [slot_id] = await job(first, 'http://127.0.0.1:1/')
    await first.sandbox.close()
    await using on = await stage({ database, clock: first.clock })
    const lost = await callback(on, slot_id!, 'key_lost')
    expect(lost).toMatchObject({ attempts: 0, attempted_at_ms: null })
    expect(lost.problem).toContain('restarted before')
  })

  test('after a restart that came before its delivery needs the key again, which is stored nowhere', async () => {
    const database = join(temporaryDirectory(), 'sandbox.db')
    const holds = async (text: string) => (await storedTexts({ database })).some((stored) => stored.includes(text))
    await using hook = await receiver()
    const first = await stage({ database, decision_latency_ms: 60_000 })
    const [slot_id] = await job(first, hook.url)
    expect([await holds(hook.url), await holds(key)]).toEqual([true, false])
    await first.sandbox.close()
    expect(await holds(key)).toBe(false)
    await using on = await stage({ database, clock: first.clock })
    on.clock.advance(60_000)
    await on.api.accept('wrapper.decision', { as: key, params: { slot_id: slot_id! }, query: { wait_ms: 2_000 } })
    const params = { slot_id: slot_id! }
    expect((await on.api.refuse('callbacks.resend', { params, body: {} })).body.reason_code).toBe('callback_key_lost')
    const wrong = await on.api.refuse('callbacks.resend', { params, body: { secret_key: liveKey } })
    expect([wrong.body.reason_code, wrong.body.message]).toEqual([
      'callback_key_lost',
      'The key you sent is not the one that created the job.',
    ])
    expect(hook.received).toEqual([])
    const { body } = await on.api.accept('callbacks.resend', { params, body: { secret_key: key } })
    expect(body).toMatchObject({ status: 'delivered', attempts: 1 })
    expect(hook.received[0]!.headers['x-csl-signature']).toBe(signature(key, hook.received[0]!.body))
  })
})

test('a reset drops callbacks that wait, and a restore continues those of its state', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  await using on = await stage({ database, decision_latency_ms: 2_000 })
  await using hook = await receiver()
  const [slot_id] = await job(on, hook.url)
  await on.api.accept('snapshots.save', { params: { name: 'before' }, body: {} })
  await on.api.accept('sandbox.reset', { body: {} })
  on.clock.advance(2_000)
  expect(await items(on)).toEqual([])
  await on.api.accept('snapshots.restore', { params: { name: 'before' }, body: {} })
  await callback(on, slot_id!, 'delivered')
  expect(hook.received).toHaveLength(1)
})
