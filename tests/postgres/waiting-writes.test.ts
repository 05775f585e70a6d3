/** Writes that come while their node waits for a project that another node writes to: they share its next transaction. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { connect } from '#tests/http/call.ts'
import { asked, key } from '#tests/http/stage.ts'
import { serverVariable } from './shared-store.ts'

const store = process.env[serverVariable] ?? ''

test('a node alone locks and loads in one round trip; beside another one its writes wait for the project together', async () => {
  const namespace = randomBytes(8).toString('hex')
  const options = { store, namespace, rate_limit: 'off' as const, demands_token: false }
  await using one = await startSandbox(options)
  const api = connect(one)
  const place = async (session_id: string) =>
    (await api.accept('placements.create', { as: key, body: asked({ session_id }) })).body.slot_id
  await place('first')
  const sent = vi.spyOn(pg.Client.prototype, 'query')
  onTestFinished(() => sent.mockRestore())
  const readText = (query: unknown) => (query as { text?: string }).text ?? ''
  const countLocks = () => sent.mock.calls.filter(([query]) => /FROM chain .*FOR UPDATE/s.test(readText(query))).length
  const countRead = () => {
    const read = sent.mock.calls.filter(
      ([query], index) => /newest/.test(readText(query)) && sent.mock.settledResults[index]?.type === 'fulfilled',
    )
    return new Set(JSON.stringify(read).match(/later_\d/g)).size
  }
  await place('alone')
  expect(countLocks()).toBe(1)

  await using other = await startSandbox(options)
  await connect(other).accept('placements.create', { as: key, body: asked({ session_id: 'other' }) })
  // From its next commit the first node knows that it is not alone.
  await place('beside')
  const client = new pg.Client({ connectionString: store, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  try {
    await client.query('BEGIN; SELECT FROM chain FOR UPDATE')
    const before = countLocks()
    const waiting = [place('waits')]
    const blocked = 'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
    await expect.poll(async () => (await client.query(blocked)).rowCount, { interval: 20 }).toBe(1)
    waiting.push(...Array.from({ length: 8 }, (_, index) => place(`later_${index}`)))
    // Each is queued once it has read the consent of its session.
    await expect.poll(countRead, { interval: 20 }).toBe(8)
    await client.query('COMMIT')
    await Promise.all(waiting)
    expect(countLocks() - before).toBe(2)
    const { rows } = await client.query(
      `SELECT count(DISTINCT slot.xmin::text)::int AS transactions FROM slot JOIN job ON job.id = job_id
       JOIN session ON session.id = job.session WHERE session_id = 'waits' OR session_id LIKE 'later%'`,
    )
    expect(rows).toEqual([{ transactions: 1 }])
  } finally {
    await client.end()
  }
})
