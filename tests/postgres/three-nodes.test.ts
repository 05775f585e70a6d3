/**
 * Many nodes, one truth. First what one node does and another one sees, in this process. Then three nodes as processes of
 * their own behind a proxy that takes turns, under mixed load, while nodes are killed, connections cut and the database is
 * restarted: nothing that was acknowledged may be lost or doubled. `NODES_SECONDS=120` for the long run.
 */
import { randomUUID } from 'node:crypto'
import { once as onceEmitted } from 'node:events'
import { createServer, request as httpRequest } from 'node:http'
import { type AddressInfo, connect as connectTo, createServer as createTcpServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { type Running, spawnSvc } from '#tests/cli/process.ts'
import { connect } from '#tests/http/call.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type PostgresServer, startPostgres } from './server.ts'

const key = 'sk_test_sandbox_demo'
let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true })
}, 60_000)

afterAll(() => postgres.stop())

async function pair(options: SandboxOptions = {}) {
  const namespace = `n-${randomUUID().slice(0, 8)}`
  const start = () => startSandbox({ store: postgres.url, namespace, demands_token: false, ...options })
  const [one, two] = [await start(), await start()]
  return { namespace, one, two, a: connect(one), b: connect(two), [Symbol.asyncDispose]: () => end(one, two) }
}

async function end(...sandboxes: Sandbox[]): Promise<void> {
  for (const sandbox of sandboxes) await sandbox.close()
}

/** Resolves when `isSo` does; what takes 100 ms on an idle computer may take seconds under load. */
async function soon(isSo: () => Promise<boolean>): Promise<void> {
  for (const started = performance.now(); !(await isSo()); await pause(10)) {
    if (performance.now() - started > 30_000) throw new Error('not seen on the other node')
  }
}

const asked = (more: object = {}) => ({
  client_id: 'proj_demo',
  session_id: `s-${randomUUID()}`,
  job_type: 'chat',
  ...more,
})

test('clock, faults and their counts, scenario, settings and keys of one node hold on the other', async () => {
  await using on = await pair()
  const { a, b } = on
  await a.accept('clock.advance', { body: { by_ms: 3_600_000 } })
  await soon(async () => (await b.accept('clock.show')).body.offset_ms > 3_500_000)

  await a.accept('faults.add', { body: { path: '/v1/placements', status: 503, times: 3 } })
  await soon(async () => (await b.accept('faults.list')).body.items.length === 1)
  const sent = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      (index % 2 === 0 ? a : b).send('POST', '/v1/placements', { as: key, body: asked() }),
    ),
  )
  expect(sent.filter(({ status }) => status === 503)).toHaveLength(3)
  await soon(async () => (await b.accept('faults.list')).body.items[0]!.matched === 12)
  await b.accept('faults.clear')
  await soon(async () => (await a.accept('faults.list')).body.items.length === 0)

  await a.accept('scenario.use', { params: { name: 'banner_ok' } })
  await soon(async () => (await b.accept('scenario.list')).body.items.some(({ active }) => active))
  await b.accept('scenario.clear')

  const created = (await a.accept('keys.create', { params: { client_id: 'proj_demo' } })).body
  await b.accept('placements.create', { as: created.key, body: asked() })
  await a.accept('keys.revoke', { params: { key_id: created.key_id } })
  await soon(async () => (await b.send('POST', '/v1/placements', { as: created.key, body: asked() })).status === 401)
})

test('a bucket is of all nodes: what one has granted, the other refuses', async () => {
  // Nothing is refilled while the test runs, however slow it is.
  await using on = await pair({ rate_limit: '5/h' })
  const sent = await Promise.all(
    Array.from({ length: 24 }, (_, index) =>
      (index % 2 === 0 ? on.a : on.b).send('POST', '/v1/placements', { as: key, body: asked() }),
    ),
  )
  expect(sent.filter(({ status }) => status === 200)).toHaveLength(10)
  const refused = sent.find(({ status }) => status === 429)!
  expect(refused.headers['ratelimit-policy']).toBe('"default";q=10;w=7200')
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(5)
  await on.b.accept('sandbox.reset')
  // Until a node has heard of the reset it refuses writes with 503.
  await soon(async () => (await on.a.send('POST', '/v1/placements', { as: key, body: asked() })).status === 200)
})

