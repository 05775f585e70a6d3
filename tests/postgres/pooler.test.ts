/** Nodes behind a pooler: in session mode they work as without one, in the other modes a start is refused. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeId } from '#contract/ids.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { connect } from '#tests/http/call.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type PoolMode, startPooler } from './pooler.ts'
import { type PostgresServer, startPostgres } from './server.ts'

const key = 'sk_test_sandbox_demo'
let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres({ isDurable: true })
})

afterAll(() => server.stop())

const asked = (more: object = {}) => ({ client_id: 'proj_demo', session_id: 'pooled', job_type: 'chat', ...more })

async function team(store: string, count: number, decision_latency_ms = 0) {
  const namespace = `p-${randomBytes(4).toString('hex')}`
  const options = { store, namespace, demands_token: false, decision_latency_ms, report() {} }
  const nodes: Sandbox[] = []
  for (let index = 0; index < count; index++) nodes.push(await startSandbox(options))
  return {
    namespace,
    nodes,
    apis: nodes.map((node) => connect(node)),
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.close()
    },
  }
}

/** The ways in which a pooler may choose the connection of a transaction, and what it may do after each. */
const shared: readonly { mode: PoolMode; settings: readonly string[] }[] = [
  { mode: 'transaction', settings: [] },
  { mode: 'transaction', settings: ['server_round_robin = 1'] },
  { mode: 'transaction', settings: ['server_reset_query_always = 1'] },
  { mode: 'transaction', settings: ['default_pool_size = 1'] },
  { mode: 'statement', settings: [] },
]

test.for(shared)('in $mode mode, $settings, a start is refused and leaves nothing', async ({ mode, settings }) => {
  await using pooler = await startPooler(server, mode, settings)
  const namespace = `p-${randomBytes(4).toString('hex')}`
  const started = startSandbox({ store: pooler.url, namespace, demands_token: false })
  await expect(started).rejects.toMatchObject({
    code: 'database_unwritable',
    message: expect.stringContaining('is a pooler that gives each transaction another connection'),
  })
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    const schemas = 'SELECT FROM pg_namespace WHERE nspname = $1'
    expect((await client.query(schemas, [`svc_${namespace}`])).rowCount).toBe(0)
  } finally {
    await client.end()
  }
})

test('in transaction mode a pool that others use is recognized too', async () => {
  await using pooler = await startPooler(server, 'transaction', ['server_round_robin = 1'])
  const others = Array.from({ length: 8 }, () => new pg.Client({ connectionString: pooler.url }))
  await Promise.all(others.map((client) => client.connect()))
  let isOver = false
  const busy = others.map(async (client) => {
    while (!isOver) await client.query('SELECT pg_sleep(random() * 0.01)')
  })
  try {
    const starts = Array.from({ length: 5 }, () => startSandbox({ store: pooler.url, namespace: 'busy' }))
    const ended = await Promise.allSettled(starts)
    expect(ended.map(({ status }) => status)).toEqual(starts.map(() => 'rejected'))
    for (const one of ended) expect(one).toMatchObject({ reason: { code: 'database_unwritable' } })
  } finally {
    isOver = true
    await Promise.all(busy)
    await Promise.all(others.map((client) => client.end()))
  }
})

test('start, migrate and reset-admin say what to do, and exit with 2', async () => {
  await using pooler = await startPooler(server, 'transaction')
  const env = { SVC_HOME: temporaryDirectory() }
  for (const args of ['start --port 0', 'team migrate', 'team tokens reset-admin']) {
    const { code, stdout, stderr } = await spawnSvc([...args.split(' '), '--store', pooler.url], env).ended
    expect([args, code, stdout]).toEqual([args, 2, ''])
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      'Connect to PostgreSQL directly, or through a pool in session mode',
    )
    expect(stderr).not.toContain('secret')
  }
})

test('a pool that is used up is named as a reason when a start gets no connection', async () => {
  await using pooler = await startPooler(server, 'session', ['default_pool_size = 1'])
  await expect(startSandbox({ store: pooler.url, namespace: 'small' })).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining('accepts connections, but has not run a statement in time'),
    hint: expect.stringContaining('a pool that is used up'),
  })
})

