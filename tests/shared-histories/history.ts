/**
 * What clients of a shared sandbox did and saw: for each operation when it was called, when it ended, and what its response
 * was. An operation without a response, or with a 5xx, may have happened or not, now or later.
 */
import type { Project } from './projects.ts'

export type Action =
  | { kind: 'place'; project: Project; session: string; consent: boolean | null; wait_ms: number }
  | { kind: 'poll'; slot_id: string; wait_ms: number }
  | { kind: 'consent'; project: Project; session: string; decision: 'personalized' | 'denied' }
  | { kind: 'beacon'; slot_id: string; beacon_id: string; event: 'render' | 'click' }
  | { kind: 'settings'; project: Project; latency_ms: number }
  /** Reads of the control plane. */
  | { kind: 'read_consent'; project: Project; session: string }
  | { kind: 'read_beacon'; beacon_id: string }
  | { kind: 'read_settings'; project: Project }
  | { kind: 'read_chain'; project: Project; after_seq: number }

export type Outcome =
  /** The operation happened, or the read saw this. */
  | { kind: 'done'; body: unknown }
  /** A 4xx: it did not happen. */
  | { kind: 'refused'; status: number; body: unknown }
  /** A 5xx, or no response: it may have happened. */
  | { kind: 'unknown'; why: string }

export type ActionOf<Kind extends Action['kind']> = Extract<Action, { kind: Kind }>

export interface Operation<Of extends Action = Action> {
  number: number
  client: number
  node: number
  action: Of
  /** Milliseconds since the history began, of one monotonic clock for all clients. */
  called_ms: number
  ended_ms: number
  outcome: Outcome
}

/** An event as one follower got it. */
export interface SeenEvent {
  seq: number
  type: string
  client_id: string | null
  slot_id: string | null
  data: { beacon_id?: string; consent_id?: string }
}

/** What one follower got, over all of its connections, in the order in which it came. */
export interface Followed {
  follower: number
  events: SeenEvent[]
  connections: number
}

export interface CallbackSeen {
  slot_id: string
  body: unknown
}

export interface History {
  seed: number
  operations: readonly Operation[]
  followed: readonly Followed[]
  callbacks: readonly CallbackSeen[]
  /** What was done to nodes, network and database, and when. */
  faults: readonly { at_ms: number; text: string }[]
}

/** Operations of one kind. */
export function pickKind<Kind extends Action['kind']>(
  { operations }: Pick<History, 'operations'>,
  kind: Kind,
): Operation<ActionOf<Kind>>[] {
  return operations.filter((operation): operation is Operation<ActionOf<Kind>> => operation.action.kind === kind)
}

/** Those that have happened, with the bodies of their responses. */
export function listDone<Body, Of extends Action>(
  operations: readonly Operation<Of>[],
): (Operation<Of> & { body: Body })[] {
  return operations.flatMap((operation) =>
    operation.outcome.kind === 'done' ? [{ ...operation, body: operation.outcome.body as Body }] : [],
  )
}

/** Whether one operation had ended before the other was called. */
export function isBefore(one: Pick<Operation, 'ended_ms'>, other: Pick<Operation, 'called_ms'>): boolean {
  return one.ended_ms < other.called_ms
}
