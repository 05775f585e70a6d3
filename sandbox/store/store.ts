/**
 * The store, in the domain's words: rows and methods of each resource, composed into `Store`. Every method is atomic
 * and async; races are decided by unique constraints and compare-and-set, never by relying on a single process. No SQL
 * and no driver type is visible here.
 *
 * Identifiers are integers (src/core/contract/ids.ts has their wire form), times are epoch milliseconds.
 *
 * Over 400 lines because it is everything that the author of another adapter has to read, one resource after the other.
 */
import type { AcceptedBeacon } from '#contract/beacon-verdict.ts'
import type { ErrorCode, ReasonCode } from '#contract/errors.ts'
import type { AuthoritativeConsent, Format, JobType, Mode, NativeTemplateId } from '#contract/fields.ts'
import type { NoFillReason } from '#contract/no-fill.ts'
import type { AcceptCode, BeaconEvent, Measurements, Metric } from '#contract/resources/beacons.ts'
import type { BillingDimension } from '#contract/resources/billing.ts'
import type { CallbackStatus } from '#contract/resources/callbacks.ts'
import type { EventType } from '#contract/resources/events.ts'
import type { Sha256Hex } from '#contract/resources/evidence.ts'
import type { ProjectSettings } from '#contract/resources/projects.ts'
import type { KeyKind } from '#contract/resources/requests.ts'
import type { ConsentDraft, ConsentRecord } from '#domain/consent.ts'
import type { Fault, FaultCount } from '#domain/faults.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import type { AccessStore, SharedStore } from './nodes.ts'

export interface Store
  extends ProjectStore,
    ConsentStore,
    PlacementStore,
    CallbackStore,
    BeaconStore,
    BillingStore,
    EvidenceStore,
    RequestStore,
    EventStore,
    ClockAndFaultStore,
    SnapshotStore {
  /** Where the rows are, for people: a file, `:memory:`, or the URL of a database without its password. */
  readonly location: string
  /** Returns the file that other threads can read; null in memory, in a database server, and when it was removed. */
  findFile(): string | null
  readonly schema_version: number
  /** Who may use the control plane. */
  readonly access: AccessStore
  /** Coordination between the nodes of one database; null where one process owns the database. */
  readonly shared: SharedStore | null
  /** The catalogue in force on this node. */
  readonly catalogue_id: number
  /** Notes for the user about the opening, such as a migration. */
  readonly notes: readonly string[]
  /**
   * The number of this node among those that share the database, from 0: its identifiers end with it. Null when no
   * other process can share it. It may change after a long time without the database.
   */
  node(): number | null
  /**
   * Returns how many times the whole state was replaced, and the number of the event that announced the last time, as far
   * as this node has been notified. A write that began on an older state is refused with a StorageError.
   */
  stateGeneration(): { count: number; event_seq: number }
  /**
   * Calls `listener` with the changes that other nodes commit, within 100 ms, until the returned function is called.
   * This node's own changes are not included.
   */
  onChange(listener: (change: StoreChange) => void): () => void
  /**
   * Looks for damage when the last owner of the rows did not shut down cleanly. Its findings become a warning, and are
   * reported. Until it has resolved, the next start checks again.
   */
  checkUncleanEnd(): Promise<void>
  /** Puts another catalogue in force, for decisions and resets from now on. */
  replaceCatalogue(catalogue: Seed['catalogue']): Promise<void>
  /** Removes everything but the seeded rows, in one transaction. */
  reset(at_ms: number): Promise<void>
  /** Returns warnings about the rows in force: what an unclean shutdown damaged or lost. */
  warnings(): string[]
  /** Resolves to the problems that the database reports about itself; none when it is intact. */
  integrityProblems(): Promise<string[]>
  /** Resolves to the size of the rows in bytes: of the pages in use, or of the tables of a namespace with their indexes. */
  sizeBytes(): Promise<number>
  /** Resolves to the largest identifier in use, which grows when a state is imported. */
  largestId(): Promise<number>
  close(): Promise<void>
}

/** A change that another node committed. The store has cleared its own caches already. */
export type StoreChange =
  /** Projects, their settings or keys. */
  | { kind: 'projects' }
  | { kind: 'clock' }
  | { kind: 'faults' }
  | { kind: 'decided'; slot_ids: readonly number[] }
  /** The whole state was replaced: nothing that was read before is valid. */
  | { kind: 'generation' }
  /** Notifications were interrupted, so anything may have changed except the generation. */
  | { kind: 'resumed' }

