import type { Mode } from '#contract/fields.ts'
import { ownSettings, type StoredProject, toPage, toProject } from '../rows.ts'
import {
  type KeyClass,
  type KeyListRow,
  type KeyRow,
  type NewActivation,
  type NewKey,
  type ProjectRow,
  type ProjectStore,
  StorageError,
} from '../store.ts'
import type { WriteMethods } from '../writes/index.ts'
import { newKey, newProject } from '../writes/projects.ts'
import type { Transaction } from '../writes/transaction.ts'
import type { Connection } from './group-commit.ts'

type StoredKey = Omit<KeyListRow, 'project'> & { project_id: number }

export type ProjectTable = ReturnType<typeof projectTable>

/** `onSettings` is called when the settings of a project have changed. */
export function projectTable({ db, read, write }: Connection, onSettings: () => void) {
  const byClientId = db.prepare<[string], StoredProject>('SELECT * FROM project WHERE client_id = ?')
  const byId = db.prepare<[number], StoredProject>('SELECT * FROM project WHERE id = ?')
  const all = db.prepare<[], StoredProject>('SELECT * FROM project ORDER BY id')
  const insertProject = db.prepare<[number, string, number, number, string]>(
    'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  const lastProject = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM project').pluck()
  const saveSettings = db.prepare<[string, number, number]>(
    'UPDATE project SET settings = ?, config_revision = config_revision + 1 WHERE id = ? AND config_revision = ?',
  )
  const insertKey = db.prepare<[number, number, KeyClass, Mode, Uint8Array, number]>(
    'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const lastKey = db.prepare<[], number>('SELECT coalesce(max(id), 0) FROM api_key').pluck()
  const listedKey = 'SELECT id, project_id, class, mode, created_at_ms, revoked_at_ms FROM api_key'
  const listKeys = db.prepare<[number, number, number], StoredKey>(
    `${listedKey} WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const keyById = db.prepare<[number], StoredKey>(`${listedKey} WHERE id = ?`)
  const revokeKey = db.prepare('UPDATE api_key SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL')
  const keyByHash = db.prepare<[Uint8Array], Omit<StoredKey, 'created_at_ms'>>(
    'SELECT id, project_id, class, mode, revoked_at_ms FROM api_key WHERE hash = ?',
  )
  const activationById = db.prepare<[number], NewActivation & { revoked_at_ms: number | null }>(
    'SELECT activation.*, api_key.revoked_at_ms FROM activation LEFT JOIN api_key ON api_key.id = key_id WHERE activation.id = ?',
  )
  const insertActivation = db.prepare(
    'INSERT INTO activation (id, project_id, key_id, mode, hash, origin, slot_id, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const findOrigin = db.prepare<[number], string | null>('SELECT origin FROM activation WHERE id = ?').pluck()
  const setOrigin = db.prepare('UPDATE activation SET origin = ? WHERE id = ?')

  const projects = new Map<number, ProjectRow>()
  /** Keyed by the digest object that the pipeline caches for a key. */
  let keys = new WeakMap<Uint8Array, KeyRow>()

  const project = (id: number): ProjectRow => {
    const cached = projects.get(id)
    if (cached !== undefined) return cached
    const stored = byId.get(id)
    if (stored === undefined) throw new StorageError(new Error(`project ${id} does not exist`), 'read')
    const row = toProject(stored)
    projects.set(id, row)
    return row
  }

  const findKey = (hash: Uint8Array): KeyRow | null => {
    const cached = keys.get(hash)
    if (cached !== undefined) return cached
    const stored = keyByHash.get(hash)
    if (stored === undefined) return null
    const row = withProject(stored)
    keys.set(hash, row)
    return row
  }

  const addKey = (project_id: number, key: NewKey, at_ms: number): number => {
    const row = newKey(lastKey.get()!, project_id, key, at_ms)
    insertKey.run(row.id, project_id, row.class, row.mode, row.hash, at_ms)
    return row.id
  }

  const withProject = <Row extends { project_id: number }>({ project_id, ...rest }: Row) => ({
    ...rest,
    project: project(project_id),
  })

  const found = <Row extends { project_id: number }>(stored: Row | undefined) =>
    stored === undefined ? null : withProject(stored)

  const clear = () => {
    projects.clear()
    keys = new WeakMap()
  }

  const transaction = {
    insertActivation({ id, project_id, key_id, mode, hash, origin, slot_id, expires_at_ms }, at_ms) {
      insertActivation.run(id, project_id, key_id, mode, hash, origin, slot_id, at_ms, expires_at_ms)
    },
    findOrigin: (activation_id) => findOrigin.get(activation_id),
    setOrigin: (activation_id, origin) => void setOrigin.run(origin, activation_id),
  } satisfies Partial<Transaction>

  const methods: Omit<ProjectStore, keyof WriteMethods> = {
    findProject: async (client_id) =>
      read(() => {
        const stored = byClientId.get(client_id)
        return stored === undefined ? null : project(stored.id)
      }),
    findProjectById: async (id) => read(() => project(id)),
    listProjects: async () => read(() => all.all().map((stored) => project(stored.id))),
    insertProject: (client_id, settings, newKeys, at_ms) =>
      write(() => {
        const { id, tenant_id, config_revision, settings: own } = newProject(lastProject.get()!, client_id, settings)
        if (insertProject.run(id, client_id, tenant_id, config_revision, own).changes === 0) return null
        for (const key of newKeys) addKey(id, key, at_ms)
        return project(id)
      }),
    saveSettings: (id, expected_revision, settings) =>
      write(() => {
        onSettings()
        if (saveSettings.run(JSON.stringify(ownSettings(settings)), id, expected_revision).changes === 0) return null
        clear()
        return project(id)
      }),

    findKey: (hash) => read(() => findKey(hash)),
    findKeyById: async (id) => read(() => found(keyById.get(id))),
    async listKeys(project_id, { limit, before }) {
      const rows = read(() => listKeys.all(project_id, before ?? Number.MAX_SAFE_INTEGER, limit + 1).map(withProject))
      return toPage(rows, limit)
    },
    insertKey: (project_id, key, at_ms) => write(() => withProject(keyById.get(addKey(project_id, key, at_ms))!)),
    revokeKey: (id, at_ms) =>
      write(() => {
        revokeKey.run(at_ms, id)
        keys = new WeakMap()
        return found(keyById.get(id))
      }),

    findActivation: async (id) =>
      read(() => {
        const row = found(activationById.get(id))
        return row === null ? null : { ...row, is_key_revoked: row.revoked_at_ms !== null }
      }),
  }

  return {
    project,
    exists: (id: number) => projects.has(id) || read(() => byId.get(id)) !== undefined,
    transaction,
    clear,
    methods,
  }
}
