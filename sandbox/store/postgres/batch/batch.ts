/**
 * The rows of one transaction: rows that its writes need, loaded together under the locks of their projects, and rows
 * that they add. A write is a function on these rows in memory, so many of them cost two round trips: one to lock and
 * load, one to store. Each sees what earlier writes in the same batch have added.
 */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import type { ConsentRecord } from '#domain/consent.ts'
import { decisionColumns, decisionValues } from '#store/slot-rows.ts'
import { parseRow, required } from '../../rows.ts'
import {
  type BeaconRow,
  type CallbackUpdate,
  type EvidenceDraft,
  type FillGuard,
  type IntervalGuard,
  type JobRow,
  type NewActivation,
  type NewEvent,
  type NewSlot,
  StorageError,
  type StoredDecision,
  type StoredJobFields,
  type UnacceptedBeaconRow,
} from '../../store.ts'
import { buildNextEntry, type ChainHead } from '../../writes/evidence.ts'
import type { NewCallback, SessionName, Transaction } from '../../writes/transaction.ts'
import { AddedFills } from './fills.ts'
import { encodeBytes, type JsonRow } from './json.ts'
import { type Loaded, type LoadedSlot, nameBeacon, nameSession } from './load.ts'
import { type OwnsId, RegistryBatch } from './registry.ts'

export class Batch extends RegistryBatch implements Transaction {
  /** By identifier: the last renewal of a consent, the first load of a frame, the last hash of an asset token. */
  readonly renewals = new Map<number, JsonRow>()
  readonly firstFrames = new Map<number, JsonRow>()
  readonly assetHashes = new Map<number, JsonRow>()
  /** By identifier: the outcome of the last attempt. */
  readonly callbackUpdates = new Map<number, JsonRow>()
  readonly bindings: JsonRow[] = []
  readonly droppedTopics: JsonRow[] = []
  readonly pinned: JsonRow[] = []
  readonly evidence: JsonRow[] = []
  readonly events: NewEvent[] = []
  readonly decided: number[] = []
  readonly heads = new Map<number, ChainHead>()
  private readonly sha256Hex: Sha256Hex
  private readonly newest = new Map<string, ConsentRecord>()
  private readonly boundSlots = new Map<number, LoadedSlot>()
  private readonly beaconIds = new Set<string>()
  private readonly judged = new Map<number, AcceptedBeacon[]>()
  private readonly fills: AddedFills
  private readonly origins = new Map<number, string>()

  constructor(loaded: Loaded, sha256Hex: Sha256Hex, ownsId: OwnsId) {
    super(loaded, ownsId)
    this.sha256Hex = sha256Hex
    this.fills = new AddedFills(loaded)
  }

  countFills(cap: FillGuard): number {
    return this.fills.count(cap)
  }

  hasFillWithin(interval: IntervalGuard): boolean {
    return this.fills.isWithin(interval)
  }

  newestConsent(session: SessionName): ConsentRecord | null {
    const name = nameSession(session)
    return this.newest.get(name) ?? this.loaded.sessions.get(name)?.newest ?? null
  }

  insertConsent(session: SessionName, record: ConsentRecord): void {
    this.newest.set(nameSession(session), record)
    this.add('consent', {
      ...record,
      session: this.sessionId(session),
      semantic_targeting: record.semantic_targeting ? 1 : 0,
      prompt_shared: record.prompt_shared ? 1 : 0,
    })
  }

  renewConsent(session: SessionName, record: ConsentRecord): void {
    const { id, extras, updated_at_ms, expires_at_ms } = record
    this.newest.set(nameSession(session), record)
    this.renewals.set(id, { id, extras, updated_at_ms, expires_at_ms })
  }

  insertJob({ session_id, facts, ...job }: JobRow): void {
    const name = session_id === null ? null : { project_id: job.project_id, session_id }
    const session = name === null ? null : this.sessionId(name)
    this.add('job', { ...job, session, facts: JSON.stringify(facts) })
    if (name !== null) this.fills.addJob({ ...name, id: job.id })
  }

  insertSlot({ id: job_id, project_id, session_id }: JobRow, { id, due_at_ms, decision }: NewSlot): void {
    this.add('slot', { id, job_id, due_at_ms, ...(decision === null ? {} : decisionRow(decision)) })
    if (decision !== null) this.countFill({ project_id, session_id, job_id }, decision)
  }

  insertCallback({ slot_id: id, ...callback }: NewCallback): void {
    this.add('callback', { id, ...callback })
  }

  updateCallback({ slot_id: id, ...update }: CallbackUpdate): number | null {
    const project_id = this.loaded.callbacks.get(id) ?? null
    if (project_id !== null) this.callbackUpdates.set(id, { id, ...update })
    return project_id
  }

