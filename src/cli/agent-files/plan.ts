/** What `svc agent setup` would do to a project: its files, each with what happens to it and why. */
import { createHash } from 'node:crypto'

/** One file of a plan. */
export interface PlannedFile {
  path: string
  /** `leave`: it is not as svc wrote it, and stays so. */
  action: 'create' | 'update' | 'delete' | 'keep' | 'leave'
  what: string
  /** Why it is left alone; null otherwise. */
  why: string | null
  /** The new text; null for `delete`, and where nothing is written. */
  content: string | null
}

export interface Plan {
  files: readonly PlannedFile[]
  /** Folders to remove when they are empty, the innermost first. */
  folders: readonly string[]
}

export function keep(path: string, what: string): PlannedFile {
  return { path, action: 'keep', what, why: null, content: null }
}

export function leave(path: string, what: string, why: string): PlannedFile {
  return { path, action: 'leave', what, why, content: null }
}

/** Returns the checksum of a text, as the record has it. */
export function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
