/**
 * The context that operations share: the services of the sandbox, the context of one request, the slot that an asset
 * token identifies for frames and beacons, pages and filters of lists.
 */
import type { Credential, Endpoint, Output, Parsed } from '#contract/endpoint.ts'
import { ApiError, type ReasonCode } from '#contract/errors.ts'
import type { Mode } from '#contract/fields.ts'
import { decodeId, decodeInteger, encodeInteger, parseToken } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { isOriginAllowed, serializeOrigin } from '#contract/origins.ts'
import type { Overrides } from '#contract/recordings/overrides.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { KeyKind } from '#contract/resources/requests.ts'
import type { Warning } from '#contract/warnings.ts'
import type { MarketData } from '#domain/catalogue.ts'
import { consentProblem } from '#domain/consent.ts'
import { parseSince, sinceMs } from '#foundation/duration.ts'
import { withoutUndefined } from '#foundation/json.ts'
import { andThen, type MaybePromise } from '#foundation/maybe-promise.ts'
import type { Descriptors } from '#platform/descriptors.ts'
import type { ProcessFigures } from '#platform/process-figures.ts'
import type { Access } from '#runtime/access.ts'
import type { Callbacks } from '#runtime/callbacks/callbacks.ts'
import type { ConsoleGrants } from '#runtime/console-grants.ts'
import type { DecisionServices } from '#runtime/decisions.ts'
import type { DrainLock } from '#runtime/drain-lock.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import type { Faults } from '#runtime/faults.ts'
import type { NodeMetrics } from '#runtime/metrics/node-metrics.ts'
import type { PendingDecisions } from '#runtime/pending-decisions.ts'
import type { PlayedExchange, Player } from '#runtime/playback/playback.ts'
import type { RestoredRequest } from '#runtime/replay.ts'
import type { Tickets } from '#runtime/tickets.ts'
import type { RequestTrace } from '#runtime/traces/request-trace.ts'
import type { Tracing } from '#runtime/traces/tracing.ts'
import type { Waiters } from '#runtime/waiters.ts'
import type { Page, PageQuery, ProjectRow, SlotRow, StoredDecision } from '#store/store.ts'
import type { ImportedBundles } from './bundles/imported-bundles.ts'
import type { ChainWork, Verdict } from './evidence/verify-rows.ts'

