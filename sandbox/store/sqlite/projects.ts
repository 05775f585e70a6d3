/** Projects, keys and activations. Projects and keys are few and read at every request: they are kept at hand. */
import type Database from 'better-sqlite3'
import { defaultSettings, type ProjectSettings } from '../../../src/contract/control/projects.ts'
import type { Mode } from '../../../src/contract/fields.ts'
import type { ActivationRow, KeyClass, KeyRow, ProjectRow } from '../store.ts'

interface StoredProject {
  id: number
  client_id: string
  tenant_id: number
  config_revision: number
  settings: string
}

export function projectStatements(db: Database.Database) {
  const byClientId = db.prepare<[string], StoredProject>('SELECT * FROM project WHERE client_id = ?')
  const byId = db.prepare<[number], StoredProject>('SELECT * FROM project WHERE id = ?')
  const all = db.prepare<[], StoredProject>('SELECT * FROM project ORDER BY id')
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

  return {
    /** Forgets what is kept at hand, after a change. */
    forget(): void {
      projects.clear()
      keys.clear()
    },
    project,
    byClientId(client_id: string): ProjectRow | null {
      const stored = byClientId.get(client_id)
      return stored === undefined ? null : project(stored.id)
    },
    list: () => all.all().map((stored) => project(stored.id)),
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
