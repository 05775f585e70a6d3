/** What all turns and mounts of a page share: the clock, the events, the consents seen and which target is occupied. */
import type { BeaconEvent } from '../../../src/contract/v1/beacons.ts'
import type { ActivationResult } from '../../../src/contract/v1/browser.ts'
import { type ConsentReason, openConsentMemory } from './consent.ts'

/** Why a placement is not shown, or no longer. Codes that the frame reports are passed through. */
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

interface EventDetails {
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

/** The turn, slot and mount that an event belongs to. */
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

/** A browser integration: a publishable key exchanged for a token. */
export interface Activation {
  /** The present token and the project it belongs to. */
  result(): ActivationResult
  /**
   * POST /v1/placements with `client_id` filled in, then polling until it is decided. Rejects on an error response;
   * `waiting` ends the polling.
   */
  requestPlacement(body?: object, signal?: AbortSignal, waiting?: AbortSignal): Promise<unknown>
}

/** The turn or mount that has a target. There is at most one. */
export interface Occupant {
  end(reason: string): void
}

export type Renderer = ReturnType<typeof openRenderer>

export function openRenderer() {
  const clock = openClock()
  const events = openEvents(clock.now)
  const emit = events.within({})
  const occupants = new Map<Element, Occupant>()
  return {
    clock,
    events,
    emit,
    consents: openConsentMemory(clock.now),
    occupants,
    activation: null as Activation | null,
    /** Reports that consent blocks an ad, on the console too. */
    block: (reason: ConsentReason, emitBlocked = emit): void => {
      console.warn(`[sponsored placement] blocked: ${reason}`)
      emitBlocked('blocked', { reason })
    },
    /** Gives `target` to `occupant` and ends the one before. */
    occupy: (target: Element, occupant: Occupant): void => {
      occupants.get(target)?.end('replaced')
      occupants.set(target, occupant)
    },
    leave: (target: Element, occupant: Occupant): void => {
      if (occupants.get(target) === occupant) occupants.delete(target)
    },
  }
}

/** Largest error of a Date header and its way here, milliseconds. */
const date_tolerance_ms = 2_500

export type Clock = ReturnType<typeof openClock>

/**
 * The time for beacons and consent, Unix epoch milliseconds. The user's clock may be wrong, so the server time wins
 * once a frame has sent it; the monotonic clock carries it on.
 */
function openClock() {
  let now = (): number => Date.now()
  const setTime = (time_ms: number): void => {
    const offset = time_ms - performance.now()
    now = () => Math.round(offset + performance.now())
  }
  let isExact = false
  /** Frames of one page take their time to load: once one has set the clock, the next ones leave it as it goes. */
  const setServerTime = (server_time_ms: number): void => {
    if (!isExact || Math.abs(server_time_ms - now()) > date_tolerance_ms) setTime(server_time_ms)
    isExact = true
  }
  return {
    now: () => now(),
    setServerTime,
    /** Compares with a Date header, in whole seconds: only a larger difference is corrected. NaN is ignored. */
    compare: (date_ms: number): void => {
      if (Math.abs(date_ms - now()) > date_tolerance_ms) setTime(date_ms)
    },
  }
}

const max_logged = 200

function openEvents(now: () => number) {
  const listeners = new Set<{ type: string; listener: (event: RendererEvent) => void }>()
  let log: RendererEvent[] = []
  const emit = (event: RendererEvent): void => {
    log = [...log.slice(1 - max_logged), event]
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

/** Returns the element itself, or the first one that a selector matches, or null. */
export function findTarget(target: unknown): Element | null {
  if (target instanceof Element) return target
  try {
    return document.querySelector(String(target))
  } catch {
    return null
  }
}

/** Returns 128 random bits as digits. getRandomValues, unlike randomUUID, also works on pages without https. */
export function newId(prefix: string): string {
  return prefix + crypto.getRandomValues(new Uint32Array(4)).join('')
}

/** Sets styles that the page's own rules cannot override. Allowed under a strict CSP. */
export function setStyles(element: HTMLElement, styles: Record<string, string>): void {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value, 'important')
}
