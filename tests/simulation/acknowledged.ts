/**
 * What clients know of a sandbox: what it has acknowledged. Each model compares this with what the sandbox reports. A write
 * counts as acknowledged when the process has written its response, whatever becomes of it on the way.
 */
import type { Event, Project } from './steps.ts'

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
  /** The revisions of settings. */
  revisions: Map<Project, number>
  /** The entries that have been read, by project. */
  chains: Map<Project, ChainEntry[]>
}

export interface SentBeacon {
  beacon_id: string
  slot_id: string
  project: Project
  event: Event
  isViewable: boolean
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
}

export function emptyKnown(): Known {
  return { slots: new Map(), beacons: new Map(), consents: new Map(), revisions: new Map(), chains: new Map() }
}

export function copyKnown({ slots, beacons, consents, revisions, chains }: Known): Known {
  return {
    slots: new Map(slots),
    beacons: new Map(beacons),
    consents: new Map(consents),
    revisions: new Map(revisions),
    chains: new Map([...chains].map(([project, entries]) => [project, [...entries]])),
  }
}

export function nothingAcknowledged(): Acknowledged {
  return {
    known: emptyKnown(),
    generation: 0,
    replacing: 0,
    saved: new Map(),
    files: [],
    slots: [],
    beacons: [],
    activations: [],
  }
}

/** Another state is in force. `known`: what is known of it. */
export function replaceState(acknowledged: Acknowledged, known: Known | null): void {
  acknowledged.known = known === null ? emptyKnown() : copyKnown(known)
  acknowledged.generation++
}

export const sessionKey = (project: Project, session: number): string => `${project}/${session}`
export const beaconKey = (slot_id: string, beacon_id: string): string => `${slot_id}/${beacon_id}`
