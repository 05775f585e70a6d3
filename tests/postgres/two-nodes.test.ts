/**
 * Many nodes, one truth: what one node does and another one sees. Kills, cut connections and restarts of the database under
 * load are those of tests/shared-histories.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { connect } from '#tests/http/call.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type PostgresServer, startPostgres } from './server.ts'

const key = 'sk_test_sandbox_demo'
let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true })
})

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
  const polled = await on.b.accept('decisions.get', { as: key, params: { slot_id: slot }, query: { wait_ms: 5_000 } })
  expect(polled.body.status).toBe('ready')

  const left = (await on.a.accept('jobs.create', { as: key, body: asked() })).body.slot_ids[0]!
  await on.one.close()
  const found = await on.b.accept('decisions.get', { as: key, params: { slot_id: left }, query: { wait_ms: 5_000 } })
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
