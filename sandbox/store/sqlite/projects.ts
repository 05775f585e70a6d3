/** Projects, keys and activations. Projects and keys are few and read at every request: they are kept at hand. */
import type Database from 'better-sqlite3'
import { defaultSettings, type ProjectSettings } from '../../../src/contract/control/projects.ts'
import type { Mode } from '../../../src/contract/fields.ts'
import type { ActivationRow, KeyClass, KeyListRow, KeyRow, NewKey, PageQuery, ProjectRow } from '../store.ts'

interface StoredKey {
  id: number
  project_id: number
  class: KeyClass
  mode: Mode
  created_at_ms: number
  revoked_at_ms: number | null
}

interface StoredProject {
  id: number
  client_id: string
  tenant_id: number
  config_revision: number
  settings: string
}

/** Rows made here are numbered from this on: seeded ones are below it. */
const firstOwnId = 1_000

export function projectStatements(db: Database.Database) {
  const byClientId = db.prepare<[string], StoredProject>('SELECT * FROM project WHERE client_id = ?')
  const byId = db.prepare<[number], StoredProject>('SELECT * FROM project WHERE id = ?')
  const all = db.prepare<[], StoredProject>('SELECT * FROM project ORDER BY id')
  const insertProject = db.prepare<[number, string, number, string]>(
    'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING',
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
  const keysOf = db.prepare<[number, number, number], StoredKey>(
    `${listedKey} WHERE project_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const keyById = db.prepare<[number], StoredKey>(`${listedKey} WHERE id = ?`)
  const revokeKey = db.prepare('UPDATE api_key SET revoked_at_ms = ? WHERE id = ? AND revoked_at_ms IS NULL')
  const keyByHash = db.prepare<
    [Uint8Array],
    { id: number; project_id: number; class: KeyClass; mode: Mode; revoked_at_ms: number | null }
  >('SELECT id, project_id, class, mode, revoked_at_ms FROM api_key WHERE hash = ?')
  const activationById = db.prepare<[number], Omit<ActivationRow, 'project'> & { project_id: number }>(
    'SELECT id, project_id, key_id, mode, hash, origin, slot_id, expires_at_ms FROM activation WHERE id = ?',
  )
  const insertActivation = db.prepare(
    'INSERT INTO activation (id, project_id, key_id, mode, hash, origin, slot_id, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const pinOrigin = db.prepare('UPDATE activation SET origin = ? WHERE id = ? AND (origin IS NULL OR origin = ?)')

  const projects = new Map<number, ProjectRow>()
  const keys = new Map<string, KeyRow>()

  const project = (id: number): ProjectRow => {
    const cached = projects.get(id)
    if (cached !== undefined) return cached
    const stored = byId.get(id)
    if (stored === undefined) throw new Error(`project ${id} does not exist`)
    const row = toProject(stored)
    projects.set(id, row)
    return row
  }

  const addKey = (project_id: number, key: NewKey, at_ms: number): number => {
    const id = Math.max(firstOwnId, lastKey.get()! + 1)
    insertKey.run(id, project_id, key.class, key.mode, key.hash, at_ms)
    return id
  }

  const toKey = ({ project_id, ...rest }: StoredKey): KeyListRow => ({ ...rest, project: project(project_id) })

  return {
    /** Forgets what is kept at hand, after a change. */
    forget(): void {
      projects.clear()
      keys.clear()
    },
    project,
    exists: (id: number): boolean => projects.has(id) || byId.get(id) !== undefined,
    byClientId(client_id: string): ProjectRow | null {
      const stored = byClientId.get(client_id)
      return stored === undefined ? null : project(stored.id)
    },
    list: () => all.all().map((stored) => project(stored.id)),
    /** Within the running transaction; null when the client_id is taken. */
    insert(client_id: string, settings: ProjectSettings, newKeys: readonly NewKey[], at_ms: number): ProjectRow | null {
      const id = Math.max(firstOwnId, lastProject.get()! + 1)
      if (insertProject.run(id, client_id, id, JSON.stringify(ownSettings(settings))).changes === 0) return null
      for (const key of newKeys) addKey(id, key, at_ms)
      return project(id)
    },
    /** Within the running transaction; null when the present revision is not the expected one. */
    saveSettings(id: number, expected_revision: number, settings: ProjectSettings): ProjectRow | null {
      if (saveSettings.run(JSON.stringify(ownSettings(settings)), id, expected_revision).changes === 0) return null
      projects.clear()
      keys.clear()
      return project(id)
    },
    findKey(hash: Uint8Array): KeyRow | null {
      const name = Buffer.from(hash).toString('latin1')
      const cached = keys.get(name)
      if (cached !== undefined) return cached
      const stored = keyByHash.get(hash)
      if (stored === undefined) return null
      const { project_id, ...rest } = stored
      const row = { ...rest, project: project(project_id) }
      keys.set(name, row)
      return row
    },
    keyById(id: number): KeyRow | null {
      const stored = keyById.get(id)
      return stored === undefined ? null : toKey(stored)
    },
    /** One more than the limit, newest first. */
    listKeys: (project_id: number, { limit, before }: PageQuery) =>
      keysOf.all(project_id, before ?? Number.MAX_SAFE_INTEGER, limit + 1).map(toKey),
    /** Within the running transaction. */
    insertKey: (project_id: number, key: NewKey, at_ms: number) => toKey(keyById.get(addKey(project_id, key, at_ms))!),
    /** Within the running transaction; null when there is no such key. */
    revokeKey(id: number, at_ms: number): KeyListRow | null {
      revokeKey.run(at_ms, id)
      keys.clear()
      const stored = keyById.get(id)
      return stored === undefined ? null : toKey(stored)
    },
    findActivation(id: number): ActivationRow | null {
      const stored = activationById.get(id)
      if (stored === undefined) return null
      const { project_id, ...rest } = stored
      return { ...rest, project: project(project_id) }
    },
    insertActivation(row: Omit<ActivationRow, 'project'> & { project_id: number }, at_ms: number): void {
      insertActivation.run(
        row.id,
        row.project_id,
        row.key_id,
        row.mode,
        row.hash,
        row.origin,
        row.slot_id,
        at_ms,
        row.expires_at_ms,
      )
    },
    pinOrigin: (id: number, origin: string) => pinOrigin.run(origin, id, origin).changes === 1,
  }
}

/** What differs from the defaults; a group of settings is stored with those of its members that differ. */
function ownSettings(settings: ProjectSettings): Record<string, unknown> {
  return difference({ ...settings }, { ...defaultSettings }, 1)
}

function difference(
  value: Record<string, unknown>,
  fallback: Record<string, unknown>,
  depth: number,
): Record<string, unknown> {
  const own: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const usual = fallback[name]
    if (JSON.stringify(member) === JSON.stringify(usual)) continue
    const isGroup = depth > 0 && typeof usual === 'object' && usual !== null && !Array.isArray(usual)
    own[name] = isGroup ? difference({ ...(member as object) }, { ...usual }, depth - 1) : member
  }
  return own
}

/** Settings are stored as what differs from the defaults, one level deep for the groups. */
function toProject(stored: StoredProject): ProjectRow {
  const own = JSON.parse(stored.settings) as Partial<ProjectSettings>
  return {
    id: stored.id,
    client_id: stored.client_id,
    tenant_id: stored.tenant_id,
    config_revision: stored.config_revision,
    settings: {
      ...defaultSettings,
      ...own,
      defaults: { ...defaultSettings.defaults, ...own.defaults },
      consent: { ...defaultSettings.consent, ...own.consent },
      viewability: { ...defaultSettings.viewability, ...own.viewability },
      rate_limits: { ...defaultSettings.rate_limits, ...own.rate_limits },
    },
  }
}
