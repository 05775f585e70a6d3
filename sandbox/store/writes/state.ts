/** The rows of a fresh state, the event of a replaced one, and the writes of its clock and fault rules. */
import type { ClockRow, FaultState, NewEvent, Seed } from '../store.ts'
import type { Transaction } from './transaction.ts'

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

interface ClockWrite {
  clock: ClockRow
  /** The clock that was read and must still be stored; undefined when no other process can have moved it. */
  from: ClockRow | null | undefined
  at_ms: number
}

/** Returns false, with nothing written, when the clock is not the expected one. */
export function saveClock(tx: Transaction, { clock, from, at_ms }: ClockWrite): boolean {
  if (from !== undefined) {
    const stored = tx.findClock()
    if (stored?.offset_ms !== from?.offset_ms || stored?.frozen_at_ms !== from?.frozen_at_ms) return false
  }
  const { offset_ms, frozen_at_ms } = clock
  tx.saveClock({ offset_ms, frozen_at_ms })
  tx.appendEvent({ type: 'clock.changed', at_ms, project_id: null, slot_id: null, ref: frozen_at_ms })
  return true
}

export function saveFaults(tx: Transaction, { scenario, added, rules }: FaultState): void {
  tx.saveFaults({ scenario, added, rules })
}
