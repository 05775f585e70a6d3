/**
 * One turn of the host's product and its ad.
 *
 * idle -> consent_check -> requesting -> blocked | no_fill | failed | filled -> mounting -> rendered -> finishing ->
 * cleared; cancelled from any. An ad must never break the host's turn, so nothing here throws or rejects.
 */
import type { AuthoritativeConsent } from '../../../src/contract/fields.ts'
import type { Placement, PlacementResponse } from '../../../src/contract/resources/placements.ts'
import { isObject } from '../../../src/foundation/json.ts'
import { decisionError, readDecision, requestDecision } from './decision.ts'
import { type Mount, mountPlacement } from './mount.ts'
import {
  describeProblem,
  type Emit,
  type EventType,
  findTarget,
  type Listener,
  newId,
  type Occupant,
  type Renderer,
  type RendererError,
  requestJson,
} from './renderer.ts'

export interface TurnOptions {
  /** The element for the ad, or its selector. */
  target: Element | string
  /** The host's own backend route, which returns the v1 placement response unchanged. Not needed once `activate` was called. */
  endpoint?: string | URL
  body?: Record<string, unknown>
  /** Sent to the endpoint: the host's CSRF token, for example. */
  headers?: HeadersInit
  turnId?: string
  /** Checked before the request; the snapshot in the response is always checked. */
  authoritative_consent?: AuthoritativeConsent | null
  beaconToken?: string
  signal?: AbortSignal
  /** Keeps the ad when the turn finishes. */
  keepMounted?: boolean
  debug?: boolean
}

type LastState = 'blocked' | 'no_fill' | 'failed' | 'cleared' | 'cancelled'
type OpenState = 'idle' | 'consent_check' | 'requesting' | 'filled' | 'mounting' | 'rendered' | 'finishing'
export type TurnState = OpenState | LastState

export interface Turn {
  readonly id: string
  readonly target: Element | null
  readonly state: TurnState
  /** Resolves with the placement response unchanged, or null. Never rejects. */
  readonly decision: Promise<unknown>
  /** The host's turn is over: a rendered ad stays until its dwell is met, unless `keepMounted`. */
  finish(): void
  /** The host's turn is cancelled: the ad is cleared at once. */
  cancel(): void
  on<T extends EventType>(type: T | '*', listener: Listener<T>): () => void
}