/** Everything an operation may use. Built once, in sandbox/index.ts. */
export interface Services extends DecisionServices {
  waiters: Waiters
  pendingDecisions: PendingDecisions
  callbacks: Callbacks
  tickets: Tickets<Caller>
  faults: Faults
  drainLock: DrainLock
  /** Puts your own campaigns in force, beside the seeded ones or alone, as the sandbox was started. */
  replaceDemand(own: Omit<MarketData, 'revision'>): Promise<void>
  /** Reads files of demand that were sent, and puts them in force if nothing in them is wrong. */
  takeDemand(
    files: ReadonlyMap<string, Buffer>,
    options: { now_ms: number; isOnlyChecked: boolean },
  ): Promise<Output<Contract['demand.replace']>>
  access: Access
  consoleGrants: ConsoleGrants
  importedBundles: ImportedBundles
  descriptors: Descriptors
  metrics: NodeMetrics
  /** Records spans; null without --otlp. */
  tracing: Tracing | null
  readProcess(): ProcessFigures
  /** Verifies a part of a chain from its file, while requests go on. @throws StorageError when it cannot be opened */
  verifyOnThread(work: ChainWork): Promise<Verdict>
  /** Plays a recording; null when the emulator responds by itself. */
  player: Player | null
  /** The address that the sandbox listens on, without a trailing slash. */
  url: string
  /** The origin in frame URLs and links: the public URL, else the address. No trailing slash. */
  base_url: string
  version: string
  pid: number
  warnings: readonly string[]
  /** What spot checks found in the evidence of the state in force. */
  spotWarnings: string[]
  /** Whether only the API document is served, without the additions for old clients. */
  strict: boolean
  /** How responses are changed to those of a service that was recorded; null for most starts. */
  overrides: Overrides | null
  /** Whether the sandbox is about to stop, so a load balancer sends it no more requests. */
  isDraining: boolean
  /** Stops the process that the sandbox is; null when it is part of another program. */
  stop: (() => void) | null
  /** The texts of keys that only clients on this computer may use: everyone knows them. */
  localKeys: ReadonlySet<string>
  /** Sends a restored request to the sandbox itself, and resolves to the request_id of the new exchange. */
  resend(request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** Whether the sandbox was started with a rate limit, which takes precedence over those of projects (A20). */
  hasStartRate: boolean
  /** Refills every rate bucket. */
  clearRates(): Promise<void>
  /** Reports a failure outside any request. */
  report(error: unknown): void
}

/** Who sends the request, after the credential was checked. */
export interface Caller {
  credential: Credential
  project: ProjectRow
  mode: Mode
  key_id: number
  /** The slot that a beacon token is bound to. */
  slot_id: number | null
  /** The only event that a beacon token is still good for (A06); null: every one. */
  only_event: 'click' | null
}

/** One request. `now_ms` is read once from the sandbox clock, so that every rule sees the same time. */
export interface Context {
  now_ms: number
  request_id: string
  caller: Caller | null
  origin: string | null
  /** The Authorization header. Only callbacks need more from it than the caller: the key that signs them. */
  authorization: string | undefined
  /** Whether an old client sent it (C08); never with `strict`. */
  is_old_client: boolean
  /** Returns a signal that is aborted when the client has disconnected. */
  signal: () => AbortSignal
  /** `x-sandbox-warning` values. */
  warnings: Warning[]
  /** Additional headers of the response. */
  headers: Record<string, string>
  /** The recorded exchange that the request is in the place of; null when the emulator responds by itself. */
  played: PlayedExchange | null
  /** The trace that it is in (A112); null outside any. */
  trace: RequestTrace | null
  /** For the journal: the project, the session and the slot of the request, once known. */
  subject: { project_id: number | null; session_id: string | null; slot_id: number | null }
}

/** The function behind an endpoint: load, decide with pure rules, save. */
export type Operation<E extends Endpoint> = (
  services: Services,
  context: Context,
  input: Parsed<E>,
) => Promise<Output<E>>

/** Returns the caller of an endpoint with credentials; the pipeline has checked it. */
export function requireCaller(context: Context): Caller {
  if (context.caller === null) throw new Error('an endpoint without credentials has no caller')
  return context.caller
}

/**
 * Whether pages of an origin may act for a project: those on its allow-list, and in test mode those at the public URL.
 */
export function allowsOrigin(services: Services, { settings }: ProjectRow, origin: string, mode: Mode): boolean {
  if (isOriginAllowed(origin, settings.allowed_origins, mode)) return true
  const { url, base_url } = services
  return mode === 'test' && base_url !== url && serializeOrigin(origin) === base_url
}

/** Returns the kind of a credential, named in the journal by its prefix. */
export function keyKind({ credential, mode }: Pick<Caller, 'credential' | 'mode'>): KeyKind {
  if (credential === 'secret_key') return mode === 'test' ? 'sk_test' : 'sk_live'
  return credential === 'activation_token' ? 'at' : 'bt'
}

/** Adds a value of `x-sandbox-warning`, once. */
export function addWarning({ warnings }: Context, warning: Warning): void {
  if (!warnings.includes(warning)) warnings.push(warning)
}

export type FilledOutcome = Extract<StoredDecision['outcome'], { status: 'filled' }>

export interface FilledSlot {
  slot: SlotRow
  decision: StoredDecision
  outcome: FilledOutcome
}

/** Returns the filled slot of an asset token; null when the token is malformed, unknown or forged (A05). */
export function findFilledSlot({ store, platform }: Services, asset_token: string): MaybePromise<FilledSlot | null> {
  const parsed = parseToken(asset_token)
  if (parsed?.kind !== 'ast') return null
  return andThen(store.findSlot(parsed.id), (slot) => {
    const decision = slot?.decision ?? null
    if (slot === null || decision === null || decision.outcome.status !== 'filled') return null
    const { outcome } = decision
    const isSame = platform.equals(platform.sha256(parsed.secret), outcome.asset_token_hash)
    return isSame ? { slot, decision, outcome } : null
  })
}

/** Same project and mode. A beacon token is valid only for its own asset token (A06). */
export function belongsTo({ slot }: FilledSlot, caller: Caller): boolean {
  if (slot.project.id !== caller.project.id || slot.job.mode !== caller.mode) return false
  return caller.slot_id === null || caller.slot_id === slot.id
}

/** Whether a beacon of this event is still accepted (A05). */
export function isBeaconOpen(
  slot: SlotRow,
  decision: Pick<StoredDecision, 'decided_at_ms'>,
  event: BeaconEvent,
  now_ms: number,
): boolean {
  return now_ms <= beaconsEndMs(slot, decision, event)
}

/**
 * Returns until when beacons of this event are accepted. A client that draws by itself loads no frame: its time begins
 * when a frame would have been loaded at the latest.
 */
export function beaconsEndMs(
  { project: { settings }, first_frame_at_ms }: SlotRow,
  { decided_at_ms }: Pick<StoredDecision, 'decided_at_ms'>,
  event: BeaconEvent,
): number {
  const span_ms = event === 'click' ? settings.click_after_load_ms : settings.beacons_after_load_ms
  return (first_frame_at_ms ?? decided_at_ms + settings.frame_load_within_ms) + span_ms
}

/** Returns why the bound consent forbids rendering and beacons now; null when it permits them (A65). */
export function boundConsentProblem(
  { store }: Services,
  { slot, decision }: FilledSlot,
  now_ms: number,
): MaybePromise<ReasonCode | null> {
  const { session_id, project_id } = slot.job
  const latest = session_id === null ? null : store.findLatestConsent(project_id, session_id)
  return andThen(latest, (consent) => consentProblem(decision.consent, consent, now_ms))
}

const defaultLimit = 50

/** Reads limit and cursor. @throws ApiError 400 for a malformed cursor */
export function parsePage(query: { limit?: number | undefined; cursor?: string | undefined }): PageQuery {
  const before = query.cursor === undefined ? null : decodeInteger(query.cursor)
  if (query.cursor !== undefined && before === null) {
    throw new ApiError('schema_invalid', {
      fields: [{ path: 'cursor', message: 'is not a cursor', expected: 'next_cursor of the previous page' }],
    })
  }
  return { limit: query.limit ?? defaultLimit, before }
}

/** Resolves to a whole page of a list that the store reads in parts. Other requests get a turn between two parts. */
export async function fullPage<Row>(
  { signal }: Pick<Context, 'signal'>,
  { limit, before }: PageQuery,
  read: (part: PageQuery) => Promise<Page<Row>>,
): Promise<Page<Row>> {
  const rows: Row[] = []
  for (let next = before; ; ) {
    const part = await read({ limit: limit - rows.length, before: next })
    rows.push(...part.rows)
    next = part.next
    if (next === null || rows.length >= limit || signal().aborted) return { rows, next }
    await yieldToEventLoop()
  }
}

/** Resolves to the response of a list: a whole page of rows, each as an item. */
export async function listItems<Row, Item>(
  context: Pick<Context, 'signal'>,
  query: Parameters<typeof parsePage>[0],
  read: (part: PageQuery) => Promise<Page<Row>>,
  toItem: (row: Row) => Promise<Item>,
): Promise<{ items: Item[]; next_cursor: string | null }> {
  const { rows, next } = await fullPage(context, parsePage(query), read)
  const items: Item[] = []
  for (const row of rows) items.push(await toItem(row))
  return { items, next_cursor: encodeCursor(next) }
}

export function encodeCursor(next: number | null): string | null {
  return next === null ? null : encodeInteger(next)
}

/** Returns the timestamp of a checked `since` or `until`: epoch milliseconds, or a span before now such as 10m. */
export function parseSinceFilter(since: string | undefined, now_ms: number): number | undefined {
  return since === undefined ? undefined : sinceMs(parseSince(since) ?? { at_ms: Number(since) }, now_ms)
}

/** Returns the integer of a slot_id in a filter. A malformed one matches nothing. */
export function slotFilter(slot_id: string | undefined): number | undefined {
  return slot_id === undefined ? undefined : (decodeId('slot', slot_id) ?? -1)
}

/** Resolves to the integer of a project in a filter. An unknown client_id matches nothing. */
export async function projectFilter(services: Services, client_id: string | undefined): Promise<number | undefined> {
  if (client_id === undefined) return undefined
  return (await services.store.findProject(client_id))?.id ?? -1
}

/** Resolves to the project of a path. @throws ApiError 404 */
export async function requireProject({ store }: Services, client_id: string): Promise<ProjectRow> {
  const project = await store.findProject(client_id)
  if (project !== null) return project
  throw new ApiError('not_found', {
    message: 'No such project in this sandbox.',
    hint: 'List them: svc sandbox projects list.',
  })
}

/** Returns a copy without the properties that are undefined. */
export function defined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return withoutUndefined(value) as never
}
