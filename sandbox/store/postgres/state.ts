/** The rows of a whole state: seeded in a fresh one, cleared before another one replaces them, and announced. */
import { DamageWarning, type Seed } from '../store.ts'
import { seedRows, stateEvent } from '../writes/state.ts'
import type { Batch } from './batch/batch.ts'
import { encodeBytes, toJson } from './batch/json.ts'
import { tableList } from './copies/state-copy.ts'
import type { Connection } from './group-commit.ts'
import type { Link } from './servers/link.ts'

/** How often the whole state was replaced, and the number of the event that announced it the last time. */
export interface Generation {
  count: number
  event_seq: number
}

export async function readGeneration({ read }: Connection): Promise<Generation> {
  const [row] = await read<Generation>('SELECT generation AS count, generation_seq AS event_seq FROM state')
  return row!
}

/** Inserts missing seeded rows and resolves to the catalogue in force: the newest. */
export async function applySeed(link: Link, seed: Seed, at_ms: number): Promise<number> {
  const { projects, keys } = seedRows(seed, at_ms)
  const keyRows = keys.map((key) => ({ ...key, hash: encodeBytes(key.hash) }))
  const { sha256, demand } = seed.catalogue
  const [, , , , [catalogue]] = await Promise.all([
    link.run('INSERT INTO project SELECT * FROM json_populate_recordset(NULL::project, $1) ON CONFLICT DO NOTHING', [
      toJson(projects),
    ]),
    link.run('INSERT INTO api_key SELECT * FROM json_populate_recordset(NULL::api_key, $1) ON CONFLICT DO NOTHING', [
      toJson(keyRows),
    ]),
    link.run('INSERT INTO chain (project_id, seq) SELECT id, 0 FROM project ON CONFLICT DO NOTHING'),
    link.run('INSERT INTO catalogue (sha256, demand) VALUES ($1, $2) ON CONFLICT (sha256) DO NOTHING', [
      sha256,
      demand,
    ]),
    link.query<{ id: number }>('SELECT id FROM catalogue WHERE sha256 = $1', [sha256]),
  ])
  return catalogue!.id
}

/** The number of rows from which a table is truncated: below that, deleting them is faster. */
const longTable = 20_000

/** Removes every row of the state but the catalogues, inside a transaction that holds its lock. */
export async function clearAll(link: Link, rows: number, keepsCatalogues: boolean): Promise<void> {
  const cleared = [...tableList, 'chain'].filter((table) => table !== 'catalogue' || !keepsCatalogues)
  if (rows > longTable) await link.script(`TRUNCATE ${cleared.join(', ')}`)
  else await link.script(cleared.map((table) => `DELETE FROM ${table}`).join('; '))
  await link.script(
    'INSERT INTO chain (project_id, seq) VALUES (0, 0); UPDATE head SET events = 0, events_dropped = 0, last_dropped_seq = 0, last_evidence = 0, exchanges = 0, exchanges_dropped = 0',
  )
}

/** Announces a replaced state with an event, and starts its generation. */
export async function startGeneration(
  batch: Batch,
  link: Link,
  type: 'sandbox.reset' | 'sandbox.restored',
  at_ms: number,
): Promise<void> {
  batch.appendEvent(stateEvent(type, at_ms))
  await link.run('UPDATE state SET generation = generation + 1, generation_seq = (SELECT last_seq + 1 FROM head)')
}

/**
 * Starts a generation in a database that has lost commits which this node knows of, as after a failover to a standby that
 * had not received them. Events are numbered after the lost ones: no follower takes a new one for one that it has.
 * Changes nothing where another node has done so. Resolves to the catalogue in force.
 */
export async function startAfterLoss(
  batch: Batch,
  link: Link,
  { last_seq, seed, now_ms }: { last_seq: number; seed: Seed; now_ms: number },
): Promise<number> {
  const catalogue_id = await applySeed(link, seed, now_ms)
  const [head] = await link.query<{ last_seq: number; at_ms: number | null }>(
    'SELECT last_seq, (SELECT at_ms FROM event ORDER BY seq DESC LIMIT 1) FROM head',
  )
  if (head!.last_seq >= last_seq) return catalogue_id
  await link.run('UPDATE head SET last_seq = $1', [last_seq])
  await startGeneration(batch, link, 'sandbox.restored', head!.at_ms ?? now_ms)
  return catalogue_id
}

export function lossWarning(location: string, last_seq: number): DamageWarning {
  const why = 'as after a failover to a standby that had not received them'
  return new DamageWarning(`${location} has lost acknowledged writes up to event ${last_seq}, ${why}.`)
}
