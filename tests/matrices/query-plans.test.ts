/**
 * No list and no report reads a table from end to end in one query: each statement that is prepared while every endpoint
 * with every filter, and every pair of them, is called must find its rows by a key or an index, or read a bounded part.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { decodeId } from '#contract/ids.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import { insertSessionBeacons } from '#store/sqlite/migrations.ts'
import type { Call } from '#tests/http/call.ts'
import { beacon, edit, fill, folder, key, type Stage, stage } from '#tests/http/stage.ts'
import { addToSessions, addTraffic } from '#tests/reliability/large-state.ts'
import { type Asked, listRequests, readers, unplaced } from '#tests/reliability/list-requests.ts'

/** Tables that grow with traffic. */
const large = 'job|slot|beacon|aside_beacon|session_beacon|evidence|event|exchange|consent|session|activation'

/** A part of a table in the order of its key, which a limit ends: nothing but the key is compared. */
const bounded =
  /FROM (\w+) WHERE (1|(\w+\.)?(id|seq) [<>]=? \?( AND (id|seq) [<>]=? \?)*) ORDER BY (id|seq)( DESC)? LIMIT/

test('of every list with every filter', async () => {
  expect(unplaced()).toEqual([])
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  {
    await using on = await stage({ database })
    await fill(on.api, { format: 'banner' })
  }
  addTraffic(database, { beacons: 10_500, unaccepted: 1_500, exchanges: 200, events: 200 })
  const prepared = new Set<string>()
  const { prepare } = Database.prototype
  let requests = 0
  try {
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      // Access tokens have a small database of their own.
      if (this.name === database) prepared.add(sql)
      return prepare.call(this, sql)
    } as typeof prepare
    await using on = await stage({ database })
    prepared.clear()
    for (const endpoint of readers) {
      const single = Object.values(listRequests(endpoint)).filter(({ query }) => query?.includes('limit=') !== true)
      const nameOf = ({ query }: Asked) => query?.split('=')[0] ?? ''
      const firsts = single.filter((one) => one.query && single.find((other) => nameOf(other) === nameOf(one)) === one)
      // The journal compares all of its filters with the same bounded number of rows.
      const pairs = (endpoint.id === 'requests.list' ? [] : firsts).flatMap((one, index) =>
        firsts.slice(index + 1).map(({ query }) => ({ ...one, query: `${one.query}&${query}` })),
      )
      if (endpoint.id === 'events.stream') continue
      for (const { path, method, query, body } of [...single, ...pairs]) {
        const response = await fetch(`${on.sandbox.url}${path}${query === undefined ? '' : `?${query}`}`, {
          method: method ?? 'GET',
          ...(body === undefined
            ? {}
            : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
        })
        expect(response.status, `${path}?${query} ${await response.text()}`).toBe(200)
        requests++
      }
    }
  } finally {
    Database.prototype.prepare = prepare
  }
  expect(requests).toBeGreaterThan(100)
  expect(prepared.size).toBeGreaterThan(50)
  expect(listProblems(database, [...prepared])).toEqual([])
})

test('a query without an index, and one that compares more than the key, are found', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  await (await stage({ database })).sandbox.close()
  const faulty = [
    'SELECT * FROM beacon WHERE received_at_ms % 2 = ? ORDER BY id DESC LIMIT 5',
    "SELECT * FROM beacon WHERE id < ? AND body_sha256 = 'x' ORDER BY id DESC LIMIT 5",
    'SELECT * FROM slot ORDER BY decided_at_ms LIMIT ?',
  ]
  expect(listProblems(database, faulty)).toHaveLength(faulty.length)
  expect(listProblems(database, ['SELECT id FROM beacon WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET 1999'])).toEqual(
    [],
  )
})

