import { expect, test } from 'vitest'
import { manualClock } from '#platform/clock.ts'
import { createPlatform, sha256Hex } from '#platform/platform.ts'
import { startSandbox } from '#sandbox/index.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { verifyChains } from './verification.ts'

test('a chain that grows faster than it is verified is verified up to where it was', async () => {
  const path = `${temporaryDirectory()}/sandbox.db`
  {
    await using sandbox = await startSandbox({ database: path, rate_limit: 'off' })
    const place = () =>
      fetch(`${sandbox.url}/v1/placements`, {
        method: 'POST',
        headers: { authorization: `Bearer ${sandbox.keys.secret_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' }),
      })
    expect((await Promise.all(Array.from({ length: 5 }, place))).map(({ status }) => status)).toEqual(
      Array(5).fill(200),
    )
  }
  const store = openSqliteStore({
    ...{ path, pid: process.pid, now_ms: 1, journal_limit: 0, event_limit: 10, sha256Hex, report: () => {} },
    seed: { projects: [], catalogue: { sha256: sha256Hex('{}'), demand: '{}' } },
  })
  let appended = 0
  /** Other writers append as much as is read, ten times. */
  const growing = new Proxy(store, {
    get(target, name) {
      if (name !== 'listChainEntries') return Reflect.get(target, name)
      return async (...range: Parameters<typeof store.listChainEntries>) => {
        const rows = await target.listChainEntries(...range)
        if (appended < 10 && rows.length > 0) {
          appended++
          const evidence = {
            kind: 'decision',
            ref: 0,
            at_ms: 1,
            build: (seq: number) => JSON.stringify({ seq }),
          } as const
          const project = (await target.listProjects()).find(({ id }) => id === range[0])!
          const job = { id: appended, project_id: project.id, session_id: null, key_id: 1, created_at_ms: 1, facts: {} }
          const slot = { id: appended, due_at_ms: 1, decision: null, evidence }
          await target.createJob({ ...job, job_type: 'chat', mode: 'test' }, [slot], null, [])
        }
        return rows
      }
    },
  })
  const platform = createPlatform({ clock: manualClock(), signingKey: new Uint8Array(32) })
  const { ok, chains } = await verifyChains({ store: growing, platform, report: () => {} })
  expect(chains.map(({ entries, problem }) => ({ entries, problem }))).toContainEqual({ entries: 5, problem: null })
  expect([ok, appended]).toEqual([true, 1])
  await store.close()
})