test('a poll on one node ends when another decides, and what a dead node left is decided once', async () => {
  await using on = await pair({ decision_latency_ms: 600 })
  const job = (await on.a.accept('jobs.create', { as: key, body: asked({ slots_requested: 2 }) })).body
  const [slot, other] = job.slot_ids as [string, string]
  const started = performance.now()
  const polled = await on.b.accept('decisions.get', { as: key, params: { slot_id: slot }, query: { wait_ms: 20_000 } })
  expect([polled.body.status, performance.now() - started < 15_000]).toEqual(['ready', true])

  const left = (await on.a.accept('jobs.create', { as: key, body: asked() })).body.slot_ids[0]!
  await on.one.close()
  const found = await on.b.accept('decisions.get', { as: key, params: { slot_id: left }, query: { wait_ms: 20_000 } })
  expect(found.body.status).toBe('ready')
  for (const slot_id of [slot, other, left]) {
    const { evidence } = (await on.b.accept('placements.explain', { params: { slot_id } })).body
    expect(evidence.filter(({ kind }) => kind === 'decision')).toHaveLength(1)
  }
})

test('a ticket of one node is good once, on any', async () => {
  await using on = await pair()
  const { slot_id } = (await on.a.accept('placements.create', { as: key, body: asked() })).body
  const { ticket } = (await on.a.accept('wrapper.ticket', { as: key, params: { slot_id } })).body
  const handshake = (sandbox: Sandbox) =>
    new Promise<boolean>((resolve) => {
      const socket = new WebSocket(
        `${sandbox.url.replace('http', 'ws')}/public/wrapper/v1/slots/${slot_id}/decision/ws?ticket=${ticket}`,
      )
      socket.onopen = () => {
        socket.close()
        resolve(true)
      }
      socket.onerror = () => resolve(false)
    })
  expect([await handshake(on.two), await handshake(on.one), await handshake(on.two)]).toEqual([true, false, false])
})

test('a shared store demands a token everywhere; the first start gets one, revoked ones are refused on every node', async () => {
  const namespace = `n-${randomUUID().slice(0, 8)}`
  const one = await startSandbox({ store: postgres.url, namespace })
  const two = await startSandbox({ store: postgres.url, namespace })
  try {
    const [a, b] = [connect(one), connect(two)]
    expect(two.first_token).toBe(null)
    const start = { headers: { 'x-sandbox-token': one.first_token ?? one.admin_token } }
    expect((await a.refuse('sandbox.info')).body.reason_code).toBe('origin_refused')
    const name = `ci-${namespace}`
    const { token } = (await a.accept('tokens.create', { ...start, body: { name, role: 'write' } })).body
    const ci = { headers: { 'x-sandbox-token': token } }
    const info = (await b.accept('sandbox.info', ci)).body
    expect(info.nodes?.map(({ url }) => url).toSorted()).toEqual([one.url, two.url].toSorted())
    expect(info.database).not.toContain('secret')
    expect((await b.refuse('sandbox.reset', ci)).body.reason_code).toBe('role_missing')
    await a.accept('tokens.revoke', { ...start, params: { name } })
    expect((await b.refuse('sandbox.info', ci)).status).toBe(403)
    const { items } = (await a.accept('audit.list', { ...start, query: { token: name } })).body
    expect(items.map(({ action, namespace: of }) => [action, of])).toEqual([['sandbox.reset', namespace]])
  } finally {
    await end(one, two)
  }
})

test('a namespace has projects, clock and reset of its own, and is deleted when nobody serves it', async () => {
  await using on = await pair()
  await using other = await pair()
  await on.a.accept('projects.create', { body: { client_id: 'proj_mine' } })
  await on.a.accept('clock.freeze')
  expect((await other.a.refuse('projects.show', { params: { client_id: 'proj_mine' } })).status).toBe(404)
  expect((await other.a.accept('clock.show')).body.frozen).toBe(false)
  await other.a.accept('sandbox.reset')
  await on.b.accept('projects.show', { params: { client_id: 'proj_mine' } })
  const remove = { params: { name: other.namespace } }
  expect((await on.a.refuse('namespaces.delete', remove)).body.reason_code).toBe('namespace_in_use')
  await end(other.one, other.two)
  await on.a.accept('namespaces.delete', remove)
  const names = (await on.a.accept('namespaces.list')).body.items.map(({ name }) => name)
  expect([names.includes(on.namespace), names.includes(other.namespace)]).toEqual([true, false])
})

