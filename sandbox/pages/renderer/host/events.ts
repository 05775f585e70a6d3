/** The events that a page can listen to: their types, and the log of the last ones. */
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { ConsentReason } from './consent.ts'

/** Why a placement is not shown, or no longer. Codes that the frame reports are passed through. */
export type ErrorCode =
  | 'activation_failed'
  | 'autoplay_blocked'
  | 'asset_token_expired'
  | 'asset_token_invalid'
  | 'creative_failed'
  | 'csp_blocked'
  | 'decision_expired'
  | 'decision_pending'
  | 'endpoint_missing'
  | 'engine_unsupported'
  | 'frame_reloaded'
  | 'internal'
  | 'label_removed'
  | 'late_decision'
  | 'media_type_mismatch'
  | 'message_flood'
  | 'option_unknown'
  | 'origin_opaque'
  | 'render_timeout'
  | 'request_failed'
  | 'response_unreadable'
  | 'script_incomplete'
  | 'target_not_found'
  | 'target_removed'
  | 'unmeasurable'

/** Of a snapshot from the future: how far, by the service's time, it and this device's clock are ahead, milliseconds. */
export interface ClockSkew {
  consent_ahead_ms?: number
  device_ahead_ms?: number
}

interface EventDetails {
  'turn:started': object
  'turn:finished': object
  'turn:cancelled': object
  /** The turn was started again, and its placement is no longer valid (A102). */
  'turn:expired': object
  decision: { status: string; fill: boolean }
  no_fill: { no_fill_reason: string }
  blocked: { reason: ConsentReason } & ClockSkew
  rendered: object
  visible: object
  click: { user_activated: boolean }
  play_started: object
  play_completed: object
  beacon: { event: BeaconEvent; accepted: boolean; reason_code: string }
  cleared: { reason: string }
  error: RendererError
}

export interface RendererError {
  code: ErrorCode
  status?: number
  reason_code?: string
  /** What was found or passed instead: fields of a response, a target, options, the APIs that the browser does not have. */
  got?: string[]
  /** The options that there are. */
  known?: string[]
  /** Method and address of the request, without its query: `POST /api/placement`; then ` > ` and where it was redirected. */
  request?: string
  content_type?: string
  /** What the Retry-After of an error response asked for, milliseconds; null for one without. */
  retry_after_ms?: number | null
  /** The error body of the service (A10), where the response had one. */
  response?: object
  /** The field of the response that has the placement response. */
  wrapped_in?: string | undefined
  /** The directive of the page's Content-Security-Policy. */
  directive?: string
  message?: string
}

export type EventType = keyof EventDetails

interface EventScope {
  turn_id?: string | undefined
  slot_id?: string | undefined
  instance_id?: string | undefined
}

export type RendererEvent<T extends EventType = EventType> = {
  [Type in T]: { type: Type; at_ms: number } & EventScope & EventDetails[Type]
}[T]

export type Listener<T extends EventType> = (event: RendererEvent<T>) => void
export type Emit = <T extends EventType>(type: T, detail: EventDetails[T]) => void

const maxLogged = 200

/** Opens the event log. Errors and blocks are also written to the console, once each. */
export function openEvents(now: () => number) {
  const listeners = new Set<{ type: string; listener: (event: RendererEvent) => void }>()
  let log: RendererEvent[] = []
  const emit = (event: RendererEvent): void => {
    log = [...log.slice(1 - maxLogged), event]
    if (event.type === 'error') {
      const { type, at_ms, code, ...details } = event
      console.warn(`[sponsored placement] error: ${code} ${JSON.stringify(details)}`)
    }
    if (event.type === 'blocked') {
      const { reason, consent_ahead_ms, device_ahead_ms } = event
      const skew = consent_ahead_ms ? ` ${JSON.stringify({ consent_ahead_ms, device_ahead_ms })}` : ''
      console.warn(`[sponsored placement] blocked: ${reason}${skew}`)
    }
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
    /** Returns an emitter whose events all carry `scope`. */
    within: (scope: EventScope): Emit => {
      return (type, detail) => emit({ type, at_ms: now(), ...scope, ...detail } as RendererEvent)
    },
    /** Calls `listener` on every event of a type, or of all with '*'. Returns a function that removes it. */
    on: <T extends EventType>(type: T | '*', listener: Listener<T>): (() => void) => {
      const entry = { type, listener: listener as (event: RendererEvent) => void }
      if (typeof listener === 'function') listeners.add(entry)
      return () => listeners.delete(entry)
    },
    /** Returns the last 200 events. */
    list: () => [...log],
  }
}
