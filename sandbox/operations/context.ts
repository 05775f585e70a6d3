import type { Latency } from '../../src/contract/control/projects.ts'
import type { KeyKind } from '../../src/contract/control/requests.ts'
import type { Credential, Endpoint, Output, Parsed } from '../../src/contract/endpoint.ts'
import type { Mode } from '../../src/contract/fields.ts'
import type { Platform } from '../platform/platform.ts'
import type { DrainLock } from '../runtime/drain-lock.ts'
import type { Markets } from '../runtime/markets.ts'
import type { Waiters } from '../runtime/waiters.ts'
import type { ProjectRow, Store } from '../store/store.ts'
import type { Faults } from './faults.ts'
import type { Scenarios } from './scenarios.ts'

/** Everything an operation may use. Built once, in sandbox/index.ts. */
export interface Services {
  store: Store
  platform: Platform
  markets: Markets
  waiters: Waiters
  faults: Faults
  scenarios: Scenarios
  drainLock: DrainLock
  /** The emulator's own address, without a slash at the end. */
  base_url: string
  version: string
  pid: number
  /** Overrides every project's own latency when set. */
  decision_latency_ms: Latency | null
  warnings: readonly string[]
  /** Cancels of the alarms that pending slots wait for. */
  alarms: Set<() => void>
  /** Decisions of pending slots that are being made. */
  deciding: Set<Promise<void>>
  /** Sends a request of the journal to the sandbox itself. Answers the request_id of its own exchange. */
  resend(request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** Fills every rate bucket again. */
  clearRates(): void
  /** Tells a person of a failure that no request can answer for. */
  report(error: unknown): void
}

/** A request of the journal that is whole again. */
export interface RestoredRequest {
  /** The one that is sent again. */
  replayed: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
  /** Whom it acts for in place of its credential; null when it had none. */
  identity: Identity | null
}

/** Whose credential a request had: a key, or the key that its token was made with. */
export interface Identity {
  kind: KeyKind
  key_id: number
  /** Of a beacon token: the slot it is bound to. */
  slot_id: number | null
}

/** Who is asking, once the credential has been checked. */
export interface Caller {
  credential: Credential
  project: ProjectRow
  mode: Mode
  key_id: number
  /** Of a beacon token: the slot it is bound to. */
  slot_id: number | null
}

/** One request. `now_ms` is read once from the sandbox clock, so that every rule sees the same instant. */
export interface Context {
  now_ms: number
  request_id: string
  caller: Caller | null
  origin: string | null
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** `x-sandbox-warning` values. */
  warnings: string[]
  /** Further headers of the answer. */
  headers: Record<string, string>
  /** For the journal: what the request turned out to be about. */
  subject: { session_id: string | null; slot_id: number | null }
}

/** The function behind an endpoint: load, decide with pure rules, save. */
export type Operation<E extends Endpoint> = (
  services: Services,
  context: Context,
  input: Parsed<E>,
) => Promise<Output<E>>

/** The caller of an endpoint that has credentials; the door has checked it. */
export function callerOf(context: Context): Caller {
  if (context.caller === null) throw new Error('an endpoint without credentials has no caller')
  return context.caller
}

/** The kind of a credential, as the journal names it: by what it begins with. */
export function keyKind({ credential, mode }: Pick<Caller, 'credential' | 'mode'>): KeyKind {
  if (credential === 'secret_key') return mode === 'test' ? 'sk_test' : 'sk_live'
  return credential === 'activation_token' ? 'at' : 'bt'
}
