/**
 * One turn of the host's product, and the ad that belongs to it.
 *
 * idle -> consent_check -> requesting -> blocked | no_fill | failed | filled -> mounting -> rendered -> finishing ->
 * cleared; cancelled from any. Nothing an ad does may disturb the host's turn, so nothing here throws or rejects.
 */
import type { AuthoritativeConsent } from '../../../src/contract/fields.ts'
import type { Placement, PlacementResponse } from '../../../src/contract/v1/placements.ts'
import { askForPlacement } from './asking.ts'
import { isObject, readAnswer } from './decision.ts'
import type { ErrorCode, EventType, Listener } from './events.ts'
import { newId } from './id.ts'
import { type Mount, mountPlacement } from './mount.ts'
import { findTarget, type Occupant, type Renderer } from './renderer.ts'
import { describeProblem, requestJson } from './request.ts'

export interface TurnOptions {
  /** The element that takes the ad, or its selector. */
  target: Element | string
  /** The host's own backend route, which answers the v1 placement response unchanged. Not needed once activated. */
  endpoint?: string
  body?: Record<string, unknown>
  /** Sent to the endpoint: the host's CSRF token, say. */
  headers?: Record<string, string>
  turnId?: string
  /** Checked before the request; the answer's own snapshot is checked in any case. */
  authoritative_consent?: AuthoritativeConsent | null
  beaconToken?: string
  signal?: AbortSignal
  /** Leaves the ad when the turn finishes. */
  keepMounted?: boolean
  debug?: boolean
}

export type TurnState =
  | 'idle'
  | 'consent_check'
  | 'requesting'
  | 'blocked'
  | 'no_fill'
  | 'failed'
  | 'filled'
  | 'mounting'
  | 'rendered'
  | 'finishing'
  | 'cleared'
  | 'cancelled'

export interface Turn {
  readonly id: string
  readonly target: Element | null
  readonly state: TurnState
  /** The placement response as it came, or null; never rejects. */
  readonly decision: Promise<unknown>
  /** The host's turn is over: a rendered ad stays until its dwell is met, unless `keepMounted`. */
  finish(): void
  /** The host's turn is void: the ad goes at once. */
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

  const emit: ReturnType<typeof events.within> = (type, detail) => events.within({ turn_id: id, slot_id })(type, detail)
  const on: Turn['on'] = (type, listener) =>
    events.on(type, (event) => {
      if (event.turn_id === id) listener(event)
    })
  const occupant: Occupant = {
    end: (reason) => {
      if (isFinished) settle('cleared', reason)
      else cancel(reason)
    },
  }

  /** Enters a last state: nothing shows any more, nothing will. */
  function settle(last: TurnState, reason: string): void {
    const open = mount
    mount = null
    state = last
    open?.clear(reason)
    if (target) renderer.leave(target, occupant)
    // A reason of its own: an error made here would keep this turn's mount alive with its stack.
    over.abort(reason)
  }
  function fail(code: ErrorCode, more: object = {}): void {
    emit('error', { code, ...more })
    settle('failed', code)
  }
  function cancel(reason: string): void {
    if (isLast(state)) return
    emit('turn:cancelled', {})
    settle('cancelled', reason)
  }
  function finish(): void {
    if (isFinished || state === 'cancelled') return
    isFinished = true
    emit('turn:finished', {})
    if (state === 'rendered') leave()
    else if (!mount && !isLast(state)) settle('cleared', 'finished')
  }
  /** A rendered ad whose turn is over. */
  function leave(): void {
    if (options.keepMounted) return
    state = 'finishing'
    if (mount?.isViewed) settle('cleared', 'finished')
  }
  /** Whether consent stands in the way. If so, the turn is over. */
  function isBlocked(consent: unknown): boolean {
    const reason = consents.problem(consent, session_id)
    if (reason === null) return false
    renderer.block(reason, emit)
    settle('blocked', reason)
    return true
  }

  /** A listener may have ended the turn. */
  const isOver = (): boolean => isLast(state)

  async function run(): Promise<unknown> {
    if (isOver()) return null
    if (!target) return fail('target_not_found')
    state = 'consent_check'
    if (options.authoritative_consent !== undefined && isBlocked(options.authoritative_consent)) return null
    if (!options.endpoint && !renderer.activation) return fail('endpoint_missing')
    state = 'requesting'
    let response: unknown
    try {
      response = await request()
    } catch (problem) {
      if (state === 'requesting') fail('request_failed', describeProblem(problem))
      return null
    }
    take(response, target)
    return response
  }
  function request(): Promise<unknown> | undefined {
    const { endpoint, body = {}, headers, signal } = options
    if (!endpoint) return renderer.activation?.requestPlacement(body, signal, over.signal)
    const more = { headers, signal, credentials: 'same-origin' } as const
    return askForPlacement({
      request: () => requestJson(endpoint, { ...more, body }),
      poll: (slot_id, query) =>
        requestJson(`${endpoint}${endpoint.includes('?') ? '&' : '?'}slot_id=${slot_id}&${query}`, more),
      clock: renderer.clock,
      signal: over.signal,
    })
  }
  function take(response: unknown, target: Element): void {
    const answer = readAnswer(response)
    if (state !== 'requesting') {
      if (answer.kind !== 'pending') emit('error', { code: 'late_decision' })
      return
    }
    if (answer.kind === 'unreadable') {
      fail('response_unreadable', { got: answer.got })
      return
    }
    const { status, slot_id: slot, authoritative_consent } = response as PlacementResponse
    slot_id = slot
    emit('decision', { status, fill: answer.kind === 'filled' })
    if (isOver()) return
    if (answer.kind === 'filled') {
      mountFill(answer.placement, authoritative_consent, target)
    } else if (answer.kind === 'no_fill') {
      emit('no_fill', { no_fill_reason: answer.no_fill_reason })
      settle('no_fill', 'no_fill')
    } else {
      fail(`decision_${answer.kind}`)
    }
  }
  function mountFill(placement: Placement, consent: AuthoritativeConsent | undefined, target: Element): void {
    state = 'filled'
    const given = options.authoritative_consent
    if (isBlocked(consent) || !consent || (given !== undefined && isBlocked(given))) return
    if (!target.isConnected) {
      fail('target_removed')
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
      rendered: () => {
        state = 'rendered'
        if (isFinished) leave()
      },
      viewed: () => {
        if (state === 'finishing') settle('cleared', 'finished')
      },
      cleared: (outcome) => {
        if (mount) settle(outcome, outcome)
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
      .then(
        (response) => response ?? null,
        (problem) => {
          fail('internal', { message: String(problem) })
          return null
        },
      ),
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

export function isLast(state: TurnState): boolean {
  return ['blocked', 'no_fill', 'failed', 'cleared', 'cancelled'].includes(state)
}

function maxHeight(body: Record<string, unknown> | undefined): number | undefined {
  const hint = body?.slot_hint
  const height = isObject(hint) ? hint.max_height : undefined
  return Number.isSafeInteger(height) ? (height as number) : undefined
}
