/**
 * Two servers, of which one replicates the other: what nodes do when the primary dies, is cut off, is made read-only or comes
 * back, and what is lost where a commit does not wait for the standby.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { encodeId } from '#contract/ids.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { readEventStream } from '#tests/histories/event-stream.ts'
import type { SeenEvent } from '#tests/histories/history.ts'
import { connect } from '#tests/http/call.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Member, type Replicated, startReplicated } from './replicated.ts'

const key = 'sk_test_sandbox_demo'
let servers: Replicated
/** The roles change with each failover. */
let primary: Member
let standby: Member

beforeAll(async () => {
  servers = await startReplicated({ isSynchronous: true })
})

afterAll(() => servers[Symbol.asyncDispose]())

/** Finds the primary that the last test has left, and makes the other a standby of it. */
beforeEach(async () => {
  const [one, other] = [await servers.one.timeline(), await servers.other.timeline()]
  const isChanged = (other ?? 0) > (one ?? 0)
  primary = isChanged ? servers.other : servers.one
  standby = isChanged ? servers.one : servers.other
  const state =
    "SELECT WHERE current_setting('synchronous_standby_names') = '*' AND EXISTS (SELECT FROM pg_stat_replication)"
  if ((await primary.query(state)).length > 0) return
  await standby.follow(primary)
  await primary.setSynchronous('*')
})

const asked = (more: object = {}) => ({ client_id: 'proj_demo', session_id: 'failover', job_type: 'chat', ...more })

async function team(store: string, count: number) {
  const namespace = `f-${randomBytes(4).toString('hex')}`
  const warnings: string[] = []
  const report = (error: unknown) => {
    if (error instanceof Error && error.name === 'DamageWarning') warnings.push(error.message)
  }
  const nodes: Sandbox[] = []
  const start = async () => {
    nodes.push(await startSandbox({ store, namespace, demands_token: false, report }))
    return connect(nodes.at(-1)!)
  }
  const apis = []
  for (let index = 0; index < count; index++) apis.push(await start())
  return {
    ...{ namespace, nodes, apis, start, warnings },
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node.close()
    },
  }
}

type Team = Awaited<ReturnType<typeof team>>

/** Clients that place for as long as they are not stopped, and what was acknowledged. */
function load({ apis }: Team) {
  const acknowledged: string[] = []
  const refused: unknown[] = []
  let isOver = false
  const clients = Array.from({ length: 6 }, async (_, index) => {
    while (!isOver) {
      const { status, body } = await apis[index % apis.length]!.send('POST', '/v1/placements', {
        as: key,
        body: asked(),
      })
      if (status === 200) acknowledged.push((body as { slot_id: string }).slot_id)
      else {
        refused.push(body)
        expect(status).toBe(503)
        await pause(20)
      }
    }
  })
  return {
    acknowledged,
    refused,
    more: (count: number) => {
      const before = acknowledged.length
      return expect.poll(() => acknowledged.length - before).toBeGreaterThan(count)
    },
    stop: async () => {
      isOver = true
      await Promise.all(clients)
    },
  }
}

async function storedSlots(server: Member, { namespace }: Team): Promise<string[]> {
  const rows = await server.query<{ id: string }>(`SELECT id FROM "svc_${namespace}".slot`)
  return rows.map(({ id }) => encodeId('slot', Number(id)))
}

/** Follows the events of a node over as many connections as it takes, as an EventSource does. */
function follow({ url }: Sandbox) {
  const seen: SeenEvent[] = []
  const ended = new AbortController()
  const last = () => seen.at(-1)?.seq ?? 0
  const read = async () => {
    const headers = { 'last-event-id': String(last()) }
    const response = await fetch(`${url}/_sandbox/events`, { headers, signal: ended.signal })
    for await (const event of readEventStream(response.body)) seen.push(event)
  }
  const running = (async () => {
    while (!ended.signal.aborted) {
      await read().catch(() => {})
      await pause(50)
    }
  })()
  return {
    seen,
    last,
    stop: async () => {
      ended.abort()
      await running
    },
  }
}

/** Resolves when all followers have seen the last event that a server has, to its number. */
async function untilFollowed(server: Member, { namespace }: Team, followers: readonly ReturnType<typeof follow>[]) {
  const [row] = await server.query<{ last_seq: string }>(`SELECT last_seq FROM "svc_${namespace}".head`)
  const last_seq = Number(row!.last_seq)
  for (const { last } of followers) await expect.poll(last).toBe(last_seq)
  return last_seq
}

