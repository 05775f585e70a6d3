/**
 * The store, in the domain's words. Every method is atomic and async; races are decided by unique constraints and
 * compare-and-set, never by there being one process. No SQL and no driver type shows here.
 *
 * Identifiers are integers (their wire form is src/contract/ids.ts), times are epoch milliseconds.
 *
 * Over 300 lines because it is all that a second adapter would have to read: every row that goes in or out, one after
 * the other, then the port with a method for each thing that operations do.
 */

import type { AcceptedBeacon } from '../../src/contract/beacon-verdict.ts'
import type { EventType } from '../../src/contract/control/events.ts'
import type { ProjectSettings } from '../../src/contract/control/projects.ts'
import type { KeyKind } from '../../src/contract/control/requests.ts'
import type { ErrorCode, ReasonCode } from '../../src/contract/errors.ts'
import type { AuthoritativeConsent, Format, JobType, Mode, NativeTemplateId } from '../../src/contract/fields.ts'
import type { NoFillReason } from '../../src/contract/no-fill.ts'
import type { BeaconEvent, Measurements } from '../../src/contract/v1/beacons.ts'
import type { ConsentDraft, ConsentRecord } from '../domain/consent.ts'
import type { Fault, FaultCount } from '../domain/faults.ts'

export type KeyClass = 'secret' | 'publishable'

export interface ProjectRow {
  id: number
  client_id: string
  /** Wire form `ten_`. */
  tenant_id: number
  config_revision: number
  settings: ProjectSettings
}

export interface KeyRow {
  id: number
  project: ProjectRow
  class: KeyClass
  mode: Mode
  revoked_at_ms: number | null
}

/** Beacons by project, session and when they were received: from `since_ms` on, before `until_ms`. */
export interface BeaconScope {
  project_id?: number
  session_id?: string
  since_ms?: number
  until_ms?: number
}

export interface ConsentListRow extends ConsentRecord {
  project_id: number
  session_id: string
  /** Whether no later revision of its session is stored. */
  is_current: boolean
}

export interface KeyListRow extends KeyRow {
  created_at_ms: number
}

/** A key to be added: of its text only the SHA-256 is stored. */
export interface NewKey {
  class: KeyClass
  mode: Mode
  hash: Uint8Array
}

/** An activation token, or a beacon token when `slot_id` is set. */
export interface ActivationRow {
  id: number
  hash: Uint8Array
  project: ProjectRow
  key_id: number
  mode: Mode
  /** The bound origin; null for a beacon token that no beacon has used yet. */
  origin: string | null
  slot_id: number | null
  expires_at_ms: number
}

/** What a job asked for, mapped to canonical members, without prompt text. Stored as JSON, defaults left out. */
export interface JobFacts {
  allowed_formats?: Format[]
  native_template_id?: NativeTemplateId
  position?: string
  timing?: string
  max_width?: number
  max_height?: number
  floors?: { banner: number; clip: number; native: number }
  floor_currency?: string
  blocked_categories?: string[]
  blocked_domains?: string[]
  preferred_partner_id?: string
  country?: string
  gdpr_applies?: boolean
  topic?: string
  prompt_length?: number
  frequency_cap?: { session?: number; prompt_interval?: number; global_per_hour?: number; user_per_day?: number }
  test_forced?: boolean
  /** Of a job without a session: the consent it came with. */
  consent?: AuthoritativeConsent
}

export interface JobRow {
  id: number
  project_id: number
  session_id: string | null
  job_type: JobType
  mode: Mode
  key_id: number
  created_at_ms: number
  facts: JobFacts
}

/** The outcome of a decision, and what it binds. */
export interface DecisionFacts {
  decided_at_ms: number
  outcome:
    | {
        status: 'filled'
        format: Format
        campaign_id: string
        creative_id: string
        width: number
        height: number
        duration_ms: number | null
        gross_cpm: number
        currency: string
        template_id: NativeTemplateId | null
        asset_token_hash: Uint8Array
      }
    | { status: 'no_fill'; reason: NoFillReason }
  label_text: string
  consent: AuthoritativeConsent
  /** Letters of sandbox/domain/trace.ts, over the campaigns of `catalogue`. */
  trace: string
  /** Identifier of the catalogue that was decided over. */
  catalogue: number
  /** Topic that took part in matching. */
  topic: string | null
}

export interface SlotRow {
  id: number
  job: JobRow
  project: ProjectRow
  created_at_ms: number
  /** When a pending decision is due. */
  due_at_ms: number
  decision: DecisionFacts | null
  first_frame_at_ms: number | null
}

export interface BeaconRow {
  id: number
  slot_id: number
  beacon_id: string
  event: BeaconEvent
  occurred_at_ms: number
  received_at_ms: number
  body_sha256: string
  measurements: Measurements | null
  /** JSON of render_instance_id, seq, consent_revision, metadata: kept, not acted on. */
  extras: string
}