  bindSlot(slot_id: number, decision: StoredDecision): number | null {
    const slot = this.findSlot(slot_id)
    if (slot === null || slot.decided_at_ms !== null) return null
    this.bindings.push({ id: slot_id, ...decisionRow(decision) })
    this.boundSlots.set(slot_id, { ...slot, decided_at_ms: decision.decided_at_ms })
    this.countFill(slot, decision)
    this.decided.push(slot_id)
    return slot.project_id
  }

  dropTopic(slot_id: number): void {
    const slot = this.findSlot(slot_id)
    if (slot === null) return
    const { derived_topic: _, ...facts } = parseRow<StoredJobFields>(slot.facts)
    this.droppedTopics.push({ id: slot.job_id, facts: JSON.stringify(facts) })
  }

  projectOfSlot(slot_id: number): number {
    return required(this.findSlot(slot_id), 'a slot, or its job,').project_id
  }

  setFirstFrame(slot_id: number, at_ms: number): void {
    if (!this.firstFrames.has(slot_id)) this.firstFrames.set(slot_id, { id: slot_id, first_frame_at_ms: at_ms })
  }

  setAssetHash(slot_id: number, hash: Uint8Array): void {
    this.assetHashes.set(slot_id, { id: slot_id, asset_token_hash: encodeBytes(hash) })
  }

  insertActivation({ hash, ...activation }: NewActivation, created_at_ms: number): void {
    this.add('activation', { ...activation, hash: encodeBytes(hash), created_at_ms })
  }

  findOrigin(activation_id: number): string | null | undefined {
    return this.origins.get(activation_id) ?? this.loaded.origins.get(activation_id)
  }

  setOrigin(activation_id: number, origin: string): void {
    this.origins.set(activation_id, origin)
    this.pinned.push({ id: activation_id, origin })
  }

  insertBeacon(beacon: BeaconRow): boolean {
    const { slot_id, measurements } = beacon
    const name = nameBeacon(slot_id, beacon.beacon_id)
    if (this.findSlot(slot_id) === null || this.loaded.beaconIds.has(name) || this.beaconIds.has(name)) return false
    this.beaconIds.add(name)
    this.add('beacon', { ...beacon, measurements: measurements === null ? null : JSON.stringify(measurements) })
    if (beacon.event !== 'heartbeat') this.judged.set(slot_id, [...this.judgedBeacons(slot_id), beacon])
    return true
  }

  judgedBeacons(slot_id: number): readonly AcceptedBeacon[] {
    return this.judged.get(slot_id) ?? this.loaded.judged.get(slot_id) ?? []
  }

  insertUnaccepted(beacon: UnacceptedBeaconRow): void {
    this.add('aside_beacon', { ...beacon })
  }

  appendEvidence(project_id: number, slot_id: number | null, draft: EvidenceDraft): void {
    const head = this.heads.get(project_id) ?? this.loaded.heads.get(project_id)
    if (head === undefined) throw replaced()
    const { seq, hash, entry } = buildNextEntry(head, draft, this.sha256Hex)
    const { kind, ref, at_ms } = draft
    this.evidence.push({
      id: this.evidence.length + 1,
      ...{ project_id, seq, kind, ref, slot_id, at_ms, entry },
      hash: `\\x${hash}`,
    })
    this.heads.set(project_id, { seq, hash })
  }

  appendEvent(event: NewEvent): void {
    this.events.push(event)
  }

  private sessionId(name: SessionName): number {
    const session = this.loaded.sessions.get(nameSession(name))
    if (session === undefined) throw replaced()
    return session.id
  }

  private findSlot(id: number): LoadedSlot | null {
    return this.boundSlots.get(id) ?? this.loaded.slots.get(id) ?? null
  }

  private countFill(
    job: { project_id: number; session_id: string | null; job_id: number },
    decision: StoredDecision,
  ): void {
    const { project_id, session_id, job_id } = job
    const { decided_at_ms, outcome } = decision
    if (outcome.status === 'no_fill') return
    const { campaign_id } = outcome
    this.fills.addFill({ project_id, session_id, job_id, decided_at_ms, campaign_id })
  }
}

/** The rows of a write are gone: the whole state was replaced after it was requested. */
export function replaced(): StorageError {
  return new StorageError(new Error('the state was replaced in the meantime'), 'write', 1)
}

/** The columns of a decision, with bytes in the form of JSON. */
function decisionRow(decision: StoredDecision): JsonRow {
  const values = decisionValues(decision)
  return Object.fromEntries(
    decisionColumns.map((name, index) => {
      const value = values[index] ?? null
      return [name, value instanceof Uint8Array ? encodeBytes(value) : value]
    }),
  )
}
