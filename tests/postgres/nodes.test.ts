/** Several nodes on one database: one truth, also while connections are cut and the database restarts. */
import { randomBytes } from 'node:crypto'
import { get } from 'node:http'
import pg from 'pg'
import { expect, test } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { svc } from '#tests/cli/test-cli.ts'
import { type Api, connect } from '#tests/http/call.ts'
import { findValue, readExposition } from '#tests/http/exposition.ts'
import { receiveOtlp } from '#tests/http/otlp-receiver.ts'
import { asked, key, origin } from '#tests/http/stage.ts'
import { temporaryDirectory, textsIn } from '#tests/temporary.ts'
import { startPostgres } from './server.ts'
import { serverVariable, storeOfItsOwn } from './shared-store.ts'

const url = process.env[serverVariable] ?? ''

interface Team extends AsyncDisposable {
  nodes: Sandbox[]
  namespace: string
}

async function team(size: number, store = url, more = {}): Promise<Team> {
  const namespace = randomBytes(8).toString('hex')
  const options = { store, namespace, rate_limit: 'off', report: () => {}, ...more }
  const nodes: Sandbox[] = []
  for (let index = 0; index < size; index++) nodes.push(await startSandbox({ demands_token: false, ...options }))
  return {
    nodes,
    namespace,
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.close()
    },
  }
}

/** What the rows of a namespace say of themselves: numbers of events and of a chain, and what is stored twice. */
async function readRows({ namespace }: Team, store = url) {
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  try {
    const { rows } = await client.query(`SELECT
      (SELECT count(*) = max(seq) AND min(seq) = 1 FROM event) AS events_are_gapless,
      (SELECT bool_and(count = last) FROM (SELECT count(*), max(seq) AS last FROM evidence GROUP BY project_id) chain) AS chains_are_gapless,
      (SELECT count(*)::int FROM slot) AS slots, (SELECT count(*)::int FROM beacon) AS beacons`)
    return rows[0] as { events_are_gapless: boolean; chains_are_gapless: boolean; slots: number; beacons: number }
  } finally {
    await client.end()
  }
}

test('nodes that write side by side give different identifiers, and one gapless chain and sequence of events', async () => {
  await using on = await team(3)
  const apis = on.nodes.map((node) => connect(node))
  const placed = await Promise.all(
    Array.from({ length: 120 }, (_, index) =>
      apis[index % 3]!.accept('placements.create', { as: key, body: asked({ session_id: `sess_${index % 7}` }) }),
    ),
  )
  expect(new Set(placed.map(({ body }) => body.slot_id)).size).toBe(120)
  const { chains } = (await apis[1]!.accept('evidence.verify')).body
  expect(chains.find(({ client_id }) => client_id === 'proj_demo')).toMatchObject({ entries: 120, broken_at: null })
  expect(await readRows(on)).toEqual({ events_are_gapless: true, chains_are_gapless: true, slots: 120, beacons: 0 })
})

test('each node reports what it did itself, and the journal that all of them share', async () => {
  await using on = await team(2)
  const scrape = async ({ url }: Sandbox) =>
    readExposition(await (await fetch(`${url}/_sandbox/metrics`)).text(), 'prometheus')
  await connect(on.nodes[0]!).accept('placements.create', { as: key, body: asked() })
  await connect(on.nodes[1]!).accept('requests.list')
  const [first, second] = [await scrape(on.nodes[0]!), await scrape(on.nodes[1]!)]
  const placed = { endpoint: 'placements.create', status: '2xx' }
  for (const [families, count] of [
    [first, 1],
    [second, 0],
  ] as const) {
    expect(findValue(families, 'svc_requests_total', placed)).toBe(count)
    expect(findValue(families, 'svc_slots_total', { state: 'decided' })).toBe(count)
    expect(findValue(families, 'svc_store_transaction_duration_seconds_count')).toBe(count)
    expect(findValue(families, 'svc_store_size_bytes')).toBeGreaterThan(8_192)
    expect(families.get('svc_build_info')?.samples[0]?.labels.store).toBe('postgresql')
  }
})