/** A beacon that is kept apart from the evidence: rejected, or a repetition of one that was accepted (A74). */
export interface UnacceptedBeaconRow {
  id: number
  verdict: 'rejected' | 'duplicate'
  project_id: number
  slot_id: number | null
  beacon_id: string | null
  event: BeaconEvent | null
  occurred_at_ms: number | null
  received_at_ms: number
  reason_code: ReasonCode | 'DUPLICATE'
}

/** An evidence entry to be appended: `build` makes its canonical JSON once its position is known. */
export interface EvidenceDraft {
  kind: 'decision' | 'consent' | 'beacon'
  ref: number
  at_ms: number
  build: (seq: number) => string
}

export interface EvidenceRow {
  seq: number
  kind: EvidenceDraft['kind']
  ref: number
  at_ms: number
  entry: string
  hash: string
}

export interface EvidenceListRow extends EvidenceRow {
  id: number
  project_id: number
  slot_id: number | null
}

export interface EventRow {
  seq: number
  type: EventType
  at_ms: number
  project_id: number | null
  slot_id: number | null
  /** The row it is about: a slot, beacon, rejected beacon, consent or activation. */
  ref: number | null
}

export interface ExchangeRow {
  id: number
  at_ms: number
  method: string
  path: string
  status: number
  error: ErrorCode | null
  reason_code: ReasonCode | null
  duration_us: number
  project_id: number | null
  session_id: string | null
  slot_id: number | null
  request_headers: string
  request_body: string | null
  response_headers: string
  response_body: string | null
  /** Of the credential, once it was found good. */
  key_kind: KeyKind | null
  key_id: number | null
}

export type ExchangeSummary = Omit<
  ExchangeRow,
  'request_headers' | 'request_body' | 'response_headers' | 'response_body'
>

/** What a list of the journal is narrowed to. */
export interface ExchangeFilter {
  method?: string
  /** The beginning of the path; with a `*` in it, the whole path, `*` standing for any text. */
  path?: string
  status?: number
  /** 4 for every 4xx. */
  status_class?: number
  reason_code?: ReasonCode
  project_id?: number
  key_kind?: KeyKind
  key_id?: number
  session_id?: string
  since_ms?: number
  until_ms?: number
  /** Only identifiers larger than this. */
  after?: number
}

export interface Page<Row> {
  rows: Row[]
  /** The last row's identifier when there are more. */
  next: number | null
}

export interface PageQuery {
  limit: number
  /** Only rows older than this identifier. */
  before: number | null
}

export interface NewSlot {
  id: number
  due_at_ms: number
  decision: DecisionFacts | null
  evidence: EvidenceDraft | null
}

/** What must still hold when a fill is written, so that two requests at once cannot both take the last one. */
export type CapGuard =
  | { kind: 'fills'; project_id: number; session_id: string | null; since_ms: number; most: number }
  | { kind: 'interval'; project_id: number; session_id: string; jobs: number }

/** The sandbox clock: how far it is ahead of the machine's while it runs, or where it stands still. */
export interface ClockRow {
  offset_ms: number
  frozen_at_ms: number | null
}

/** A fault rule as it stands, with what it has counted. */
export interface StoredFault {
  fault_id: string
  rule: Fault
  scenario: string | null
  created_at_ms: number
  count: FaultCount
}

/** What is made to fail. */
export interface FaultState {
  /** The scenario in use. */
  scenario: string | null
  /** Rules that were ever added, which numbers the next one. */
  added: number
  /** Newest first. */
  rules: readonly StoredFault[]
}

/** A beacon as listed: accepted, or kept apart. */
export type BeaconListRow =
  | { kind: 'accepted'; beacon: BeaconRow; slot: SlotRow }
  | { kind: 'unaccepted'; beacon: UnacceptedBeaconRow; slot: SlotRow | null }

export interface Store {
  readonly path: string
  readonly schema_version: number

  /** A key by the SHA-256 of its text. */
  findKey(hash: Uint8Array): Promise<KeyRow | null>
  keyById(id: number): Promise<KeyRow | null>
  findProject(client_id: string): Promise<ProjectRow | null>
  projectById(id: number): Promise<ProjectRow>
  listProjects(): Promise<ProjectRow[]>
  /** Adds a project with its keys; null when the client_id is taken. */
  insertProject(
    client_id: string,
    settings: ProjectSettings,
    keys: readonly NewKey[],
    at_ms: number,
  ): Promise<ProjectRow | null>
  /** Writes settings as the next revision; null when another writer was first (compare-and-set on the revision). */
  saveSettings(id: number, expected_revision: number, settings: ProjectSettings): Promise<ProjectRow | null>
  /** Newest first. */
  listKeys(project_id: number, query: PageQuery): Promise<Page<KeyListRow>>
  insertKey(project_id: number, key: NewKey, at_ms: number): Promise<KeyListRow>
  /** Revokes a key, the first time for good; null when there is none. */
  revokeKey(id: number, at_ms: number): Promise<KeyListRow | null>
  findActivation(id: number): Promise<ActivationRow | null>
  insertActivation(row: Omit<ActivationRow, 'project'> & { project_id: number }, at_ms: number): Promise<void>
  /** Binds a beacon token to the origin of its first beacon; false when it is bound to another already. */
  pinOrigin(id: number, origin: string): Promise<boolean>

