import type { EventType } from '#contract/resources/events.ts'
import type { CallbackUpdate, JobRow } from '../store.ts'
import type { Transaction } from './transaction.ts'

/** Adds the delivery of one slot's decision, with the job that creates the slot. */
export function insertCallback(tx: Transaction, job: JobRow, slot_id: number, url: string): void {
  const { project_id, key_id, created_at_ms } = job
  tx.insertCallback({ slot_id, project_id, key_id, url, status: 'waiting', attempts: 0, created_at_ms })
}

/** Stores the outcome of an attempt, with an event; neither when the callback is gone. */
export function updateCallback(tx: Transaction, update: CallbackUpdate, type: EventType, at_ms: number): void {
  const { slot_id } = update
  const project_id = tx.updateCallback(update)
  if (project_id !== null) tx.appendEvent({ type, at_ms, project_id, slot_id, ref: slot_id })
}