test('readyz tells a balancer that a node stops, or has lost its database, which heals by itself', async () => {
  const namespace = `n-${randomUUID().slice(0, 8)}`
  const sandbox = await startSandbox({ store: postgres.url, namespace, demands_token: false, report() {} })
  const api = connect(sandbox)
  await api.accept('health.ready')
  const restarted = postgres.restart()
  const seen: number[] = []
  for (let isBack = false; !isBack; await pause(20)) {
    const { status, headers } = await api.send('GET', '/_sandbox/readyz')
    seen.push(status)
    if (status === 503) expect(headers['retry-after']).toBe('1')
    isBack = status === 200 && seen.includes(503)
    if (seen.length > 1_000) throw new Error(`never lost and back: ${seen.join(' ')}`)
  }
  await restarted
  await api.accept('placements.create', { as: key, body: asked() })
  const closing = sandbox.close({ drain_ms: 2_000 })
  expect((await api.refuse('health.ready')).body.reason_code).toBe('draining')
  await api.accept('placements.create', { as: key, body: asked() })
  await closing
})

test('a database that no longer answers, on connections that stay open, is a 503 after two heartbeats', async () => {
  await using silent = await startSilentProxy(postgres.port)
  const namespace = `n-${randomUUID().slice(0, 8)}`
  const store = postgres.url.replace(`:${postgres.port}/`, `:${silent.port}/`)
  const sandbox = await startSandbox({ store, namespace, demands_token: false, report() {} })
  try {
    const status = async () => (await fetch(`${sandbox.url}/_sandbox/readyz`)).status
    expect(await status()).toBe(200)
    silent.pause(true)
    const started = performance.now()
    await expect.poll(status, { interval: 50, timeout: 15_000 }).toBe(503)
    // Two heartbeats of 2 s are missed after at most 4.5 s; a busy computer may take a little longer.
    expect(performance.now() - started).toBeLessThan(8_000)
    silent.pause(false)
    await expect.poll(status, { interval: 50, timeout: 20_000 }).toBe(200)
  } finally {
    silent.pause(false)
    await sandbox.close()
  }
})

/** A proxy to a port of this computer that can stop passing anything on, while its connections stay open. */
async function startSilentProxy(to: number) {
  const sockets = new Set<Socket>()
  let isPaused = false
  const server = createTcpServer((socket) => {
    const onward = connectTo(to, '127.0.0.1')
    for (const each of [socket, onward]) {
      sockets.add(each)
      each.on('error', () => {}).on('close', () => sockets.delete(each))
    }
    socket.on('close', () => onward.destroy())
    onward.on('close', () => socket.destroy())
    socket.on('data', (bytes) => onward.write(bytes))
    onward.on('data', (bytes) => socket.write(bytes))
    if (isPaused) for (const each of [socket, onward]) each.pause()
  }).listen(0, '127.0.0.1')
  await onceEmitted(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    pause(isOn: boolean) {
      isPaused = isOn
      for (const socket of sockets) isOn ? socket.pause() : socket.resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('clocks of nodes that differ by more than two seconds are named at the start, in status and by doctor', async () => {
  const namespace = `n-${randomUUID().slice(0, 8)}`
  const env = { SVC_HOME: temporaryDirectory(), SVC_STORE: postgres.url, SVC_NAMESPACE: namespace }
  const right = spawnSvc(['start', '--port', '0', '-o', 'json'], env)
  await right.firstLine
  const fast = `data:text/javascript,${encodeURIComponent('const now=Date.now;Date.now=()=>now()+3000')}`
  const ahead = spawnSvc(['start', '--port', '0', '-o', 'json'], { ...env, NODE_OPTIONS: `--import=${fast}` })
  try {
    await ahead.firstLine
    const said =
      /The clock of http:\S+ \(\S+\) is [23]\.\d s ahead of that of http:\S+ \(\S+\): set both to network time\./
    const run = (args: string) => spawnSvc(args.split(' '), env).ended
    expect((await run('sandbox status')).stderr).toMatch(said)
    expect((await run('doctor')).stdout.replaceAll(/\n {6,}/g, ' ')).toMatch(said)
    ahead.child.kill('SIGTERM')
    expect((await ahead.ended).stderr).toMatch(said)
  } finally {
    for (const { child } of [right, ahead]) child.kill('SIGTERM')
    await Promise.all([right.ended, ahead.ended])
  }
})

/* Three nodes behind a proxy */

const seconds = Number(process.env.NODES_SECONDS ?? 6)
const kills = Math.max(4, Math.round(seconds / 4))
const restarts = Math.max(1, Math.round(seconds / 24))

interface Node {
  running: Running
  url: string
  token: string | null
}

async function startNode(namespace: string): Promise<Node> {
  const env = { SVC_HOME: temporaryDirectory(), SVC_STORE: postgres.url, SVC_NAMESPACE: namespace }
  const flags = ['--port', '0', '--rate-limit', 'off', '--decision-latency', '150', '-o', 'json']
  for (let attempt = 1; ; attempt++) {
    const running = spawnSvc(['start', ...flags], env)
    try {
      const { url, admin_token = null } = JSON.parse(await running.firstLine) as { url: string; admin_token?: string }
      return { running, url, token: admin_token }
    } catch (error) {
      // The database is being restarted.
      if (attempt === 20) throw error
      await pause(250)
    }
  }
}

/** A proxy that sends each request to the next node that takes connections, and can cut what goes through it. */
async function startProxy(nodes: () => readonly Node[]) {
  const sockets = new Set<Socket>()
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const present = nodes()
    const node = present[turn++ % present.length]
    if (node === undefined) return void outgoing.writeHead(502).end()
    const { hostname, port } = new URL(node.url)
    const headers = { ...incoming.headers, host: `${hostname}:${port}` }
    const onward = httpRequest({ hostname, port, path: incoming.url, method: incoming.method, headers, agent: false })
    onward.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.on('error', () => outgoing.destroy())
      response.pipe(outgoing)
    })
    onward.on('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()))
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      for (const socket of sockets) if (Math.random() < 0.3) socket.destroy()
    },
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Reply {
  status: number
  body: Record<string, unknown>
}

/** Sends a request once; null when there was no response, so that its outcome is unknown. */
async function once(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<Reply | null> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        ...headers,
        connection: 'close',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    })
    return { status: response.status, body: (await response.json()) as Reply['body'] }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') throw new Error(`${method} ${url} was never answered`)
    return null
  }
}

