/**
 * What clients know of a sandbox: what it has acknowledged, as operations of a history. A write counts as acknowledged when
 * the process has written its response, whatever becomes of it on the way.
 */
import type { History, Operation } from '#tests/histories/history.ts'
import { readRevisions } from '#tests/histories/known.ts'
import { type Event, type Project, projects } from './steps/steps.ts'

export interface KnownSlot {
  slot_id: string
  project: Project
  session: number
  /** As the first response had it, null while it is pending. */
  fill: boolean | null
  asset_token: string | null
  /** When the client had the response, by the clock of the sandbox: at most a second too early. */
  known_at_ms: number
  /** About when it was decided, by that clock; null when it was moved meanwhile. */
  decided_by_ms: number | null
}

/** An operation, and the state in which it was sent. */
export interface Sent extends Operation {
  generation: number
}

/** What was acknowledged in one state. A snapshot or an export has a copy of it. */
export type Known = readonly Sent[]

export interface SentBeacon {
  beacon_id: string
  slot_id: string
  project: Project
  event: Event
  body: string
}

export interface Acknowledged {
  known: Known
  /** Every operation so far, also of other states. */
  sent: Sent[]
  /** Counts what clients see, one after the other: calls and ends of operations. */
  order: number
  /** Counts the states: it goes up when one is replaced. */
  generation: number
  /** Requests under way that replace the state. */
  replacing: number
  /** Saved states, by name of a snapshot or number of an export; null: what is in it is not known. */
  saved: Map<string, Known | null>
  files: { bytes: Buffer; known: Known }[]
  /** Every slot and beacon so far, of other states too: what clients may still refer to. */
  slots: KnownSlot[]
  beacons: SentBeacon[]
  activations: { token: string; project: Project; expires_at_ms: number }[]
  /** Clients that wait for a decision at a socket. */
  sockets: Set<OpenSocket>
  /** Counts how often the clock of the sandbox was moved, and requests under way that move it. */
  clocks: number
  movingClocks: number
}

export interface OpenSocket {
  slot_id: string
  generation: number
  /** What it was sent. */
  messages: string[]
}

/** Of the settings that nobody has changed. */
const usual = { config_revision: 1, settings: { viewability: { duration_ms: 1_000 } } }

/** A new sandbox: everything is known of it. */
export function freshKnown(): Known {
  return projects.map((project) => ({
    action: { kind: 'read_settings', project },
    outcome: { kind: 'done', body: usual },
    ...{ number: 0, client: 0, node: 0, called: -1, ended: -1, generation: 0 },
  }))
}

export function nothingAcknowledged(): Acknowledged {
  return {
    known: freshKnown(),
    sent: [],
    order: 0,
    generation: 0,
    replacing: 0,
    saved: new Map(),
    files: [],
    slots: [],
    beacons: [],
    activations: [],
    sockets: new Set(),
    clocks: 0,
    movingClocks: 0,
  }
}

/** Another state is in force. `known`: what is known of it. */
export function replaceState(acknowledged: Acknowledged, known: Known | null): void {
  acknowledged.known = known ?? []
  acknowledged.generation++
}

/** Returns the history of the present state. What was sent to another one may have happened in this one, or not. */
export function readHistory(
  { known, sent, generation }: Pick<Acknowledged, 'known' | 'sent' | 'generation'>,
  frames: ReadonlyMap<string, number> = new Map(),
): History {
  const numbers = new Set(known.map(({ number }) => number))
  const others = sent.filter(
    (each) => !numbers.has(each.number) && (each.action.kind !== 'settings' || each.generation === generation),
  )
  const own = known.map((each) => ({ ...each, isEarlier: each.generation !== generation }))
  return { operations: [...own, ...others], followed: [], callbacks: [], frames, stale: 0 }
}

/** Returns the newest revision of consent that was acknowledged for a session; 0 for none. */
export function newestRevision(known: Known, project: Project, session: number): number {
  const history = { operations: known, followed: [], callbacks: [], frames: new Map(), stale: 0 }
  const revisions = readRevisions(history).get(`${project}/session-${session}`) ?? []
  return Math.max(0, ...revisions.map(({ revision }) => revision))
}
