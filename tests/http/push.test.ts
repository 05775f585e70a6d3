/** Decisions pushed over WebSocket (C04), with clients that share nothing with the server: Node's own, and bare sockets. */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { LegacyDecision } from '#contract/compat.ts'
import { activate, fill, key, origin, otherKey, type Stage, stage, withoutTimeouts } from './stage.ts'

type Surface = 'wrapper' | 'browser'

/** Creates a job, whose slot is pending for two seconds of the sandbox clock where decisions take that long. */
async function job(on: Stage): Promise<string> {
  const { body } = await on.api.accept('jobs.create', { as: key, body: { client_id: 'proj_demo', session_id: 's' } })
  return body.slot_ids[0]!
}

async function ticketFor(on: Stage, slot_id: string, as = key, surface: Surface = 'wrapper', from?: string) {
  const call = { as, params: { slot_id }, ...(from === undefined ? {} : { origin: from }) }
  return (await on.api.accept(`${surface}.ticket`, call)).body.ticket
}

function socketUrl(on: Stage, slot_id: string, ticket: string, surface: Surface = 'wrapper'): string {
  return `${on.sandbox.url.replace('http', 'ws')}/public/${surface}/v1/slots/${slot_id}/decision/ws?ticket=${ticket}`
}

/** A socket of Node's own client, with every message that it gets. */
async function open(url: string): Promise<{ socket: WebSocket; messages: string[]; closed: Promise<number> }> {
  const socket = new WebSocket(url)
  const messages: string[] = []
  socket.addEventListener('message', ({ data }) => messages.push(data as string))
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)))
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', () => reject(new Error('the handshake was refused')))
  })
  return { socket, messages, closed }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await wait(5)
}