test('a turn is one trace, whichever nodes its requests reach', async () => {
  await using otlp = await receiveOtlp()
  {
    await using on = await team(2, url, { otlp: otlp.url })
    const [first, second] = on.nodes.map((node) => connect(node))
    const { body } = await first!.accept('placements.create', { as: key, body: asked() })
    const { asset_token } = body.placement!
    expect((await fetch(`${on.nodes[1]!.url}/v1/render/${asset_token}`)).status).toBe(200)
    const sent = { beacon_id: 'beacon-1', asset_token, event: 'render', occurred_at_ms: Date.now() }
    const { headers } = await second!.accept('beacons.send', { as: key, body: sent })
    const trace_id = String(headers['x-sandbox-trace'])
    const read = async () => {
      const { items } = (await first!.accept('requests.list', { query: { trace_id } })).body
      return items.map(({ path }) => path.slice(0, 12))
    }
    // The journal of another node is written after its response.
    await expect.poll(read).toEqual(['/v1/beacons', '/v1/render/a', '/v1/placemen'])
  }
  expect(otlp.problems).toEqual([])
  expect(new Set(otlp.spans.map(({ trace_id }) => trace_id)).size).toBe(1)
  const [placement] = otlp.spans.filter(({ name }) => name === 'POST /v1/placements')
  const below = otlp.spans.filter(({ parent_id }) => parent_id === placement?.span_id).map(({ name }) => name)
  expect(below.toSorted()).toEqual(['GET /v1/render/{asset_token}', 'POST /v1/beacons', 'decision'])
  expect(otlp.resource['svc.namespace']).toMatch(/^[0-9a-f]{16}$/)
})

test('of the same beacon at three nodes one is counted; of the last fill that a cap leaves one is made', async () => {
  await using on = await team(3)
  const apis = on.nodes.map((node) => connect(node))
  const { body } = await apis[0]!.accept('placements.create', { as: key, body: asked() })
  const sent = {
    beacon_id: 'beacon-1',
    asset_token: body.placement?.asset_token,
    event: 'render',
    occurred_at_ms: Date.now(),
  }
  const beacons = await Promise.all(
    Array.from({ length: 12 }, (_, index) => apis[index % 3]!.send('POST', '/v1/beacons', { as: key, body: sent })),
  )
  expect(beacons.map(({ status }) => status)).toEqual(beacons.map(() => 200))
  expect((await readRows(on)).beacons).toBe(1)
  const capped = asked({ session_id: 'capped', overrides: { frequency_cap: { session: 3 } } })
  const placed = await Promise.all(
    Array.from({ length: 15 }, (_, index) => apis[index % 3]!.accept('placements.create', { as: key, body: capped })),
  )
  expect(placed.filter(({ body }) => body.decision?.fill === true)).toHaveLength(3)
})

test('a key that one node revokes, and settings that it changes, hold on the others within a moment', async () => {
  await using on = await team(2)
  const [one, other] = on.nodes.map((node) => connect(node))
  const created = await one!.send('POST', '/_sandbox/projects/proj_demo/keys', {
    body: { class: 'secret', mode: 'test' },
  })
  const { key: text, key_id } = created.body as { key: string; key_id: string }
  await other!.accept('placements.create', { as: text, body: asked() })
  await one!.accept('keys.revoke', { params: { key_id } })
  await one!.accept('projects.update', { params: { client_id: 'proj_demo' }, body: { label_text: 'Elsewhere' } })
  await expect
    .poll(async () => (await other!.send('POST', '/v1/placements', { as: text, body: asked() })).status, {
      interval: 20,
    })
    .toBe(401)
  const { body } = await other!.accept('placements.create', { as: key, body: asked() })
  expect(body.placement?.ad_label_text).toBe('Elsewhere')
})

