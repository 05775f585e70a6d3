/**
 * What clients of a sandbox did and saw, of one process or of several nodes that share a database: for each operation when it
 * was called, when it ended, and what its response was. An operation without a response, or with a 5xx, may have happened or
 * not, now or later.
 */
export type Action =
  | { kind: 'place'; project: string; session: string; consent: boolean | null; wait_ms: number; caps?: Caps }
  | { kind: 'poll'; slot_id: string; wait_ms: number }
  | { kind: 'consent'; project: string; session: string; decision: string }
  | { kind: 'beacon'; slot_id: string; beacon_id: string; event: string; measurements?: Measurements | undefined }
  /** `change`: two with the same text change nothing after one another. */
  | { kind: 'settings'; project: string; change: string }
  /** Reads of the control plane. */
  | { kind: 'read_consent'; project: string; session: string }
  | { kind: 'read_beacon'; beacon_id: string }
  | { kind: 'read_settings'; project: string }
  | { kind: 'read_chain'; project: string; after_seq: number }

/** Fills that a session may have, and prompts between two of them; null: any number. */
export interface Caps {
  session: number | null
  interval: number | null
}

/** Of a view, as its beacon has them. */
export interface Measurements {
  visible_ratio: number
  visible_ms: number
  width_px?: number
  height_px?: number
  page_visible?: boolean
  visibility_check?: string
}

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
  /** On one clock for all clients: milliseconds since the history began, or places in the order of a single process. */
  called: number
  ended: number
  outcome: Outcome
  /** It was acknowledged by a state that another one has replaced since, which has a copy of it: its events were sent there. */
  isEarlier?: boolean
}

/** An event as one follower got it. */
export interface SeenEvent {
  seq: number
  type: string
  at_ms?: number
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
  operations: readonly Operation[]
  followed: readonly Followed[]
  callbacks: readonly CallbackSeen[]
  /** When the frame of a slot was first loaded. */
  frames: ReadonlyMap<string, number>
  /** How long after a change of settings, on the clock of the operations, a node may still use those before. */
  stale: number
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
export function isBefore(one: Pick<Operation, 'ended'>, other: Pick<Operation, 'called'>): boolean {
  return one.ended < other.called
}
