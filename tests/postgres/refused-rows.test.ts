/** A row that the journal cannot store costs no response, and no row beside it: as tests/reliability has it for SQLite. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { startSandbox } from '#sandbox/index.ts'
import { serverVariable } from './shared-store.ts'

const store = process.env[serverVariable]!

/** Makes the database refuse the rows of a session, in a table. */
async function refuse(namespace: string, table: 'exchange' | 'event'): Promise<void> {
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  await client.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'refused by a trigger' USING ERRCODE = '22023'; END $$`)
  const isRefused = table === 'exchange' ? "NEW.session_id = 'refused'" : "NEW.type = 'consent.changed'"
  await client.query(
    `CREATE TRIGGER refuse BEFORE INSERT ON ${table} FOR EACH ROW WHEN (${isRefused}) EXECUTE FUNCTION refuse()`,
  )
  await client.end()
}

test('requests whose rows the journal refuses are answered and take effect; others are stored, and the lost are counted', async () => {
  const namespace = randomBytes(8).toString('hex')
  const reports: unknown[] = []
  await using sandbox = await startSandbox({
    store,
    namespace,
    port: 0,
    demands_token: false,
    report: (error) => reports.push(error),
  })
  await refuse(namespace, 'exchange')
  const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  const create = (session_id: string) =>
    client.placements.create({ body: { client_id: 'proj_demo', session_id, job_type: 'chat' } })
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(['kept', 'refused', 'kept', 'refused', 'refused'].map(create))
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill('ready'))
  }
  const stored = await client.requests.list({ query: { path: '/v1/placements' } })
  expect(stored.items.map(({ session_id }) => session_id)).toEqual(Array(6).fill('kept'))
  expect((await client.placements.list({ query: { session_id: 'refused' } })).items).toHaveLength(9)
  expect((await client.sandbox.info()).journal).toMatchObject({ dropped: 9 })
  expect(reports).toEqual([])
})

test('a write that is refused itself fails alone, and the rows of the journal are stored', async () => {
  const namespace = randomBytes(8).toString('hex')
  await using sandbox = await startSandbox({ store, namespace, port: 0, demands_token: false, report: () => {} })
  await refuse(namespace, 'event')
  const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  const [placement, consent, other] = await Promise.allSettled([
    client.placements.create({ body: { client_id: 'proj_demo', session_id: 'one', job_type: 'chat' } }),
    client.consent.set({
      body: {
        client_id: 'proj_demo',
        session_id: 'two',
        source: 'wrapper_cmp',
        purposes: { semantic_targeting: true },
      },
    }),
    client.placements.create({ body: { client_id: 'proj_demo', session_id: 'three', job_type: 'chat' } }),
  ])
  expect([placement.status, consent.status, other.status]).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  const { items } = await client.requests.list({ query: { path: '/v1/' } })
  expect(items.map(({ status }) => status).toSorted()).toEqual([200, 200, 500])
  expect((await client.sandbox.info()).journal.dropped).toBe(0)
})
