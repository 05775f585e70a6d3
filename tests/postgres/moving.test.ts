/** A state moves from a database file into a shared database and back, and a newer schema is left alone. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { manualClock, migrateStore, type Sandbox, startSandbox } from '#sandbox/index.ts'
import { explain, versionProblem } from '#store/postgres/failures.ts'
import { connect } from '#tests/http/call.ts'
import { asked, key } from '#tests/http/stage.ts'
import { serverVariable, storeOfItsOwn } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

async function move(from: Sandbox, to: Sandbox): Promise<void> {
  const exported = await fetch(`${from.url}/_sandbox/export`)
  const imported = await fetch(`${to.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': exported.headers.get('content-type')!, 'x-sandbox-token': to.admin_token },
    body: await exported.arrayBuffer(),
  })
  expect(imported.status, await imported.text()).toBe(200)
}

test('from a file to the shared database and back: the same placements, and chains that go on', async () => {
  const clock = manualClock()
  await using laptop = await startSandbox({ clock })
  const namespace = randomBytes(8).toString('hex')
  await using shared = await startSandbox({ clock, store, namespace, demands_token: false })
  await using back = await startSandbox({ clock })
  const [one, two, three] = [connect(laptop), connect(shared), connect(back)]
  const slots = async (api: ReturnType<typeof connect>) =>
    (await api.accept('placements.list')).body.items.map(({ slot_id }) => slot_id)
  for (let index = 0; index < 5; index++) await one.accept('placements.create', { as: key, body: asked() })
  await move(laptop, shared)
  expect(await slots(two)).toEqual(await slots(one))
  await two.accept('placements.create', { as: key, body: asked() })
  await move(shared, back)
  expect(await slots(three)).toEqual(await slots(two))
  await three.accept('placements.create', { as: key, body: asked() })
  const { ok, chains } = (await three.accept('evidence.verify')).body
  expect([ok, chains.find(({ client_id }) => client_id === 'proj_demo')?.entries]).toEqual([true, 7])
})

test('a database that refuses a start is named without its password, with what to do', async () => {
  const start = async (change: Partial<URL>) => {
    const error = await startSandbox({ store: Object.assign(new URL(store), change).href }).then(
      () => null,
      (refused: unknown) => refused as { code: string; message: string; hint: string },
    )
    expect(error?.message).not.toMatch(/secret|mistyped/)
    return [error?.code, `${error?.message} ${error?.hint}`]
  }
  expect(await start({ password: 'mistyped' })).toEqual([
    'database_unwritable',
    expect.stringMatching(/password authentication failed for user "svc"\. Check user and password/),
  ])
  expect(await start({ password: '' })).toEqual([
    'database_unwritable',
    expect.stringMatching(/refused the sandbox: empty password returned by client\. Check user and password/),
  ])
  expect(await start({ pathname: '/absent' })).toEqual([
    'database_unwritable',
    expect.stringMatching(/database "absent" does not exist\. Create it, or name another one in the URL\.$/),
  ])
  expect(await start({ port: '1' })).toEqual([
    'database_unreachable',
    expect.stringMatching(/cannot be reached: .*\. Check that PostgreSQL runs there/),
  ])
  for (const search of ['?sslmode=require', '?sslmode=verify-full&sslrootcert=/absent.pem']) {
    expect(await start({ search })).toEqual([
      'database_unreachable',
      expect.stringMatching(/cannot be reached over TLS: .*(SSL connections|absent\.pem'?)\. Set sslmode in the URL/),
    ])
  }
})

test('a missing password is no bug of svc', () => {
  const refused = explain(
    new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
    'postgres://svc@db',
  )
  expect(refused).toMatchObject({ code: 'database_unwritable', hint: 'Check user and password.' })
})

test('an engine that lacks a feature is named with the sentence of its refusal', async () => {
  const { store: own = '' } = await storeOfItsOwn()
  const client = new pg.Client({ connectionString: own })
  await client.connect()
  // A server without advisory locks has no function of that name either.
  await client.query('ALTER FUNCTION pg_catalog.hashtextextended(text, bigint) RENAME TO absent')
  await client.end()
  await expect(startSandbox({ store: own })).rejects.toMatchObject({
    code: 'database_unwritable',
    message: expect.stringContaining('does not support a statement of the sandbox: function hashtextextended'),
    hint: expect.stringContaining('PostgreSQL 12 or later'),
  })
})

test('a server that is too old is refused with its version', () => {
  expect(versionProblem('postgres://svc@db/svc', 110_022)).toMatchObject({
    code: 'database_unwritable',
    message: 'postgres://svc@db/svc is PostgreSQL 11; the sandbox needs 12 or later.',
  })
  expect([120_000, 180_003].map((version) => versionProblem('postgres://svc@db/svc', version))).toEqual([null, null])
})

test('a schema is created once and then up to date; one of a newer version is refused and left alone', async () => {
  const namespace = randomBytes(8).toString('hex')
  const first = await migrateStore(`${store}?options=-c%20work_mem%3D8MB`, namespace)
  expect([first.from_version, first.to_version > 0]).toEqual([0, true])
  expect(await migrateStore(store, namespace)).toMatchObject({ from_version: first.to_version })
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  await client.query('UPDATE svc_schema SET version = 99')
  await client.end()
  const refused = expect.objectContaining({ code: 'database_newer', message: expect.stringContaining('number 99') })
  await expect(migrateStore(store, namespace)).rejects.toEqual(refused)
  await expect(startSandbox({ store, namespace })).rejects.toEqual(refused)
})

test('a user who may not create anything starts a node where a migration has made the tables', async () => {
  const { store: own = '' } = await storeOfItsOwn()
  const address = new URL(own)
  const user = address.pathname.slice(1)
  address.username = user
  const start = () => startSandbox({ store: address.href, namespace: 'granted', demands_token: false })
  const client = new pg.Client({ connectionString: own })
  await client.connect()
  try {
    await client.query(`CREATE ROLE ${user} LOGIN PASSWORD 'secret'`)
    await expect(start()).rejects.toMatchObject({ hint: expect.stringContaining('svc team migrate') })
    await migrateStore(own, 'granted')
    for (const schema of ['svc_granted', 'svc__team']) {
      await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${user};
        GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${user}; GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO ${user}`)
    }
    await using sandbox = await start()
    const api = connect(sandbox)
    await api.accept('placements.create', { as: key, body: asked() })
    await api.accept('sandbox.reset')
    await api.accept('tokens.create', { body: { name: 'dashboard', role: 'read' } })
  } finally {
    await client.query(`DROP OWNED BY ${user}; DROP ROLE ${user}`)
    await client.end()
  }
})
