/**
 * Statements are prepared when the tables are empty, and keep their plans: none may read a table from end to end, or it does
 * so for every request until the server has analyzed the table. Nor may one request read rows one after the other, each with
 * a round trip to the database.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { manualClock, startSandbox } from '#sandbox/index.ts'
import { connect } from '#tests/http/call.ts'
import { asked, beacon, key } from '#tests/http/stage.ts'
import { serverVariable, storeOfItsOwn } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

test('placements, beacons, consents and polls find their rows by an index, however empty the tables were', async () => {
  const namespace = randomBytes(8).toString('hex')
  {
    const clock = manualClock()
    await using sandbox = await startSandbox({ store, namespace, clock, rate_limit: 'off', demands_token: false })
    const api = connect(sandbox)
    const client_id = 'proj_demo'
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        Array.from({ length: 5 }, async (_, index) => {
          const session_id = `sess_${round}_${index}`
          await api.accept('consent.set', { as: key, body: { client_id, session_id, decision: 'granted' } })
          const caps = { frequency_cap: { session: 5, global_per_hour: 100, prompt_interval: 2 } }
          const body = asked({ session_id, overrides: caps })
          const { slot_id, placement } = (await api.accept('placements.create', { as: key, body })).body
          for (const event of ['render', 'heartbeat'] as const) {
            await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, event) })
          }
          await api.accept('decisions.get', { as: key, params: { slot_id } })
        }),
      )
    }
  }
  const client = new pg.Client({ connectionString: store })
  await client.connect()
  try {
    // A connection reports what it has read when it ends, some time after the node did.
    const read = async () => {
      const { rows } = await client.query<{ name: string; scanned: string; found: string }>(
        `SELECT relname AS name, seq_tup_read AS scanned, idx_tup_fetch AS found FROM pg_stat_user_tables
         WHERE schemaname = $1 AND relname IN ('beacon', 'consent', 'job', 'session', 'slot') ORDER BY relname`,
        [`svc_${namespace}`],
      )
      return rows.map(({ name, scanned, found }) => [name, Number(scanned), Number(found) > 0])
    }
    const byIndex = ['beacon', 'consent', 'job', 'session', 'slot'].map((name) => [name, 0, true])
    await expect.poll(read, { interval: 50 }).toEqual(byIndex)
  } finally {
    await client.end()
  }
})

test('the newest beacons of a busy session, and those of the last minute, are found without reading all others', async () => {
  // VACUUM leaves out what a transaction of the same database may still see.
  const { store: own = '' } = await storeOfItsOwn()
  const client = new pg.Client({ connectionString: own, options: '-c search_path=svc' })
  await client.connect()
  try {
    {
      const clock = manualClock()
      await using sandbox = await startSandbox({ store: own, clock, demands_token: false })
      const api = connect(sandbox)
      const body = asked({ session_id: 'busy' })
      const { placement } = (await api.accept('placements.create', { as: key, body })).body
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'render') })
      const copies = { job: ['id'], slot: ['id', 'job_id'], beacon: ['id', 'slot_id'] }
      for (const [table, ids] of Object.entries(copies)) {
        const changed = ids.map((id) => `'${id}', ${table}.${id} + n`).join(', ')
        const copy = `jsonb_populate_record(${table}, jsonb_build_object(${changed}))`
        await client.query(`INSERT INTO ${table} SELECT (${copy}).* FROM ${table}, generate_series(1, 2500) n`)
      }
      // Then what is read from an index alone is not counted as a row.
      const isVacuumed = async () => {
        await client.query('VACUUM beacon')
        return (await client.query("SELECT FROM pg_class WHERE oid = 'beacon'::regclass AND relallvisible = relpages"))
          .rowCount
      }
      await expect.poll(isVacuumed, { interval: 50 }).toBe(1)
      const beacons = async (query: Record<string, string | number>) =>
        (await api.accept('beacons.list', { query })).body.items
      expect(await beacons({ session_id: 'busy', limit: 20 })).toHaveLength(20)
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'visible') })
      clock.advance(120_000)
      expect(await beacons({ since: '1m' })).toEqual([])
    }
    // A connection reports what it has read when it ends, some time after the node did.
    const ended = 'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    await expect.poll(async () => (await client.query(ended)).rowCount, { interval: 50 }).toBe(0)
    const { rows } = await client.query<{ fetched: string }>(
      "SELECT idx_tup_fetch AS fetched FROM pg_stat_user_tables WHERE relname = 'beacon'",
    )
    expect(Number(rows[0]!.fetched)).toBeGreaterThan(0)
    expect(Number(rows[0]!.fetched)).toBeLessThan(1_000)
  } finally {
    await client.end()
  }
})

test('a beacon reads those of its slot that billing judges, and none of its heartbeats', async () => {
  const { store: own = '' } = await storeOfItsOwn()
  const client = new pg.Client({ connectionString: own, options: '-c search_path=svc' })
  await client.connect()
  const readFetched = async () => {
    const { rows } = await client.query<{ fetched: string }>(
      "SELECT idx_tup_fetch AS fetched FROM pg_stat_user_tables WHERE relname = 'beacon'",
    )
    return Number(rows[0]!.fetched)
  }
  try {
    {
      const clock = manualClock()
      await using sandbox = await startSandbox({ store: own, clock, demands_token: false })
      const api = connect(sandbox)
      const { placement } = (await api.accept('placements.create', { as: key, body: asked() })).body
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'heartbeat') })
      await client.query(
        `INSERT INTO beacon SELECT (jsonb_populate_record(beacon,
           jsonb_build_object('id', id + n, 'beacon_id', beacon_id || n))).* FROM beacon, generate_series(1, 2500) n`,
      )
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'render') })
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'visible') })
    }
    // A connection reports what it has read when it ends, some time after the node did.
    const ended = 'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
    await expect.poll(async () => (await client.query(ended)).rowCount, { interval: 50 }).toBe(0)
    expect(await readFetched()).toBeGreaterThan(0)
    expect(await readFetched()).toBeLessThan(100)
  } finally {
    await client.end()
  }
})

test('evidence, lists, reports and the funnel read the rows of many slots together', async () => {
  const namespace = randomBytes(8).toString('hex')
  const clock = manualClock()
  await using sandbox = await startSandbox({ store, namespace, clock, rate_limit: 'off', demands_token: false })
  const api = connect(sandbox)
  const slots = 40
  await Promise.all(
    Array.from({ length: slots }, async (_, index) => {
      const session_id = `sess_${index}`
      await api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id, decision: 'granted' } })
      const { placement } = (await api.accept('placements.create', { as: key, body: asked({ session_id }) })).body
      await api.accept('render.frame', { params: { asset_token: placement!.asset_token } })
      // A view before its render does not count: reports name it.
      await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, 'visible') })
    }),
  )
  const sent = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => sent.mockRestore())
  const countReads = async (request: () => Promise<unknown>): Promise<number> => {
    sent.mockClear()
    await request()
    const texts = sent.mock.calls.map(([query]) => (query as unknown as { text: string }).text)
    return texts.filter((text) => /\bFROM (beacon|slot JOIN|session|unnest)\b/.test(text)).length
  }
  const reads = {
    verify: await countReads(async () => {
      const { ok, chains } = (await api.accept('evidence.verify')).body
      expect([ok, chains[0]!.entries]).toEqual([true, 3 * slots])
    }),
    list: await countReads(async () => {
      expect((await api.accept('beacons.list', { query: { limit: slots } })).body.items).toHaveLength(slots)
    }),
    report: await countReads(async () => {
      const { not_counted } = (await api.accept('billing.report')).body
      expect(not_counted.beacons.length).toBeGreaterThanOrEqual(20)
    }),
    funnel: await countReads(async () => {
      expect(JSON.stringify((await api.accept('placements.funnel')).body.formats)).toContain(`"framed":${slots}`)
    }),
  }
  expect(Object.entries(reads).filter(([, count]) => count === 0 || count >= slots / 2)).toEqual([])
})