  latestConsent(project_id: number, session_id: string): Promise<ConsentRecord | null>
  /** Revisions of consent, newest first. */
  listConsent(
    query: PageQuery & { project_id?: number; session_id?: string; since_ms?: number },
  ): Promise<Page<ConsentListRow>>
  /** Appends a revision or renews it; null when another writer was first (compare-and-set on the revision). */
  saveConsent(write: ConsentWrite): Promise<ConsentRecord | null>

  /**
   * Creates a job with its slots, decided or pending, the consent that came with it, their evidence and events.
   * False when the consent had changed meanwhile, or a cap was reached (compare-and-set): nothing is written, try again.
   */
  createJob(job: JobRow, slots: NewSlot[], consent: ConsentWrite | null, caps: readonly CapGuard[]): Promise<boolean>
  /** Binds the decision of a pending slot, unless it is decided already or a cap was reached meanwhile. */
  bindDecision(
    slot_id: number,
    decision: DecisionFacts,
    evidence: EvidenceDraft,
    caps: readonly CapGuard[],
  ): Promise<'bound' | 'decided' | 'capped'>
  findSlot(id: number): Promise<SlotRow | null>
  pendingSlots(): Promise<{ id: number; due_at_ms: number }[]>
  /** Records the first load of a frame and the beacon token minted for this one. */
  recordFrame(
    slot_id: number,
    at_ms: number,
    token: Omit<ActivationRow, 'project'> & { project_id: number },
  ): Promise<void>
  /** Replaces the hash of an asset token whose secret this install cannot derive. */
  replaceAssetToken(slot_id: number, hash: Uint8Array, evidence: EvidenceDraft): Promise<void>

  /** Fills of a session or a project since an instant, counted up to `most`. */
  countFills(scope: { project_id: number; session_id: string | null }, since_ms: number, most: number): Promise<number>
  /** Whether one of the session's last `jobs` jobs was filled. */
  filledWithin(project_id: number, session_id: string, jobs: number): Promise<boolean>

  beaconsOf(slot_id: number): Promise<BeaconRow[]>
  findBeacon(slot_id: number, beacon_id: string): Promise<BeaconRow | null>
  beaconById(id: number): Promise<BeaconRow | null>
  unacceptedBeaconById(id: number): Promise<UnacceptedBeaconRow | null>
  /**
   * Stores a beacon with its evidence and gives what is judged of the slot's beacons then; null when this slot has one of
   * that beacon_id.
   */
  recordBeacon(
    beacon: BeaconRow,
    project_id: number,
    evidence: EvidenceDraft,
  ): Promise<readonly AcceptedBeacon[] | null>
  recordUnaccepted(beacon: UnacceptedBeaconRow): Promise<void>

  listSlots(
    query: PageQuery & { project_id?: number; session_id?: string; format?: Format; fill?: boolean; since_ms?: number },
  ): Promise<Page<SlotRow>>
  listBeacons(
    query: PageQuery & {
      slot_id?: number
      event?: BeaconEvent
      verdict?: 'accepted' | 'duplicate' | 'rejected'
      format?: Format
      session_id?: string
      project_id?: number
      since_ms?: number
      until_ms?: number
    },
  ): Promise<Page<BeaconListRow>>
  /**
   * Slots that have accepted beacons of a time, oldest first, each with all that billing judges of it, inside that time
   * or not: heartbeats are left out.
   */
  slotsWithBeacons(
    query: BeaconScope & { after: number; limit: number },
  ): Promise<{ slot: SlotRow; beacons: BeaconRow[] }[]>
  /** Beacons that are kept apart, by reason. */
  countUnaccepted(query: BeaconScope): Promise<{ reason_code: UnacceptedBeaconRow['reason_code']; count: number }[]>
  unacceptedBeaconsOf(slot_id: number): Promise<UnacceptedBeaconRow[]>
  evidenceOf(slot_id: number): Promise<EvidenceRow[]>
  /** Entries of every chain, newest first. */
  listEvidence(
    query: PageQuery & { project_id?: number; slot_id?: number; kind?: EvidenceRow['kind']; since_ms?: number },
  ): Promise<Page<EvidenceListRow>>
  /** A chain from its first entry on, in pieces. */
  evidence(project_id: number, after_seq: number, limit: number): Promise<EvidenceRow[]>

