/** The short selection of `npm run test:postgres`: a server, the schema, and the same answers as those of SQLite. */
import { expect, test } from 'vitest'
import { compareAdapters } from '#tests/postgres/same-answers.ts'
import { startPostgres } from '#tests/postgres/server.ts'

test('a sandbox on PostgreSQL responds as one on SQLite does, and leaves the same rows', async () => {
  const server = await startPostgres()
  try {
    const rows = await compareAdapters(server.url, 1, 60)
    expect(rows.slot).toBeGreaterThan(5)
  } finally {
    await server.stop()
  }
})
