/** A reset under load: nothing is left half done, and no request gets an internal error. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { contract } from '#contract/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { startLoad } from '#tests/reliability/load.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test.each(['memory', 'file'])('resets among placements, frames and beacons leave nothing broken: %s', async (where) => {
  const reports: unknown[] = []
  const database = where === 'file' ? join(temporaryDirectory(), 'sandbox.db') : ':memory:'
  await using sandbox = await startSandbox({ database, rate_limit: 'off', report: (error) => reports.push(error) })
  const load = startLoad(sandbox, 16)
  for (let turn = 0; turn < 40; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    await load.ask(contract['sandbox.reset'], {})
    for (const id of ['beacons.list', 'placements.list', 'requests.list', 'evidence.verify'] as const) {
      const response = await load.ask(contract[id])
      expect(response.status, response.body).toBe(200)
    }
  }
  await load.stop()
  const verified = await request(`${sandbox.url}/_sandbox/evidence/verify`)
  expect(await verified.body.json()).toMatchObject({ ok: true })
  expect(load.problems.slice(0, 5)).toEqual([])
  expect(reports.slice(0, 5)).toEqual([])
})

test('a reset of a file that another program has locked changes nothing, and the next one is complete', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const reports: unknown[] = []
  await using sandbox = await startSandbox({ database, report: (error) => reports.push(error) })
  await place(sandbox)
  const other = new Database(database)
  other.exec('BEGIN IMMEDIATE')
  const refused = await request(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
  expect([refused.statusCode, await refused.body.json()]).toMatchObject([503, { reason_code: 'storage_unavailable' }])
  expect(await countSlots(sandbox)).toBe(1)
  other.exec('ROLLBACK')
  other.close()
  await place(sandbox)
  expect(await countSlots(sandbox)).toBe(2)
  const done = await request(`${sandbox.url}/_sandbox/reset`, { method: 'POST' })
  expect([done.statusCode, await done.body.json()]).toEqual([200, { ok: true }])
  expect(await countSlots(sandbox)).toBe(0)
  await place(sandbox)
  expect(reports).toEqual([expect.objectContaining({ name: 'StorageError' })])
})

test('a reader sees a file before a reset or after it, never between, and the file becomes small again', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  let size = 0
  {
    await using sandbox = await startSandbox({ database, rate_limit: 'off' })
    for (let count = 0; count < 300; count++) await place(sandbox)
    const reader = new Database(database, { readonly: true })
    const count = reader.prepare(
      'SELECT (SELECT count(*) FROM slot) AS slots, (SELECT count(*) FROM project) AS projects',
    )
    reader.exec('BEGIN')
    expect(count.get()).toEqual({ slots: 300, projects: 3 })
    await request(`${sandbox.url}/_sandbox/reset`, { method: 'POST' }).then(({ body }) => body.dump())
    expect(count.get()).toEqual({ slots: 300, projects: 3 })
    reader.exec('COMMIT')
    expect(count.get()).toEqual({ slots: 0, projects: 3 })
    expect(reader.pragma('integrity_check', { simple: true })).toBe('ok')
    size = (reader.pragma('page_count', { simple: true }) as number) * 8_192
    reader.close()
  }
  expect(statSync(database).size).toBe(size)
  expect(size).toBeLessThan(600_000)
})

async function place(sandbox: Sandbox): Promise<void> {
  const reply = await request(`${sandbox.url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'proj_demo', session_id: 'reset', job_type: 'chat' }),
  })
  expect(reply.statusCode, await reply.body.text()).toBe(200)
}

async function countSlots(sandbox: Sandbox): Promise<number> {
  const reply = await request(`${sandbox.url}/_sandbox/placements`)
  return ((await reply.body.json()) as { items: unknown[] }).items.length
}