  /** The catalogue a decision was made over, as JSON. */
  catalogue(id: number): Promise<string | null>

  /** Adds an exchange to the journal with the next commit. Never waits, never fails a request. */
  appendExchange(row: ExchangeRow): void
  findExchange(id: number): Promise<ExchangeRow | null>
  /**
   * The three of them look at the newest 5 000 exchanges before the cursor at most, so that a filter which matches
   * little costs little: `next` may be set although fewer rows than `limit` were found, even none.
   */
  listExchanges(query: PageQuery & ExchangeFilter): Promise<Page<ExchangeSummary>>
  /** The same, with headers and bodies. */
  readExchanges(query: PageQuery & ExchangeFilter): Promise<Page<ExchangeRow>>
  countExchanges(query: Omit<PageQuery, 'limit'> & ExchangeFilter): Promise<{ count: number; next: number | null }>
  journal(): { enabled: boolean; limit: number; size: number; dropped: number }

  /** The clock as it was steered; null when nobody has since the last reset. */
  findClock(): Promise<ClockRow | null>
  /** Keeps the clock, with its event at the instant it has moved to. */
  saveClock(clock: ClockRow, at_ms: number): Promise<void>

  /** Fault rules and the scenario in use; null when there has been neither since the last reset. */
  findFaults(): Promise<FaultState | null>
  /** Keeps them as `state` tells when it comes to the commit: of several calls in one turn, each keeps the last. */
  saveFaults(state: () => FaultState): Promise<void>

  /** Appends an event that no other write carries. */
  appendEvent(event: Omit<EventRow, 'seq'>): Promise<void>
  events(after_seq: number, limit: number): Promise<EventRow[]>
  lastEventSeq(): number
  /** The number after which events since an instant begin; 0 where what came before them is not kept. */
  eventSeqBefore(at_ms: number): Promise<number>
  /** The log of events: how many are kept, how many went for the limit, and the number of the last of those; 0: none. */
  eventLog(): { limit: number; size: number; dropped: number; last_dropped_seq: number }
  /** Calls back after a commit that appended events; the returned function ends it. */
  onEvents(listener: () => void): () => void

  /** What the database finds wrong with itself; nothing when it is whole. */
  integrityProblems(): Promise<string[]>

  /** Removes everything but the seeded rows, in one transaction. */
  reset(at_ms: number): Promise<void>

  /** Saves what is committed now under a name; null when the name is taken and may not be replaced. */
  saveSnapshot(name: string, mayReplace: boolean): Promise<SnapshotRow | null>
  /** Newest first. */
  listSnapshots(): Promise<SnapshotRow[]>
  /** False when there is none of that name. */
  deleteSnapshot(name: string): Promise<boolean>
  /** Replaces everything by a snapshot, in one transaction; whatever refuses it changes nothing. */
  restoreSnapshot(
    name: string,
    at_ms: number,
  ): Promise<'missing' | Refusal | { status: 'restored'; snapshot: SnapshotRow }>
  /** One consistent copy of everything, as a file that the caller removes. */
  exportState(): Promise<{ path: string; remove(): void }>
  /** Takes in a copy and opens it aside: nothing here changes before `replace`. */
  receiveState(bytes: AsyncIterable<Uint8Array>): Promise<ReceivedState | Refusal>
  /** How often everything was replaced, and the number of the event that told so last. */
  stateGeneration(): { count: number; event_seq: number }
  /** The largest identifier in use, which grows when a state is taken in. */
  largestId(): number
  close(): Promise<void>
}

/** A named state. */
export interface SnapshotRow {
  name: string
  /** Of the system clock. */
  saved_at_ms: number
  size_bytes: number
  schema_version: number
}

/** Why a state is not taken. */
export interface Refusal {
  status: 'refused'
  reason: 'invalid' | 'newer'
  problem: string
}

/** A state that was taken in, to be looked at before it replaces anything. */
export interface ReceivedState {
  status: 'received'
  store: Store
  /** Replaces everything by it, in one transaction. */
  replace(at_ms: number): Promise<void>
  /** Closes and removes it, replaced or not. */
  discard(): Promise<void>
}

export interface ConsentWrite {
  id: number
  project_id: number
  session_id: string
  draft: ConsentDraft
  /** The revision that was read: 0 for none. */
  expected_revision: number
  evidence: EvidenceDraft | null
}

/** The database refused a write: a full disk, a read-only file, another process that holds it. */
export class StorageError extends Error {
  constructor(cause: unknown) {
    super(`The database refused a write: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'StorageError'
  }
}
