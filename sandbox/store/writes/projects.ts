/** The writes of projects, keys and activations. */
import type { ProjectSettings } from '#contract/resources/projects.ts'
import { ownSettings, type StoredProject } from '../rows.ts'
import type { NewActivation, NewKey } from '../store.ts'
import type { Transaction } from './transaction.ts'

/** Rows that are created later are numbered from here; seeded rows are below. */
const firstCreatedId = 1_000

/** Returns the row of a new project; `lastId` is the largest identifier in use. */
export function newProject(lastId: number, client_id: string, settings: ProjectSettings): StoredProject {
  const id = nextId(lastId)
  return { id, client_id, tenant_id: id, config_revision: 1, settings: JSON.stringify(ownSettings(settings)) }
}

/** Returns the row of a new key; `lastId` is the largest identifier in use. */
export function newKey(lastId: number, project_id: number, key: NewKey, created_at_ms: number) {
  return { id: nextId(lastId), project_id, ...key, created_at_ms }
}

function nextId(lastId: number): number {
  return Math.max(firstCreatedId, lastId + 1)
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
