import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RequestItem } from '#contract/resources/requests.ts'
import { manualClock } from '#sandbox/index.ts'
import type { Api, Call, Response } from './call.ts'
import {
  activate,
  asked,
  beacon,
  edit,
  fill,
  folder,
  key,
  liveKey,
  origin,
  otherKey,
  type Stage,
  stage,
  startSandbox,
} from './stage.ts'

type Query = NonNullable<Call['query']>

/** Fills the journal of the tests below, oldest first. */
async function journal(on: Stage) {
  const { slot_id, asset_token } = await fill(on.api, { format: 'banner' })
  on.clock.advance(60_000)
  await on.api.accept('decisions.get', { as: liveKey, params: { slot_id } }).catch(() => {})
  await on.api.accept('placements.create', { as: otherKey, body: asked({ client_id: 'proj_other', session_id: 's2' }) })
  on.clock.advance(60_000)
  await on.api.refuse('placements.create', { body: asked() })
  const visible = beacon(on.clock, { asset_token }, 'visible', {
    measurements: { visible_ratio: 1, visible_ms: 1_000 },
  })
  await on.api.accept('beacons.send', { as: key, body: visible })
  await on.api.send('GET', '/v1/nothing')
  return { slot_id }
}

const summary = ({ method, path, status }: Pick<RequestItem, 'method' | 'path' | 'status'>) =>
  `${method} ${path.replace(/slot_\w+/, 'SLOT')} ${status}`

async function listed(api: Api, query: Query = {}): Promise<string[]> {
  return (await api.accept('requests.list', { query })).body.items.map(summary)
}

