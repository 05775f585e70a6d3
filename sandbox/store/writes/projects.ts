/** The writes of projects, their settings, keys and activations. */
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { ownSettings } from '../rows.ts'
import type { KeyListRow, NewActivation, NewKey, ProjectRow } from '../store.ts'
import type { Transaction } from './transaction.ts'

/** Rows that are created later are numbered from here; seeded rows are below. */
const firstCreatedId = 1_000

interface ProjectWrite {
  client_id: string
  settings: ProjectSettings
  keys: readonly NewKey[]
  at_ms: number
}

/** Adds a project with its keys; null when the client_id is taken. */
export function insertProject(tx: Transaction, { client_id, settings, keys, at_ms }: ProjectWrite): ProjectRow | null {
  if (tx.hasProject(client_id)) return null
  const id = nextId(tx.lastId('project'))
  tx.insertProject({ id, client_id, tenant_id: id, config_revision: 1, settings: toOwnJson(settings) })
  for (const key of keys) addKey(tx, id, key, at_ms)
  return tx.findProject(id)
}

/** Writes settings as the next revision; null when the revision is not the expected one. */
export function saveSettings(
  tx: Transaction,
  id: number,
  expected_revision: number,
  settings: ProjectSettings,
): ProjectRow | null {
  if (tx.findProject(id)?.config_revision !== expected_revision) return null
  tx.saveSettings(id, expected_revision + 1, toOwnJson(settings))
  return tx.findProject(id)
}

export function insertKey(tx: Transaction, project_id: number, key: NewKey, at_ms: number): KeyListRow {
  return tx.findKey(addKey(tx, project_id, key, at_ms))!
}

/** Revokes a key; the first time counts. null when there is no such key. */
export function revokeKey(tx: Transaction, id: number, at_ms: number): KeyListRow | null {
  if (tx.findKey(id)?.revoked_at_ms === null) tx.revokeKey(id, at_ms)
  return tx.findKey(id)
}

function addKey(tx: Transaction, project_id: number, key: NewKey, created_at_ms: number): number {
  const id = nextId(tx.lastId('api_key'))
  tx.insertKey({ id, project_id, ...key, created_at_ms })
  return id
}

function nextId(lastId: number): number {
  return Math.max(firstCreatedId, lastId + 1)
}

function toOwnJson(settings: ProjectSettings): string {
  return JSON.stringify(ownSettings(settings))
}

export function insertActivation(tx: Transaction, activation: NewActivation, at_ms: number): void {
  const { id: ref, project_id } = activation
  tx.insertActivation(activation, at_ms)
  tx.appendEvent({ type: 'browser.activated', at_ms, project_id, slot_id: null, ref })
}

/** Binds a beacon token to the origin of its first beacon; false when it is bound to another origin, or gone. */
export function pinOrigin(tx: Transaction, activation_id: number, origin: string): boolean {
  const bound = tx.findOrigin(activation_id)
  if (bound === null) tx.setOrigin(activation_id, origin)
  return bound === null || bound === origin
}
