/** `npm run test:shared`: histories of nodes whose primary fails over to a synchronous standby and back, and of nodes behind a pooler. */
import { expect, test } from 'vitest'
import { poolerProgram } from '#tests/postgres/find-pooler.ts'
import { startPooler } from '#tests/postgres/pooler.ts'
import { startReplicated } from '#tests/postgres/replicated.ts'
import { startPostgres } from '#tests/postgres/server.ts'
import { firstSeed, suiteSeconds, writeHistory } from './budget.ts'
import { createFailovers } from './failover.ts'
import { type FaultKind, faultKinds } from './faults.ts'
import { type RunOptions, runHistory } from './run.ts'

const isLong = suiteSeconds > 120
const seconds = Number(process.env.SHARED_FAILOVER_SECONDS ?? (isLong ? 90 : 8))
const timeout = seconds * 4_000 + 400_000

/** How nodes find the new primary: its URL is in theirs, or the address that they have leads to it from then on. */
const addresses = ['both servers', 'an address that moves'] as const
const tried = isLong ? addresses : [addresses[firstSeed % 2]!]

/** Faults that a node recovers from in moments: a failover is what takes time here. */
const short = faultKinds.filter(({ name }) => ['delay', 'hold', 'reset', 'kill', 'crash'].includes(name))

/** The first fault is that one, whatever the dice choose. */
function first(one: FaultKind, kinds: readonly FaultKind[]): FaultKind[] {
  let isFirst = true
  return kinds.map((kind) => ({
    name: kind.name,
    run(options) {
      const chosen = isFirst ? one : kind
      isFirst = false
      return chosen.run(options)
    },
  }))
}

async function check(options: Omit<RunOptions, 'seed' | 'duration_ms' | 'pause_ms'>): Promise<void> {
  const run = await runHistory({ seed: firstSeed, duration_ms: seconds * 1_000, pause_ms: 2_000, ...options })
  const { history, problems, counts } = run
  const found = problems.slice(0, 10).map(({ check: name, text }) => `${name}: ${text}`)
  if (found.length > 0) throw new Error([...found, `history: ${writeHistory(run)}`].join('\n'))
  const kinds = history.operations.map(({ outcome }) => outcome.kind)
  console.log(
    `seed ${firstSeed}: ${kinds.filter((kind) => kind === 'done').length} of ${kinds.length} acknowledged`,
    counts,
  )
  expect(kinds.filter((kind) => kind === 'done').length).toBeGreaterThan(50)
}

test.for(tried)(
  `failovers to a synchronous standby, by a URL of %s, seed ${firstSeed}`,
  { timeout },
  async (address) => {
    await using servers = await startReplicated({ isSynchronous: true })
    const { store, database, fault } = createFailovers(servers, address === 'both servers')
    await check({ store, database, faults: first(fault, [fault, ...short]) })
  },
)

if (poolerProgram !== undefined) {
  test(`behind a pooler in session mode, seed ${firstSeed}`, { timeout }, async () => {
    const server = await startPostgres({ isDurable: true })
    try {
      await using pooler = await startPooler(server, 'session', ['server_login_retry = 1', 'default_pool_size = 80'])
      const restart: FaultKind = {
        name: 'pooler',
        run({ note }) {
          note('the pooler is restarted')
          return pooler.restart()
        },
      }
      const others = faultKinds.filter(({ name }) => name !== 'pause')
      await check({ store: pooler.url, database: server, faults: first(restart, [restart, ...others]) })
    } finally {
      await server.stop()
    }
  })
} else {
  console.log('pgbouncer is not installed: the history behind a pooler is left out')
}
