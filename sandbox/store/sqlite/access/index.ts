/**
 * Tokens of the control plane and the audit list of a sandbox with a database file. They are in a separate file,
 * `<database>.access`, so no reset, restore, import or export touches them. It is created with the first token: before
 * that, only the audit list of this run is kept, in memory.
 */
import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { createPrivate } from '#foundation/file-system.ts'
import { type AccessStore, type AuditRow, maxAuditEntries, type TokenRow } from '../../nodes.ts'
import { StorageError } from '../../store.ts'
import { makePrivate } from '../file/names.ts'
import { checkFile } from '../file-work.ts'

const schema = `
  CREATE TABLE IF NOT EXISTS token (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL,                  -- read, write, admin
    hash BLOB NOT NULL UNIQUE,           -- SHA-256 of the token
    created_at_ms INTEGER NOT NULL,
    revoked_at_ms INTEGER
  ) STRICT;
  CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    token TEXT,                          -- name; null: none was needed
    namespace TEXT,
    action TEXT NOT NULL,                -- id of an endpoint
    path TEXT NOT NULL,
    status INTEGER NOT NULL,
    reason_code TEXT
  ) STRICT;
`

const tokenColumns = 'name, role, created_at_ms, revoked_at_ms'
const auditColumns = 'id, at_ms, token, namespace, action, path, status, reason_code'
const addAudit = `INSERT INTO audit (at_ms, token, namespace, action, path, status, reason_code)
  VALUES (@at_ms, @token, @namespace, @action, @path, @status, @reason_code)`

export function accessFile(path: string): AccessStore & {
  /** Resolves to what is wrong with the file, and what to do. */
  problems(): Promise<string[]>
  close(): void
} {
  const file = path === ':memory:' ? null : `${path}.access`
  const { open, keep, close } = accessDatabase(file)

  const find = (db: Database.Database, column: 'name' | 'hash', value: string | Uint8Array): TokenRow | null =>
    db.prepare<[unknown], TokenRow>(`SELECT ${tokenColumns} FROM token WHERE ${column} = ?`).get(value) ?? null

  return {
    findToken: async (hash) => attempt(() => find(open(), 'hash', hash), 'read'),
    listTokens: async () =>
      attempt(() => open().prepare<[], TokenRow>(`SELECT ${tokenColumns} FROM token ORDER BY id DESC`).all(), 'read'),
    insertToken: async ({ name, role, created_at_ms }, hash) =>
      attempt(() => {
        const insert = keep().prepare(
          'INSERT INTO token (name, role, hash, created_at_ms) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
        )
        const { changes } = flushed(open(), () => insert.run(name, role, hash, created_at_ms))
        return changes === 0 ? null : find(open(), 'name', name)
      }),
    revokeToken: async (name, at_ms) =>
      attempt(() => {
        const revoke = open().prepare('UPDATE token SET revoked_at_ms = ? WHERE name = ? AND revoked_at_ms IS NULL')
        flushed(open(), () => revoke.run(at_ms, name))
        return find(open(), 'name', name)
      }),
    appendAudit: async (entry) =>
      attempt(() => {
        const { lastInsertRowid } = open().prepare(addAudit).run(entry)
        open()
          .prepare('DELETE FROM audit WHERE id <= ?')
          .run(Number(lastInsertRowid) - maxAuditEntries)
      }),
    listAudit: async ({ limit, before, token }) =>
      attempt(() => {
        const select = `SELECT ${auditColumns} FROM audit WHERE id < ? AND (? IS NULL OR token = ?) ORDER BY id DESC LIMIT ?`
        const rows = open().prepare<unknown[], AuditRow>(select)
        return rows.all(before ?? Number.MAX_SAFE_INTEGER, token ?? null, token ?? null, limit + 1)
      }, 'read'),
    async problems() {
      const found = file === null || !existsSync(file) ? [] : await checkFile(file, 'quick_check', 1)
      return found.map((problem) => `${file}: ${problem}. Stop the sandbox and remove it: that ends its tokens`)
    },
    close,
  }
}

/** The database: the file once there is one, before that in memory. */
function accessDatabase(file: string | null) {
  let database: Database.Database | null = null
  let isFile = false

  return { open, keep, close: () => database?.close() }

  function open(): Database.Database {
    if (database !== null) return database
    isFile = file !== null && existsSync(file)
    database = openAt(isFile ? file! : ':memory:')
    return database
  }

  /** Moves what is in memory to the file. */
  function keep(): Database.Database {
    const before = open()
    if (isFile || file === null) return before
    createPrivate(file)
    const db = openAt(file)
    const insert = db.prepare(addAudit)
    db.transaction(() => {
      for (const row of before.prepare('SELECT * FROM audit ORDER BY id').all()) insert.run(row)
    })()
    before.close()
    isFile = true
    database = db
    return db
  }
}

function openAt(path: string): Database.Database {
  const db = new Database(path, { timeout: 2_000 })
  if (path !== ':memory:') {
    makePrivate(path)
    // As for the state itself: acknowledged entries survive a kill, and no entry waits for the disk.
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = NORMAL')
  }
  db.exec(schema)
  return db
}

/** Runs a write whose commit is flushed: no power loss makes a revoked token valid again. */
function flushed<Result>(db: Database.Database, write: () => Result): Result {
  db.pragma('synchronous = FULL')
  try {
    return write()
  } finally {
    db.pragma('synchronous = NORMAL')
  }
}

/** @throws StorageError when the file cannot be read or written */
function attempt<Result>(work: () => Result, kind: 'read' | 'write' = 'write'): Result {
  try {
    return work()
  } catch (error) {
    throw new StorageError(error, kind)
  }
}