/** Sends a handshake as it stands and resolves to its response. */
async function handshake(on: Stage, path: string, headers: Record<string, string> = {}): Promise<string> {
  const socket = connectTcp(on.sandbox.port, '127.0.0.1')
  const all = {
    host: `127.0.0.1:${on.sandbox.port}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (text.startsWith('HTTP/1.1 101') && text.includes('\r\n\r\n')) socket.destroy()
  })
  await once(socket, 'close')
  return text
}

const pathOf = (slot_id: string, ticket: string, surface: Surface = 'wrapper') =>
  `/public/${surface}/v1/slots/${slot_id}/decision/ws?ticket=${ticket}`

const readStatus = (response: string) => Number(response.split(' ')[1])
const readReason = (response: string) =>
  (JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4)) as { reason_code: string }).reason_code

describe('a decision socket', () => {
  test('gets exactly one frame when its slot is decided, and nothing before', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await job(on)
    const { socket, messages, closed } = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    on.clock.advance(2_000)
    await until(() => messages.length > 0)
    const polled = await on.api.accept('wrapper.decision', { as: key, params: { slot_id } })
    expect(LegacyDecision.parse(JSON.parse(messages[0]!))).toEqual(polled.body)
    expect(polled.body).toMatchObject({ status: 'ready', fill: true })
    socket.close(1000)
    expect(await closed).toBe(1000)
    expect(messages).toHaveLength(1)
  })

  test('gets it at once when the slot is decided already; an expired slot is a no-fill', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const first = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    await until(() => first.messages.length === 1)
    expect(JSON.parse(first.messages[0]!)).toMatchObject({ slot_id, fill: true })
    on.clock.advance(3_600_000)
    const late = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    await until(() => late.messages.length === 1)
    expect(JSON.parse(late.messages[0]!)).toMatchObject({
      status: 'ready',
      fill: false,
      no_fill_reason: 'slot_expired',
    })
    first.socket.close()
    late.socket.close()
  })

  test('is one of 60 on a slot, which each get one frame', async () => {
    await using on = await stage({ decision_latency_ms: 2_000, rate_limit: 'off' })
    const slot_id = await job(on)
    const sockets = await Promise.all(
      Array.from({ length: 60 }, async () => open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))),
    )
    on.clock.advance(2_000)
    await until(() => sockets.every(({ messages }) => messages.length > 0))
    for (const { socket } of sockets) socket.close()
    await Promise.all(sockets.map(({ closed }) => closed))
    expect(sockets.map(({ messages }) => messages.length)).toEqual(Array.from({ length: 60 }, () => 1))
    expect(new Set(sockets.map(({ messages }) => messages[0])).size).toBe(1)
  })

  test('of a page opens with the ticket of an activation token, from its origin', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const ticket = await ticketFor(on, slot_id, await activate(on.api), 'browser', origin)
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket, 'browser'), { origin }))).toBe(101)
  })

  test('ends with the sandbox', async () => {
    const on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await job(on)
    const { closed } = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    await withoutTimeouts(async () => {
      await on[Symbol.asyncDispose]()
      expect(await closed).toBe(1001)
    })
  })

  test('ends when its slot is gone after a reset, and tickets are gone too', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await job(on)
    const { closed } = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    const unused = await ticketFor(on, slot_id)
    await on.api.accept('sandbox.reset', { body: {} })
    expect(await closed).toBe(1001)
    expect(readStatus(await handshake(on, pathOf(slot_id, unused)))).toBe(401)
  })

  test('whose client sends more than it may is closed, and the others are not', async () => {
    await using on = await stage({ decision_latency_ms: 2_000 })
    const slot_id = await job(on)
    const loud = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    const quiet = await open(socketUrl(on, slot_id, await ticketFor(on, slot_id)))
    loud.socket.send('x'.repeat(2_000))
    quiet.socket.send('hello')
    expect(await loud.closed).toBe(1009)
    on.clock.advance(2_000)
    await until(() => quiet.messages.length === 1)
    quiet.socket.close()
  })

  test('is in the journal and in the events, and so is its ticket, without its text', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const ticket = await ticketFor(on, slot_id)
    const { socket, messages, closed } = await open(socketUrl(on, slot_id, ticket))
    await until(() => messages.length === 1)
    socket.close()
    await closed
    const types = ['ticket.issued', 'socket.opened', 'socket.sent', 'socket.closed']
    const log = await readEvents(on, types.length)
    expect(log.map(({ type }) => type)).toEqual(types)
    expect(log.every((event) => event.slot_id === slot_id && event.client_id === 'proj_demo')).toBe(true)
    const { body } = await on.api.accept('requests.list', { query: { details: 'true', path: '/public/' } })
    expect(body.items.map(({ status, path }) => [status, path])).toEqual([
      [101, `/public/wrapper/v1/slots/${slot_id}/decision/ws?ticket=[removed]`],
      [200, `/public/wrapper/v1/slots/${slot_id}/decision-ticket`],
    ])
    expect(body.items.every((item) => item.slot_id === slot_id && item.client_id === 'proj_demo')).toBe(true)
    expect(JSON.stringify(body)).not.toContain(ticket)
  })
})

/** The first `count` events of tickets and sockets. */
async function readEvents(on: Stage, count: number) {
  const response = await fetch(`${on.sandbox.url}/_sandbox/events?since_seq=0&type=ticket.*,socket.*`)
  const found: { type: string; slot_id: string; client_id: string }[] = []
  let text = ''
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (const line of text.split('\n').slice(0, -1)) {
      if (line.startsWith('data: ')) found.push(JSON.parse(line.slice(6)) as (typeof found)[number])
    }
    text = text.slice(text.lastIndexOf('\n') + 1)
    if (found.length >= count) break
  }
  return found
}

describe('a ticket', () => {
  test('is good once', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const ticket = await ticketFor(on, slot_id)
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket)))).toBe(101)
    const again = await handshake(on, pathOf(slot_id, ticket))
    expect([readStatus(again), readReason(again)]).toEqual([401, 'ticket_invalid'])
    await expect(open(socketUrl(on, slot_id, ticket))).rejects.toThrow('refused')
  })

  test('is good for its slot, surface and origin alone, and is not used up elsewhere', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const other = (await fill(on.api)).slot_id
    const ticket = await ticketFor(on, slot_id, await activate(on.api), 'browser', origin)
    const refusals = [
      handshake(on, pathOf(other, ticket, 'browser'), { origin }),
      handshake(on, pathOf(slot_id, ticket, 'wrapper'), { origin }),
      handshake(on, pathOf(slot_id, ticket, 'browser'), { origin: 'http://localhost:3001' }),
      handshake(on, pathOf(slot_id, ticket, 'browser')),
      handshake(on, pathOf('slot_nothing', ticket, 'browser'), { origin }),
    ]
    expect((await Promise.all(refusals)).map(readStatus)).toEqual([401, 401, 401, 401, 401])
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket, 'browser'), { origin }))).toBe(101)
  })

  test('is good for 60 seconds of the sandbox clock', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const [early, late] = [await ticketFor(on, slot_id), await ticketFor(on, slot_id)]
    on.clock.advance(59_999)
    expect(readStatus(await handshake(on, pathOf(slot_id, early)))).toBe(101)
    on.clock.advance(1)
    expect(readStatus(await handshake(on, pathOf(slot_id, late)))).toBe(401)
  })

  test('is the only credential of a handshake', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const bare = `/public/wrapper/v1/slots/${slot_id}/decision/ws`
    const authorization = `Bearer ${key}`
    const responses = [
      await handshake(on, bare),
      await handshake(on, `${bare}?ticket=`),
      await handshake(on, `${bare}?key=${key}`),
      await handshake(on, `${bare}?ticket=${key}`, { authorization }),
      await handshake(on, bare, { authorization }),
    ]
    expect(responses.map(readStatus)).toEqual([401, 401, 401, 401, 401])
  })

  test('is refused without the credential of its surface, and for a slot of another project', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const params = { slot_id }
    const token = await activate(on.api)
    expect((await on.api.refuse('wrapper.ticket', { params })).status).toBe(401)
    expect((await on.api.refuse('wrapper.ticket', { params, as: token, origin })).status).toBe(403)
    expect((await on.api.refuse('browser.ticket', { params, as: key })).status).toBe(403)
    expect((await on.api.refuse('wrapper.ticket', { params, as: otherKey })).status).toBe(404)
    expect((await on.api.refuse('wrapper.ticket', { params: { slot_id: 'slot_x' }, as: key })).status).toBe(404)
  })
})

describe('the path of the sockets', () => {
  test('responds 426 to what is no handshake of version 13', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const { status, body, headers } = await on.api.refuse('wrapper.socket', { params: { slot_id } })
    expect([status, body.reason_code, headers.upgrade]).toEqual([426, 'upgrade_required', 'websocket'])
    const ticket = await ticketFor(on, slot_id)
    const old = await handshake(on, pathOf(slot_id, ticket), { 'sec-websocket-version': '8' })
    expect([readStatus(old), /sec-websocket-version: 13/i.test(old)]).toEqual([426, true])
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket), { 'sec-websocket-key': 'short' }))).toBe(400)
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket)))).toBe(101)
  })

  test('refuses the handshake of another host: DNS rebinding', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const ticket = await ticketFor(on, slot_id)
    expect(readStatus(await handshake(on, pathOf(slot_id, ticket), { host: 'evil.example' }))).toBe(421)
  })

  test('agrees to no subprotocol and to no compression', async () => {
    await using on = await stage()
    const { slot_id } = await fill(on.api)
    const response = await handshake(on, pathOf(slot_id, await ticketFor(on, slot_id)), {
      'sec-websocket-protocol': 'chat',
      'sec-websocket-extensions': 'permessage-deflate',
    })
    expect(readStatus(response)).toBe(101)
    expect(response).not.toMatch(/sec-websocket-(protocol|extensions)/i)
    expect(response).toMatch(/x-request-id: req_[0-9a-z]{11}/i)
  })

  test('is the only one that upgrades: another request is answered as if it had not asked', async () => {
    await using on = await stage()
    const other = { upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__', connection: 'Upgrade, HTTP2-Settings, close' }
    expect(readStatus(await handshake(on, '/_sandbox/readyz', other))).toBe(200)
    expect(readStatus(await handshake(on, '/_sandbox/readyz', { connection: 'Upgrade, close' }))).toBe(200)
  })

  test('is not there with --strict', async () => {
    await using on = await stage({ strict: true })
    const { slot_id } = await fill(on.api)
    expect(readStatus(await handshake(on, pathOf(slot_id, 'wst_x'), { connection: 'Upgrade, close' }))).toBe(404)
    expect((await on.api.refuse('wrapper.ticket', { params: { slot_id }, as: key })).status).toBe(404)
  })
})