describe('the list of requests', () => {
  test('has calls that miss the API, but neither other pages nor the control plane', async () => {
    await using on = await stage()
    await on.api.send('POST', '/placements', { as: key, body: asked() })
    await on.api.send('POST', '/v2/beacons', { body: {} })
    await on.api.send('GET', '/decisions/slot_1', { as: key })
    await on.api.send('GET', '/favicon.ico')
    await on.api.send('POST', '/_sandbox/nothing', { body: {} })
    expect(await listed(on.api)).toEqual(['GET /decisions/SLOT 404', 'POST /v2/beacons 404', 'POST /placements 404'])
  })

  test('can be filtered by every field', async () => {
    await using on = await stage()
    await journal(on)
    const everything = await listed(on.api)
    expect(everything).toHaveLength(6)
    expect(await listed(on.api, { path: '/v1/pl' })).toHaveLength(3)
    expect(await listed(on.api, { path: '/v1/*/SLOT' })).toEqual([])
    expect(await listed(on.api, { path: '/v1/decisions/slot_*' })).toEqual(everything.slice(4, 5))
    expect(await listed(on.api, { path: '*ons/slot*' })).toEqual(everything.slice(4, 5))
    expect(await listed(on.api, { path: '/v1/*acements' })).toHaveLength(3)
    expect(await listed(on.api, { path: '/v1/[p]lacements*' })).toEqual([])
    expect(await listed(on.api, { path: '/v1/placement?*' })).toEqual([])
    expect(await listed(on.api, { status_class: '4xx', method: 'GET' })).toContain('GET /v1/nothing 404')
    expect(await listed(on.api, { status_class: '2xx', path: '/v1/placements' })).toEqual([
      'POST /v1/placements 200',
      'POST /v1/placements 200',
    ])
    expect(await listed(on.api, { client_id: 'proj_other' })).toEqual(['POST /v1/placements 200'])
    expect(await listed(on.api, { client_id: 'proj_unknown' })).toEqual([])
    expect(await listed(on.api, { since: '30s' })).toEqual(everything.slice(0, 3))
    expect(await listed(on.api, { since: '90s', until: '30s' })).toEqual(everything.slice(3, 5))
    expect(await listed(on.api, { until: on.clock.now() - 120_000 })).toEqual(everything.slice(5))
  })

  test('shows the kind of a credential and its key, and can be filtered by either', async () => {
    await using on = await stage()
    await fill(on.api)
    await fill(on.api, { as: liveKey })
    const token = await activate(on.api)
    await fill(on.api, { as: token, origin })
    await on.api.refuse('placements.create', { as: 'sk_test_unknown', body: asked() })
    const { items } = (await on.api.accept('requests.list')).body
    expect(items.map((item) => item.key)).toEqual([null, 'at', null, 'sk_live', 'sk_test'])
    const { key_id } = items.at(-1)!
    expect(key_id).toMatch(/^key_/)
    const withKey = async (query: Query) => (await on.api.accept('requests.list', { query })).body.items.length
    expect(await withKey({ key: 'sk_test' })).toBe(1)
    expect(await withKey({ key: 'at' })).toBe(1)
    expect(await withKey({ key: 'bt' })).toBe(0)
    expect(await withKey({ key: key_id! })).toBe(1)
    const { body } = await on.api.refuse('requests.list', { query: { key: 'sk_test_sandbox_demo' } })
    expect(body.reason_code).toBe('secret_in_field')
    expect(body.fields?.map(({ path }) => path)).toEqual(['key'])
  })

  test('names the project of an activation, refused or not, and of a frame', async () => {
    await using on = await stage()
    const { asset_token } = await fill(on.api, { format: 'banner' })
    await on.api.send('GET', `/v1/render/${asset_token}`)
    await activate(on.api)
    const body = { publishable_key: 'pk_test_sandbox_strict' }
    await on.api.refuse('browser.activate', { origin, body })
    const { items } = (await on.api.accept('requests.list')).body
    expect(items.slice(0, 3).map(({ client_id }) => client_id)).toEqual(['proj_strict', 'proj_demo', 'proj_demo'])
  })

  test('contains only requests after the one given', async () => {
    await using on = await stage()
    await journal(on)
    const { items } = (await on.api.accept('requests.list')).body
    const { request_id } = items[2]!
    expect(await listed(on.api, { after: request_id })).toEqual(items.slice(0, 2).map(summary))
    expect(await listed(on.api, { after: items[0]!.request_id })).toEqual([])
  })

  test('contains headers and bodies with details, the same as each request by itself', async () => {
    await using on = await stage()
    await journal(on)
    const { items } = (await on.api.accept('requests.list', { query: { details: 'true' } })).body
    expect(items).toHaveLength(6)
    for (const item of items) {
      const { request_id } = item
      expect(item).toEqual((await on.api.accept('requests.show', { params: { request_id } })).body)
    }
    const without = (await on.api.accept('requests.list', { query: { details: 'false' } })).body
    expect(without).toEqual((await on.api.accept('requests.list')).body)
    expect(without.items[0]).not.toHaveProperty('request_headers')
  })
})