/** Returns the statements that may read a whole table, each with that part of its plan. */
function listProblems(database: string, statements: readonly string[]): string[] {
  const problems: string[] = []
  const scan = new RegExp(`^SCAN (${large}|found)\\b`)
  const oneSided = new RegExp(`^SEARCH (${large}) USING INTEGER PRIMARY KEY \\(rowid[<>]\\?\\)`)
  edit(database, (db) => {
    for (const statement of statements.filter((sql) => /^\s*SELECT/.test(sql))) {
      const sql = statement.replaceAll(/\s+/g, ' ').trim()
      const values = Array.from(sql.matchAll(/\?/g), () => 1)
      const plan = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values)
      const bad = plan.filter(({ detail }) => scan.test(detail) || oneSided.test(detail))
      if (bad.length > 0 && !bounded.test(sql)) problems.push(`${sql}: ${bad.map(({ detail }) => detail).join(', ')}`)
    }
  })
  return problems
}

test('a session with more placements than an index is used for is listed whole, from its newest', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  {
    await using on = await stage({ database })
    await fill(on.api, { format: 'banner' })
  }
  addTraffic(database, { beacons: 56_000, unaccepted: 0, exchanges: 0, events: 0 })
  await using on = await stage({ database })
  const seen = (await whole(on, 'placements.list', { session_id: 'old' })).map(({ slot_id }) => slot_id)
  expect(seen.length).toBe(56_000 / 10 / 5)
  expect(seen).toEqual([...new Set(seen)].toSorted().toReversed())
})

test('beacons of a session are found among those of others: whole, in order, by time and verdict, a page in a few queries', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  {
    await using on = await stage({ database })
    await fill(on.api, { format: 'banner' })
  }
  addTraffic(database, { beacons: 56_000, unaccepted: 9_000, exchanges: 0, events: 0 })
  const wanted = (condition: string, table = 'beacon') => {
    let ids: string[] = []
    edit(database, (db) => {
      const sql = `SELECT beacon_id FROM ${table} beacon JOIN slot ON slot.id = beacon.slot_id JOIN job ON job.id = slot.job_id
        JOIN session ON session.id = job.session WHERE ${condition} ORDER BY beacon.id DESC`
      ids = db.prepare<[], string>(sql).pluck().all()
    })
    return ids
  }
  let newest_ms = 0
  edit(database, (db) => {
    newest_ms = db.prepare<[], number>('SELECT max(received_at_ms) FROM beacon').pluck().get()!
    // A beacon that comes late belongs to an old session, and so do some that were rejected.
    db.exec(`UPDATE aside_beacon SET slot_id = (SELECT slot.id FROM slot JOIN job ON job.id = slot.job_id
      JOIN session ON session.id = job.session WHERE session_id = 'old' LIMIT 1) WHERE id % 9 = 0`)
    addToSessions(db)
  })
  const expected = {
    old: wanted("session_id = 'old'"),
    hot: wanted(`session_id = 'hot' AND received_at_ms >= ${newest_ms - 60_000}`),
    rejected: wanted("session_id = 'old'", 'aside_beacon'),
  }
  expect(Object.values(expected).map(({ length }) => length)).toEqual([11_200, expect.any(Number), expect.any(Number)])
  expect(Math.min(...Object.values(expected).map(({ length }) => length))).toBeGreaterThan(900)
  await using on = await stage({ database })
  const list = async (query: Call['query']) =>
    (await whole(on, 'beacons.list', query)).map(({ beacon_id }) => beacon_id)
  const [since, none] = [newest_ms - 60_000, newest_ms - 1_000]
  expect(await list({ session_id: 'old', verdict: 'accepted' })).toEqual(expected.old)
  expect(await list({ session_id: 'hot', since })).toEqual(expected.hot)
  expect(await list({ session_id: 'old', verdict: 'rejected' })).toEqual(expected.rejected)
  expect(await list({ session_id: 'old', since: none, verdict: 'accepted' })).toEqual([])

  const { prepare } = Database.prototype
  let queries = 0
  try {
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      if (this.name === database) queries++
      return prepare.call(this, sql)
    } as typeof prepare
    for (const query of [{ session_id: 'old' }, { session_id: 'hot' }, { session_id: 'old', since: none }]) {
      await on.api.accept('beacons.list', { query })
    }
  } finally {
    Database.prototype.prepare = prepare
  }
  expect(queries).toBeLessThan(30)
})

