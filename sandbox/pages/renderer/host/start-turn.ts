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
import { isWhole } from './consent.ts'
import { decisionError, readDecision, readSession, requestDecision } from './decision.ts'
import { describeTarget, findTarget, newId, rememberTarget, whenActivated } from './dom.ts'
import type { Loader } from './loader.ts'
import type { Mounts } from './mounts/mounts.ts'
import { checkOptions } from './options.ts'
import { findObstacle, type Renderer } from './renderer.ts'
import { describeProblem, describeSource, type JsonResponse, pause, requestJson } from './request.ts'
import {
  cancel,
  currentTarget,
  end,
  fail,
  finish,
  isBlocked,
  leave,
  leaveTarget,
  type OpenTurn,
  openTurn,
  renewTarget,
  type Turn,
  type TurnOptions,
  turnOptions,
} from './turn.ts'
import { isLast } from './turn-state.ts'

/** A host that redraws its message with every token would load the frame each time: then the element must stay first. */
const redrawMs = 1_000
const settleMs = 300

/** A turn that can be started again. */
export interface KeptTurn extends Turn {
  /** Starts the turn on the target of `options`, unless it is open there. */
  start(options: TurnOptions): void
  /** The `slot_hint` of its request. */
  readonly asked: unknown
  /** Why it has ended; undefined before that, and in browsers whose signals have no reason. */
  readonly ended: unknown
}

export function createTurn(renderer: Renderer, loader: Loader, id = newId('turn_')): KeptTurn {
  const turn = openTurn(renderer, loader, id)
  return {
    id,
    get target() {
      return currentTarget(turn)
    },
    get state() {
      return turn.state
    },
    get asked() {
      return turn.options.body?.slot_hint
    },
    get ended() {
      return turn.over.signal.reason
    },
    get decision() {
      return turn.decision
    },
    start: (options) => start(turn, options),
    finish: () => finish(turn),
    cancel: () => cancel(turn, 'cancelled'),
    on: turn.on,
  }
}

function start(turn: OpenTurn, given: TurnOptions): void {
  const { renderer, emit } = turn
  const element = findTarget(given.target)
  const isFirst = turn.starts === 0
  const isOpen = !isFirst && !isLast(turn.state)
  if (isOpen && (!element || element === currentTarget(turn))) return
  if (turn.state === 'expired') {
    emit('turn:expired', {})
    return
  }
  if (isExhausted(turn)) return
  if (!turn.requested) turn.session_id = String(given.body?.session_id ?? '')
  turn.options = { ...given, target: '' }
  turn.starts += 1
  turn.passed = describeTarget(given.target)
  turn.isFinished = false
  leaveTarget(turn)
  turn.target = element ? new WeakRef(element) : undefined
  turn.findAgain = rememberTarget(given.target, given.turnId !== undefined)
  if (element) renderer.occupy(element, turn.occupant)
  // The request under way belongs to the turn: its placement goes to the newest element.
  if (isOpen && !turn.mount) {
    follow(turn, given.signal)
    return
  }
  const { mount } = turn
  turn.mount = null
  mount?.clear('moved')
  turn.over.abort()
  turn.over = new AbortController()
  if (given.debug) turn.over.signal.onabort = turn.on('*', (event) => console.debug('[sponsored placement]', event))
  turn.state = 'idle'
  if (isFirst) {
    emit('turn:started', {})
    checkOptions(turnOptions, given, emit)
  }
  turn.decision = Promise.resolve(turn.over.signal)
    .then((signal) => run(turn, signal))
    .catch((problem) => fail(turn, { code: 'internal', message: String(problem) }))
    .then((response) => response ?? null)
  follow(turn, given.signal)
}

/** Nothing more can come of it. A request that failed is not repeated by each row of a list that is drawn again. */
function isExhausted({ state, requested, response }: OpenTurn): boolean {
  return state === 'no_fill' || (state === 'failed' && !!requested && !response)
}

function follow(turn: OpenTurn, signal: AbortSignal | undefined): void {
  if (signal?.aborted) cancel(turn, 'aborted')
  else signal?.addEventListener('abort', () => turn.occupant.end('aborted'), { signal: turn.over.signal })
}

async function run(turn: OpenTurn, signal: AbortSignal): Promise<unknown> {
  await new Promise<void>(whenActivated)
  // The host's work need not wait for the exchange of a key: the ad does.
  if (!turn.options.endpoint) await turn.renderer.activating
  // A listener may have ended the turn, or it was started again meanwhile.
  if (signal.aborted) return null
  if (!currentTarget(turn)) return fail(turn, { code: 'target_not_found', got: [turn.passed] })
  const obstacle = findObstacle()
  if (obstacle) return fail(turn, obstacle)
  // In parallel with the request; a failure is reported once there is an ad to show.
  turn.loader.load().catch(() => {})
  turn.state = 'consent_check'
  const { authoritative_consent: given } = turn.options
  if (given !== undefined && isBlocked(turn, given)) return null
  if (!turn.response) return receive(turn, signal)
  if (performance.now() - turn.mounted_at < redrawMs) await untilSettled(turn, signal)
  if (!signal.aborted) await read(turn, turn.response, false, signal)
  return turn.response
}

/** Resolves once the element has stayed the same for a while. */
async function untilSettled(turn: OpenTurn, signal: AbortSignal): Promise<void> {
  for (let seen = 0; seen !== turn.starts; ) {
    seen = turn.starts
    await pause(settleMs, signal)
  }
}

