/**
 * One turn of the host's product and its ad.
 *
 * idle -> consent_check -> requesting -> blocked | no_fill | failed | filled -> mounting -> rendered -> finishing ->
 * cleared; cancelled from any. An ad must never break the host's turn, so nothing here throws or rejects.
 *
 * A turn outlives its element (A102): a list that reuses its rows starts the same turn again, on the same or another element. It
 * is requested once; its placement is kept and mounted again for as long as it is valid, and then the turn has expired.
 */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Placement, PlacementResponse } from '#contract/resources/placements.ts'
import { isObject } from '#foundation/json.ts'
import { decisionError, readDecision, requestDecision } from './decision.ts'
import { describeTarget, findTarget, newId, whenActivated } from './dom.ts'
import type { Emit, EventType, Listener, RendererError } from './events.ts'
import type { Loader } from './loader.ts'
import type { Mount } from './mount.ts'
import type { Mounts } from './mounts.ts'
import { findObstacle, type Occupant, type Renderer } from './renderer.ts'
import { describeProblem, type JsonResponse, pause, requestJson } from './request.ts'

export interface TurnOptions {
  /** The element for the ad, or its selector. */
  target: Element | string
  /** The host's own backend route, which returns the v1 placement response unchanged. Not needed once `activate` was called. */
  endpoint?: string | URL
  body?: Record<string, unknown>
  /** Sent to the endpoint: the host's CSRF token, for example. */
  headers?: HeadersInit
  /** Of the requests to the endpoint. Default `same-origin`. */
  credentials?: RequestCredentials
  /** The same id is the same turn, whichever element it is started on: the id of the message, for example. */
  turnId?: string
  /** Checked before the request; the snapshot in the response is always checked. */
  authoritative_consent?: AuthoritativeConsent | null
  beaconToken?: string
  signal?: AbortSignal
  /** The ad outlasts the turn: it is kept, and still shown when the turn finishes before its placement has arrived. */
  keepMounted?: boolean
  debug?: boolean
}

type LastState = 'blocked' | 'no_fill' | 'failed' | 'cleared' | 'cancelled' | 'expired'
type OpenState = 'idle' | 'consent_check' | 'requesting' | 'filled' | 'mounting' | 'rendered' | 'finishing'
export type TurnState = OpenState | LastState

export interface Turn {
  readonly id: string
  /** The element that the turn was started on last. */
  readonly target: Element | null
  readonly state: TurnState
  /** Resolves with the placement response unchanged, or null. Never rejects. */
  readonly decision: Promise<unknown>
  /** The host's turn is over: a rendered ad stays until its dwell is met, and no other is shown, unless `keepMounted`. */
  finish(): void
  /** The host's turn is cancelled: the ad is cleared at once. */
  cancel(): void
  on<T extends EventType>(type: T | '*', listener: Listener<T>): () => void
}

/** A host that redraws its message with every token would load the frame each time: then the element must stay first. */
const redrawMs = 1_000
const settleMs = 300

/** A turn that can be started again. */
export interface KeptTurn extends Turn {
  /** Starts the turn on the target of `options`, unless it is open there. */
  start(options: TurnOptions): void
}

