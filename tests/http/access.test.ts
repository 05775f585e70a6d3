/** Access for a team: named tokens with roles, their revocation, and the audit list (A97). */
import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import { beforeEach, expect, test } from 'vitest'
import type { Role } from '#contract/endpoint.ts'
import { storedTexts, storeOfItsOwn } from '#tests/postgres/shared-store.ts'
import { folder, stage } from './stage.ts'

const shared = { public_url: 'http://192.168.1.5:4010' }

/** Names of one test: sandboxes on a shared store share their tokens. */
let suffix = ''
const named = (text: string) => `${text}-${suffix}`
beforeEach(() => {
  suffix = randomBytes(4).toString('hex')
})

async function team(options = {}) {
  const on = await stage({ ...shared, ...options })
  const start = { headers: { 'x-sandbox-token': on.sandbox.admin_token } }
  const create = async (text: string, role?: Role) => {
    const name = named(text)
    const { body } = await on.api.accept('tokens.create', { ...start, body: { name, ...(role ? { role } : {}) } })
    return { headers: { 'x-sandbox-token': body.token } }
  }
  return { ...on, start, create }
}

test('a token may do what its role includes, and nothing else', async () => {
  await using on = await team()
  const [read, write, admin] = [
    await on.create('dash'),
    await on.create('ci', 'write'),
    await on.create('eve', 'admin'),
  ]
  const refused = async (id: Parameters<typeof on.api.refuse>[0], call: object) =>
    (await on.api.refuse(id, call)).body.reason_code

  for (const call of [read, write, admin]) {
    await on.api.accept('sandbox.info', call)
    await on.api.accept('requests.find', { ...call, body: { path: '/v1/beacons' } })
  }
  expect(await refused('clock.freeze', read)).toBe('role_missing')
  for (const call of [write, admin]) await on.api.accept('clock.freeze', call)
  for (const id of ['sandbox.reset', 'tokens.list', 'audit.list'] as const) {
    expect(await refused(id, read)).toBe('role_missing')
    expect(await refused(id, write)).toBe('role_missing')
    await on.api.accept(id, admin)
  }
  const key = { params: { client_id: 'proj_demo' } }
  expect((await on.api.refuse('keys.create', { ...write, ...key })).body.message).toBe(
    `The token ${named('ci')} has the role write; this needs admin.`,
  )
  await on.api.accept('keys.create', { ...admin, ...key })
})

test('a role holds on loopback too, where no token is needed', async () => {
  await using on = await stage()
  const { body } = await on.api.accept('tokens.create', { body: { name: named('dash') } })
  expect(body).toMatchObject({ name: named('dash'), role: 'read', revoked_at_ms: null })
  const call = { headers: { 'x-sandbox-token': body.token } }
  expect((await on.api.refuse('sandbox.reset', call)).body.reason_code).toBe('role_missing')
  await on.api.accept('sandbox.reset')
})

test('a revoked token is refused from the next request on, and its name stays taken', async () => {
  await using on = await team()
  const ci = await on.create('ci', 'admin')
  await on.api.accept('sandbox.info', ci)
  const revoke = { ...on.start, params: { name: named('ci') } }
  const { body } = await on.api.accept('tokens.revoke', revoke)
  expect(body.revoked_at_ms).not.toBe(null)
  expect((await on.api.refuse('sandbox.info', ci)).body).toMatchObject({
    reason_code: 'origin_refused',
    message: 'The control plane of this sandbox does not know this token, or it was revoked.',
  })
  expect((await on.api.accept('tokens.revoke', revoke)).body).toEqual(body)
  for (const name of [named('ci'), 'start']) {
    const taken = await on.api.refuse('tokens.create', { ...on.start, body: { name } })
    expect(taken.body.reason_code).toBe('token_exists')
  }
  const unknown = await on.api.refuse('tokens.revoke', { ...on.start, params: { name: 'nobody' } })
  expect(unknown.body.message).toBe('There is no token named nobody.')
})