test('a change is announced with its commit, and seen on another node', async () => {
  await using on = await team(2)
  const [one, other] = on.nodes.map((node) => connect(node))
  const announced = new Set<string>()
  const client = new pg.Client({ connectionString: url })
  client.on('notification', ({ payload = '' }) => announced.add(payload.split(' ')[2] ?? ''))
  await client.connect()
  await client.query(`LISTEN "svc_${on.namespace}"`)
  try {
    await one!.accept('clock.freeze')
    const { now_ms } = (await one!.accept('clock.advance', { body: { by_ms: 1_000 } })).body
    await expect.poll(async () => (await other!.accept('clock.show')).body.now_ms, { interval: 2 }).toBe(now_ms)
    await one!.accept('faults.add', { body: { path: '/v1/projects/*', status: 503 } })
    await one!.accept('projects.update', { params: { client_id: 'proj_demo' }, body: { label_text: 'Elsewhere' } })
    await expect.poll(() => [...announced].toSorted(), { interval: 20 }).toEqual(['clock', 'faults', 'projects'])
  } finally {
    await client.end()
  }
})

test('moves of the clock at the same moment add up, on whatever node each was made', async () => {
  await using on = await team(2)
  const apis = on.nodes.map((node) => connect(node))
  await apis[0]!.accept('clock.freeze')
  const { now_ms } = (await apis[0]!.accept('clock.show')).body
  await Promise.all(
    Array.from({ length: 12 }, (_, index) => apis[index % 2]!.accept('clock.advance', { body: { by_ms: 1_000 } })),
  )
  for (const api of apis) {
    await expect.poll(async () => (await api.accept('clock.show')).body.now_ms, { interval: 20 }).toBe(now_ms + 12_000)
  }
})

test('a node that listens sees what is announced, one with svc_listen=off what the counters tell', async () => {
  const { store = '' } = await storeOfItsOwn()
  await using on = await team(1, store)
  await using off = await team(1, `${store}?svc_listen=off`, { namespace: on.namespace })
  const [listening, polling] = [on, off].map(({ nodes: [node] }) => async () => {
    return (await connect(node!).accept('clock.show')).body.offset_ms
  })
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${on.namespace}"` })
  await client.connect()
  /** Behind the back of both nodes. */
  const moveClock = (offset_ms: number) =>
    client.query("INSERT INTO meta VALUES ('clock', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [
      JSON.stringify({ offset_ms, frozen_at_ms: null }),
    ])
  try {
    await moveClock(3_600_000)
    await client.query(
      `SELECT pg_notify($1, 'another - clock - ' || concat_ws(' ', last_seq, events, events_dropped,
      last_dropped_seq, exchanges, exchanges_dropped, changes)) FROM head`,
      [`svc_${on.namespace}`],
    )
    await expect.poll(listening!, { interval: 20 }).toBe(3_600_000)
    const polls = new Set<string>()
    const countPolls = async () => {
      const { rows } = await client.query<{ at: string }>(`SELECT max(query_start)::text AS at FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'SELECT generation, generation_seq%'`)
      return polls.add(rows[0]!.at).size
    }
    await expect.poll(countPolls, { interval: 20 }).toBeGreaterThanOrEqual(4)
    expect(await polling!()).toBe(0)
    await moveClock(7_200_000)
    await client.query('UPDATE head SET changes = changes + 1')
    await expect.poll(polling!, { interval: 20 }).toBe(7_200_000)
    expect(await listening!()).toBe(3_600_000)
  } finally {
    await client.end()
  }
})