export function createTurn(renderer: Renderer, loader: Loader, id = newId('turn_')): KeptTurn {
  const { consents, events, violations } = renderer
  let options: TurnOptions
  /** Weak, since rows of a list come and go while their turns are kept. */
  let target: WeakRef<Element> | null = null
  let passed = ''
  let session_id = ''
  let state: TurnState = 'idle'
  let isFinished = false
  let mount: Mount | null = null
  let mounted_at = -redrawMs
  let starts = 0
  let slot_id: string | undefined
  let over: AbortController
  /** The first request of the turn: its response is kept, so that it is sent once. */
  let requested: Promise<JsonResponse> | undefined
  /** The decided response. */
  let response: unknown
  let decision: Promise<unknown> = Promise.resolve(null)

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

  function start(given: TurnOptions): void {
    const element = findTarget(given.target)
    const isFirst = !options!
    const isOpen = !isFirst && !isLast(state)
    if (isOpen && (!element || element === currentTarget())) return
    if (state === 'expired') {
      emit('turn:expired', {})
      return
    }
    if (isExhausted()) return
    if (!requested) session_id = String(given.body?.session_id ?? '')
    options = { ...given, target: '' }
    starts += 1
    passed = describeTarget(given.target)
    isFinished = false
    leaveTarget()
    target = element && new WeakRef(element)
    if (element) renderer.occupy(element, occupant)
    // The request under way belongs to the turn: its placement goes to the newest element.
    if (isOpen && !mount) {
      follow(given.signal)
      return
    }
    const open = mount
    mount = null
    open?.clear('moved')
    over?.abort()
    over = new AbortController()
    if (given.debug) over.signal.onabort = on('*', (event) => console.debug('[sponsored placement]', event))
    state = 'idle'
    if (isFirst) emit('turn:started', {})
    decision = Promise.resolve(over.signal)
      .then(run)
      .catch((problem) => fail({ code: 'internal', message: String(problem) }))
      .then((response) => response ?? null)
    follow(given.signal)
  }
  /** Nothing more can come of it. A request that failed is not repeated by each row of a list that is drawn again. */
  function isExhausted(): boolean {
    return state === 'no_fill' || (state === 'failed' && !!requested && !response)
  }
  function follow(signal: AbortSignal | undefined): void {
    if (signal?.aborted) cancel('aborted')
    else signal?.addEventListener('abort', () => occupant.end('aborted'), { signal: over.signal })
  }
  function currentTarget(): Element | null {
    return target?.deref() ?? null
  }
  function leaveTarget(): void {
    const element = currentTarget()
    if (element) renderer.leave(element, occupant)
  }

  /** Enters a final state and clears the ad. */
  function end(last: LastState, reason: string): void {
    const open = mount
    mount = null
    state = last
    open?.clear(reason)
    leaveTarget()
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
    else if (!mount && !isLast(state) && !options?.keepMounted) end('cleared', 'finished')
  }
  /** The turn is over and its ad is rendered: cleared once it is viewed. */
  function leave(): void {
    if (options.keepMounted) return
    state = 'finishing'
    if (mount?.isViewed) end('cleared', 'finished')
  }
  /** Returns whether consent blocks the ad. If so, the turn ends. */
  function isBlocked(consent: unknown, untilSynced?: boolean): boolean {
    const reason = consents.problem(consent, session_id, untilSynced)
    if (reason === null) return false
    renderer.block(reason, emit)
    end('blocked', reason)
    return true
  }

  async function run(signal: AbortSignal): Promise<unknown> {
    /** A listener may have ended the turn, or it was started again meanwhile. */
    const isOver = (): boolean => signal.aborted
    await new Promise<void>(whenActivated)
    // The host's work need not wait for the exchange of a key: the ad does.
    if (!options.endpoint) await renderer.activating
    if (isOver()) return null
    if (!currentTarget()) return fail({ code: 'target_not_found', got: [passed] })
    const obstacle = findObstacle()
    if (obstacle) return fail(obstacle)
    // In parallel with the request; a failure is reported once there is an ad to show.
    loader.load().catch(() => {})
    state = 'consent_check'
    if (options.authoritative_consent !== undefined && isBlocked(options.authoritative_consent)) return null
    if (!response) return receive(signal)
    if (performance.now() - mounted_at < redrawMs) {
      for (let seen = 0; seen !== starts; ) {
        seen = starts
        await pause(settleMs, signal)
      }
    }
    if (!isOver()) await read(response, false, signal)
    return response
  }
  /** Requests the decision and shows it. */
  async function receive(signal: AbortSignal): Promise<unknown> {
    if (!options.endpoint && !renderer.activation) return fail({ code: 'endpoint_missing' })
    state = 'requesting'
    let received: unknown
    try {
      received = await request(signal)
    } catch (problem) {
      await pause(0, undefined)
      const violation = violations.find('connect-src', String(options.endpoint))
      if (!signal.aborted) fail(violation ?? { code: 'request_failed', ...describeProblem(problem) })
      return null
    }
    const { kind } = readDecision(received)
    if (kind !== 'pending') response = received
    if (!signal.aborted) await read(received, true, signal)
    else if (kind !== 'pending' && isLast(state)) emit('error', { code: 'late_decision' })
    return received
  }
  /** Requests the decision, at most once: a turn that was cancelled and is started again joins the request under way. */
  function request(signal: AbortSignal): Promise<unknown> {
    const { body = {}, headers, signal: given, credentials = 'same-origin' } = options
    const { activation } = renderer
    const endpoint = String(options.endpoint ?? '')
    const more = { headers, signal: given, credentials }
    const send = (): Promise<JsonResponse> => {
      const sent = endpoint ? requestJson(endpoint, { ...more, body }) : activation!.request(body, given)
      sent.catch(() => {
        if (given?.aborted) requested = undefined
      })
      return sent
    }
    return requestDecision({
      request: (isRetry) => {
        requested = isRetry || !requested ? send() : requested
        return requested
      },
      poll: (slot_id, query) =>
        endpoint
          ? requestJson(`${endpoint}${endpoint.includes('?') ? '&' : '?'}slot_id=${slot_id}&${query}`, more)
          : activation!.poll(slot_id, query, given),
      clock: renderer.clock,
      signal,
    })
  }
  async function read(received: unknown, isNew: boolean, signal: AbortSignal): Promise<void> {
    const decision = readDecision(received)
    if (decision.kind === 'unreadable') {
      fail(decisionError(decision))
      return
    }
    const { status, slot_id: slot, authoritative_consent } = received as PlacementResponse
    slot_id = slot
    if (isNew) emit('decision', { status, fill: decision.kind === 'filled' })
    if (isLast(state)) return
    if (decision.kind === 'filled') {
      await fill(decision.placement, authoritative_consent, isNew, signal)
    } else if (decision.kind === 'no_fill') {
      emit('no_fill', { no_fill_reason: decision.no_fill_reason })
      end('no_fill', 'no_fill')
    } else {
      fail(decisionError(decision))
    }
  }
  async function fill(
    placement: Placement,
    consent: AuthoritativeConsent | undefined,
    isNew: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    state = 'filled'
    const given = options.authoritative_consent
    if (isBlocked(consent, true) || !consent || (given !== undefined && isBlocked(given, true))) {
      if (!isNew) emit('turn:expired', {})
      return
    }
    await loader.load().then(
      (mounts) => {
        if (!signal.aborted) show(mounts, placement, consent, isNew)
      },
      (problem) => {
        if (!signal.aborted) fail(loader.describe(problem))
      },
    )
  }
  function show({ mountPlacement }: Mounts, placement: Placement, consent: AuthoritativeConsent, isNew: boolean): void {
    const element = currentTarget()
    if (!element?.isConnected) {
      fail({ code: 'target_removed' })
      return
    }
    state = 'mounting'
    mounted_at = performance.now()
    mount = mountPlacement({
      target: element,
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
      ...(!isNew && {
        onExpired: () => {
          end('expired', 'expired')
          emit('turn:expired', {})
        },
      }),
      onCleared: (outcome, reason) => {
        if (mount) end(outcome, reason)
      },
      onReturned: () => {
        if (state === 'cleared' && (!isFinished || options.keepMounted)) start({ ...options, target: element })
      },
    })
  }

  return {
    id,
    get target() {
      return currentTarget()
    },
    get state() {
      return state
    },
    get decision() {
      return decision
    },
    start,
    finish,
    cancel: () => cancel('cancelled'),
    on,
  }
}

export function isLast(state: TurnState): state is LastState {
  return ['blocked', 'no_fill', 'failed', 'cleared', 'cancelled', 'expired'].includes(state)
}

function maxHeight(body: Record<string, unknown> | undefined): number | undefined {
  const hint = body?.slot_hint
  const height = isObject(hint) ? hint.max_height : undefined
  return Number.isSafeInteger(height) ? (height as number) : undefined
}
