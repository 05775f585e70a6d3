/** The rows of a fresh state, and the event of a replaced one. */
import type { NewEvent, Seed } from '../store.ts'

/** Returns the seeded rows, with the identifiers that they have in every run. Settings are JSON. */
export function seedRows({ projects }: Seed, created_at_ms: number) {
  const keys = projects.flatMap((project, index) => project.keys.map((key) => ({ project_id: index + 1, ...key })))
  return {
    projects: projects.map(({ client_id, tenant, settings }, index) => ({
      ...{ id: index + 1, client_id, tenant_id: tenant, config_revision: 1 },
      settings: JSON.stringify(settings),
    })),
    keys: keys.map((key, index) => ({ id: index + 1, ...key, created_at_ms })),
  }
}

/** Returns the event that announces a state that has replaced the previous one. */
export function stateEvent(type: 'sandbox.reset' | 'sandbox.restored', at_ms: number): NewEvent {
  return { type, at_ms, project_id: null, slot_id: null, ref: null }
}

/** Returns the event of a clock that was moved or frozen. */
export function clockEvent({ frozen_at_ms }: { frozen_at_ms: number | null }, at_ms: number): NewEvent {
  return { type: 'clock.changed', at_ms, project_id: null, slot_id: null, ref: frozen_at_ms }
}