test('an engine without LISTEN: changes of another node and its decisions are seen by polling, also by a busy node', async () => {
  await using on = await team(2, `${url}?svc_listen=off`, { decision_latency_ms: 300 })
  const [one, other] = on.nodes.map((node) => connect(node))
  let isOver = false
  // Its own commits return counters that hold the change already.
  const busy = Array.from({ length: 4 }, async () => {
    while (!isOver) await other!.accept('jobs.create', { as: key, body: asked() })
  })
  try {
    for (let added = 1; added <= 3; added++) {
      await one!.accept('faults.add', { body: { path: '/v1/projects/*', status: 503 } })
      await expect
        .poll(async () => (await other!.accept('faults.list')).body.items.length, { interval: 20 })
        .toBe(added)
    }
  } finally {
    isOver = true
    await Promise.all(busy)
  }
  const { slot_ids } = (await one!.accept('jobs.create', { as: key, body: asked() })).body
  const query = { wait_ms: 5_000 }
  const polled = await other!.accept('decisions.get', { as: key, params: { slot_id: slot_ids[0]! }, query })
  expect(polled.body.status).toBe('ready')
})

test('a transaction that a deadlock ends is run again, and its request succeeds', async () => {
  // The node looks for a deadlock once: after this time the client waits too, also on a busy computer.
  await using on = await team(1, `${url}?options=-c%20deadlock_timeout%3D3s`)
  const api = connect(on.nodes[0]!)
  await api.accept('placements.create', { as: key, body: asked() })
  const client = new pg.Client({ connectionString: url, options: `-c search_path="svc_${on.namespace}"` })
  await client.connect()
  try {
    // The placement locks the chain, then the head; this holds the head, and asks for the chain. It gives up later.
    await client.query("SET deadlock_timeout = '30s'; BEGIN; SELECT FROM head FOR UPDATE")
    const placed = api.accept('placements.create', { as: key, body: asked() })
    // Waiting for this connection: other tests have locks of their own.
    const waiting = 'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
    await expect.poll(async () => (await client.query(waiting)).rowCount, { interval: 20 }).toBeGreaterThan(0)
    await client.query('SELECT FROM chain FOR UPDATE')
    await client.query('COMMIT')
    expect((await placed).body.slot_id).toMatch(/^slot_/)
  } finally {
    await client.end()
  }
  expect(await readRows(on)).toMatchObject({ events_are_gapless: true, chains_are_gapless: true, slots: 2 })
})

/** Resolves to a state directory in which commands find that node. */
async function startHome({
  url: base_url,
  database,
  pid,
  version,
  projects,
  inspector_url,
  admin_token,
  shared,
}: Sandbox) {
  const home = temporaryDirectory()
  const locator = { database, pid, version, projects, inspector_url, admin_token, started_at_ms: 1 }
  await writeLocator(home, { url: base_url, ...locator, ...shared! })
  return home
}

test('sandbox ps, sandbox status and doctor name the namespace, its nodes, and the database without its password', async () => {
  await using on = await team(2)
  const home = await startHome(on.nodes[0]!)
  const of = (args: string) => svc(args, { env: { SVC_HOME: home } })
  const place = `${on.namespace}, 2 nodes on postgres://svc@127.0.0.1:`
  expect((await of('sandbox ps')).stdout).toContain(place.slice(0, 30))
  const [row] = JSON.parse((await of('sandbox ps -o json')).stdout) as unknown[]
  expect(row).toMatchObject({ namespace: on.namespace, nodes: 2, ready: true })
  const shown = ['sandbox status', 'doctor', 'sandbox ps', 'sandbox status -o json', 'doctor -o json']
  const texts: string[] = []
  for (const args of shown) texts.push((await of(args)).stdout)
  for (const text of [...texts, ...textsIn(home)]) expect(text).not.toContain(':secret')
  expect(texts[0]).toContain(on.nodes[1]!.url)
  expect(texts[1]).toContain('2 nodes share it')
})