test('a standby is refused at the start, with what to do, and so is a server that is read-only', async () => {
  const env = { SVC_HOME: temporaryDirectory() }
  const start = async (store: string) => {
    const { code, stdout, stderr } = await spawnSvc(['start', '--port', '0', '--store', store], env).ended
    expect([code, stdout]).toEqual([2, ''])
    return stderr.replaceAll(/\s+/g, ' ')
  }
  const alone = await start(standby.url)
  expect(alone).toContain(`127.0.0.1:${standby.port} is a standby, which takes no writes.`)
  expect(alone).toContain('Name its primary in the URL, or all servers of it')
  expect(alone).not.toContain('secret')
  const option = encodeURIComponent('-c default_transaction_read_only=on')
  expect(await start(`${primary.url}?options=${option}`)).toContain(
    'takes no writes: default_transaction_read_only is on',
  )
})

test('of two servers the one that takes writes is used, in whatever order they are named', async () => {
  const reversed = `postgres://svc:secret@127.0.0.1:${standby.port},127.0.0.1:${primary.port}/svc`
  for (const store of [`${servers.url}?target_session_attrs=read-write`, reversed]) {
    await using on = await team(store, 1)
    const { slot_id } = (await on.apis[0]!.accept('placements.create', { as: key, body: asked() })).body
    expect(await storedSlots(primary, on)).toEqual([slot_id])
    const { database } = (await on.apis[0]!.accept('sandbox.info')).body
    expect(database).toMatch(/^postgres:\/\/svc@127\.0\.0\.1:\d+,127\.0\.0\.1:\d+\/svc$/)
  }
})

test('a commit whose wait for the standby is cancelled is not acknowledged', async () => {
  await using on = await team(servers.url, 1)
  await standby.kill()
  const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query LIKE 'SELECT pg_logical_emit_message%'"
  const placed = on.apis[0]!.send('POST', '/v1/placements', { as: key, body: asked() })
  await expect.poll(async () => (await primary.query(`SELECT ${waiting}`)).length, { interval: 20 }).toBe(1)
  await primary.query(`SELECT pg_cancel_backend(pid) ${waiting}`)
  expect((await placed).status).toBe(503)
  await primary.setSynchronous('')
})

test('what is committed, but not on the standby, is not shown by another node either', async () => {
  await using on = await team(servers.url, 2)
  await standby.kill()
  const placed = on.apis[0]!.send('POST', '/v1/placements', { as: key, body: asked() })
  await expect.poll(async () => (await storedSlots(primary, on)).length, { interval: 20 }).toBe(1)
  let isShown = false
  const listed = on.apis[1]!.accept('placements.list').then(({ body }) => {
    isShown = true
    return body.items
  })
  await pause(300)
  expect(isShown).toBe(false)
  await primary.setSynchronous('')
  expect((await placed).status).toBe(200)
  expect(await listed).toHaveLength(1)
})

test('the primary is killed and the standby promoted: 503 meanwhile, and nothing acknowledged is lost', async () => {
  await using on = await team(servers.url, 2)
  const followers = on.nodes.map(follow)
  const work = load(on)
  try {
    await work.more(30)
    await primary.kill()
    await expect.poll(() => work.refused.length).toBeGreaterThan(0)
    await standby.promote()
    await work.more(30)
    expect(work.refused[0]).toMatchObject({
      reason_code: 'storage_unavailable',
      message: 'The database of the sandbox does not respond.',
    })

    // The old primary comes back with what it had, on its own timeline.
    await primary.start()
    const left = await storedSlots(primary, on)
    await work.more(30)
    on.apis.push(await on.start())
    await work.more(30)
    for (const api of on.apis) await api.accept('placements.create', { as: key, body: asked() })
    expect(await storedSlots(primary, on)).toEqual(left)
  } finally {
    await work.stop()
  }
  const kept = new Set(await storedSlots(standby, on))
  expect(work.acknowledged.filter((slot_id) => !kept.has(slot_id))).toEqual([])
  expect((await on.apis[0]!.accept('sandbox.integrity')).body).toMatchObject({ ok: true })
  await untilFollowed(standby, on, followers)
  for (const { seen, stop } of followers) {
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1))
    await stop()
  }
  expect(on.warnings).toEqual([])
})

