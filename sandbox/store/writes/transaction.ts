/**
 * The port of the writes in this folder: the rows of one transaction. An adapter implements it in SQL alone, and the
 * rules stand in the writes. Every method is synchronous. SQLite runs statements in the open transaction; PostgreSQL
 * works on rows that it has loaded and locked, so each write names what it needs. Reads see what earlier writes of the
 * same transaction have changed.
 */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import type { StoredProject } from '../rows.ts'
import type {
  BeaconRow,
  CallbackRow,
  CallbackUpdate,
  CapGuard,
  ClockRow,
  EvidenceDraft,
  FaultState,
  FillGuard,
  IntervalGuard,
  JobRow,
  KeyListRow,
  NewActivation,
  NewEvent,
  NewKey,
  NewSlot,
  ProjectRow,
  StoredDecision,
  UnacceptedBeaconRow,
} from '../store.ts'

export interface SessionName {
  project_id: number
  session_id: string
}

/**
 * The rows that a write needs. The named projects, and the projects of the slots, are locked until the commit; 0 is the
 * lock for everything outside projects.
 */
export interface Needs {
  projects?: readonly number[]
  /** Rows of projects by number and by client_id, with the largest numbers of projects and keys. */
  projectRows?: readonly (number | string)[]
  /** Keys, with the rows of their projects. */
  keys?: readonly number[]
  /** The clock, or the fault rules. */
  values?: readonly ('clock' | 'faults')[]
  /** Sessions, which are created when missing, with their newest consent. */
  sessions?: readonly SessionName[]
  slots?: readonly number[]
  /** Beacons that billing judges, and whether the slot has one of that beacon_id. */
  beacons?: readonly { slot_id: number; beacon_id: string }[]
  caps?: readonly CapGuard[]
  activations?: readonly number[]
  callbacks?: readonly number[]
}

export type NewCallback = Pick<
  CallbackRow,
  'slot_id' | 'project_id' | 'key_id' | 'url' | 'status' | 'attempts' | 'created_at_ms'
>

export type AddedKey = NewKey & { id: number; project_id: number; created_at_ms: number }

export interface Transaction {
  /** Counts the fills that a cap limits, up to its most. */
  countFills(cap: FillGuard): number
  /** Whether a job that an interval keeps free of fills was filled. */
  hasFillWithin(interval: IntervalGuard): boolean

  newestConsent(session: SessionName): ConsentRecord | null
  insertConsent(session: SessionName, record: ConsentRecord): void
  /** Updates the extras and times of the newest consent. */
  renewConsent(session: SessionName, record: ConsentRecord): void

  insertJob(job: JobRow): void
  insertSlot(job: JobRow, slot: NewSlot): void
  insertCallback(callback: NewCallback): void
  /** Returns the project of the callback; null when it is gone. */
  updateCallback(update: CallbackUpdate): number | null
  /** Returns the project of a slot that is now bound to the decision; null when it is decided already, or gone. */
  bindSlot(slot_id: number, decision: StoredDecision): number | null
  /** Removes the topic that was derived from prompt text from the job of a slot. */
  dropTopic(slot_id: number): void
  /** @throws StorageError when the slot, or its job, is missing */
  projectOfSlot(slot_id: number): number
  /** The first time counts. */
  setFirstFrame(slot_id: number, at_ms: number): void
  setAssetHash(slot_id: number, hash: Uint8Array): void

  /** Returns the largest number of a row; 0 without rows. */
  lastId(table: 'project' | 'api_key'): number
  hasProject(client_id: string): boolean
  insertProject(project: StoredProject): void
  findProject(id: number): ProjectRow | null
  /** `settings` is JSON: what differs from the default settings. */
  saveSettings(project_id: number, config_revision: number, settings: string): void
  insertKey(key: AddedKey): void
  findKey(id: number): KeyListRow | null
  revokeKey(id: number, at_ms: number): void

  insertActivation(activation: NewActivation, at_ms: number): void
  /** Returns the origin that a beacon token is bound to, or null; undefined when there is no such token. */
  findOrigin(activation_id: number): string | null | undefined
  setOrigin(activation_id: number, origin: string): void

  /** Returns false, with nothing stored, when the slot has a beacon of that beacon_id, or is gone. */
  insertBeacon(beacon: BeaconRow): boolean
  /** Returns the accepted beacons of a slot that billing judges. */
  judgedBeacons(slot_id: number): readonly AcceptedBeacon[]
  insertUnaccepted(beacon: UnacceptedBeaconRow): void

  findClock(): ClockRow | null
  saveClock(clock: ClockRow): void
  findFaults(): FaultState | null
  saveFaults(faults: FaultState): void

  appendEvidence(project_id: number, slot_id: number | null, draft: EvidenceDraft): void
  appendEvent(event: NewEvent): void
}
