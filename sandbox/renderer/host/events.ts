/** What the renderer tells the host page: listeners, and a bounded log for whoever looks later. */
import type { BeaconEvent } from '../../../src/contract/v1/beacons.ts'
import type { ConsentReason } from './consent.ts'

/** Why a placement does not show, or not any more. What the frame says of itself comes through as it is. */
export type ErrorCode =
  | 'activation_failed'
  | 'autoplay_blocked'
  | 'asset_token_expired'
  | 'asset_token_invalid'
  | 'creative_failed'
  | 'decision_expired'
  | 'decision_pending'
  | 'endpoint_missing'
  | 'frame_reloaded'
  | 'internal'
  | 'label_removed'
  | 'late_decision'
  | 'media_type_mismatch'
  | 'message_flood'
  | 'render_timeout'
  | 'request_failed'
  | 'response_unreadable'
  | 'target_not_found'
  | 'target_removed'
  | 'unmeasurable'

export interface EventDetails {
  'turn:started': object
  'turn:finished': object
  'turn:cancelled': object
  decision: { status: string; fill: boolean }
  no_fill: { no_fill_reason: string }
  blocked: { reason: ConsentReason }
  rendered: object
  visible: object
  click: { user_activated: boolean }
  play_started: object
  play_completed: object
  beacon: { event: BeaconEvent; accepted: boolean; reason_code: string }
  cleared: { reason: string }
  error: { code: ErrorCode; status?: number; reason_code?: string; got?: string[]; message?: string }
}
export type EventType = keyof EventDetails

/** Where an event belongs. */
export interface EventScope {
  turn_id?: string | undefined
  slot_id?: string | undefined
  instance_id?: string | undefined
}

export type RendererEvent<T extends EventType = EventType> = {
  [Type in T]: { type: Type; at_ms: number } & EventScope & EventDetails[Type]
}[T]

export type Listener<T extends EventType> = (event: RendererEvent<T>) => void
export type Emit = <T extends EventType>(type: T, detail: EventDetails[T]) => void

export interface Events {
  /** An emitter whose events all carry `scope`. */
  within(scope: EventScope): Emit
  /** Calls `listener` on every event of a type, or of all with '*'; returns what stops it. */
  on<T extends EventType>(type: T | '*', listener: Listener<T>): () => void
  list(): RendererEvent[]
}

const most_kept = 200

export function openEvents(now: () => number): Events {
  const listeners = new Set<{ type: string; listener: (event: RendererEvent) => void }>()
  let log: RendererEvent[] = []
  const tell = (event: RendererEvent): void => {
    log = [...log.slice(1 - most_kept), event]
    for (const { type, listener } of [...listeners]) {
      if (type !== event.type && type !== '*') continue
      try {
        listener(event)
      } catch (problem) {
        console.error(problem)
      }
    }
  }
  return {
    within: (scope) => (type, detail) => tell({ type, at_ms: now(), ...scope, ...detail } as RendererEvent),
    on: (type, listener) => {
      const entry = { type, listener: listener as (event: RendererEvent) => void }
      if (typeof listener === 'function') listeners.add(entry)
      return () => listeners.delete(entry)
    },
    list: () => [...log],
  }
}
