/** Whether the checks notice nodes with a fault put in on purpose: two each time, all of them in long runs. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type PostgresServer, startPostgres } from '#tests/postgres/server.ts'
import { suiteSeconds } from './budget.ts'
import { faultKinds } from './faults.ts'
import { mutants, quickMutants } from './mutants.ts'
import { runHistory } from './run.ts'

/** Histories of 6 s in which a mutant has to be found. */
const maxHistories = 6

let postgres: PostgresServer

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true })
})

afterAll(() => postgres.stop())

test.each(mutants.filter(({ name }) => suiteSeconds > 120 || quickMutants.includes(name)))(
  '$name: $wrong',
  async ({ name, under }) => {
    for (let seed = 1; seed <= maxHistories; seed++) {
      const { problems } = await runHistory({
        ...{ seed, store: postgres.url, database: postgres, duration_ms: 6_000, pause_ms: 3_000, quiet_ms: 1_000 },
        faults: faultKinds.filter((kind) => under.includes(kind.name)),
        ...{ env: { SVC_MUTANT: name }, instead: join(import.meta.dirname, 'mutant-node.ts') },
      })
      if (problems.length > 0) return
    }
    expect.fail(`${name} is not found in ${maxHistories} histories`)
  },
)