/** Resolves to every item of a list, page by page. */
async function whole({ api }: Stage, id: 'placements.list' | 'beacons.list', query: Call['query']) {
  const seen: { slot_id: string | null; beacon_id?: string | null }[] = []
  for (let cursor: string | undefined; ; ) {
    const response = await api.accept(id, {
      query: { ...query, limit: 500, ...(cursor === undefined ? {} : { cursor }) },
    })
    const { items, next_cursor } = response.body
    seen.push(...items)
    if (next_cursor === null) return seen
    cursor = next_cursor
  }
}

test('that is used again is made once, whatever its values: of requests that write, and of lists', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  {
    await using on = await stage({ database })
    for (let fills = 0; fills < 3; fills++) {
      await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, await fill(on.api), 'render') })
    }
  }
  const used = new Map<string, unknown[]>()
  const { prepare } = Database.prototype
  try {
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      const statement = prepare.call(this, sql)
      if (this.name !== database) return statement
      for (const method of ['get', 'all', 'iterate'] as const) {
        const own = statement[method]
        statement[method] = ((...values: unknown[]) => {
          used.set(sql, values)
          return Reflect.apply(own, statement, values)
        }) as never
      }
      return statement
    } as typeof prepare
    // Nothing is cached after a start.
    await using on = await stage({ database })
    const { body } = await on.api.accept('placements.list', { query: { session_id: 'sess_1' } })
    const { slot_id } = body.items[0]!
    const filled = await fill(on.api)
    await on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render') })
    for (const query of [{}, { slot_id }, { session_id: 'sess_1', since: 0 }, { client_id: 'proj_demo' }]) {
      await on.api.accept('beacons.list', { query })
    }
    await on.api.accept('placements.explain', { params: { slot_id } })
    await on.api.accept('evidence.list', { query: { client_id: 'proj_demo' } })
  } finally {
    Database.prototype.prepare = prepare
  }
  // The driver compiles a function for the rows of a query whenever that was planned.
  const compiled = new Map<string, number>()
  const own = globalThis.Function
  edit(database, (db) => {
    for (const [sql, values] of used) {
      const statement = db.prepare(sql)
      if (!statement.reader) continue
      let count = 0
      try {
        globalThis.Function = new Proxy(own, {
          apply(target, self, args) {
            count++
            return Reflect.apply(target, self, args)
          },
        })
        for (let run = 0; run < 3; run++) statement.all(...values)
      } finally {
        globalThis.Function = own
      }
      if (count > 0) compiled.set(sql, count)
    }
  })
  expect(compiled.size).toBeGreaterThan(20)
  expect([...compiled].filter(([, count]) => count > 1)).toEqual([])
})