describe('a journal larger than one query reads', () => {
  /** 12 000 exchanges, of which the oldest alone was answered 418 and sent a body. */
  async function large() {
    const dir = folder()
    const options = { database: join(dir.path, 'sandbox.db'), clock: manualClock() }
    await (await startSandbox(options)).close()
    edit(options.database, (db) => {
      db.exec(`
        WITH RECURSIVE row (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM row WHERE id < 12000)
        INSERT INTO exchange (id, at_ms, method, path, status, duration_us, request_headers, request_body, response_headers)
        SELECT id, 0, 'GET', '/v1/nothing', iif(id = 1, 418, 404), 1, '{}', iif(id = 1, '{"event":"tea"}', ''), '{}' FROM row
      `)
    })
    const on = await stage(options)
    return {
      ...on,
      async [Symbol.asyncDispose]() {
        await on[Symbol.asyncDispose]()
        dir[Symbol.dispose]()
      },
    }
  }

  test('is read in steps: an empty page has a cursor until the end is reached', async () => {
    await using on = await large()
    const found: string[] = []
    const pages: number[] = []
    let cursor: string | null = null
    do {
      const query: Query = { status: 418, ...(cursor === null ? {} : { cursor }) }
      const { body } = await on.api.accept('requests.list', { query })
      pages.push(body.items.length)
      found.push(...body.items.map(summary))
      cursor = body.next_cursor
    } while (cursor !== null)
    expect(pages).toEqual([0, 0, 1])
    expect(found).toEqual(['GET /v1/nothing 418'])
    const page = (await on.api.accept('requests.list', { query: { status: 404, limit: 1000 } })).body
    expect([page.items.length, page.items[0]!.request_id > page.items[999]!.request_id]).toEqual([1000, true])
  })

  test('is read with details in pages of at most 250', async () => {
    await using on = await large()
    const { body } = await on.api.accept('requests.list', { query: { details: 'true', limit: 1_000 } })
    expect(body.items).toHaveLength(250)
    const query = { details: 'true', limit: 1_000, cursor: body.next_cursor as string } as const
    const next = (await on.api.accept('requests.list', { query })).body
    const { items } = (await on.api.accept('requests.list', { query: { limit: 500 } })).body
    expect([...body.items, ...next.items].map(({ request_id }) => request_id)).toEqual(
      items.map(({ request_id }) => request_id),
    )
  })

  test('is counted to its end, with bodies and without', async () => {
    await using on = await large()
    const count = async (match: Record<string, unknown>) => {
      const counts: number[] = []
      let cursor: string | null = null
      do {
        const body: Record<string, unknown> = cursor === null ? match : { ...match, cursor }
        const answer: Response<{ count: number; next_cursor: string | null }> = await on.api.accept('requests.count', {
          body,
        })
        counts.push(answer.body.count)
        cursor = answer.body.next_cursor
      } while (cursor !== null)
      return counts
    }
    expect(await count({ status: 404 })).toEqual([5_000, 5_000, 1_999])
    const read = await count({ body: { event: 'tea' } })
    expect([read.length, read.at(-1), read.reduce((sum, each) => sum + each)]).toEqual([12, 1, 1])
    const first = await on.api.accept('requests.find', { body: { body: { event: 'tea' }, path: '*418*' } })
    expect(first.body.items).toEqual([])
    expect(first.body.next_cursor).not.toBeNull()
  })
})

