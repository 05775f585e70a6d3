/** Projects, keys and activations. Projects and keys are few and read by every request, so they are cached. */
import type Database from 'better-sqlite3'
import type { Mode } from '#contract/fields.ts'
import { type StoredProject, toPage, toProject } from '../rows.ts'
import {
  type KeyClass,
  type KeyListRow,
  type KeyRow,
  type NewActivation,
  type ProjectRow,
  type ProjectStore,
  StorageError,
} from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { Connection } from './group-commit.ts'

type StoredKey = Omit<KeyListRow, 'project'> & { project_id: number }

export type ProjectTable = ReturnType<typeof projectTable>

/** `onSettings` is called when the settings of a project have changed. */
export function projectTable({ db, read }: Connection, onSettings: () => void) {
  const statements = prepareProjects(db)
  const rows = cachedProjects(statements)
  const { project, withProject, withProjectOrNull, clear } = rows
  const transaction = projectWrites(statements, rows, onSettings)

  const methods: Omit<ProjectStore, keyof WriteMethods> = {
    async findProject(client_id) {
      return read(() => {
        const stored = statements.findByClientId.get(client_id)
        return stored === undefined ? null : project(stored.id)
      })
    },
    findProjectById: async (id) => read(() => project(id)),
    listProjects: async () => read(() => statements.listProjects.all().map(({ id }) => project(id))),
    findKey: (hash) => read(() => rows.findKey(hash)),
    findKeyById: async (id) => read(() => withProjectOrNull(statements.findKey.get(id))),
    async listKeys(project_id, { limit, before }) {
      const end = before ?? Number.MAX_SAFE_INTEGER
      return toPage(
        read(() => statements.listKeys.all(project_id, end, limit + 1).map(withProject)),
        limit,
      )
    },
    async findActivation(id) {
      const row = read(() => withProjectOrNull(statements.findActivation.get(id)))
      return row === null ? null : { ...row, is_key_revoked: row.revoked_at_ms !== null }
    },
  }

  return { project, exists, transaction, clear, methods }

  function exists(id: number): boolean {
    return rows.isCached(id) || read(() => rows.findProject(id)) !== null
  }
}

function projectWrites(statements: Statements, rows: CachedProjects, onSettings: () => void) {
  return {
    lastId: (table) => (table === 'project' ? statements.lastProject : statements.lastKey).get()!,
    hasProject: (client_id) => statements.findByClientId.get(client_id) !== undefined,
    insertProject({ id, client_id, tenant_id, config_revision, settings }) {
      statements.insertProject.run(id, client_id, tenant_id, config_revision, settings)
    },
    findProject: rows.findProject,
    saveSettings(id, config_revision, settings) {
      statements.saveSettings.run(settings, config_revision, id)
      onSettings()
      rows.clear()
    },
    insertKey(key) {
      statements.insertKey.run(key.id, key.project_id, key.class, key.mode, key.hash, key.created_at_ms)
    },
    findKey: (id) => rows.withProjectOrNull(statements.findKey.get(id)),
    revokeKey(id, at_ms) {
      statements.revokeKey.run(at_ms, id)
      rows.clearKeys()
    },
    insertActivation({ id, project_id, key_id, mode, hash, origin, slot_id, expires_at_ms }, at_ms) {
      statements.insertActivation.run(id, project_id, key_id, mode, hash, origin, slot_id, at_ms, expires_at_ms)
    },
    findOrigin: (activation_id) => statements.findOrigin.get(activation_id),
    setOrigin: (activation_id, origin) => void statements.setOrigin.run(origin, activation_id),
  } satisfies Partial<Transaction>
}

type CachedProjects = ReturnType<typeof cachedProjects>

/** Reads projects and keys, and keeps them. */
function cachedProjects(statements: Statements) {
  const projects = new Map<number, ProjectRow>()
  /** Keyed by the digest object that the pipeline caches for a key. */
  let keys = new WeakMap<Uint8Array, KeyRow>()

  return { project, findProject, findKey, withProject, withProjectOrNull, isCached, clear, clearKeys }

  /** @throws StorageError when there is no such project */
  function project(id: number): ProjectRow {
    const row = findProject(id)
    if (row === null) throw new StorageError(new Error(`project ${id} does not exist`), 'read')
    return row
  }

  function findProject(id: number): ProjectRow | null {
    const cached = projects.get(id)
    if (cached !== undefined) return cached
    const stored = statements.find.get(id)
    if (stored === undefined) return null
    const row = toProject(stored)
    projects.set(id, row)
    return row
  }

  function findKey(hash: Uint8Array): KeyRow | null {
    const cached = keys.get(hash)
    if (cached !== undefined) return cached
    const row = withProjectOrNull(statements.findKeyByHash.get(hash))
    if (row !== null) keys.set(hash, row)
    return row
  }

  function withProjectOrNull<Row extends { project_id: number }>(stored: Row | undefined) {
    return stored === undefined ? null : withProject(stored)
  }

  function withProject<Row extends { project_id: number }>({ project_id, ...rest }: Row) {
    return { ...rest, project: project(project_id) }
  }

  function isCached(id: number): boolean {
    return projects.has(id)
  }

  function clear(): void {
    projects.clear()
    clearKeys()
  }

  function clearKeys(): void {
    keys = new WeakMap()
  }
}

const listedKey = 'SELECT id, project_id, class, mode, created_at_ms, revoked_at_ms FROM api_key'

type Statements = ReturnType<typeof prepareProjects>

function prepareProjects(db: Database.Database) {
  return {
    find: db.prepare<[number], StoredProject>('SELECT * FROM project WHERE id = ?'),
    findByClientId: db.prepare<[string], StoredProject>('SELECT * FROM project WHERE client_id = ?'),
    listProjects: db.prepare<[], StoredProject>('SELECT * FROM project ORDER BY id'),
    insertProject: db.prepare<[number, string, number, number, string]>(
      'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, ?, ?)',
    ),
    lastProject: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM project').pluck(),
    saveSettings: db.prepare<[string, number, number]>(
      'UPDATE project SET settings = ?, config_revision = ? WHERE id = ?',
    ),
    insertKey: db.prepare<[number, number, KeyClass, Mode, Uint8Array, number]>(
      'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    lastKey: db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM api_key').pluck(),
    listKeys: db.prepare<[number, number, number], StoredKey>(
      `${listedKey} WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
    ),
    findKey: db.prepare<[number], StoredKey>(`${listedKey} WHERE id = ?`),
    revokeKey: db.prepare('UPDATE api_key SET revoked_at_ms = ? WHERE id = ?'),
    findKeyByHash: db.prepare<[Uint8Array], Omit<StoredKey, 'created_at_ms'>>(
      'SELECT id, project_id, class, mode, revoked_at_ms FROM api_key WHERE hash = ?',
    ),
    findActivation: db.prepare<[number], NewActivation & { revoked_at_ms: number | null }>(
      'SELECT activation.*, api_key.revoked_at_ms FROM activation LEFT JOIN api_key ON api_key.id = key_id WHERE activation.id = ?',
    ),
    insertActivation: db.prepare(
      'INSERT INTO activation (id, project_id, key_id, mode, hash, origin, slot_id, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ),
    findOrigin: db.prepare<[number], string | null>('SELECT origin FROM activation WHERE id = ?').pluck(),
    setOrigin: db.prepare('UPDATE activation SET origin = ? WHERE id = ?'),
  }
}
