/** What both adapters together must show. */
import { expect, test } from 'vitest'
import { compareAdapters } from './same-answers.ts'
import { serverVariable } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

test('the run has a PostgreSQL', () => expect(store).toMatch(/^postgres:/))

const total: Record<string, number> = {}

test.each([1, 2, 3, 4, 5, 6])(
  'the same requests get the same responses and leave the same rows, seed %i',
  async (seed) => {
    const rows = await compareAdapters(store, seed, 150)
    for (const [table, count] of Object.entries(rows)) total[table] = (total[table] ?? 0) + count
  },
)

test('the rows that were compared are of every kind', () => {
  for (const table of ['aside_beacon', 'beacon', 'consent', 'evidence', 'event', 'exchange', 'job', 'slot']) {
    expect(total[table], table).toBeGreaterThan(10)
  }
})
