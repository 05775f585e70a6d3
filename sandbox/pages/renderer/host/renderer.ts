/** State shared by all turns and mounts of a page: the clock, the events, the consents seen, the placements shown. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { ActivationResult } from '#contract/resources/browser.ts'
import { openClock } from './clock.ts'
import { type ConsentReason, openConsentMemory } from './consent.ts'
import type { ConsoleAd } from './console-page.ts'
import { requestDecision } from './decision.ts'
import { newId, removeCopies, whenActivated } from './dom.ts'
import { type ClockSkew, type Emit, openEvents, type RendererError } from './events.ts'
import { describeProblem, type JsonResponse, pause, requestJson, requestProblem } from './request.ts'

/** A browser integration: a publishable key exchanged for a token. */
export interface Activation {
  /** The current token and the project it belongs to. */
  result(): ActivationResult
  /** Everything but the token, for `state()`. */
  readonly described: object
  /** POST /v1/placements with `client_id` filled in. */
  request(body?: object, signal?: AbortSignal): Promise<JsonResponse>
  /** GET /v1/decisions/{slot_id}; `query` says how long the service may wait. */
  poll(slot_id: string, query: string, signal?: AbortSignal): Promise<JsonResponse>
}

/** A part of the page, CSS pixels from its top left corner. */
export interface Viewport {
  top: number
  left: number
  width: number
  height: number
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
  const violations = openViolations()
  return {
    clock,
    events,
    emit,
    consents: openConsentMemory(clock),
    occupants,
    violations,
    /** Here for the other parts of the script, which would have copies of them. */
    describeProblem,
    newId,
    pause,
    removeCopies,
    requestDecision,
    requestJson,
    requestProblem,
    whenActivated,
    activation: null as Activation | null,
    /** The newest exchange of a key: resolves once `activation` is set, or has failed. Never rejects. */
    activating: null as Promise<unknown> | null,
    /** Loads what judges whether an ad can be seen, where the browser does not say so. */
    loadJudge: null as (<Part>() => Promise<Part>) | null,
    /** What of the page a native host shows, CSS pixels of the page; null while it has said nothing. */
    viewport: null as Viewport | null,
    /** Returns the placements that were delivered to the page: the second part of the script knows them. */
    ads: (): ConsoleAd[] => [],
    refuse: (error: RendererError): null => {
      emit('error', error)
      return null
    },
    block: (reason: ConsentReason, consent: unknown, emitBlocked: Emit = emit): void => {
      const now_ms = clock.now()
      const { updated_at_ms } = (consent ?? {}) as Partial<AuthoritativeConsent>
      const skew: ClockSkew =
        reason === 'consent_from_future'
          ? { consent_ahead_ms: Number(updated_at_ms) - now_ms, device_ahead_ms: Date.now() - now_ms }
          : {}
      emitBlocked('blocked', { reason, ...skew })
    },
    /** Gives `target` to `occupant` and ends the one before. Returns false when a listener of that end has given it away. */
    occupy: (target: Element, occupant: Occupant): boolean => {
      const previous = occupants.get(target)
      if (previous === occupant) return true
      occupants.set(target, occupant)
      previous?.end('replaced')
      return occupants.get(target) === occupant
    },
    leave: (target: Element, occupant: Occupant): void => {
      if (occupants.get(target) === occupant) occupants.delete(target)
    },
  }
}

/** The browser's own APIs without which no ad can be shown and counted. */
const needed = ['AbortController', 'fetch', 'MessageChannel', 'MutationObserver', 'ResizeObserver', 'WeakRef']

/** Returns why this browser or page can show no ad at all, or null: checked before anything is requested. */
export function findObstacle(): RendererError | null {
  const missing = needed.filter((name) => !window[name as never])
  if (!('attachShadow' in Element.prototype)) missing.push('attachShadow')
  if (missing.length) return { code: 'engine_unsupported', got: missing }
  // A sandboxed frame or a file: no allowed origin matches it, so the service lets no frame of its be embedded.
  return self.origin === 'null' ? { code: 'origin_opaque' } : null
}

/**
 * Watches what the page's Content-Security-Policy blocks: a blocked frame loads an error page in silence, and a blocked
 * request looks like a broken network.
 */
function openViolations() {
  const blocked = new Map<string, string>()
  const listeners = new Set<() => void>()
  document.addEventListener('securitypolicyviolation', ({ disposition, blockedURI, effectiveDirective }) => {
    if (disposition !== 'enforce') return
    // script-src-elem is script-src.
    const directive = effectiveDirective.replace('-elem', '')
    blocked.set(`${directive} ${parseOrigin(blockedURI)}`, directive)
    for (const listener of listeners) listener()
  })
  return {
    /** Returns the error of a URL that a directive has blocked, or null. */
    find: (directive: 'frame-src' | 'connect-src' | 'script-src', url: string): RendererError | null => {
      const found = blocked.get(`${directive} ${parseOrigin(url)}`)
      return found ? { code: 'csp_blocked', directive: found } : null
    },
    /** Calls `listener` on each new violation. Returns a function that removes it. */
    on: (listener: () => void): (() => void) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function parseOrigin(url: string): string {
  try {
    return new URL(url, location.href).origin
  } catch {
    return url
  }
}
