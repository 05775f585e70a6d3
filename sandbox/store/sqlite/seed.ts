/** The seeded rows: projects, their permanent keys, the demand catalogue. */
import type Database from 'better-sqlite3'
import type { ProjectSettings } from '../../../src/contract/control/projects.ts'
import type { Mode } from '../../../src/contract/fields.ts'
import type { KeyClass } from '../store.ts'

/** What the store is seeded with; keys come as hashes only. */
export interface Seed {
  projects: {
    client_id: string
    tenant: number
    settings: Partial<ProjectSettings>
    keys: { class: KeyClass; mode: Mode; hash: Uint8Array }[]
  }[]
  catalogue: { sha256: string; demand: string }
}

/** Puts the seeded rows in, where they are missing; the catalogue in force is the newest. Within a transaction. */
export function applySeed(db: Database.Database, seed: Seed, at_ms: number): { catalogue: number } {
  const insertProject = db.prepare(
    'INSERT INTO project (id, client_id, tenant_id, config_revision, settings) VALUES (?, ?, ?, 1, ?) ON CONFLICT DO NOTHING',
  )
  const insertKey = db.prepare(
    'INSERT INTO api_key (id, project_id, class, mode, hash, created_at_ms) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  )
  let keyId = 0
  for (const [index, project] of seed.projects.entries()) {
    const id = index + 1
    insertProject.run(id, project.client_id, project.tenant, JSON.stringify(project.settings))
    for (const key of project.keys) insertKey.run(++keyId, id, key.class, key.mode, key.hash, at_ms)
  }
  db.prepare('INSERT INTO catalogue (sha256, demand) VALUES (?, ?) ON CONFLICT (sha256) DO NOTHING').run(
    seed.catalogue.sha256,
    seed.catalogue.demand,
  )
  const catalogue = db.prepare('SELECT id FROM catalogue WHERE sha256 = ?').pluck().get(seed.catalogue.sha256) as number
  return { catalogue }
}

/** Removes every row that is not seeded, and the seeded ones with it: they are put back by applySeed. */
export function clearAll(db: Database.Database): void {
  for (const table of [
    'project',
    'api_key',
    'activation',
    'session',
    'consent',
    'job',
    'slot',
    'beacon',
    'aside_beacon',
    'evidence',
    'event',
    'exchange',
  ]) {
    db.exec(`DELETE FROM ${table}`)
  }
  db.exec('DELETE FROM meta')
}
