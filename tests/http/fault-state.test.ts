/** Fault rules and the scenario in use are part of the state: wherever it is restored, the same requests keep breaking. */
import { gunzipSync } from 'node:zlib'
import { request } from 'undici'
import { beforeAll, expect, test } from 'vitest'
import { asked, fill, folder, key, type Stage, stage } from './stage.ts'

const half = { rate: 0.5, seed: 7 }

async function listStatuses(on: Stage, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let index = 0; index < count; index++) {
    statuses.push((await on.api.send('POST', '/v1/placements', { as: key, body: asked() })).status)
  }
  return statuses
}

/** The statuses of 24 requests under a rule of `half`, in a sandbox of its own. */
let whole: readonly number[] = []
beforeAll(async () => {
  await using on = await stage()
  await on.api.accept('faults.add', { body: half })
  whole = await listStatuses(on, 24)
})

const rules = async (on: Stage) => (await on.api.accept('faults.list')).body.items
const save = (on: Stage, name: string) => on.api.accept('snapshots.save', { params: { name }, body: {} })
const restore = (on: Stage, name: string) => on.api.accept('snapshots.restore', { params: { name }, body: {} })
const use = (on: Stage, name: string) => on.api.accept('scenario.use', { params: { name }, body: {} })
const active = async (on: Stage) =>
  (await on.api.accept('scenario.list')).body.items.filter((item) => item.active).map(({ name }) => name)

async function exported(on: Stage): Promise<Buffer> {
  const { body } = await request(`${on.sandbox.url}/_sandbox/export`)
  return Buffer.from(await body.arrayBuffer())
}

test.each(['memory', 'file'])(
  'of a sandbox in %s > a snapshot contains the rules with their counts: the same requests break again',
  async () => {
    using at = folder()
    const database = `${at.path}/sandbox.db`
    await using on = await stage({ database })
    await on.api.accept('faults.add', { body: half })
    expect(await listStatuses(on, 10)).toEqual(whole.slice(0, 10))
    const before = await rules(on)
    await save(on, 'half-way')
    expect(await listStatuses(on, 14)).toEqual(whole.slice(10))
    await on.api.accept('faults.clear')
    await on.api.accept('faults.add', { body: { status: 500 } })

    await restore(on, 'half-way')
    expect(await rules(on)).toEqual(before)
    expect(await listStatuses(on, 14)).toEqual(whole.slice(10))
    await on.api.accept('sandbox.reset')
    expect(await rules(on)).toEqual([])
    expect(await listStatuses(on, 3)).toEqual([200, 200, 200])
    await restore(on, 'half-way')
    expect(await listStatuses(on, 14)).toEqual(whole.slice(10))
  },
)

test('a snapshot without rules removes present ones, and a new rule gets a new number', async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  await using on = await stage({ database })
  await save(on, 'quiet')
  const { fault_id } = (await on.api.accept('faults.add', { body: {} })).body
  await use(on, 'rate_limited')
  await restore(on, 'quiet')
  expect(await rules(on)).toEqual([])
  expect(await active(on)).toEqual([])
  expect(await listStatuses(on, 2)).toEqual([200, 200])
  expect((await on.api.accept('faults.add', { body: {} })).body.fault_id).not.toBe(fault_id)
})

test('a scenario is restored with its rules and its changes of decisions', { tags: 'depth' }, async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  await using on = await stage({ database })
  await use(on, 'no_fill')
  await save(on, 'no-fill')
  await use(on, 'rate_limited')
  await save(on, 'rate-limited')
  await on.api.accept('scenario.clear')
  await restore(on, 'rate-limited')
  expect(await active(on)).toEqual(['rate_limited'])
  expect((await rules(on)).map(({ scenario }) => scenario)).toContain('rate_limited')
  expect(await listStatuses(on, 1)).toEqual([429])
  await restore(on, 'no-fill')
  expect(await active(on)).toEqual(['no_fill'])
  const { body } = await on.api.accept('placements.create', { as: key, body: asked() })
  expect(body.decision?.fill).toBe(false)
  expect((await on.api.accept('scenario.clear')).body).toEqual({ cleared: 'no_fill' })
  await fill(on.api)
})

test('an import brings the rules of the other sandbox, with their counts', { tags: 'depth' }, async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  let file: Buffer
  {
    await using from = await stage()
    await from.api.accept('faults.add', { body: half })
    await listStatuses(from, 5)
    file = await exported(from)
  }
  await using to = await stage({ database })
  const headers = { 'content-type': 'application/gzip' }
  const reply = await request(`${to.sandbox.url}/_sandbox/import`, { method: 'POST', headers, body: file })
  expect([reply.statusCode, await reply.body.json()]).toMatchObject([200, { ok: true }])
  expect(await listStatuses(to, 19)).toEqual(whole.slice(5))
})

test('a restart keeps the rules and the scenario, and warns about them', async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  {
    await using on = await stage({ database })
    expect(on.sandbox.warnings).toEqual([])
    await on.api.accept('faults.add', { body: half })
    await listStatuses(on, 9)
  }
  {
    await using on = await stage({ database })
    expect(on.sandbox.warnings).toEqual(['a fault rule is still in force: svc sandbox faults list'])
    expect(await listStatuses(on, 15)).toEqual(whole.slice(9))
    await use(on, 'no_fill')
  }
  {
    await using on = await stage({ database })
    expect(on.sandbox.warnings).toEqual(['the scenario no_fill is still in use: svc sandbox scenario use none'])
    expect(await active(on)).toEqual(['no_fill'])
  }
  {
    await using on = await stage({ database, scenario: 'rate_limited' })
    expect(on.sandbox.warnings).toEqual([])
    expect(await active(on)).toEqual(['rate_limited'])
  }
})

test('a rule for one key is stored without the key, and still matches it', async () => {
  using at = folder()
  const database = `${at.path}/sandbox.db`
  {
    await using on = await stage({ database })
    const { body } = await on.api.accept('faults.add', { body: { key } })
    expect(body.key).toBe('sk_test_redacted')
    expect(gunzipSync(await exported(on)).includes(key)).toBe(false)
  }
  await using on = await stage({ database })
  expect(await listStatuses(on, 1)).toEqual([503])
  const others = { as: 'sk_test_sandbox_other', body: { ...asked(), client_id: 'proj_other' } }
  expect((await on.api.send('POST', '/v1/placements', others)).status).toBe(200)
})

test('a rule that contains a token elsewhere is rejected, since it would be stored', async () => {
  await using on = await stage()
  const { asset_token } = await fill(on.api)
  for (const [name, body] of [
    ['path', { path: `/v1/render/${asset_token}` }],
    ['session_id', { session_id: asset_token }],
    ['rewrite', { effect: 'rewrite', rewrite: { 'decision.asset_token': asset_token } }],
  ] as const) {
    const refused = (await on.api.refuse('faults.add', { body })).body
    expect([refused.reason_code, refused.fields?.map(({ path }) => path)]).toEqual(['secret_in_field', [name]])
    expect(JSON.stringify(refused)).not.toContain(asset_token)
  }
  expect(await rules(on)).toEqual([])
})
