import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { EvidenceVerification } from '#contract/resources/evidence.ts'
import { manualClock } from '#platform/clock.ts'
import { createPlatform, sha256Hex } from '#platform/platform.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { createVerificationThread } from '#sandbox/verification-thread.ts'
import { openSqliteStore } from '#store/sqlite/index.ts'
import type { Store } from '#store/store.ts'
import { addBeacons } from '#tests/reliability/large-state.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { verifyChains } from './verification.ts'
import type { ChainWork } from './verify-rows.ts'

test('a long chain is verified on a thread, from its file, while entries are appended', async () => {
  const path = `${temporaryDirectory()}/sandbox.db`
  const long = 6_000
  {
    await using sandbox = await startSandbox({ database: path, rate_limit: 'off' })
    await place(sandbox)
  }
  addBeacons(path, long)
  {
    await using sandbox = await startSandbox({ database: path, rate_limit: 'off' })
    const verifying = fetch(`${sandbox.url}/_sandbox/evidence/verify`).then((response) => response.json())
    for (let count = 0; count < 50; count++) await place(sandbox)
    const { ok, chains } = EvidenceVerification.parse(await verifying)
    expect(ok).toBe(true)
    expect(chains[0]!.entries).toBeGreaterThan(long)
  }
  const db = new Database(path)
  const broken = db.prepare('SELECT seq, ref FROM evidence WHERE seq = ?').get(long / 2) as { seq: number; ref: number }
  db.prepare("UPDATE beacon SET event = 'click' WHERE id = ?").run(broken.ref)
  db.close()
  const store = openStore(path)
  const works: ChainWork[] = []
  const thread = createVerificationThread()
  const platform = createPlatform({ clock: manualClock(), signingKey: new Uint8Array(32) })
  const verifyOnThread: typeof thread = (work) => {
    works.push(work)
    return thread(work)
  }
  const { chains } = await verifyChains({ store, platform, report: () => {}, verifyOnThread }, { isFull: true })
  const problem = `The beacon of entry ${broken.seq} was changed after it was recorded.`
  expect(chains[0]).toMatchObject({ entries: broken.seq - 1, broken_at: broken.seq, problem })
  expect(works.map(({ project }) => project.client_id)).toEqual(['proj_demo'])
  await store.close()
})

test('a chain that grows faster than it is verified is verified up to where it was', async () => {
  const path = `${temporaryDirectory()}/sandbox.db`
  {
    await using sandbox = await startSandbox({ database: path, rate_limit: 'off' })
    expect((await Promise.all(Array.from({ length: 5 }, () => place(sandbox)))).map(({ status }) => status)).toEqual(
      Array(5).fill(200),
    )
  }
  const store = openStore(path)
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
  const { ok, chains } = await verifyChains({
    store: growing,
    platform,
    report: () => {},
    verifyOnThread: createVerificationThread(),
  })
  expect(chains.map(({ entries, problem }) => ({ entries, problem }))).toContainEqual({ entries: 5, problem: null })
  expect([ok, appended]).toEqual([true, 1])
  await store.close()
})

function place({ url, keys }: Sandbox): Promise<Response> {
  return fetch(`${url}/v1/placements`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.secret_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' }),
  })
}

function openStore(path: string): Store {
  return openSqliteStore({
    ...{ path, pid: process.pid, now_ms: 1, journal_limit: 0, event_limit: 10, sha256Hex, report: () => {} },
    seed: { projects: [], catalogue: { sha256: sha256Hex('{}'), demand: '{}' } },
  })
}