/** Requests the decision and shows it. */
async function receive(turn: OpenTurn, signal: AbortSignal): Promise<unknown> {
  const { renderer } = turn
  if (!turn.options.endpoint && !renderer.activation) return fail(turn, { code: 'endpoint_missing' })
  turn.state = 'requesting'
  let received: unknown
  try {
    const response = await request(turn, signal)
    received = response.body
    turn.source = describeSource(response)
  } catch (problem) {
    await pause(0, undefined)
    const violation = renderer.violations.find('connect-src', String(turn.options.endpoint))
    if (!signal.aborted) fail(turn, violation ?? { code: 'request_failed', ...describeProblem(problem) })
    return null
  }
  const { kind } = readDecision(received)
  if (kind !== 'pending') turn.response = received
  if (!signal.aborted) await read(turn, received, true, signal)
  else if (kind !== 'pending' && isLast(turn.state)) turn.emit('error', { code: 'late_decision', message: turn.state })
  return received
}

/** Requests the decision, at most once: a turn that was cancelled and is started again joins the request under way. */
function request(turn: OpenTurn, signal: AbortSignal): Promise<JsonResponse> {
  const { body = {}, headers, signal: given, credentials = 'same-origin' } = turn.options
  const { activation, clock } = turn.renderer
  const endpoint = String(turn.options.endpoint ?? '')
  const more = { headers, signal: given, credentials }
  const send = (): Promise<JsonResponse> => {
    const sent = endpoint ? requestJson(endpoint, { ...more, body }) : activation!.request(body, given)
    sent.catch(() => {
      if (given?.aborted) turn.requested = undefined
    })
    return sent
  }
  return requestDecision({
    request: (isRetry) => {
      turn.requested = isRetry || !turn.requested ? send() : turn.requested
      return turn.requested
    },
    poll: (slot_id, query) =>
      endpoint
        ? requestJson(`${endpoint}${endpoint.includes('?') ? '&' : '?'}slot_id=${slot_id}&${query}`, more)
        : activation!.poll(slot_id, query, given),
    clock: endpoint ? null : clock,
    signal,
  })
}

async function read(turn: OpenTurn, received: unknown, isNew: boolean, signal: AbortSignal): Promise<void> {
  const decision = readDecision(received)
  if (decision.kind === 'unreadable') {
    fail(turn, { ...turn.source, ...decisionError(decision) })
    return
  }
  const { status, slot_id, authoritative_consent } = received as PlacementResponse
  turn.slot_id = slot_id
  turn.session_id = readSession(received) || turn.session_id
  if (isNew) turn.emit('decision', { status, fill: decision.kind === 'filled' })
  if (isLast(turn.state)) return
  if (decision.kind === 'no_fill') {
    turn.emit('no_fill', { no_fill_reason: decision.no_fill_reason })
    end(turn, 'no_fill', 'no_fill')
    return
  }
  if (decision.kind !== 'filled') {
    fail(turn, { ...turn.source, ...decisionError(decision) })
    return
  }
  await fill(turn, { placement: decision.placement, consent: authoritative_consent, isNew }, signal)
}

interface Fill {
  placement: Placement
  consent: AuthoritativeConsent | undefined
  /** Whether the response has just been received, and is not shown again. */
  isNew: boolean
}

type PermittedFill = Fill & { consent: AuthoritativeConsent }

async function fill(turn: OpenTurn, filled: Fill, signal: AbortSignal): Promise<void> {
  const { loader, options } = turn
  const { consent, isNew } = filled
  const given = options.authoritative_consent
  turn.state = 'filled'
  if (isBlocked(turn, consent, true) || !consent || (given !== undefined && isBlocked(turn, given))) {
    if (!isNew) turn.emit('turn:expired', {})
    return
  }
  await loader.load(filled.placement.render.script_url).then(
    (mounts) => {
      if (!signal.aborted) show(turn, mounts, { ...filled, consent })
    },
    (problem) => {
      if (!signal.aborted) fail(turn, loader.describe(problem))
    },
  )
}

function show(turn: OpenTurn, { mountPlacement }: Mounts, { placement, consent, isNew }: PermittedFill): void {
  const element = renewTarget(turn)
  if (!element) {
    fail(turn, { code: 'target_removed' })
    return
  }
  turn.state = 'mounting'
  turn.mounted_at = performance.now()
  turn.mount = mountPlacement({
    target: element,
    placement,
    consent: { ...consent },
    session_id: turn.session_id,
    turn_id: turn.id,
    slot_id: turn.slot_id,
    beacon_token: turn.options.beaconToken,
    max_height: maxHeight(turn.options.body),
    onRendered: () => {
      turn.state = 'rendered'
      if (turn.isFinished) leave(turn)
    },
    onViewed: () => {
      if (turn.state === 'finishing') end(turn, 'cleared', 'finished')
    },
    ...(!isNew && {
      onExpired: () => {
        end(turn, 'expired', 'expired')
        turn.emit('turn:expired', {})
      },
    }),
    onCleared: (outcome, reason) => {
      if (turn.mount) end(turn, outcome, reason)
    },
    onReturned: () => {
      const { state, isFinished, options } = turn
      if (state === 'cleared' && (!isFinished || options.keepMounted)) start(turn, { ...options, target: element })
    },
  })
}

function maxHeight(body: Record<string, unknown> | undefined): number | undefined {
  const { max_height } = Object(body?.slot_hint)
  return isWhole(max_height) ? max_height : undefined
}
