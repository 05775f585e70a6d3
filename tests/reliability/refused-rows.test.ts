/** A row that the journal cannot store costs no response, and no row beside it. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test('requests whose rows the journal refuses are answered and take effect; others are stored, and the lost are counted', async () => {
  const file = join(temporaryDirectory(), 'refusing.db')
  await using sandbox = await startSandbox({ database: file, port: 0 })
  const db = new Database(file)
  db.exec(`CREATE TRIGGER refuse BEFORE INSERT ON exchange WHEN NEW.session_id = 'refused'
    BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END`)
  db.close()
  const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  const create = (session_id: string) =>
    client.placements.create({ body: { client_id: 'proj_demo', session_id, job_type: 'chat' } })
  const answers = await Promise.all(['kept', 'refused', 'kept', 'refused', 'refused'].map(create))
  expect(answers.map(({ status }) => status)).toEqual(Array(5).fill('ready'))

  const stored = await client.requests.list({ query: { path: '/v1/placements' } })
  expect(stored.items.map(({ session_id }) => session_id)).toEqual(['kept', 'kept'])
  expect((await client.placements.list({ query: { session_id: 'refused' } })).items).toHaveLength(3)
  expect((await client.sandbox.info()).journal.dropped).toBe(3)
})
