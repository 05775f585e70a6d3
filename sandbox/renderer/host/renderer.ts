/**
 * State shared by all turns and mounts of a page: the clock, the events, the consents seen, which target is occupied, and JSON
 * requests with fetch.
 */
import type { BeaconEvent } from '../../../src/contract/resources/beacons.ts'
import type { ActivationResult } from '../../../src/contract/resources/browser.ts'
import { retryAfterMs } from '../../../src/foundation/http.ts'
import { isObject } from '../../../src/foundation/json.ts'
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
  error: RendererError
}

/** The details of an error event. */
export interface RendererError {
  code: ErrorCode
  status?: number
  reason_code?: string
  got?: string[]
  message?: string
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
  /** The current token and the project it belongs to. */
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
    /** The newest exchange of a key: resolves once `activation` is set, or has failed. Never rejects. */
    activating: null as Promise<unknown> | null,
    /** Reports that consent blocks an ad, on the console too. */
    block: (reason: ConsentReason, emitBlocked = emit): void => {
      console.warn(`[sponsored placement] blocked: ${reason}`)
      emitBlocked('blocked', { reason })
    },
    /** Gives `target` to `occupant` and ends the one before. Returns false when a listener of that end has given it away. */
    occupy: (target: Element, occupant: Occupant): boolean => {
      const previous = occupants.get(target)
      occupants.set(target, occupant)
      previous?.end('replaced')
      return occupants.get(target) === occupant
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
 * once a frame has sent it. The monotonic clock carries it on, and the user's clock where the monotonic one stood
 * still, as it does in most browsers while the computer sleeps.
 */
function openClock() {
  let time_ms: number
  let monotonic_ms: number
  let wall_ms: number
  const set = (now_ms: number): void => {
    time_ms = now_ms
    monotonic_ms = performance.now()
    wall_ms = Date.now()
  }
  set(Date.now())
  const now = (): number => Math.round(time_ms + Math.max(performance.now() - monotonic_ms, Date.now() - wall_ms))
  /** Compares with a Date header, in whole seconds: only a larger difference is corrected. NaN is ignored. */
  const compare = (date_ms: number, tolerance_ms = date_tolerance_ms): void => {
    if (Math.abs(date_ms - now()) > tolerance_ms) set(date_ms)
  }
  let frame_tolerance_ms = 0
  return {
    now,
    compare,
    /** Frames of one page take their time to load: once one has set the clock, later ones leave it alone. */
    setServerTime: (server_time_ms: number): void => {
      compare(server_time_ms, frame_tolerance_ms)
      frame_tolerance_ms = date_tolerance_ms
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

const timeout_ms = 15_000

interface RequestOptions {
  body?: object | undefined
  token?: string | undefined
  headers?: HeadersInit | undefined
  signal?: AbortSignal | undefined
  /** Cookies are sent to the host's own routes only. */
  credentials?: RequestCredentials
  keepalive?: boolean
}

export interface JsonResponse {
  ok: boolean
  status: number
  /** The service's reason_code, or `http_<status>` when it gave none. */
  reason_code: string
  /** Retry-After, milliseconds from now; null without one. */
  retry_after_ms: number | null
  /** The Date header, Unix epoch milliseconds. NaN when a cross-origin page may not read it. */
  date_ms: number
  body: unknown
}

/** POSTs `body`, or GETs without one. Resolves with any response; rejects on network errors, abort or after 15 s. */
export async function requestJson(url: string, options: RequestOptions): Promise<JsonResponse> {
  const { body, token, signal, credentials = 'omit', keepalive = false } = options
  const timeout = AbortSignal.timeout(timeout_ms)
  const headers = new Headers(options.headers)
  if (body) headers.set('content-type', 'application/json')
  if (token) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(url, {
    method: body ? 'POST' : 'GET',
    headers,
    body: body ? JSON.stringify(body) : null,
    credentials,
    keepalive,
    // A poll that a cache answers would stay pending.
    cache: 'no-store',
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  })
  const { ok, status } = response
  const json: unknown = await response.json().catch(() => null)
  const reason_code = isObject(json) && typeof json.reason_code === 'string' ? json.reason_code : `http_${status}`
  const date_ms = Date.parse(`${response.headers.get('date')}`)
  const retry_after_ms = retryAfterMs(response.headers.get('retry-after'), date_ms || Date.now())
  return { ok, status, reason_code, retry_after_ms, date_ms, body: json }
}

/** Resolves after `ms`, or as soon as the signal aborts. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, signal?.aborted ? 0 : ms)
    signal?.addEventListener('abort', end)
  })
}

/** Returns an error response as an error. */
export function requestProblem({ status, reason_code }: JsonResponse): Error {
  return Object.assign(new Error(reason_code), { status, reason_code })
}

/** Returns the details of an error event. */
export function describeProblem(problem: unknown): { status?: number; reason_code?: string; message: string } {
  return { message: String(problem), ...(problem as object) }
}