export function startTurn(renderer: Renderer, options: TurnOptions): Turn {
  const { consents, events } = renderer
  const id = options.turnId ?? newId('turn_')
  const target = findTarget(options.target)
  const session_id = String(options.body?.session_id ?? '')
  let state: TurnState = 'idle'
  let isFinished = false
  let mount: Mount | null = null
  let slot_id: string | undefined
  const over = new AbortController()

  const emit: Emit = (type, detail) => events.within({ turn_id: id, slot_id })(type, detail)
  const on: Turn['on'] = (type, listener) =>
    events.on(type, (event) => {
      if (event.turn_id === id) listener(event)
    })
  const occupant: Occupant = {
    end: (reason) => {
      if (isFinished) end('cleared', reason)
      else cancel(reason)
    },
  }

  /** Enters a final state and clears the ad. */
  function end(last: LastState, reason: string): void {
    const open = mount
    mount = null
    state = last
    open?.clear(reason)
    if (target) renderer.leave(target, occupant)
    // A string, since an error created here would keep this turn's mount alive with its stack.
    over.abort(reason)
  }
  function fail(error: RendererError): void {
    emit('error', error)
    end('failed', error.code)
  }
  function cancel(reason: string): void {
    if (isLast(state)) return
    emit('turn:cancelled', {})
    end('cancelled', reason)
  }
  function finish(): void {
    if (isFinished || state === 'cancelled') return
    isFinished = true
    emit('turn:finished', {})
    if (state === 'rendered') leave()
    else if (!mount && !isLast(state)) end('cleared', 'finished')
  }
  /** The turn is over and its ad is rendered: cleared once it is viewed. */
  function leave(): void {
    if (options.keepMounted) return
    state = 'finishing'
    if (mount?.isViewed) end('cleared', 'finished')
  }
  /** Returns whether consent blocks the ad. If so, the turn ends. */
  function isBlocked(consent: unknown): boolean {
    const reason = consents.problem(consent, session_id)
    if (reason === null) return false
    renderer.block(reason, emit)
    end('blocked', reason)
    return true
  }

  /** A listener may have ended the turn. */
  const isOver = (): boolean => isLast(state)

  async function run(): Promise<unknown> {
    // The host's work need not wait for the exchange of a key: the ad does.
    if (!options.endpoint) await renderer.activating
    if (isOver()) return null
    if (!target) return fail({ code: 'target_not_found' })
    state = 'consent_check'
    if (options.authoritative_consent !== undefined && isBlocked(options.authoritative_consent)) return null
    if (!options.endpoint && !renderer.activation) return fail({ code: 'endpoint_missing' })
    state = 'requesting'
    let response: unknown
    try {
      response = await request()
    } catch (problem) {
      if (state === 'requesting') fail({ code: 'request_failed', ...describeProblem(problem) })
      return null
    }
    handle(response, target)
    return response
  }
  function request(): Promise<unknown> {
    const { body = {}, headers, signal } = options
    const endpoint = String(options.endpoint ?? '')
    if (!endpoint) return renderer.activation!.requestPlacement(body, signal, over.signal)
    const more = { headers, signal, credentials: 'same-origin' } as const
    return requestDecision({
      request: () => requestJson(endpoint, { ...more, body }),
      poll: (slot_id, query) =>
        requestJson(`${endpoint}${endpoint.includes('?') ? '&' : '?'}slot_id=${slot_id}&${query}`, more),
      clock: renderer.clock,
      signal: over.signal,
    })
  }
  function handle(response: unknown, target: Element): void {
    const decision = readDecision(response)
    if (state !== 'requesting') {
      if (decision.kind !== 'pending') emit('error', { code: 'late_decision' })
      return
    }
    if (decision.kind === 'unreadable') {
      fail(decisionError(decision))
      return
    }
    const { status, slot_id: slot, authoritative_consent } = response as PlacementResponse
    slot_id = slot
    emit('decision', { status, fill: decision.kind === 'filled' })
    if (isOver()) return
    if (decision.kind === 'filled') {
      mountFill(decision.placement, authoritative_consent, target)
    } else if (decision.kind === 'no_fill') {
      emit('no_fill', { no_fill_reason: decision.no_fill_reason })
      end('no_fill', 'no_fill')
    } else {
      fail(decisionError(decision))
    }
  }
  function mountFill(placement: Placement, consent: AuthoritativeConsent | undefined, target: Element): void {
    state = 'filled'
    const given = options.authoritative_consent
    if (isBlocked(consent) || !consent || (given !== undefined && isBlocked(given))) return
    if (!target.isConnected) {
      fail({ code: 'target_removed' })
      return
    }
    state = 'mounting'
    mount = mountPlacement(renderer, {
      target,
      placement,
      consent: { ...consent },
      session_id,
      turn_id: id,
      slot_id,
      beacon_token: options.beaconToken,
      max_height: maxHeight(options.body),
      onRendered: () => {
        state = 'rendered'
        if (isFinished) leave()
      },
      onViewed: () => {
        if (state === 'finishing') end('cleared', 'finished')
      },
      onCleared: (outcome) => {
        if (mount) end(outcome, outcome)
      },
    })
  }

  const turn: Turn = {
    id,
    target,
    get state() {
      return state
    },
    decision: Promise.resolve()
      .then(run)
      .catch((problem) => fail({ code: 'internal', message: String(problem) }))
      .then((response) => response ?? null),
    finish,
    cancel: () => cancel('cancelled'),
    on,
  }
  if (target) renderer.occupy(target, occupant)
  if (options.debug) over.signal.onabort = on('*', (event) => console.debug('[sponsored placement]', event))
  emit('turn:started', {})
  if (options.signal?.aborted) cancel('aborted')
  else options.signal?.addEventListener('abort', () => occupant.end('aborted'), { signal: over.signal })
  return turn
}

export function isLast(state: TurnState): state is LastState {
  return ['blocked', 'no_fill', 'failed', 'cleared', 'cancelled'].includes(state)
}

function maxHeight(body: Record<string, unknown> | undefined): number | undefined {
  const hint = body?.slot_hint
  const height = isObject(hint) ? hint.max_height : undefined
  return Number.isSafeInteger(height) ? (height as number) : undefined
}
