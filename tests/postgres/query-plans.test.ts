/**
 * Statements are prepared when the tables are empty, and keep their plans: none may read a table from end to end, or it does
 * so for every request until the server has analyzed the table.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, test } from 'vitest'
import { manualClock, startSandbox } from '../../sandbox/index.ts'
import { connect } from '../http/call.ts'
import { asked, beacon, key } from '../http/stage.ts'
import { serverVariable } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

test('placements, beacons, consents and polls find their rows by an index, however empty the tables were', async () => {
  const namespace = randomBytes(8).toString('hex')
  {
    const clock = manualClock()
    await using sandbox = await startSandbox({ store, namespace, clock, rate_limit: 'off', demands_token: false })
    const api = connect(sandbox)
    const client_id = 'proj_demo'
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        Array.from({ length: 5 }, async (_, index) => {
          const session_id = `sess_${round}_${index}`
          await api.accept('consent.set', { as: key, body: { client_id, session_id, decision: 'granted' } })
          const caps = { frequency_cap: { session: 5, global_per_hour: 100, prompt_interval: 2 } }
          const body = asked({ session_id, overrides: caps })
          const { slot_id, placement } = (await api.accept('placements.create', { as: key, body })).body
          for (const event of ['render', 'heartbeat'] as const) {
            await api.accept('beacons.send', { as: key, body: beacon(clock, placement!, event) })
          }
          await api.accept('decisions.get', { as: key, params: { slot_id } })
        }),
      )
    }
  }
  const client = new pg.Client({ connectionString: store })
  await client.connect()
  try {
    // A connection reports what it has read when it ends, some time after the node did.
    const read = async () => {
      const { rows } = await client.query<{ name: string; scanned: string; found: string }>(
        `SELECT relname AS name, seq_tup_read AS scanned, idx_tup_fetch AS found FROM pg_stat_user_tables
         WHERE schemaname = $1 AND relname IN ('beacon', 'consent', 'job', 'session', 'slot') ORDER BY relname`,
        [`svc_${namespace}`],
      )
      return rows.map(({ name, scanned, found }) => [name, Number(scanned), Number(found) > 0])
    }
    const byIndex = ['beacon', 'consent', 'job', 'session', 'slot'].map((name) => [name, 0, true])
    await expect.poll(read, { interval: 50 }).toEqual(byIndex)
  } finally {
    await client.end()
  }
})
