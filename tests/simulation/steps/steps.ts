/**
 * The steps of a history: what clients, operators and the computer do, in this order. They are drawn before the history
 * runs and name what they are about by position, so that a history can be repeated with any of them left out.
 */
import type { CommitFault } from '../virtual/disk.ts'
import type { Travel } from '../virtual/network.ts'

export const projects = ['proj_demo', 'proj_strict', 'proj_other'] as const
export type Project = (typeof projects)[number]

export type Event = 'render' | 'visible' | 'click' | 'heartbeat' | 'play_started' | 'play_completed'

/** What a view measures: only `good` and `large` are enough, each for its reason. */
export const views = [
  'good',
  'large',
  'brief',
  'partial',
  'hidden',
  'pixel',
  'unchecked',
  'impossible',
  'unmeasured',
] as const
export type View = (typeof views)[number]

/** What a placement demands that no campaign of the catalogue has, and the reason that its decision must have. */
export const demands = {
  floor: 'below_floor',
  blocked: 'category_blocked',
  tiny: 'size_mismatch',
  risky: 'content_safety',
} as const
export type Demand = keyof typeof demands

/** Requests that must be refused, whatever state the sandbox is in: see clients/trespasses.ts. */
export const trespasses = [
  'activation_from_elsewhere',
  'token_from_elsewhere',
  'key_in_a_page',
  'beacon_token_for_a_placement',
  'beacon_token_for_another_fill',
  'beacon_token_from_two_origins',
  'revoked_key',
  'slot_of_another_project',
  'body_of_another_project',
  'forced_outcome_with_a_live_key',
  'text_without_a_credential',
  'batch',
  'time_in_seconds',
  'fill_of_another_project',
  'another_beacon_of_an_id',
  'old_activation',
  'old_frame',
  'old_decision',
] as const
export type Trespass = (typeof trespasses)[number]

export type Action =
  | {
      kind: 'consent'
      project: Project
      session: number
      decision: 'granted' | 'denied' | 'withdrawn' | 'personalized' | 'basic'
      expires_in_ms: number | null
      /** The revision that the client expects: the one it knows, or one before. */
      expects: 'known' | 'old' | null
      /** What another client of the session sends at the same time. */
      rival: 'consent' | 'place' | 'beacon' | null
    }
  | {
      kind: 'place'
      project: Project
      session: number
      format: 'banner' | 'clip' | 'native'
      consent: boolean | null
      slots: number
      forcesNoFill: boolean
      demand: Demand | null
      session_cap: number | null
      /** Prompts of the session that must lie between two fills. */
      interval: number | null
      /** Placements like it at the same time. */
      rivals: number
      /** Whether its decision takes a while, by a setting just before it. */
      isLate: boolean
      wait_ms: number
      calls_back: boolean
      /** The activation whose token is sent; null: the secret key. */
      activation: number | null
    }
  | {
      /** A whole turn of an integration: a placement, its frame, and beacons in this order or all at once. */
      kind: 'turn'
      project: Project
      session: number
      format: 'banner' | 'clip' | 'native'
      consent: boolean | null
      events: Event[]
      view: View
      isHasty: boolean
      /** The request that travels as the step says; the others arrive at once. */
      disturbed: number
    }
  | { kind: 'poll'; slot: number; wait_ms: number }
  | { kind: 'frame'; slot: number }
  | {
      kind: 'beacon'
      slot: number
      event: Event
      /** Of the time it is sent. */
      occurred_in_ms: number
      view: View
      /** A beacon that was sent before, by position; null: a new one. */
      repeats: number | null
      changes: 'nothing' | 'event' | 'token' | 'project'
      activation: number | null
    }
  | { kind: 'activate'; project: Project }
  | { kind: 'trespass'; way: Trespass; project: Project; session: number; isAtOnce: boolean }
  | { kind: 'burst'; project: Project; count: number; rate: string | null }
  | {
      kind: 'settings'
      project: Project
      latency_ms: number | null
      rate: string | null
      /** How long an ad must be in view. */
      view_ms: number | null
      /** Whether another operator changes something else at the same time. */
      hasRival: boolean
    }
  | {
      /** Another follower of the events: from a part of those so far, of one kind or all. */
      kind: 'follow'
      from: number
      type: 'beacon.*' | 'placement.decided' | null
      stays_ms: number
    }
  | {
      /** A client that waits for a decision at a socket. */
      kind: 'socket'
      slot: number
      /** When it leaves, milliseconds; null: when it has the decision. */
      leaves_ms: number | null
    }
  | { kind: 'fault'; effect: 'error' | 'drop' | 'reset' | 'truncate' | 'delay'; served: boolean; times: number }
  | { kind: 'clear_faults' }
  | { kind: 'clock'; move: 'advance' | 'back' | 'freeze' | 'resume' | 'system'; by_ms: number }
  | { kind: 'computer_clock'; by_ms: number }
  | { kind: 'save' | 'restore' | 'forget'; name: number }
  | { kind: 'reset' }
  | { kind: 'checkpoint' }
  | { kind: 'export' }
  | { kind: 'import'; file: number }
  | { kind: 'idle'; ms: number }
  | { kind: 'crash' }
  | { kind: 'power_loss'; isInCheckpoint: boolean }
  | { kind: 'commit_fault'; fault: CommitFault }
  | { kind: 'restart' }

/** The actions that send requests. */
export type RequestAction = Exclude<
  Action,
  { kind: 'idle' | 'crash' | 'power_loss' | 'checkpoint' | 'restart' | 'commit_fault' | 'computer_clock' }
>

export interface History {
  steps: Step[]
  /** Whether the database is in memory: the end of its process loses everything, and says so. */
  isInMemory: boolean
}

export type Step = Action & {
  /** Of the dice of this step. */
  seed: number
  travel: Travel
  /** Tasks that run before the next step begins; null: until the step has its response. */
  turns: number | null
}