test.for(['left alone', 'made read-only'])(
  'the primary is %s while the standby is promoted: nodes that are connected to it acknowledge nothing, and move',
  async (what) => {
    await using on = await team(servers.url, 2)
    const work = load(on)
    try {
      await work.more(30)
      if (what === 'made read-only') {
        await primary.query('ALTER SYSTEM SET default_transaction_read_only = on')
        await primary.query('SELECT pg_reload_conf()')
      }
      await standby.promote()
      await work.more(30)
      // Whatever it still does, the old primary gets nothing more.
      const left = (await storedSlots(primary, on)).length
      await work.more(30)
      expect(await storedSlots(primary, on)).toHaveLength(left)
    } finally {
      await work.stop()
    }
    const kept = new Set(await storedSlots(standby, on))
    expect(work.acknowledged.filter((slot_id) => !kept.has(slot_id))).toEqual([])
    expect((await on.apis[1]!.accept('sandbox.integrity')).body).toMatchObject({ ok: true })
  },
)

test('an old primary alone is refused by a node that has seen the new one, and two primaries of one timeline by each', async () => {
  await using on = await team(servers.url, 1)
  const api = on.apis[0]!
  await primary.kill()
  await standby.promote()
  const place = async () => (await api.send('POST', '/v1/placements', { as: key, body: asked() })).status
  await expect.poll(place, { interval: 50 }).toBe(200)
  await standby.kill()
  await primary.start()
  await primary.setSynchronous('')
  // It takes writes, and would acknowledge them.
  for (let attempt = 1; attempt <= 20; attempt++) {
    expect(await place()).toBe(503)
    await pause(50)
  }
  await primary.stop()
  await primary.startAsStandby()
  await primary.promote()
  await standby.start()
  const start = startSandbox({ store: servers.url, namespace: 'two', demands_token: false })
  await expect(start).rejects.toMatchObject({
    code: 'database_unwritable',
    message: expect.stringMatching(/127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+ both take writes/),
  })
  await primary.stop()
  await expect.poll(place, { interval: 50 }).toBe(200)
})

test('no commit waits for the standby: what it had not received is lost, said, and no follower misses what comes after', async () => {
  await primary.setSynchronous('')
  await using on = await team(servers.url, 2)
  const followers = on.nodes.map(follow)
  const place = async (count: number) => {
    const placed: string[] = []
    for (let index = 0; index < count; index++) {
      placed.push((await on.apis[index % 2]!.accept('placements.create', { as: key, body: asked() })).body.slot_id)
    }
    return placed
  }
  const kept = await place(4)
  const received = async () =>
    (await primary.query('SELECT FROM pg_stat_replication WHERE replay_lsn >= sent_lsn')).length
  await expect.poll(received).toBe(1)
  await standby.kill()
  await on.apis[0]!.accept('sandbox.reset')
  await expect
    .poll(async () => (await on.apis[1]!.send('POST', '/v1/placements', { as: key, body: asked() })).status)
    .toBe(200)
  const lost = await place(4)
  const before = await untilFollowed(primary, on, followers)
  await primary.kill()
  await standby.start()
  await standby.promote()
  for (const api of on.apis) {
    const status = async () => (await api.send('POST', '/v1/placements', { as: key, body: asked() })).status
    await expect.poll(status, { interval: 50 }).toBe(200)
  }
  await place(4)
  const stored = await storedSlots(standby, on)
  expect(kept.filter((slot_id) => !stored.includes(slot_id))).toEqual([])
  expect(lost.filter((slot_id) => stored.includes(slot_id))).toEqual([])
  expect(on.warnings[0]).toContain(`has lost acknowledged writes up to event ${before}`)
  await untilFollowed(standby, on, followers)
  for (const follower of followers) {
    const after = follower.seen.filter(({ seq }) => seq > before)
    expect(after.some(({ type }) => type === 'sandbox.restored')).toBe(true)
    expect(after.map(({ seq }) => seq)).toEqual(after.map((_, index) => before + 1 + index))
    await follower.stop()
  }
  expect((await on.apis[0]!.accept('sandbox.integrity')).body).toMatchObject({ ok: true })
})