describe('finding requests', () => {
  test('by fields of their body, at any depth, by value and type', async () => {
    await using on = await stage()
    await journal(on)
    const found = async (body: Record<string, unknown>) =>
      (await on.api.accept('requests.find', { body })).body.items.map(summary)
    expect(await found({ body: { event: 'visible' } })).toEqual(['POST /v1/beacons 200'])
    expect(await found({ body: { 'measurements.visible_ms': 1_000 } })).toEqual(['POST /v1/beacons 200'])
    expect(await found({ body: { 'measurements.visible_ms': '1000' } })).toEqual([])
    expect(await found({ body: { 'overrides.allowed_formats.0': 'banner' } })).toEqual(['POST /v1/placements 200'])
    expect(await found({ body: { event: null } })).toEqual([])
    expect(await found({ body: { event: 'visible' }, path: '/v1/placements' })).toEqual([])
    expect(await found({ path: '/v1/placements', status: 200, since: '90s' })).toEqual(['POST /v1/placements 200'])
  })

  test('by headers, as the journal stores them', async () => {
    await using on = await stage()
    await activate(on.api)
    await fill(on.api)
    const found = async (headers: Record<string, string>) =>
      (await on.api.accept('requests.find', { body: { headers } })).body.items.map(summary)
    expect(await found({ Origin: origin })).toEqual(['POST /v1/browser/activate 200'])
    expect(await found({ authorization: 'Bearer sk_test_redacted' })).toEqual(['POST /v1/placements 200'])
    expect(await found({ authorization: `Bearer ${key}` })).toEqual([])
  })

  test('reads the whole journal by its cursor, and counts what it finds', async () => {
    await using on = await stage()
    for (let count = 0; count < 5; count++) await fill(on.api)
    for (const match of [{ body: { session_id: 'sess_1' } }, { session_id: 'sess_1' }]) {
      const walked: string[] = []
      let cursor: string | null = null
      do {
        const page: Record<string, unknown> = { ...match, limit: 2, ...(cursor === null ? {} : { cursor }) }
        const { body } = await on.api.accept('requests.find', { body: page })
        walked.push(...body.items.map(({ request_id }) => request_id))
        cursor = body.next_cursor
      } while (cursor !== null)
      const { items } = (await on.api.accept('requests.list')).body
      expect(walked).toEqual(items.map(({ request_id }) => request_id))
      expect((await on.api.accept('requests.count', { body: match })).body).toEqual({ count: 5, next_cursor: null })
    }
    expect((await on.api.accept('requests.count', { body: { status: 500 } })).body.count).toBe(0)
  })

  test('rejects invalid conditions', async () => {
    await using on = await stage()
    expect((await on.api.refuse('requests.find', { body: { verb: 'GET' } })).body.reason_code).toBe('field_unknown')
    const nested = { body: { measurements: { visible_ms: 1 } } }
    expect((await on.api.refuse('requests.count', { body: nested })).body.reason_code).toBe('schema_invalid')
    const cursor = await on.api.refuse('requests.count', { body: { cursor: 'far' } })
    expect(cursor.body.reason_code).toBe('schema_invalid')
  })
})

describe('near misses', () => {
  test('are the requests that fail the fewest conditions, each with what it has instead', async () => {
    await using on = await stage()
    await journal(on)
    const match = { method: 'post', path: '/v1/beacons', status: 200, body: { event: 'click' } }
    const { items } = (await on.api.accept('requests.nearest', { body: match })).body
    expect(items.map((item) => [summary(item), item.failed])).toEqual([
      ['POST /v1/beacons 200', [{ condition: 'body.event', expected: 'click', actual: 'visible' }]],
      [
        'POST /v1/placements 200',
        [
          { condition: 'path', expected: '/v1/beacons', actual: '/v1/placements' },
          { condition: 'body.event', expected: 'click', actual: null },
        ],
      ],
      [
        'POST /v1/placements 200',
        [
          { condition: 'path', expected: '/v1/beacons', actual: '/v1/placements' },
          { condition: 'body.event', expected: 'click', actual: null },
        ],
      ],
    ])
  })

  test('leave out requests that match and requests that meet no condition', async () => {
    await using on = await stage()
    await journal(on)
    const nearest = async (body: Record<string, unknown>) =>
      (await on.api.accept('requests.nearest', { body })).body.items.length
    expect(await nearest({ path: '/v1/beacons' })).toBe(0)
    expect(await nearest({ path: '/v1/be*', status: 404, limit: 1 })).toBe(1)
  })

  test('support every condition of a list', async () => {
    await using on = await stage()
    await journal(on)
    const conditions = {
      method: 'POST',
      path: '/v1/pl*ents',
      status: 200,
      status_class: '2xx',
      key: 'sk_test',
      client_id: 'proj_demo',
      session_id: 'sess_1',
      since: '1h',
      until: '1s',
      headers: { 'content-type': 'application/json' },
      body: { job_type: 'chat', session_id: 'x' },
    }
    const { items } = (await on.api.accept('requests.nearest', { body: { ...conditions, limit: 1 } })).body
    expect(items[0]?.failed).toEqual([{ condition: 'body.session_id', expected: 'x', actual: 'sess_1' }])
    const { body, ...rest } = conditions
    const { job_type } = body
    expect((await on.api.accept('requests.count', { body: { ...rest, body: { job_type } } })).body.count).toBe(1)
  })
})
