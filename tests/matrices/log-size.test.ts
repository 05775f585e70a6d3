/**
 * The log beside the database stays bounded: after kills that came before a checkpoint, and after readers that held it. And
 * what a kill may lose of the journal is no more than the docs say.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'undici'
import { expect, test } from 'vitest'
import { type Child, startChild } from '#tests/reliability/child.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const megabyte = 1_048_576
const lanes = 8

test('a start after a kill copies a long log, so that kills do not add up', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  let answered: readonly (readonly string[])[] = []
  for (let kill = 0; kill < 3; kill++) {
    const child = await start(database)
    expect(logSize(database), `after kill ${kill}`).toBeLessThan(17 * megabyte)
    await expectJournal(child, answered)
    const load = startWriting(child)
    await expect.poll(() => logSize(database), { interval: 5 }).toBeGreaterThan(20 * megabyte)
    await child.kill()
    await load.stop()
    expect(logSize(database)).toBeGreaterThan(20 * megabyte)
    answered = load.answered
  }
  const last = await start(database)
  await expectJournal(last, answered)
  const verified = await fetch(`${last.url}/_sandbox/evidence/verify`)
  expect(await verified.json()).toMatchObject({ ok: true })
  expect(await last.close()).toBe(0)
})

test('a log that grew while a reader held it is cut when it starts over', async () => {
  const database = join(temporaryDirectory(), 'sandbox.db')
  const child = await start(database)
  const reader = new Database(database, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM slot').get()
  const load = startWriting(child)
  await expect.poll(() => logSize(database), { interval: 20 }).toBeGreaterThan(90 * megabyte)
  reader.exec('COMMIT')
  reader.close()
  await expect.poll(() => logSize(database), { interval: 20 }).toBeLessThanOrEqual(64 * megabyte)
  await load.stop()
  expect(child.reports).toEqual([])
  expect(await child.close()).toBe(0)
})

function start(database: string): Promise<Child> {
  return startChild({ database, rate_limit: 'off' })
}

/** Expects every request that was answered before a kill in the journal, but for the last one of each connection. */
async function expectJournal({ url }: Child, answered: readonly (readonly string[])[]): Promise<void> {
  for (const ids of answered) {
    for (const id of ids.slice(0, -1).slice(-40)) {
      const response = await fetch(`${url}/_sandbox/requests/${id}`)
      expect(response.status, `${id}: ${await response.text()}`).toBe(200)
    }
  }
}

function logSize(database: string): number {
  const log = `${database}-wal`
  return existsSync(log) ? statSync(log).size : 0
}

/** Writes placements on several connections until it is stopped, or the sandbox is gone. */
function startWriting({ url }: Child): { answered: readonly (readonly string[])[]; stop(): Promise<void> } {
  let isRunning = true
  const answered: string[][] = []
  const body = JSON.stringify({ client_id: 'proj_demo', session_id: 'log', job_type: 'chat', slots_requested: 4 })
  const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
  const lane = async () => {
    const client = new Client(url)
    const ids: string[] = []
    answered.push(ids)
    try {
      while (isRunning) {
        const reply = await client.request({ method: 'POST', path: '/v1/placements', headers, body })
        await reply.body.dump()
        ids.push(String(reply.headers['x-request-id']))
      }
    } catch (error) {
      if (!(error instanceof Error && ('code' in error || error.name === 'SocketError'))) throw error
    } finally {
      await client.destroy()
    }
  }
  const running = Array.from({ length: lanes }, lane)
  return {
    answered,
    async stop() {
      isRunning = false
      await Promise.all(running)
    },
  }
}