/** Follows all events from the first one on, over as many connections as it takes. */
function follow(url: string, headers: Record<string, string>) {
  const seen: { seq: number; type: string; slot_id: string | null }[] = []
  const problems: string[] = []
  const ended = new AbortController()
  const read = async () => {
    const since = String(seen.at(-1)?.seq ?? 0)
    const reply = await fetch(`${url}/_sandbox/events`, {
      headers: { ...headers, 'last-event-id': since },
      signal: ended.signal,
    })
    if (!reply.ok || reply.body === null) return
    let text = ''
    for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
      text += piece
      const blocks = text.split('\n\n')
      text = blocks.pop()!
      for (const block of blocks) {
        const data = /^data: (.*)$/m.exec(block)?.[1]
        if (data === undefined) continue
        const { seq, type, slot_id } = JSON.parse(data) as (typeof seen)[number]
        const expected = (seen.at(-1)?.seq ?? 0) + 1
        if (seq !== expected) problems.push(`${type} ${seq} instead of ${expected}`)
        seen.push({ seq, type, slot_id })
      }
    }
  }
  const running = (async () => {
    while (!ended.signal.aborted) {
      await read().catch(() => {})
      await pause(30)
    }
  })()
  return {
    seen,
    problems,
    stop() {
      ended.abort()
      return running
    },
  }
}