export interface StoreOptions {
  pid: number
  seed: Seed
  now_ms: number
  /** The most exchanges that the journal keeps; 0 turns it off. */
  journal_limit: number
  /** The most events that are kept. */
  event_limit: number
  sha256Hex: Sha256Hex
  /** Called with failures outside any request. */
  report: (error: unknown) => void
  /** Called after each transaction with writes: its duration in seconds, and whether the database has taken it. */
  onTransaction?: (duration_s: number, isStored: boolean) => void
}

/** A store, and the secret that its asset tokens are derived from: the same in every run, and on every node. */
export interface OpenedStore {
  store: Store
  signing_key: Uint8Array
}

/** The rows of a fresh state; keys are given as hashes only. */
export interface Seed {
  projects: {
    client_id: string
    tenant: number
    settings: Partial<ProjectSettings>
    keys: { class: KeyClass; mode: Mode; hash: Uint8Array }[]
  }[]
  catalogue: { sha256: string; demand: string }
}

/**
 * The database refused: a full disk, a read-only or damaged file, another process that has it locked, a lost
 * connection.
 */
export class StorageError extends Error {
  readonly refused: 'read' | 'write'
  /** When a retry makes sense, in seconds; null when the cause remains until someone removes it. */
  readonly retry_after_s: number | null
  constructor(cause: unknown, refused: 'read' | 'write' = 'write', retry_after_s: number | null = null) {
    super(`The database refused a ${refused}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'StorageError'
    this.refused = refused
    this.retry_after_s = retry_after_s
  }
}

/** Another state has become the present one since this one was prepared. The cause of a StorageError. */
export class StateReplaced extends Error {}

/** Whether something was refused because another state has become the present one: prepared again, it may be done. */
export function isReplaced(error: unknown): boolean {
  return error instanceof StorageError && error.cause instanceof StateReplaced
}

/** The database is damaged, or has lost commits. The message is a warning to read, not to parse. */
export class DamageWarning extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DamageWarning'
  }
}

export interface Page<Row> {
  rows: Row[]
  /** Identifier of the last row when there are more. */
  next: number | null
}

/**
 * Lists are newest first. One call reads a bounded number of rows, so no filter delays other requests: `next` may be
 * set with fewer rows than `limit`, or none.
 */
export interface PageQuery {
  limit: number
  /** Only rows with smaller identifiers. */
  before: number | null
}

/* Projects, keys and activations */

export interface ProjectRow {
  id: number
  client_id: string
  /** Wire form `ten_`. */
  tenant_id: number
  config_revision: number
  settings: ProjectSettings
}

export type KeyClass = 'secret' | 'publishable'

export interface KeyRow {
  id: number
  project: ProjectRow
  class: KeyClass
  mode: Mode
  revoked_at_ms: number | null
}

export interface KeyListRow extends KeyRow {
  created_at_ms: number
}

/** A key to be added. Only the SHA-256 of its text is stored. */
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
  is_key_revoked: boolean
  mode: Mode
  /** The bound origin; null for a beacon token that no beacon has used yet. */
  origin: string | null
  slot_id: number | null
  expires_at_ms: number
}

export type NewActivation = Omit<ActivationRow, 'project' | 'is_key_revoked'> & { project_id: number }

export interface ProjectStore {
  findProject(client_id: string): Promise<ProjectRow | null>
  findProjectById(id: number): Promise<ProjectRow>
  listProjects(): Promise<ProjectRow[]>
  /** Adds a project with its keys; null when the client_id is taken. */
  insertProject(
    client_id: string,
    settings: ProjectSettings,
    keys: readonly NewKey[],
    at_ms: number,
  ): Promise<ProjectRow | null>
  /** Writes settings as the next revision; null when the revision is not the expected one. */
  saveSettings(id: number, expected_revision: number, settings: ProjectSettings): Promise<ProjectRow | null>

  /**
   * Returns the key whose text has this SHA-256. It may be cached for this very object, not for others with the same
   * bytes.
   */
  findKey(hash: Uint8Array): MaybePromise<KeyRow | null>
  findKeyById(id: number): Promise<KeyRow | null>
  listKeys(project_id: number, query: PageQuery): Promise<Page<KeyListRow>>
  insertKey(project_id: number, key: NewKey, at_ms: number): Promise<KeyListRow>
  /** Revokes a key; the first time counts. null when there is no such key. */
  revokeKey(id: number, at_ms: number): Promise<KeyListRow | null>

  findActivation(id: number): Promise<ActivationRow | null>
  insertActivation(row: NewActivation, at_ms: number): Promise<void>
  /** Binds a beacon token to the origin of its first beacon; false when it is bound to another origin. */
  pinOrigin(id: number, origin: string): Promise<boolean>
}

/* Consent */

export interface ConsentListRow extends ConsentRecord {
  project_id: number
  session_id: string
  /** Whether it is the last revision of its session. */
  is_current: boolean
}

export interface ConsentWrite {
  id: number
  project_id: number
  session_id: string
  draft: ConsentDraft
  /** The record that was read and must still be the newest. */
  expected: ConsentRecord | null
  evidence: EvidenceDraft
}

export interface ConsentStore {
  findLatestConsent(project_id: number, session_id: string): MaybePromise<ConsentRecord | null>
  /** Resolves to one revision, however many are newer; null without it. */
  findConsentRevision(
    session: Pick<ConsentWrite, 'project_id' | 'session_id'>,
    revision: number,
  ): Promise<ConsentRecord | null>
  listConsent(
    query: PageQuery & { project_id?: number; session_id?: string; since_ms?: number },
  ): Promise<Page<ConsentListRow>>
  /** Appends a revision or renews it; null when the newest record is not the expected one. */
  saveConsent(write: ConsentWrite): Promise<ConsentRecord | null>
}

/* Placements: jobs, slots and decisions */

/** A job request in canonical fields, without prompt text. Stored as JSON without defaults. */
export interface StoredJobFields {
  allowed_formats?: Format[]
  native_template_id?: NativeTemplateId
  position?: string
  timing?: 'before' | 'during' | 'after'
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
  /** Derived from prompt text; takes precedence over `topic` for as long as prompt_shared is granted. */
  derived_topic?: string
  prompt_length?: number
  frequency_cap?: { session?: number; prompt_interval?: number; global_per_hour?: number; user_per_day?: number }
  test_forced?: boolean
  /** The campaign that fills, of test traffic alone (A107). */
  force_campaign_id?: string
  /** How long the generation takes, milliseconds. */ predicted_latency_ms?: number
  /** The URL that each slot's decision is sent to. */
  callback_url?: string
  /** The trace of the turn, as W3C headers; left out where the request was in none. */
  traceparent?: string
  tracestate?: string
  /** The consent sent with a job that has no session. */
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
  facts: StoredJobFields
}

/** The outcome of a decision, and everything that it binds. */
export interface StoredDecision {
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
        asset_token_hash: Buffer
      }
    | { status: 'no_fill'; reason: NoFillReason }
  label_text: string
  consent: AuthoritativeConsent
  /** One letter per campaign of `catalogue`; `explainTrace` of sandbox/rules/domain/decisions.ts reads them. */
  trace: string
  /** Identifier of the catalogue used for the decision. */
  catalogue: number
  /** The topic that was matched. */
  topic: string | null
}

export interface SlotRow {
  id: number
  job: JobRow
  project: ProjectRow
  created_at_ms: number
  /** When a pending decision is due. */
  due_at_ms: number
  decision: StoredDecision | null
  first_frame_at_ms: number | null
}

export interface NewSlot {
  id: number
  due_at_ms: number
  decision: StoredDecision | null
  evidence: EvidenceDraft | null
}

/** A condition that must still hold when a fill is written, so that two requests cannot both take the last one. */
export type CapGuard = FillGuard | IntervalGuard

/** Fewer fills than `most` of a session, or of a project, since a time; of one campaign, or of any. */
export interface FillGuard {
  kind: 'fills'
  project_id: number
  session_id: string | null
  since_ms: number
  most: number
  campaign_id?: string
}

/** No fill among the `jobs` jobs of the session before the job, nor among those after it. */
export interface IntervalGuard {
  kind: 'interval'
  project_id: number
  session_id: string
  job_id: number
  jobs: number
}

/** A decision for a pending slot. */
export interface DecisionWrite {
  slot_id: number
  /** Of its job. */
  session: Pick<JobRow, 'project_id' | 'session_id'>
  decision: StoredDecision
  evidence: EvidenceDraft
  caps: readonly CapGuard[]
  /** Whether the topic that was derived from prompt text is removed from the job. */
  dropsTopic: boolean
}

export interface PlacementStore {
  /**
   * Creates a job with its slots, decided or pending, the consent sent with it, and their evidence and events. Resolves
   * to false, with nothing written, when the consent has changed or a cap was reached in the meantime: try again.
   */
  createJob(job: JobRow, slots: NewSlot[], consent: ConsentWrite | null, caps: readonly CapGuard[]): Promise<boolean>
  /**
   * Binds the decision of a pending slot, unless it is decided already, or a cap was reached or the consent of its session
   * has changed in the meantime.
   */
  bindDecision(decision: DecisionWrite): Promise<'bound' | 'decided' | 'capped' | 'superseded'>
  findJob(id: number): Promise<JobRow | null>
  findSlot(id: number): MaybePromise<SlotRow | null>
  /** Resolves to the decision of a slot alone; null while it is pending, and without slot or job. */
  findDecision(slot_id: number): Promise<StoredDecision | null>
  listSlots(
    query: PageQuery & {
      project_id?: number
      session_id?: string
      job_id?: number
      campaign_id?: string
      format?: Format
      fill?: boolean
      since_ms?: number
      decided?: boolean
      /** Whether their frame was loaded. */
      framed?: boolean
      /** Only slots with an accepted beacon of one of these events. */
      with_events?: readonly BeaconEvent[]
      /** Only slots without an accepted beacon of this event. */
      without_event?: BeaconEvent
      /** Only slots for which one of these holds; `unaccepted` are reasons of rejected and duplicate beacons. */
      reasons?: { no_fill: readonly string[]; unaccepted: readonly string[]; events: readonly BeaconEvent[] }
      /** Only this slot and later ones. */
      from_id?: number
      /** Only these slots. */
      slot_ids?: readonly number[]
      /** Only slots created before that time. */
      until_ms?: number
    },
  ): Promise<Page<SlotRow>>
  /** Resolves to the slots that are not decided; with `due_at_ms`, to a few thousand of those due by then. */
  listPendingSlots(due_at_ms?: number): Promise<{ id: number; due_at_ms: number }[]>
  /** Records the load of a frame with its beacon token; the time of the first load is kept. */
  recordFrame(slot_id: number, at_ms: number, token: NewActivation): Promise<void>
  /** Replaces the hash of an asset token whose secret this install cannot derive. */
  replaceAssetToken(slot_id: number, hash: Uint8Array, evidence: EvidenceDraft): Promise<void>
  /** Counts the fills of a session or a project since a time, up to `most`; of one campaign, where it is named. */
  countFills(
    scope: { project_id: number; session_id: string | null; campaign_id?: string },
    since_ms: number,
    most: number,
  ): Promise<number>
  /** Whether a job that an interval keeps free of fills was filled. */
  hasFillWithin(interval: IntervalGuard): Promise<boolean>
  /** Resolves to a catalogue that decisions were made with, as JSON. */
  catalogue(id: number): Promise<string | null>
  /** Resolves to the newest catalogue that contains a text, such as the name of a file. */
  findCatalogueWith(text: string): Promise<number | null>
}

/* Callbacks: the decisions that are posted to a URL of their job */

/** The delivery of one slot's decision. */
export interface CallbackRow {
  slot_id: number
  project_id: number
  /** The key that created the job: its text signs. */
  key_id: number
  url: string
  status: CallbackStatus
  /** Attempts so far, resends included. */
  attempts: number
  /** HTTP status of the last attempt; null when there was no response, or no attempt yet. */
  http_status: number | null
  /** Why the last attempt failed, or why there was none. */
  problem: string | null
  created_at_ms: number
  attempted_at_ms: number | null
}

/** The outcome of an attempt, to be stored. */
export type CallbackUpdate = Pick<
  CallbackRow,
  'slot_id' | 'status' | 'attempts' | 'http_status' | 'problem' | 'attempted_at_ms'
>

/** The deliveries of a job's slots are created with the job, in one transaction. */
export interface CallbackStore {
  findCallback(slot_id: number): Promise<CallbackRow | null>
  listCallbacks(
    query: PageQuery & { project_id?: number; slot_id?: number; status?: CallbackStatus },
  ): Promise<Page<CallbackRow>>
  /** Resolves to the callbacks that are neither delivered nor given up, with whether their slot is decided. */
  listUnfinishedCallbacks(): Promise<{ slot_id: number; key_id: number; is_decided: boolean }[]>
  /** Stores the outcome of an attempt, with an event. */
  updateCallback(update: CallbackUpdate, event: EventType, at_ms: number): Promise<void>
}

/* Beacons */

export interface BeaconRow {
  id: number
  slot_id: number
  beacon_id: string
  event: BeaconEvent
  occurred_at_ms: number
  received_at_ms: number
  body_sha256: string
  measurements: Measurements | null
  /**
   * JSON of render_instance_id, seq, consent_revision and metadata; with alias for one of a deprecated route, and the
   * stated_at_ms of an old client whose time was shifted.
   */
  extras: string
}

/** A beacon without evidence: rejected, or a duplicate of an accepted one (A74). */
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

export type BeaconListRow =
  | { kind: 'accepted'; beacon: BeaconRow; slot: SlotRow }
  | { kind: 'unaccepted'; beacon: UnacceptedBeaconRow; slot: SlotRow | null }

/** Beacons of a project or session that were received from `since_ms` on and before `until_ms`. */
export interface BeaconScope {
  project_id?: number
  session_id?: string
  since_ms?: number
  until_ms?: number
}

/** A report is of a scope, and may be divided. */
export interface BillingScope extends BeaconScope {
  by?: BillingDimension
  /** Only slots of these sessions, by their numbers; null: of none. Rejected and duplicate beacons are not counted then. */
  sessions?: readonly (number | null)[]
}

/** The billable amounts by project, price, metric and, in a divided report, group; and the rest by reason. */
export interface BillingCounts {
  counted: {
    project_id: number
    format: Format
    gross_cpm: number
    currency: string
    metric: Metric
    count: number
    /** Only in a divided report. */
    group?: string | null
  }[]
  missed: { reason_code: UnacceptedBeaconRow['reason_code'] | AcceptCode; count: number }[]
  newest: { slot_id: number; id: number }[]
}

/** What a beacon was checked with. */
export interface BeaconTerms {
  /** Of the job of its slot. */
  session: Pick<JobRow, 'project_id' | 'session_id'>
  /** The newest consent of the session; null without one. */
  consent: ConsentRecord | null
}

export interface BeaconStore {
  /**
   * Stores a beacon with its evidence, which refers to it, and resolves to the slot's beacons that billing judges; null
   * when the slot has a beacon with that beacon_id, or is gone. Resolves to `superseded`, with nothing written, when the
   * consent of its session has changed in the meantime: check it again.
   */
  recordBeacon(
    beacon: BeaconRow,
    terms: BeaconTerms,
    evidence: EvidenceDraft,
  ): Promise<readonly AcceptedBeacon[] | 'superseded' | null>
  recordUnaccepted(beacon: UnacceptedBeaconRow): Promise<void>
  listSlotBeacons(slot_id: number): Promise<BeaconRow[]>
  /**
   * Resolves to the beacons of several slots, in the order of their arrival: of accepted ones those that billing judges, and
   * a heartbeat of each slot that has no other beacon.
   */
  listBeaconsOfSlots(
    slot_ids: readonly number[],
  ): Promise<{ accepted: readonly BeaconRow[]; unaccepted: readonly UnacceptedBeaconRow[] }>
  findBeacon(slot_id: number, beacon_id: string): Promise<BeaconRow | null>
  findBeaconById(id: number): Promise<BeaconRow | null>
  listUnacceptedBeacons(slot_id: number): Promise<UnacceptedBeaconRow[]>
  findUnacceptedBeacon(id: number): Promise<UnacceptedBeaconRow | null>
  listBeacons(
    query: PageQuery &
      BeaconScope & {
        slot_id?: number
        /** Only rejected beacons that belong to no slot. */
        without_slot?: boolean
        beacon_id?: string
        event?: BeaconEvent
        verdict?: 'accepted' | 'duplicate' | 'rejected'
        format?: Format
        gross_cpm?: number
        currency?: string
        /** Accepted beacons only of these events; the others are not affected. */
        accepted_events?: readonly BeaconEvent[]
        /** Rejected beacons and duplicates only of these reasons; accepted ones are not affected. */
        unaccepted_reasons?: readonly string[]
      },
  ): Promise<Page<BeaconListRow>>
}

export interface BillingStore {
  /**
   * Counts what production would bill of the beacons in scope, with each project's current settings. In addition to the
   * counts, it lists the `newest` accepted beacons that do not count, newest first. Resolves to the same object as
   * before as long as no beacon of the report and no project has changed.
   */
  countBilling(scope: BillingScope, newest: number): Promise<BillingCounts>
  /** The sessions with their numbers, newest first. */
  listSessions(
    query: PageQuery & Pick<BeaconScope, 'project_id' | 'session_id'>,
  ): Promise<Page<{ id: number; session_id: string }>>
}

/* Evidence */

/** An evidence entry to be appended: `build` returns its canonical JSON once its position is known. */
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
  /** Whether the text was built from the row that it proves; it is empty when that row is gone. */
  is_built?: true
}

export interface EvidenceListRow extends EvidenceRow {
  id: number
  project_id: number
  slot_id: number | null
}

export interface EvidenceStore {
  /** Resolves to the position of the last entry of a project's chain; 0 without entries. */
  findLastPosition(project_id: number): Promise<number>
  /** Resolves to a part of a project's chain, oldest first. */
  listChainEntries(project_id: number, after_seq: number, limit: number): Promise<EvidenceRow[]>
  listSlotEvidence(slot_id: number): Promise<EvidenceRow[]>
  /** Resolves to the newest entry of a consent record, however many others are newer; null without one. */
  findConsentEntry(consent_id: number): Promise<EvidenceRow | null>
  /** Resolves to the record of how far the chain of a project was verified, as it was saved; null without one. */
  findVerifiedPrefix(project_id: number): Promise<string | null>
  /**
   * Saves that record; null removes it. Saves nothing when the chain has no entry of this hash at position `entries`: the
   * state may have been replaced while it was verified.
   */
  saveVerifiedPrefix(project_id: number, record: { entries: number; head: string; text: string } | null): Promise<void>
  /** Entries of every chain. */
  listEvidence(
    query: PageQuery & { project_id?: number; slot_id?: number; kind?: EvidenceRow['kind']; since_ms?: number },
  ): Promise<Page<EvidenceListRow>>
}

/* Requests: the journal of exchanges */

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
  /** Of a valid credential. */
  key_kind: KeyKind | null
  key_id: number | null
}

/**
 * `old_client`: the version that an old client states in its request headers. `trace_id`: that of the response headers, or of a
 * callback's request.
 */
export type ExchangeSummary = Omit<
  ExchangeRow,
  'request_headers' | 'request_body' | 'response_headers' | 'response_body'
> & { old_client: string | null; trace_id: string | null }

export interface ExchangeFilter {
  method?: string
  /** The beginning of the path; with a `*` in it the whole path, where `*` matches any text. */
  path?: string
  /** Requests about this slot, and those of its session that set its consent. */
  turn?: { slot_id: number; session_id: string | null }
  status?: number
  /** 4 for every 4xx. */
  status_class?: number
  reason_code?: ReasonCode
  project_id?: number
  key_kind?: KeyKind
  key_id?: number
  session_id?: string
  trace_id?: string
  since_ms?: number
  until_ms?: number
  /** Only identifiers larger than this. */
  after?: number
}

export interface RequestStore {
  /** Adds an exchange to the journal with the next commit. Never waits, never fails a request. */
  appendExchange(row: ExchangeRow): void
  /**
   * Counts an exchange of a page that no project allows, and keeps the last 100 in memory: any website can send them, and
   * the journal drops its oldest rows for new ones. The next reset or restore clears them.
   */
  appendForeign(row: ExchangeRow): void
  /** Newest first. */
  foreignExchanges(): readonly ExchangeRow[]
  /** An exchange of the journal, or one of the foreign exchanges. */
  findExchange(id: number): Promise<ExchangeRow | null>
  /** This and the next two methods read at most the newest 5 000 exchanges before the cursor. */
  listExchanges(query: PageQuery & ExchangeFilter): Promise<Page<ExchangeSummary>>
  /** The same with headers and bodies. */
  readExchanges(query: PageQuery & ExchangeFilter): Promise<Page<ExchangeRow>>
  countExchanges(query: Omit<PageQuery, 'limit'> & ExchangeFilter): Promise<{ count: number; next: number | null }>
  journal(): { enabled: boolean; limit: number; size: number; dropped: number; foreign: number }
}

/* Events */

export interface EventRow {
  seq: number
  type: EventType
  at_ms: number
  project_id: number | null
  slot_id: number | null
  /** The row that it refers to: a slot, callback, beacon, unaccepted beacon, consent or activation. */
  ref: number | null
}

/** An event that is numbered at its commit. */
export type NewEvent = Omit<EventRow, 'seq'>

export interface EventStore {
  /** Appends an event that changes nothing else. */
  appendEvent(event: NewEvent): Promise<void>
  events(after_seq: number, limit: number): Promise<EventRow[]>
  /** Returns the number of the last event that is committed, as far as this node has been notified. */
  lastEventSeq(): number
  /** Resolves to the number of the last event before a time; 0 when none is stored. */
  eventSeqBefore(at_ms: number): Promise<number>
  /** Returns how many events are stored and were dropped, as known here, and the number of the last dropped one; 0 for none. */
  eventLog(): { limit: number; size: number; dropped: number; last_dropped_seq: number }
  /** Calls `listener` after every commit of any node that appended events, until the returned function is called. */
  onEvents(listener: () => void): () => void
}

/* Clock and faults */

/** The sandbox clock: its offset from the clock of the host while it runs, or the time at which it is frozen. */
export interface ClockRow {
  offset_ms: number
  frozen_at_ms: number | null
}

/** A fault rule with its counts. */
export interface StoredFault {
  fault_id: string
  rule: Fault
  scenario: string | null
  created_at_ms: number
  count: FaultCount
}

export interface FaultState {
  scenario: string | null
  /** Number of rules ever added; it numbers the next one. */
  added: number
  /** Newest first. */
  rules: readonly StoredFault[]
}

export interface ClockAndFaultStore {
  /** Resolves to the clock; null when it was not moved since the last reset. */
  findClock(): Promise<ClockRow | null>
  /**
   * Stores the clock, with an event at the time to which it was moved. Resolves to false, and stores nothing, when another
   * node has moved it since `findClock` resolved to `from`; undefined in a store that one process owns.
   */
  saveClock(clock: ClockRow, from: ClockRow | null | undefined, at_ms: number): Promise<boolean>
  /** Resolves to fault rules and the scenario in use; null when there was neither since the last reset. */
  findFaults(): Promise<FaultState | null>
  /** Stores what `state` returns at the commit. Several calls in one turn each store the last state. */
  saveFaults(state: () => FaultState): Promise<void>
  /**
   * Replaces the fault rules with what `change` returns, while no other node changes them. May call it again. If it
   * throws, the error is passed on and nothing changes.
   */
  updateFaults(change: (state: FaultState | null) => FaultState): Promise<void>
}

/* Snapshots, exports and imports of the whole state */

export interface SnapshotRow {
  name: string
  /** On the clock of the host. */
  saved_at_ms: number
  size_bytes: number
  schema_version: number
}

/** Why a state cannot be used. */
export interface Refusal {
  status: 'refused'
  reason: 'invalid' | 'newer'
  problem: string
}

/** A whole state that was checked, and copied as far as it can be while requests go on. */
export interface PreparedState {
  /**
   * Replaces everything with it, in one transaction. @throws StorageError also when something else has replaced the state, or
   * the snapshot, since it was prepared
   */
  replace(at_ms: number): Promise<void>
  /** Removes what was prepared, replaced or not. */
  discard(): Promise<void>
}

/** An imported state that can be read before it replaces anything. */
export interface ReceivedState {
  status: 'received'
  store: Store
  /** Closes the store, and prepares the state to replace everything. */
  prepare(): Promise<PreparedState>
  /** Closes and removes it, replaced or not. */
  discard(): Promise<void>
}

export interface SnapshotStore {
  /** Saves the committed state under a name; null when the name is taken and may not be replaced. */
  saveSnapshot(name: string, mayReplace: boolean): Promise<SnapshotRow | null>
  listSnapshots(): Promise<SnapshotRow[]>
  /** Resolves to false when there is no snapshot with that name. */
  deleteSnapshot(name: string): Promise<boolean>
  /** Checks a snapshot, and prepares it to replace everything: nothing changes before that. */
  prepareSnapshot(
    name: string,
  ): Promise<'missing' | Refusal | (PreparedState & { status: 'prepared'; snapshot: SnapshotRow })>
  /** Writes one consistent copy of everything to a file that the caller removes. */
  exportState(): Promise<{ path: string; remove(): Promise<void> }>
  /** Opens an imported copy alongside this store: nothing changes here before it replaces everything. */
  receiveState(bytes: AsyncIterable<Uint8Array>): Promise<ReceivedState | Refusal>
}
