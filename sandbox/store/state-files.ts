/**
 * The port of files with a whole state: exports, imports and snapshots. They are SQLite databases with the tables of
 * this version, whichever adapter has the rows, so an export of one can be imported by another.
 */
import type Database from 'better-sqlite3'
import type { EvidenceListRow, PreparedState, ReceivedState, Refusal } from './store.ts'

export interface StateFiles {
  readonly schema_version: number
  /** Returns the next entries of the evidence of a file, in the order of their numbers, each with its text. */
  readEvidence(db: Database.Database, after_id: number, limit: number): EvidenceListRow[]
  /** Creates a file with empty tables, or opens one and migrates it. */
  open(path: string): StateFile
  /** Resolves to why a file cannot be used as a state; null when it may be opened. */
  findRefusal(path: string): Promise<Refusal | null>
  /** Writes the bytes of a state to a file and opens it: nothing changes before it replaces the state. */
  receive(bytes: AsyncIterable<Uint8Array>, receiver: Receiver): Promise<ReceivedState | Refusal>
}

export interface StateFile {
  db: Database.Database
  /** Adds the beacons of these identifiers, newer than any that it has, to their sessions. */
  addToSessions(table: 'beacon' | 'aside_beacon', first_id: number, last_id: number): void
  close(): void
}

export interface Receiver {
  /** An empty folder for the file, removed with it. */
  folder: string
  /** Prepares the file to replace the whole state. */
  prepare(path: string): Promise<PreparedState>
}
