/**
 * `npm run test:shared`: histories of two to four nodes on one PostgreSQL, with faults of nodes, network, clocks and database,
 * for 25 s (SHARED_SECONDS) from a new seed (SHARED_SEED). Each is checked whole. The processes are real: the same seed tries
 * the same, and may have another outcome.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '#tests/postgres/server.ts'
import { firstSeed, historySeconds, pauseSeconds, suiteSeconds, writeHistory } from './budget.ts'
import { faultKinds } from './faults.ts'
import { runHistory } from './run.ts'

let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true })
})

afterAll(() => postgres.stop())

test(
  `histories of nodes that share a database hold, from seed ${firstSeed} on`,
  async () => {
    const started = performance.now()
    const total = { histories: 0, operations: 0, acknowledged: 0, unknown: 0, events: 0 }
    const faults = Object.fromEntries(faultKinds.map(({ name }) => [name, 0]))
    for (let seed = firstSeed; performance.now() - started < suiteSeconds * 1_000; seed++) {
      const run = await runHistory({
        ...{ seed, store: postgres.url, database: postgres },
        ...{ duration_ms: historySeconds * 1_000, pause_ms: pauseSeconds * 1_000 },
      })
      const { history, exported, problems, counts } = run
      const kinds = history.operations.map(({ outcome }) => outcome.kind)
      total.histories++
      total.operations += kinds.length
      total.acknowledged += kinds.filter((kind) => kind === 'done').length
      total.unknown += kinds.filter((kind) => kind === 'unknown').length
      total.events += exported.events.length
      for (const [name, count] of Object.entries(counts)) faults[name] = (faults[name] ?? 0) + count
      const found = problems.slice(0, 10).map(({ check, text }) => `${check}: ${text}`)
      const again = `SHARED_SEED=${seed} SHARED_HISTORY_SECONDS=${historySeconds} SHARED_PAUSE_SECONDS=${pauseSeconds} npm run test:shared`
      if (found.length > 0)
        throw new Error([`${found.join('\n')}`, `history: ${writeHistory(run)}`, `again: ${again}`].join('\n'))
    }
    console.log(`from seed ${firstSeed}:`, total, faults)
    // Few on a computer that is busy with other work.
    expect(total.acknowledged).toBeGreaterThan(20)
    expect(Object.values(faults).reduce((sum, count) => sum + count)).toBeGreaterThan(1)
  },
  suiteSeconds * 2_000 + 400_000,
)
