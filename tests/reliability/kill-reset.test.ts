/** Killed while it resets: the next start finds all of the old state or all of the new one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Pool } from 'undici'
import { afterAll, expect, test } from 'vitest'
import { type Child, startChild } from './child.ts'

const kills = 10
const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
const directory = mkdtempSync(join(tmpdir(), 'svc-kill-reset-'))
const database = join(directory, 'sandbox.db')
let running: Child | undefined

afterAll(async () => {
  await running?.kill()
  rmSync(directory, { recursive: true, force: true })
})

test(`${kills} kills at a reset leave a state that is whole`, { timeout: 60_000 }, async () => {
  for (let kill = 0; kill < kills; kill++) {
    const sandbox = await startChild({ database, rate_limit: 'off' })
    running = sandbox
    const before = await stateOf(sandbox)
    await place(sandbox, 60)
    const reset = fetch(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
    const answered = reset.then(
      ({ ok }) => ok,
      () => false,
    )
    // The first is killed before the request is read, the last when it has been answered.
    if (kill === kills - 1) await answered
    else for (let turn = 0; turn < kill * 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    await sandbox.kill()
    expect(sandbox.reports).toEqual([])

    const whole = new Database(database)
    expect(whole.pragma('integrity_check', { simple: true })).toBe('ok')
    whole.close()
    running = await startChild({ database, rate_limit: 'off' })
    const after = await stateOf(running)
    const old = { placements: before.placements + 60, evidence: before.evidence + 60, projects: 3 }
    if (await answered) expect(after).toEqual({ placements: 0, evidence: 0, projects: 3 })
    else expect([old, { placements: 0, evidence: 0, projects: 3 }]).toContainEqual(after)
    await running.kill()
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

/** How much there is, in a state whose evidence holds. */
async function stateOf({ url }: Child) {
  const get = async (path: string) => {
    const reply = await fetch(`${url}${path}`)
    expect(reply.status, path).toBe(200)
    return reply.json()
  }
  const evidence = (await get('/_sandbox/evidence/verify')) as { ok: boolean; chains: { entries: number }[] }
  expect(evidence.ok).toBe(true)
  const placements = (await get('/_sandbox/placements?limit=1000')) as { items: unknown[] }
  const info = (await get('/_sandbox/info')) as { projects: unknown[] }
  return {
    placements: placements.items.length,
    evidence: evidence.chains.reduce((sum, { entries }) => sum + entries, 0),
    projects: info.projects.length,
  }
}
