/**
 * A process that holds a store with an edit against the rule that is about it: `node process.ts ADAPTER [URL]`, with the URL
 * of a PostgreSQL server. Each line on standard input is the name of an edit, or `none`, which is held against all rules; the
 * response is one line of JSON: the rules that it breaks, with the reason. A store that does not open ends the process.
 */
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import pg from 'pg'
import type { openPostgresStore } from '#store/postgres/index.ts'
import { stateFiles } from '#store/sqlite/copies/state-files.ts'
import type { openSqliteStore } from '#store/sqlite/index.ts'
import { type Edit, findEdit } from '../edits.ts'
import { importMutant } from '../mutant-modules.ts'
import { type StoreNodes, type StoreRule, sha256Hex, sharedRules, storeRules } from './rules.ts'

const [adapter = 'sqlite', url = ''] = process.argv.slice(2)
const rules: Record<string, StoreRule> = adapter === 'sqlite' ? storeRules : { ...storeRules, ...sharedRules }
/** For a rule that a mutant makes wait. */
const longest_ms = 25_000

const options = {
  ...{ pid: process.pid, now_ms: 1, journal_limit: 0, event_limit: 10_000, sha256Hex },
  seed: { projects: [], catalogue: { sha256: sha256Hex('{}'), demand: '{}' } },
  // A mutant fails in the background too; what it does wrong shows in the rules.
  report: () => {},
}

/** Connections that wait for a lock of this one, or for one that does. */
const waiting = `
  WITH RECURSIVE late AS (SELECT DISTINCT pid FROM pg_locks WHERE NOT granted), waiting (pid) AS (
    SELECT pid FROM late WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))
    UNION SELECT late.pid FROM waiting, late WHERE waiting.pid = ANY(pg_blocking_pids(late.pid)))
  SELECT count(*)::int AS count FROM waiting`

for await (const name of createInterface(process.stdin)) {
  const edit = name === 'none' ? null : findEdit(name)
  const about = edit?.checks[adapter === 'sqlite' ? 'store' : 'postgres']
  await check(name, edit === null ? [] : [edit], about === undefined ? Object.keys(rules) : [about])
}

async function check(name: string, edits: readonly Edit[], about: readonly string[]): Promise<void> {
  const { close, ...nodes } = await (adapter === 'sqlite' ? openFile(name, edits) : openNodes(name, edits))
  const broken: Record<string, string> = {}
  try {
    for (const rule of about) {
      const late = new Promise((_, reject) => setTimeout(reject, longest_ms, new Error('no end')).unref())
      await Promise.race([rules[rule]!(nodes), late]).catch((error: unknown) => {
        broken[rule] = String(error)
      })
    }
  } finally {
    await close()
  }
  process.stdout.write(`${JSON.stringify(broken)}\n`)
}

type Opened = StoreNodes & { close(): Promise<void> }

async function openFile(name: string, edits: readonly Edit[]): Promise<Opened> {
  const file = 'sandbox/store/sqlite/index.ts'
  const module = await importMutant<{ openSqliteStore: typeof openSqliteStore }>(file, `sqlite-${name}`, edits)
  const store = module.openSqliteStore({ ...options, path: ':memory:' })
  return {
    one: store,
    other: store,
    // One process owns it: writes of the same turn are as near to each other as two can be.
    overlap: (first, second) => Promise.all([first(), second()]),
    close: () => store.close(),
  }
}

async function openNodes(name: string, edits: readonly Edit[]): Promise<Opened> {
  const file = 'sandbox/store/postgres/index.ts'
  const module = await importMutant<{ openPostgresStore: typeof openPostgresStore }>(file, `postgres-${name}`, edits)
  const namespace = randomBytes(8).toString('hex')
  const open = () =>
    module.openPostgresStore({ ...options, url, namespace, isSeeded: false, files: stateFiles(options) })
  const [{ store: one }, { store: other }] = [await open(), await open()]
  const client = new pg.Client({ connectionString: url, options: `-c search_path="svc_${namespace}"` })
  await client.connect()
  return {
    one,
    other,
    overlap: (first, second) => overlap(client, first, second),
    async close() {
      await client.end()
      await one.close()
      await other.close()
    },
  }
}

/** Holds the row that a commit needs last, until both writes have come as far as they can. */
async function overlap<Result>(client: pg.Client, first: () => Promise<Result>, second: () => Promise<Result>) {
  const started: Promise<Result>[] = []
  let ended = 0
  await client.query('BEGIN')
  try {
    await client.query('SELECT FROM head FOR UPDATE')
    for (const write of [first, second]) {
      const result = write()
      started.push(result)
      result.catch(() => {}).then(() => ended++)
      for (let held = 0; held + ended < started.length; ) {
        held = (await client.query<{ count: number }>(waiting)).rows[0]!.count
      }
    }
  } finally {
    await client.query('COMMIT')
  }
  return Promise.all(started) as Promise<[Result, Result]>
}
