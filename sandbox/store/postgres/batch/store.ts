/** The second round trip of a transaction: the rows that a batch adds, in one statement, and those that it changes. */
import { decisionColumns } from '#store/slot-rows.ts'
import type { Link } from '../servers/link.ts'
import type { Batch } from './batch.ts'
import { type JsonRow, toJson } from './json.ts'
import { addedTables } from './registry.ts'

/**
 * Sends everything that a batch changed except evidence, with the heads of its chains, and events, whose numbers depend
 * on the head. Nothing is awaited here.
 */
export function storeRows(link: Link, batch: Batch): Promise<unknown>[] {
  const sent = insertRows(link, batch)
  for (const [text, list] of statements) {
    const rows = list(batch)
    if (rows.length > 0) sent.push(link.run(text, [toJson(rows)]))
  }
  return sent
}

const decided = decisionColumns.join(', ')
const updated = 'status, attempts, http_status, problem, attempted_at_ms'

/** Adds rows to tables. One statement, since each costs as much as its rows do. */
function insertRows(link: Link, { rows }: Batch): Promise<unknown>[] {
  const tables = addedTables.filter((table) => rows.has(table))
  if (tables.length === 0) return []
  const parts = tables.map(
    (table, index) =>
      `${table}_rows AS (INSERT INTO ${table} SELECT * FROM json_populate_recordset(NULL::${table}, $${index + 1}))`,
  )
  return [
    link.run(
      `WITH ${parts.join(', ')} SELECT`,
      tables.map((table) => toJson(rows.get(table)!)),
    ),
  ]
}

/** What changes rows, in the order in which it runs, each with its rows. */
const statements: readonly (readonly [text: string, list: (batch: Batch) => readonly JsonRow[]])[] = [
  [
    'INSERT INTO chain (project_id, seq) SELECT id, 0 FROM json_populate_recordset(NULL::project, $1) ON CONFLICT DO NOTHING',
    (batch) => batch.rows.get('project') ?? [],
  ],
  [
    `UPDATE project SET settings = new.settings, config_revision = new.config_revision
     FROM json_populate_recordset(NULL::project, $1) new WHERE project.id = new.id`,
    (batch) => [...batch.savedSettings.values()],
  ],
  [
    'UPDATE api_key SET revoked_at_ms = new.revoked_at_ms FROM json_populate_recordset(NULL::api_key, $1) new WHERE api_key.id = new.id',
    (batch) => [...batch.revocations.values()],
  ],
  [
    `INSERT INTO meta SELECT * FROM json_populate_recordset(NULL::meta, $1)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    (batch) => [...batch.values].map(([name, value]) => ({ name, value })),
  ],
  [
    `UPDATE consent SET extras = new.extras, updated_at_ms = new.updated_at_ms, expires_at_ms = new.expires_at_ms
     FROM json_populate_recordset(NULL::consent, $1) new WHERE consent.id = new.id`,
    (batch) => [...batch.renewals.values()],
  ],
  [
    `UPDATE slot SET (${decided}) = (SELECT ${decided.replaceAll(/\w+/g, 'new.$&')})
     FROM json_populate_recordset(NULL::slot, $1) new WHERE slot.id = new.id`,
    (batch) => batch.bindings,
  ],
  [
    'UPDATE job SET facts = new.facts FROM json_populate_recordset(NULL::job, $1) new WHERE job.id = new.id',
    (batch) => batch.droppedTopics,
  ],
  [
    `UPDATE slot SET first_frame_at_ms = new.first_frame_at_ms FROM json_populate_recordset(NULL::slot, $1) new
     WHERE slot.id = new.id AND slot.first_frame_at_ms IS NULL`,
    (batch) => [...batch.firstFrames.values()],
  ],
  [
    `UPDATE slot SET asset_token_hash = new.asset_token_hash FROM json_populate_recordset(NULL::slot, $1) new
     WHERE slot.id = new.id`,
    (batch) => [...batch.assetHashes.values()],
  ],
  [
    `UPDATE callback SET (${updated}) = (SELECT ${updated.replaceAll(/\w+/g, 'new.$&')})
     FROM json_populate_recordset(NULL::callback, $1) new WHERE callback.id = new.id`,
    (batch) => [...batch.callbackUpdates.values()],
  ],
  [
    'UPDATE activation SET origin = new.origin FROM json_populate_recordset(NULL::activation, $1) new WHERE activation.id = new.id',
    (batch) => batch.pinned,
  ],
]
