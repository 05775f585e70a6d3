/** Killed while it resets: the next start finds all of the old state or all of the new one. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Pool } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const kills = 6
const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
const database = join(temporaryDirectory(), 'sandbox.db')
let running: Child | undefined

afterAll(() => running?.kill())

test(`${kills} kills during a reset leave a complete state`, async () => {
  let took_ms = 0
  let placed = 0
  running = await startChild({ database, rate_limit: 'off' })
  for (let kill = 0; kill < kills; kill++) {
    const sandbox = running
    await place(sandbox, 40)
    placed += 40
    const started = performance.now()
    const reset = fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
    const answered = reset.then(
      ({ ok }) => ok,
      () => false,
    )
    // The first reset completes and measures its time; the others are killed at later and later moments of it.
    if (kill === 0) {
      await answered
      took_ms = performance.now() - started
    }
    while (performance.now() - started < (took_ms * kill) / kills) await new Promise((resolve) => setImmediate(resolve))
    await sandbox.kill()
    expect(sandbox.reports).toEqual([])

    const found = readState(database)
    const old = { slots: placed, entries: placed, projects: 3, last_event: 'placement.decided', check: 'ok' }
    const fresh = { slots: 0, entries: 0, projects: 3, last_event: 'sandbox.reset', check: 'ok' }
    if (await answered) expect(found).toEqual(fresh)
    else expect([old, fresh]).toContainEqual(found)
    placed = found.slots
    running = await startChild({ database, rate_limit: 'off' })
  }
})

async function place({ url }: Child, count: number): Promise<void> {
  const pool = new Pool(url, { connections: 8 })
  const body = JSON.stringify({ client_id: 'proj_demo', session_id: 'kill', job_type: 'chat' })
  const place = async () => {
    const reply = await pool.request({ method: 'POST', path: '/v1/placements', headers, body })
    expect(reply.statusCode, await reply.body.text()).toBe(200)
  }
  await Promise.all(Array.from({ length: count }, place))
  await pool.close()
}

/** The state that a start will find. */
function readState(path: string) {
  const db = new Database(path)
  try {
    const one = (query: string) => db.prepare(`SELECT ${query}`).pluck().get()
    return {
      slots: one('count(*) FROM slot') as number,
      entries: one('count(*) FROM evidence'),
      projects: one('count(*) FROM project'),
      last_event: one('type FROM event ORDER BY seq DESC LIMIT 1'),
      check: db.pragma('integrity_check', { simple: true }),
    }
  } finally {
    db.close()
  }
}