test(
  `three nodes, ${kills} kills, ${restarts} restarts of the database and cut connections in ${seconds} s`,
  async () => {
    const namespace = `n-${randomUUID().slice(0, 8)}`
    // Together: one of them migrates, and the others wait for it.
    const nodes = await Promise.all([1, 2, 3].map(() => startNode(namespace)))
    const admin = await startSandbox({ store: postgres.url, namespace, demands_token: false, report() {} })
    const api = connect(admin)
    const token = (await api.accept('tokens.create', { body: { name: `load-${namespace}`, role: 'read' } })).body.token
    const alive = new Set(nodes)
    const proxy = await startProxy(() => [...alive])
    const control = { 'x-sandbox-token': token }
    const followers = [1, 2, 3].map(() => follow(proxy.url, control))
    const bearer = { authorization: `Bearer ${key}` }
    const acknowledged = { slots: new Set<string>(), beacons: new Set<string>(), polls: 0, refused: 0, unknown: 0 }
    const problems: string[] = []
    let isOver = false

    /** Sends until there is a success: with the same body, as a client does that got no response. */
    const until = async (method: string, path: string, body?: unknown): Promise<Reply['body'] | null> => {
      for (const started = performance.now(); performance.now() - started < 60_000; ) {
        const reply = await once(`${proxy.url}${path}`, method, body, bearer)
        if (reply === null) acknowledged.unknown++
        else if (reply.status < 300) return reply.body
        else if (reply.status >= 500) acknowledged.refused++
        else {
          problems.push(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body).slice(0, 300)}`)
          return null
        }
        await pause(50)
      }
      problems.push(`${method} ${path} never succeeded`)
      return null
    }

    const client = async () => {
      while (!isOver) {
        const placed = await once(`${proxy.url}/v1/placements`, 'POST', asked({ wait_ms: 0 }), bearer)
        if (placed === null || placed.status >= 500) {
          await pause(20)
          continue
        }
        const slot_id = String(placed.body.slot_id)
        acknowledged.slots.add(slot_id)
        const polled = (await until('GET', `/v1/decisions/${slot_id}?wait_ms=5000`)) as {
          status: string
          placement: { asset_token: string } | null
          decision: { decided_at_ms?: number } | null
        } | null
        acknowledged.polls++
        if (polled === null || polled.status === 'pending') {
          if (polled !== null && !(await isDecidedNow(slot_id))) problems.push(`${slot_id} is pending after its poll`)
          continue
        }
        if (polled.placement === null) continue
        const beacon_id = randomUUID()
        const { asset_token } = polled.placement
        const sent = await until('POST', '/v1/beacons', {
          beacon_id,
          asset_token,
          event: 'render',
          occurred_at_ms: Date.now(),
        })
        if (sent !== null) acknowledged.beacons.add(beacon_id)
      }
    }
    const isDecidedNow = async (slot_id: string) => {
      const again = await until('GET', `/v1/decisions/${slot_id}?wait_ms=20000`)
      return again !== null && (again as { status?: unknown }).status !== 'pending'
    }

    const harm = async () => {
      const step_ms = (seconds * 1_000) / kills
      for (let count = 1; count <= kills; count++) {
        await pause(step_ms)
        const victim = [...alive][Math.floor(Math.random() * alive.size)]!
        victim.running.child.kill('SIGKILL')
        await victim.running.ended
        alive.delete(victim)
        const isRestart = Math.floor((count * restarts) / kills) > Math.floor(((count - 1) * restarts) / kills)
        if (isRestart) await postgres.restart()
        proxy.cut()
        alive.add(await startNode(namespace))
      }
    }

    const clients = Array.from({ length: 12 }, client)
    try {
      await harm()
      isOver = true
      await Promise.all(clients)
      expect(problems.slice(0, 5)).toEqual([])

      expect((await api.accept('evidence.verify')).body.ok).toBe(true)
      // Every follower sees every event once, in order.
      const last = Math.max(...followers.map(({ seen }) => seen.at(-1)?.seq ?? 0))
      for (
        const started = performance.now();
        followers.some(({ seen }) => (seen.at(-1)?.seq ?? 0) < last);
        await pause(50)
      ) {
        if (performance.now() - started > 60_000) throw new Error('a follower does not catch up')
      }
      await Promise.all(followers.map(({ stop }) => stop()))
      for (const follower of followers) expect(follower.problems).toEqual([])
      const [events] = followers.map(({ seen }) => seen)
      const decided = events!.filter(({ type }) => type === 'placement.decided').map(({ slot_id }) => slot_id)
      expect(new Set(decided).size).toBe(decided.length)
      const decidedOnce = new Set(decided)
      expect([...acknowledged.slots].filter((slot_id) => !decidedOnce.has(slot_id))).toEqual([])

      const stored: string[] = []
      for (let cursor: string | null = null; ; ) {
        const query: Record<string, string | number> = {
          limit: 1000,
          verdict: 'accepted',
          ...(cursor === null ? {} : { cursor }),
        }
        const page = (await api.accept('beacons.list', { query })).body
        stored.push(...page.items.map(({ beacon_id }) => String(beacon_id)))
        cursor = page.next_cursor
        if (cursor === null) break
      }
      expect(new Set(stored).size).toBe(stored.length)
      const kept = new Set(stored)
      expect([...acknowledged.beacons].filter((id) => !kept.has(id))).toEqual([])
      expect(acknowledged.slots.size).toBeGreaterThan(seconds)
      console.log(
        `${seconds} s, ${kills} kills, ${restarts} restarts: ${acknowledged.slots.size} placements, ${acknowledged.polls} polls, ${acknowledged.beacons.size} beacons, ${decided.length} decisions, ${events!.length} events; ${acknowledged.refused} refused with 5xx, ${acknowledged.unknown} without a response`,
      )
    } finally {
      isOver = true
      await Promise.allSettled([...clients, ...followers.map(({ stop }) => stop())])
      for (const { running } of alive) running.child.kill('SIGKILL')
      await proxy.close()
      await admin.close()
    }
  },
  seconds * 4_000 + 120_000,
)