test('in session mode nodes hear of each other at once, and share snapshots, polls, tokens and one chain', async () => {
  await using pooler = await startPooler(server, 'session')
  await using on = await team(pooler.url, 2, 300)
  const [one, other] = [on.apis[0]!, on.apis[1]!]
  const { slot_id } = (await one.accept('placements.create', { as: key, body: asked() })).body
  const polled = await other.accept('decisions.get', { as: key, params: { slot_id }, query: { wait_ms: 20_000 } })
  expect(polled.body.status).toBe('ready')
  await one.accept('faults.add', { body: { path: '/v1/projects/*', status: 503 } })
  await expect.poll(async () => (await other.accept('faults.list')).body.items.length, { interval: 20 }).toBe(1)
  await one.accept('clock.advance', { body: { by_ms: 3_600_000 } })
  await expect.poll(async () => (await other.accept('clock.show')).body.offset_ms).toBeGreaterThan(3_500_000)

  await one.accept('snapshots.save', { params: { name: 'early' } })
  await other.accept('placements.create', { as: key, body: asked() })
  await other.accept('snapshots.restore', { params: { name: 'early' } })
  await expect.poll(async () => (await one.accept('placements.list')).body.items.length).toBe(1)
  await expect.poll(async () => (await one.send('POST', '/v1/placements', { as: key, body: asked() })).status).toBe(200)
  const sent = Array.from({ length: 20 }, (_, index) =>
    on.apis[index % 2]!.accept('placements.create', { as: key, body: asked() }),
  )
  await Promise.all(sent)
  expect((await other.accept('placements.list')).body.items).toHaveLength(22)
  expect((await other.accept('sandbox.integrity')).body.database.problems).toEqual([])
})

test.for(['the pooler', 'the database', 'the database, by a crash'])(
  'in session mode, while %s is restarted, requests get a 503 and nothing acknowledged is lost',
  async (what) => {
    // By default it tries a server again that it could not reach after 15 s.
    await using pooler = await startPooler(server, 'session', ['server_login_retry = 1'])
    await using on = await team(pooler.url, 2)
    const acknowledged: string[] = []
    const statuses = new Set<number>()
    let isOver = false
    const clients = Array.from({ length: 6 }, async (_, index) => {
      while (!isOver) {
        const { status, body } = await on.apis[index % 2]!.send('POST', '/v1/placements', { as: key, body: asked() })
        statuses.add(status)
        if (status === 200) acknowledged.push((body as { slot_id: string }).slot_id)
        else await new Promise((resolve) => setTimeout(resolve, 20))
      }
    })
    try {
      await expect.poll(() => acknowledged.length).toBeGreaterThan(20)
      if (what === 'the pooler') await pooler.restart()
      else if (what === 'the database') await server.restart()
      else await crash()
      await expect.poll(() => statuses.has(503)).toBe(true)
      const before = acknowledged.length
      await expect.poll(() => acknowledged.length).toBeGreaterThan(before + 20)
    } finally {
      isOver = true
      await Promise.all(clients)
    }
    expect([...statuses].toSorted()).toEqual([200, 503])
    const api = on.apis[0]!
    const kept = await storedSlots(on.namespace)
    expect(acknowledged.filter((slot_id) => !kept.has(slot_id))).toEqual([])
    expect((await api.accept('sandbox.integrity')).body.database.problems).toEqual([])
  },
)

async function storedSlots(namespace: string): Promise<Set<string>> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    const { rows } = await client.query<{ id: string }>(`SELECT id FROM "svc_${namespace}".slot`)
    return new Set(rows.map(({ id }) => encodeId('slot', Number(id))))
  } finally {
    await client.end()
  }
}

/** Kills a process of the server, which ends all others and recovers: connections of clients to the pooler stay open. */
async function crash(): Promise<void> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const ended = new Promise((resolve) => client.once('end', resolve))
  process.kill(rows[0]!.pid, 'SIGKILL')
  await ended
}
