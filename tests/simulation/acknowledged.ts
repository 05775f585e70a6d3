/**
 * What clients know of a sandbox: what it has acknowledged. Each model compares this with what the sandbox reports. A write
 * counts as acknowledged when the process has written its response, whatever becomes of it on the way.
 */
import { type Event, type Project, projects } from './steps/steps.ts'

export interface KnownSlot {
  slot_id: string
  project: Project
  session: number
  /** As the first response had it, null while it is pending. */
  fill: boolean | null
  format: string | null
  asset_token: string | null
  /** When the client had the response, by the clock of the sandbox: at most a second too early. */
  known_at_ms: number
  /** About when it was decided, by that clock; null when it was moved meanwhile. */
  decided_by_ms: number | null
  /** Of the creative: CSS pixels, and the length of a clip. */
  creative: { width: number; height: number; duration_ms: number | null } | null
  /** The state in which it was acknowledged. */
  generation: number
}

export interface KnownBeacon {
  beacon_id: string
  slot_id: string
  event: Event
  generation: number
}

export interface KnownConsent {
  project: Project
  session: number
  revision: number
  state: string
  purposes: { semantic_targeting: boolean; prompt_shared: boolean }
}

export interface ChainEntry {
  seq: number
  entry: string
  hash: string
}

/** What is known of one state. A snapshot or an export has a copy of it. */
export interface Known {
  slots: Map<string, KnownSlot>
  /** By slot_id and beacon_id. */
  beacons: Map<string, KnownBeacon>
  /** By project and session: the newest. */
  consents: Map<string, KnownConsent>
  /** The newest settings: their revision, and how long an ad must be in view. */
  settings: Map<Project, { revision: number; view_ms: number }>
  /** The entries that have been read, by project. */
  chains: Map<Project, ChainEntry[]>
}

export interface SentBeacon {
  beacon_id: string
  slot_id: string
  project: Project
  event: Event
  body: string
}

export interface Acknowledged {
  known: Known
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
  /** The caps that each slot was requested with. */
  caps: Map<string, Caps>
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

/** Fills that a session may have, and prompts between two of them; null: any number. */
export interface Caps {
  session: number | null
  interval: number | null
}

/** Of the settings that nobody has changed. */
const usual = { revision: 1, view_ms: 1_000 }

/** A new sandbox: everything is known of it. */
export function freshKnown(): Known {
  return { ...emptyKnown(), settings: new Map(projects.map((project) => [project, { ...usual }])) }
}

/** A state of which nothing is known. */
export function emptyKnown(): Known {
  return { slots: new Map(), beacons: new Map(), consents: new Map(), settings: new Map(), chains: new Map() }
}

export function copyKnown({ slots, beacons, consents, settings, chains }: Known): Known {
  return {
    slots: new Map(slots),
    beacons: new Map(beacons),
    consents: new Map(consents),
    settings: new Map(settings),
    chains: new Map([...chains].map(([project, entries]) => [project, [...entries]])),
  }
}

export function nothingAcknowledged(): Acknowledged {
  return {
    known: freshKnown(),
    generation: 0,
    replacing: 0,
    saved: new Map(),
    files: [],
    slots: [],
    beacons: [],
    activations: [],
    caps: new Map(),
    sockets: new Set(),
    clocks: 0,
    movingClocks: 0,
  }
}

/** Another state is in force. `known`: what is known of it. */
export function replaceState(acknowledged: Acknowledged, known: Known | null): void {
  acknowledged.known = known === null ? emptyKnown() : copyKnown(known)
  acknowledged.generation++
}

export const sessionKey = (project: Project, session: number): string => `${project}/${session}`
export const beaconKey = (slot_id: string, beacon_id: string): string => `${slot_id}/${beacon_id}`