test('beacons of a session since a time are found, and no others read, also when the clock has moved back', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  await using on = await stage({ database })
  const filled = await fill(on.api, { format: 'banner' })
  await fill(on.api, { body: { client_id: 'proj_demo', session_id: 'other', job_type: 'chat' } })
  const start_ms = on.clock.now()
  // More of the session than one part reads, and so many of another one that the index of times does not find the few.
  addBeacons(database, 'min', 60_000, start_ms - 1_000)
  addBeacons(database, 'max', 2_000, start_ms + 600_000)

  const { prepare } = Database.prototype
  let parts = 0
  try {
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      if (sql.startsWith('SELECT id FROM session_beacon WHERE session IN')) parts++
      return prepare.call(this, sql)
    } as typeof prepare
    const list = async (since_ms: number) =>
      (await whole(on, 'beacons.list', { session_id: 'sess_1', since: String(since_ms) })).map(
        ({ beacon_id }) => beacon_id,
      )
    const send = (beacon_id: string) =>
      on.api.accept('beacons.send', { as: key, body: beacon(on.clock, filled, 'render', { beacon_id }) })
    expect(await list(start_ms)).toEqual([])
    expect(await list(start_ms - 1_001)).toEqual(['added-60000', 'added-59999'])
    await send('the-first')
    on.clock.advance(60_000)
    await send('those-ahead')
    on.clock.advance(-50_000)
    await send('then-back')
    expect(await list(start_ms)).toEqual(['then-back', 'those-ahead', 'the-first'])
    expect(await list(start_ms + 5_000)).toEqual(['then-back', 'those-ahead'])
    expect(await list(start_ms + 20_000)).toEqual(['those-ahead'])
    expect(await list(start_ms + 60_001)).toEqual([])
    // Each list takes one: more of its entries would be read in several.
    expect(parts).toBe(6)
  } finally {
    Database.prototype.prepare = prepare
  }
  edit(database, (db) => {
    const entries = db
      .prepare('SELECT id, received_at_ms, latest_at_ms FROM session_beacon WHERE session = 1 ORDER BY id')
      .all() as { id: number; received_at_ms: number; latest_at_ms: number }[]
    let latest_ms = 0
    const wrong = entries.filter(({ received_at_ms, latest_at_ms }) => {
      latest_ms = Math.max(latest_ms, received_at_ms)
      return latest_at_ms !== latest_ms
    })
    expect([entries.length, wrong]).toEqual([60_003, []])
  })
})

test('a beacon of a session that a newer one has overtaken is found since its time', async () => {
  using place = folder()
  const database = join(place.path, 'sandbox.db')
  let slot_id = 0
  {
    await using on = await stage({ database })
    slot_id = decodeId('slot', (await fill(on.api)).slot_id)!
    await fill(on.api, { body: { client_id: 'proj_demo', session_id: 'other', job_type: 'chat' } })
  }
  addBeacons(database, 'max', 2_000, 1_000_000)
  const store = openSqliteStore({
    ...{ path: database, pid: process.pid, now_ms: 1, journal_limit: 0, event_limit: 100 },
    seed: { projects: [], catalogue: { sha256: 'a', demand: '{}' } },
    sha256Hex: (text) => text,
    report: (error) => expect.fail(String(error)),
  })
  try {
    const first = (await store.largestId()) + 1
    const record = (id: number, received_at_ms: number) => {
      const beacon_id = `of-${received_at_ms}`
      const more = { occurred_at_ms: 1, body_sha256: 'body', measurements: null, extras: '{}' }
      const draft = { kind: 'beacon', ref: id, at_ms: received_at_ms, build: () => '{}' } as const
      const terms = { session: { project_id: 1, session_id: null }, consent: null }
      return store.recordBeacon({ id, slot_id, beacon_id, event: 'heartbeat', received_at_ms, ...more }, terms, draft)
    }
    await record(first + 1, 900_000)
    await record(first + 2, 900_010)
    await record(first, 900_020)
    const since = async (since_ms: number) =>
      (await store.listBeacons({ session_id: 'sess_1', since_ms, limit: 10, before: null })).rows.map(
        ({ beacon }) => beacon.received_at_ms,
      )
    expect(await since(900_020)).toEqual([900_020])
    expect(await since(900_010)).toEqual([900_010, 900_020])
    expect(await since(900_021)).toEqual([])
  } finally {
    await store.close()
  }
})

/** Adds beacons to the first or the last slot, received one a millisecond until a time. */
function addBeacons(database: string, slot: 'min' | 'max', count: number, until_ms: number): void {
  edit(database, (db) =>
    db.exec(`
      INSERT INTO beacon (id, slot_id, beacon_id, event, occurred_at_ms, received_at_ms, body_sha256, extras)
        WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count}),
          last(id) AS (SELECT max(id) FROM (SELECT id FROM slot UNION ALL SELECT id FROM beacon))
        SELECT last.id + i, (SELECT ${slot}(id) FROM slot), 'added-' || i, 'heartbeat', 1, ${until_ms - count} + i,
          'body', '{}' FROM n, last;
      DELETE FROM session_beacon; ${insertSessionBeacons.beacon}`),
  )
}