test('tokens outlive restarts, resets and restores, are stored as hashes, and no export has them', async () => {
  const store = await storeOfItsOwn()
  let ci: { headers: { 'x-sandbox-token': string } }
  {
    await using on = await team(store)
    ci = await on.create('ci', 'admin')
    await on.api.accept('snapshots.save', { ...on.start, params: { name: 'one' } })
  }
  await using on = await team(store)
  const exported = await fetch(`${on.sandbox.url}/_sandbox/export`, ci)
  const file = gunzipSync(await exported.arrayBuffer())
  expect([named('ci'), ci.headers['x-sandbox-token']].map((text) => file.includes(text))).toEqual([false, false])
  await on.api.accept('sandbox.reset', ci)
  await on.api.accept('snapshots.restore', { ...ci, params: { name: 'one' } })
  const { items } = (await on.api.accept('tokens.list', ci)).body
  expect(items.map(({ name, role }) => [name, role])).toContainEqual([named('ci'), 'admin'])
  const stored = await storedTexts(store)
  const holds = (text: string) => stored.some((row) => row.includes(text))
  expect([holds(named('ci')), holds(ci.headers['x-sandbox-token'])]).toEqual([true, false])
})

test('the audit list names who did what, with the outcome; reads and strangers are not in it', async () => {
  await using on = await team(await storeOfItsOwn())
  const dash = await on.create('dash')
  await on.api.accept('clock.advance', { ...on.start, body: { by_ms: 5 } })
  await on.api.refuse('clock.freeze', dash)
  await on.api.refuse('clock.advance', { ...on.start, body: { by_ms: -1 } })
  await on.api.refuse('sandbox.reset')
  await on.api.accept('sandbox.info', dash)
  await on.api.accept('requests.count', { ...dash, body: {} })
  const { items } = (await on.api.accept('audit.list', { ...on.start, query: { limit: 10 } })).body
  expect(items.map(({ token, action, status, reason_code }) => [token, action, status, reason_code])).toEqual([
    ['start', 'clock.advance', 400, 'schema_invalid'],
    [named('dash'), 'clock.freeze', 403, 'role_missing'],
    ['start', 'clock.advance', 200, null],
    ['start', 'tokens.create', 201, null],
  ])
  expect(items[0]).toMatchObject({ path: '/_sandbox/clock/advance', namespace: on.sandbox.shared?.namespace ?? null })
  const first = (await on.api.accept('audit.list', { ...on.start, query: { limit: 3 } })).body
  const rest = await on.api.accept('audit.list', { ...on.start, query: { cursor: first.next_cursor! } })
  expect([...first.items, ...rest.body.items]).toEqual(items)
  const own = (await on.api.accept('audit.list', { ...on.start, query: { token: named('dash') } })).body
  expect(own.items.map(({ action }) => action)).toEqual(['clock.freeze'])
})

test('a page that was opened with a token acts with that token', async () => {
  await using on = await team()
  const dash = await on.create('dash')
  const token = dash.headers['x-sandbox-token']
  const page = await on.api.send('GET', `/_sandbox/demo/settings?token=${token}`, {
    headers: { host: '192.168.1.5:4010', 'sec-fetch-site': 'none' },
  })
  expect([page.text.includes(token), page.text.includes(on.sandbox.admin_token)]).toEqual([true, false])
})

test('a sandbox with a file has no namespaces, and no second file until it has tokens', async () => {
  using at = folder()
  const database = join(at.path, 'sandbox.db')
  await using on = await stage({ database })
  expect(existsSync(`${database}.access`)).toBe(false)
  expect((await on.api.accept('namespaces.list')).body).toEqual({ items: [] })
  const { body } = await on.api.refuse('namespaces.delete', { params: { name: 'pr-1' } })
  expect(body.hint).toBe('Namespaces need a shared store: svc start --store URL --namespace NAME.')
})

test('an entry of the audit list does not wait for the disk: the file of tokens has a log, as the state has', async () => {
  using at = folder()
  const database = join(at.path, 'sandbox.db')
  await using on = await stage({ database })
  await on.api.accept('tokens.create', { body: { name: 'ci', role: 'admin' } })
  const file = new Database(`${database}.access`, { readonly: true })
  expect(file.pragma('journal_mode', { simple: true })).toBe('wal')
  file.close()
  expect(statSync(`${database}.access-wal`).mode & 0o077).toBe(0)
})
