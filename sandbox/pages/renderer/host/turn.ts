/** A turn: what a host passes and gets, its state, and the ways in which it ends. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Emit, EventType, Listener, RendererError } from './events.ts'
import type { Loader } from './loader.ts'
import type { Mount } from './mounts/mount.ts'
import type { Occupant, Renderer } from './renderer.ts'
import type { JsonResponse } from './request.ts'
import { isLast, type LastState, type TurnState } from './turn-state.ts'

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

export const turnOptions: Record<keyof TurnOptions, 1> = {
  target: 1,
  endpoint: 1,
  body: 1,
  headers: 1,
  credentials: 1,
  turnId: 1,
  authoritative_consent: 1,
  beaconToken: 1,
  signal: 1,
  keepMounted: 1,
  debug: 1,
}

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

/** A turn as its steps see it. */
export interface OpenTurn {
  readonly id: string
  readonly renderer: Renderer
  readonly loader: Loader
  readonly emit: Emit
  readonly on: Turn['on']
  /** Holds the target. */
  readonly occupant: Occupant
  /** Of the last start, without its target. */
  options: TurnOptions
  starts: number
  /** Weak, since rows of a list come and go while their turns are kept. */
  target?: WeakRef<Element> | undefined
  /** Finds the target again where it was drawn again while its placement was requested. */
  findAgain: () => Element | null
  /** What was passed as the target, for an error. */
  passed: string
  session_id: string
  state: TurnState
  isFinished: boolean
  over: AbortController
  /** The first request of the turn: its response is kept, so that it is sent once. */
  requested?: Promise<JsonResponse> | undefined
  response?: unknown
  /** Where the newest response came from. */
  source?: Partial<RendererError>
  slot_id?: string
  decision: Promise<unknown>
  mount?: Mount | null
  mounted_at: number
}

export function openTurn(renderer: Renderer, loader: Loader, id: string): OpenTurn {
  const turn: OpenTurn = {
    id,
    renderer,
    loader,
    emit: (type, detail) => renderer.events.within({ turn_id: id, slot_id: turn.slot_id })(type, detail),
    on: (type, listener) =>
      renderer.events.on(type, (event) => {
        if (event.turn_id === id) listener(event)
      }),
    occupant: {
      end: (reason) => {
        if (turn.isFinished) end(turn, 'cleared', reason)
        else cancel(turn, reason)
      },
    },
    options: { target: '' },
    starts: 0,
    findAgain: () => null,
    passed: '',
    session_id: '',
    state: 'idle',
    isFinished: false,
    over: new AbortController(),
    decision: Promise.resolve(null),
    mounted_at: -Infinity,
  }
  return turn
}

export function currentTarget({ target }: OpenTurn): Element | null {
  return target?.deref() ?? null
}

/** Returns the target, or, where the page has drawn it again meanwhile, the new one, which it then holds. */
export function renewTarget(turn: OpenTurn): Element | null {
  const element = currentTarget(turn)
  if (element?.isConnected) return element
  const { renderer, occupant } = turn
  const again = turn.findAgain()
  if (!again || renderer.occupants.has(again)) return null
  leaveTarget(turn)
  turn.target = new WeakRef(again)
  renderer.occupy(again, occupant)
  return again
}

export function leaveTarget(turn: OpenTurn): void {
  const element = currentTarget(turn)
  if (element) turn.renderer.leave(element, turn.occupant)
}

/** Enters a final state and clears the ad. */
export function end(turn: OpenTurn, last: LastState, reason: string): void {
  const { mount } = turn
  turn.mount = null
  turn.state = last
  mount?.clear(reason)
  leaveTarget(turn)
  // A string, since an error created here would keep this turn's mount alive with its stack.
  turn.over.abort(reason)
}

export function fail(turn: OpenTurn, error: RendererError): void {
  turn.emit('error', error)
  end(turn, 'failed', error.code)
}

export function cancel(turn: OpenTurn, reason: string): void {
  if (isLast(turn.state)) return
  turn.emit('turn:cancelled', {})
  end(turn, 'cancelled', reason)
}

export function finish(turn: OpenTurn): void {
  if (turn.isFinished || turn.state === 'cancelled') return
  turn.isFinished = true
  turn.emit('turn:finished', {})
  if (turn.state === 'rendered') leave(turn)
  else if (!turn.mount && !isLast(turn.state) && !turn.options.keepMounted) end(turn, 'cleared', 'finished')
}

/** The turn is over and its ad is rendered: cleared once it is viewed. */
export function leave(turn: OpenTurn): void {
  if (turn.options.keepMounted) return
  turn.state = 'finishing'
  if (turn.mount?.isViewed) end(turn, 'cleared', 'finished')
}

/** Returns whether consent blocks the ad. If so, the turn ends. */
export function isBlocked(turn: OpenTurn, consent: unknown, untilSynced?: boolean): boolean {
  const reason = turn.renderer.consents.problem(consent, turn.session_id, untilSynced)
  if (!reason) return false
  turn.renderer.block(reason, consent, turn.emit)
  end(turn, 'blocked', reason)
  return true
}