test('integrity compares the counters with their rows: a chain that lost its end, one of another hash, an event too many', async () => {
  await using on = await team(1)
  const api = connect(on.nodes[0]!)
  for (let count = 0; count < 2; count++) await api.accept('placements.create', { as: key, body: asked() })
  const problems = async () => (await api.accept('sandbox.integrity')).body.database.problems
  expect(await problems()).toEqual([])
  const client = new pg.Client({ connectionString: url, options: `-c search_path="svc_${on.namespace}"` })
  await client.connect()
  try {
    await client.query('UPDATE chain SET hash = sha256(hash) WHERE project_id = 1; UPDATE head SET last_seq = 1')
    expect(await problems()).toEqual([
      'the chain of project 1 is at entry 2, its evidence at 2 with another hash',
      'the last event is 2, the counter of events is at 1',
    ])
    await client.query('DELETE FROM evidence WHERE seq = 2; UPDATE head SET last_seq = 2')
    expect(await problems()).toEqual(['the chain of project 1 is at entry 2, its evidence at 1'])
  } finally {
    await client.end()
  }
})

test('a start reads its own namespace only: what others made like one is neither read nor listed', async () => {
  const { store = '' } = await storeOfItsOwn()
  const client = new pg.Client({ connectionString: store })
  await client.connect()
  await client.query(`CREATE SCHEMA svc_broken; CREATE TABLE svc_broken.svc_schema (version integer);
    CREATE SCHEMA svc_alike; CREATE TABLE svc_alike.svc_schema (version integer); CREATE TABLE svc_alike.node (number integer)`)
  await client.end()
  await using on = await team(1, store)
  const api = connect(on.nodes[0]!)
  expect((await api.accept('sandbox.info')).body.nodes).toHaveLength(1)
  const names = (await api.accept('namespaces.list')).body.items.map(({ name }) => name)
  expect(names).toContain(on.namespace)
  expect(names).not.toContain('alike')
})

test('a reset at one node is a new generation at the other', async () => {
  await using on = await team(2)
  const [one, other] = on.nodes.map((node) => connect(node))
  await other!.accept('placements.create', { as: key, body: asked() })
  await one!.accept('sandbox.reset', { body: {} })
  expect((await other!.accept('placements.list')).body.items).toEqual([])
  await expect
    .poll(async () => (await other!.send('POST', '/v1/placements', { as: key, body: asked() })).status, {
      interval: 20,
    })
    .toBe(200)
  expect((await readRows(on)).slots).toBe(1)
})

test('a reset at one node ends the grants of the other', async () => {
  await using on = await team(2)
  const [one, other] = on.nodes.map((node) => connect(node)) as [Api, Api]
  await other.send('POST', '/_sandbox/console/page/ask', { origin, body: {} })
  expect((await other.accept('console.list')).body.items).toHaveLength(1)
  await one.accept('sandbox.reset')
  await expect.poll(async () => (await other.accept('console.list')).body.items).toEqual([])
})

