/**
 * Reads that promise all find what is at the far end of a large state: behind more newer rows than any of them reads at a
 * time. A new read that promises all is a line of the table.
 */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { verifyBundle } from '#commands/evidence/bundle-file.ts'
import type { Bundle } from '#contract/bundles/bundle.ts'
import { readBundle } from '#contract/bundles/text.ts'
import type { EndpointId } from '#contract/index.ts'
import { packageVersion } from '#sandbox/fixtures.ts'
import { haveNoRejectedBeacons } from '#testing/expectations.ts'
import { attachTestSandbox } from '#testing/open-sandbox.ts'
import { svc } from '#tests/cli/test-cli.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { asked, beacon, edit, type Filled, fill, key, origin, type Stage, stage } from './stage.ts'

const session_id = 'far'
const turns = 2_100

let on: Stage
let turn: Filled

beforeAll(async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  {
    await using first = await stage({ database })
    const { api, clock } = first
    await api.accept('consent.set', { as: key, body: { client_id: 'proj_demo', session_id, tcf_string: 'x' } })
    turn = await fill(api, { body: asked({ session_id }) })
    await api.accept('beacons.send', { as: key, body: beacon(clock, turn, 'render', { beacon_id: 'far-render' }) })
    await api.refuse('beacons.send', { as: 'sk_test_unknown_000', body: beacon(clock, turn, 'click') })
  }
  edit(database, bury)
  on = await stage({ database })
})
afterAll(() => on[Symbol.asyncDispose]())

/** Adds newer rows of each kind, with their evidence. */
function bury(db: Database.Database): void {
  const one = <Row>(sql: string) => db.prepare(sql).get() as Row
  const copy = (table: string, changed: Readonly<Record<string, string>>, count: number, which: string) => {
    const columns = (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
    db.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
      INSERT INTO ${table} (${columns.join(', ')})
      SELECT ${columns.map((name) => changed[name] ?? name).join(', ')} FROM ${table}, n WHERE ${which}`)
  }
  const { id } = one<{ id: number }>(
    'SELECT max(id) AS id FROM (SELECT id FROM exchange UNION SELECT id FROM slot UNION SELECT id FROM beacon)',
  )
  db.transaction(() => {
    copy('exchange', { id: `${id} + i`, slot_id: 'NULL', session_id: "'other'" }, 5_200, "path = '/v1/placements'")
    copy('consent', { id: `${id} + 6000 + i`, revision: 'revision + i', extras: "'{}'" }, 150, 'revision = 1')
    copy('job', { id: `${id} + 7000 + i` }, turns, '1')
    copy(
      'slot',
      { id: `${id} + 10000 + i`, job_id: `${id} + 7000 + i`, asset_token_hash: 'randomblob(32)' },
      turns,
      '1',
    )
    const last = one<{ seq: number; hash: Buffer }>('SELECT seq, hash FROM evidence ORDER BY seq DESC LIMIT 1')
    const insert = db.prepare(
      `INSERT INTO evidence (project_id, seq, kind, ref, at_ms, entry, hash) VALUES (1, ?, 'consent', ?, 1, ?, ?)`,
    )
    let hash = last.hash.toString('hex')
    for (let index = 1; index <= 1_100; index++) {
      const entry = JSON.stringify({ revision: 1, session_id: 'other' })
      hash = createHash('sha256').update(`${hash}${entry}`).digest('hex')
      insert.run(last.seq + index, id + 20_000 + index, entry, Buffer.from(hash, 'hex'))
    }
  })()
}

async function bundleOf(query: Record<string, string>): Promise<Bundle> {
  const page = await (await fetch(`${on.sandbox.url}/_sandbox/bundle.html?${new URLSearchParams(query)}`)).text()
  expect(verifyBundle(page, { public_key: null, svc_version: packageVersion() })).toMatchObject({ ok: true })
  const read = readBundle(page)
  if ('problem' in read) throw new Error(read.problem)
  return read.bundle
}

/** The last item of a list that is read page by page to its end. */
async function findLast(id: EndpointId, query: object): Promise<object> {
  const items: object[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = { ...query, limit: 1_000, ...(cursor === undefined ? {} : { cursor }) }
    const response = await on.api.accept(id, { query: asked })
    const page = response.body as unknown as { items: object[]; next_cursor: string | null }
    items.push(...page.items)
    cursor = page.next_cursor
  }
  return items.at(-1) ?? {}
}

/** The requests that the page of the console has sent again. */
async function replayAsPage(): Promise<unknown> {
  const post = async (name: string, body: object, as?: string) => {
    const path = `/_sandbox/console/page/${name}`
    return (await on.api.send('POST', path, { origin, body, ...(as === undefined ? {} : { as }) })).body as Record<
      string,
      string
    >
  }
  const { grant_id = '', secret } = await post('ask', {})
  await on.api.accept('console.confirm', { params: { grant_id } })
  const { token } = await post('claim', { grant_id, secret })
  return post('act', { action: 'replay', slot_id: turn.slot_id }, token)
}

const reads: Readonly<Record<string, readonly [read: () => Promise<unknown>, found: unknown]>> = {
  'a bundle has the entry of its consent': [
    async () => (await bundleOf({ slot_id: turn.slot_id })).turns[0]!.evidence.map(({ kind }) => kind),
    ['consent', 'decision', 'beacon'],
  ],
  'a bundle has the requests of its turn': [
    async () => (await bundleOf({ slot_id: turn.slot_id })).turns[0]!.requests.map(({ path }) => path),
    ['/v1/consent', '/v1/placements', '/v1/beacons'],
  ],
  'a bundle counts the turns that it leaves out': [
    async () => (await bundleOf({ session_id })).left_out,
    turns + 1 - 20,
  ],
  'an explanation has the strings of its consent': [
    async () =>
      (await on.api.accept('placements.explain', { params: { slot_id: turn.slot_id } })).body.consent_strings.length,
    1,
  ],
  'a page replays the request of its slot': [replayAsPage, { replayed: { status: 200 } }],
  'toHaveNoRejectedBeacons finds a refused one': [
    async () => {
      const sandbox = await attachTestSandbox({ SVC_BASE_URL: on.sandbox.url })
      const { pass, message } = await haveNoRejectedBeacons(sandbox, {}, { isNot: false })
      return [pass, message()]
    },
    [false, expect.stringContaining('key_unknown')],
  ],
  'svc open finds a beacon': [
    async () => {
      const SVC_HOME = temporaryDirectory()
      const { url, inspector_url, database, pid, version, projects } = on.sandbox
      await writeLocator(SVC_HOME, { url, inspector_url, database, pid, version, projects, started_at_ms: 0 })
      return (await svc('open far-render', { env: { SVC_HOME } })).stderr
    },
    'Not opened, this is not a terminal.\n',
  ],
  'consent.list': [() => findLast('consent.list', { session_id }), { revision: 1 }],
  'evidence.list': [() => findLast('evidence.list', { kind: 'consent' }), { seq: 1 }],
  'placements.list': [() => findLast('placements.list', { session_id }), { fill: true }],
  'beacons.list': [() => findLast('beacons.list', { session_id }), { beacon_id: 'far-render' }],
  'requests.list': [() => findLast('requests.list', { path: '/v1/consent' }), { status: 200 }],
}

test.each(Object.entries(reads))('%s', async (_, [read, found]) => {
  const result = await read()
  if (typeof found === 'object' && !Array.isArray(found)) expect(result).toMatchObject(found!)
  else expect(result).toEqual(found)
})