test('no lock waits for the disk: commits of two nodes pass, nothing is acknowledged or emitted before, and a cut is a 503', async () => {
  // A replica that never reports stands for a disk that takes its time.
  const replica = ['-c', 'wal_level=replica', '-c', 'max_wal_senders=1']
  const server = await startPostgres({ isDurable: true, flags: replica })
  const client = new pg.Client({ connectionString: server.url })
  const other = new pg.Client({ connectionString: server.url })
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'SELECT pg_logical_emit_message%'"
  const setReplica = async (name: string) => {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
    await client.query('SELECT pg_reload_conf()')
  }
  try {
    await Promise.all([client.connect(), other.connect()])
    await using on = await team(2, server.url)
    const apis = on.nodes.map((node) => connect(node))
    let emitted = ''
    const follower = get(`${on.nodes[1]!.url}/_sandbox/events?since_seq=0`, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => {
        emitted += text
      })
    })
    await expect.poll(() => emitted).toContain('connected')
    let probe = Promise.resolve()
    /** Resolves when commits wait. The server reads its configuration some time after it is asked to. */
    const stall = async () => {
      // One that still waits would be taken for one that waits already.
      await probe
      await setReplica('nobody')
      let isProbing = false
      const isStalled = async () => {
        if (!isProbing) {
          isProbing = true
          const sent = () => {
            isProbing = false
          }
          probe = other.query("/* probe */ SELECT pg_logical_emit_message(true, 'probe', '')").then(sent, sent)
        }
        return (await client.query("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).rowCount
      }
      await expect.poll(isStalled, { interval: 20 }).toBeGreaterThan(0)
    }
    /** Resolves when that many slots are committed, and both nodes wait for the disk. */
    const bothWait = (slots: number) => {
      const seen = async () => [
        (await client.query(`SELECT ${waiting}`)).rowCount,
        (await readRows(on, server.url)).slots,
      ]
      return expect.poll(seen, { interval: 20 }).toEqual([2, slots])
    }
    const place = (session_id: string) =>
      apis.map((api) => api.send('POST', '/v1/placements', { as: key, body: asked({ session_id }) }))

    await stall()
    const placed = place('stalled')
    let answered = 0
    for (const one of placed) void one.then(() => answered++)
    await bothWait(2)
    expect(await readRows(on, server.url)).toMatchObject({
      slots: 2,
      events_are_gapless: true,
      chains_are_gapless: true,
    })
    expect([answered, emitted.includes('placement.decided')]).toEqual([0, false])
    await setReplica('')
    expect((await Promise.all(placed)).map(({ status }) => status)).toEqual([200, 200])
    await expect.poll(() => emitted.split('event: placement.decided').length - 1).toBe(2)

    await stall()
    const cut = place('cut')
    await bothWait(4)
    await client.query(`SELECT pg_terminate_backend(pid) ${waiting}`)
    const refused = await Promise.all(cut)
    expect(refused.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [503, '1'],
      [503, '1'],
    ])
    await setReplica('')
    // They were committed, which nobody knew: followers see them, as a client that asks does.
    await expect.poll(() => emitted.split('event: placement.decided').length - 1).toBe(4)
    follower.destroy()
  } finally {
    await Promise.all([client.end(), other.end()])
    await server.stop()
  }
})

test('while the database is gone requests get 503 with Retry-After; when it is back they succeed, and nothing is lost', async () => {
  const server = await startPostgres()
  try {
    await using on = await team(2, server.url)
    const apis = on.nodes.map((node) => connect(node))
    let acknowledged = 0
    const statuses = new Set<number>()
    let isOver = false
    const client = async (index: number) => {
      while (!isOver) {
        const { status, headers } = await apis[index % 2]!.send('POST', '/v1/placements', { as: key, body: asked() })
        statuses.add(status)
        if (status === 200) acknowledged++
        else expect(headers['retry-after']).toBe('1')
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const clients = Array.from({ length: 6 }, (_, index) => client(index))
    await expect.poll(() => acknowledged).toBeGreaterThan(20)
    await server.restart()
    const before = acknowledged
    await expect.poll(() => acknowledged).toBeGreaterThan(before + 20)
    isOver = true
    await Promise.all(clients)
    expect([...statuses].toSorted()).toEqual([200, 503])
    const rows = await readRows(on, server.url)
    expect(rows).toMatchObject({ events_are_gapless: true, chains_are_gapless: true })
    expect(rows.slots).toBeGreaterThanOrEqual(acknowledged)
  } finally {
    await server.stop()
  }
})

test('sandbox ps, sandbox status and doctor say that a node is not ready while its database is lost', async () => {
  const server = await startPostgres()
  try {
    await using on = await team(1, server.url)
    const home = await startHome(on.nodes[0]!)
    await server.stop()
    await expect.poll(async () => (await fetch(`${on.nodes[0]!.url}/_sandbox/readyz`)).status).toBe(503)
    const of = async (args: string) => (await svc(args, { env: { SVC_HOME: home } })).stdout
    expect(await of('sandbox ps')).toMatch(/ not ready /)
    expect(await of('sandbox status')).toMatch(/^state +not ready$/m)
    expect(await of('doctor')).toContain('cannot be read: The database of the sandbox does not respond.')
  } finally {
    await server.stop()
  }
})
