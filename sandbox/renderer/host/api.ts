/** The public API, `window.SponsoredPlacement`. No entry point ever throws; a promise never rejects for an ad's sake. */
import type { AuthoritativeConsent } from '../../../src/contract/fields.ts'
import type { Placement, PlacementResponse } from '../../../src/contract/v1/placements.ts'
import { type Activation, activate } from './activation.ts'
import { isPlacement, readAnswer } from './decision.ts'
import type { ErrorCode, EventType, Listener, RendererEvent } from './events.ts'
import { type Mount, mountPlacement } from './mount.ts'
import { findTarget, type Occupant, openRenderer } from './renderer.ts'
import { describeProblem } from './request.ts'
import { isLast, startTurn, type Turn, type TurnOptions, type TurnState } from './turn.ts'

/** Ended turns that are remembered, so that the same id stays the same turn. */
const most_remembered = 20

export interface RenderOptions {
  target: Element | string
  response?: PlacementResponse
  placement?: Placement
  authoritative_consent?: AuthoritativeConsent | null
  /** Whose consent it is: a revision below the last one seen for the session is superseded. */
  session_id?: string
}

/** A placement that was mounted without a turn. */
export interface Handle {
  readonly target: Element
  readonly state: Mount['state']
  clear(): void
}

/** What a browser integration gets for its publishable key. Turns without an endpoint use it by themselves. */
export interface BrowserActivation {
  readonly project_id: string
  readonly key_id: string
  readonly expires_at_ms: number
  /** The placement response once it is decided, or null after an error event. `client_id` is filled in. */
  requestPlacement(body?: object, signal?: AbortSignal): Promise<unknown>
}

export interface SponsoredPlacement {
  readonly version: string
  /** Starts a turn, awaits `work`, finishes it. The result or the exception of `work` passes through untouched. */
  withTurn<Result>(options: TurnOptions, work: (turn: Turn) => Result | Promise<Result>): Promise<Result>
  startTurn(options: TurnOptions): Turn
  renderPlacement(options: RenderOptions): Handle | null
  clearPlacement(options: { target: Element | string }): void
  /** Ends everything on this page. The API stays usable. */
  destroy(): void
  on<T extends EventType>(type: T | '*', listener: Listener<T>): () => void
  state(): { version: string; turns: { id: string; state: TurnState }[]; occupied: number; activation: object | null }
  getEvents(): RendererEvent[]
  activate(options: { publishableKey: string }): Promise<BrowserActivation | null>
}

/** `script_origin` is where the script came from: activation talks to it. */
export function createApi(version: string, script_origin: string | null): SponsoredPlacement {
  const renderer = openRenderer()
  const turns = new Map<string, Turn>()

  function guard<Result>(work: () => Result, otherwise: Result): Result {
    try {
      return work()
    } catch (problem) {
      renderer.emit('error', { code: 'internal', message: String(problem) })
      return otherwise
    }
  }

  function start(options: TurnOptions): Turn {
    const known = turns.get(options.turnId ?? '')
    if (known && known.state !== 'cancelled' && known.target === findTarget(options.target)) return known
    const turn = startTurn(renderer, options)
    turns.set(turn.id, turn)
    for (const [id, { state }] of turns) {
      if (turns.size <= most_remembered) break
      if (isLast(state)) turns.delete(id)
    }
    return turn
  }

  function render(options: RenderOptions): Handle | null {
    const { target: wanted, response, placement: given, authoritative_consent, session_id = '' } = options
    const target = findTarget(wanted)
    if (!target) return refuse('target_not_found')
    const answer = given ? null : readAnswer(response)
    if (answer?.kind === 'unreadable') return refuse('response_unreadable', { got: answer.got })
    if (answer?.kind === 'pending' || answer?.kind === 'expired') return refuse(`decision_${answer.kind}`)
    if (answer?.kind === 'no_fill') {
      renderer.emit('no_fill', { no_fill_reason: answer.no_fill_reason })
      return null
    }
    const placement = answer?.placement ?? given
    if (!placement || !isPlacement({ ...placement })) {
      return refuse('response_unreadable', { got: Object.keys(placement ?? {}) })
    }
    const consent = authoritative_consent !== undefined ? authoritative_consent : response?.authoritative_consent
    const reason = renderer.consents.problem(consent, session_id)
    if (reason !== null || !consent) {
      renderer.block(reason ?? 'consent_missing')
      return null
    }
    let mount: Mount | null = null
    const occupant: Occupant = { end: (why) => mount?.clear(why) }
    renderer.occupy(target, occupant)
    mount = mountPlacement(renderer, {
      target,
      placement,
      consent: { ...consent },
      session_id,
      slot_id: response?.slot_id,
      cleared: () => renderer.leave(target, occupant),
    })
    const mounted = mount
    return {
      target,
      get state() {
        return mounted.state
      },
      clear: () => mounted.clear('cleared'),
    }
  }
  function refuse(code: ErrorCode, more: object = {}): null {
    renderer.emit('error', { code, ...more })
    return null
  }

  return {
    version,
    withTurn: async (options, work) => {
      const turn = guardedStart(options)
      try {
        return await (typeof work === 'function' ? work(turn) : work)
      } finally {
        turn.finish()
      }
    },
    startTurn: guardedStart,
    renderPlacement: (options) => guard(() => render(options ?? {}), null),
    clearPlacement: (options) =>
      guard(() => {
        const target = findTarget(options?.target)
        if (target) renderer.occupants.get(target)?.end('cleared')
      }, undefined),
    destroy: () =>
      guard(() => {
        for (const occupant of [...renderer.occupants.values()]) occupant.end('destroyed')
        turns.clear()
        renderer.consents.forget()
        renderer.activation = null
      }, undefined),
    on: (type, listener) => renderer.events.on(type, listener),
    state: () => ({
      version,
      turns: [...turns.values()].map(({ id, state }) => ({ id, state })),
      occupied: renderer.occupants.size,
      activation: renderer.activation && nameActivation(renderer.activation),
    }),
    getEvents: () => renderer.events.list(),
    activate: async (options) => {
      try {
        if (script_origin === null) throw new Error('render.js was not loaded by a script element')
        const activation = await activate(script_origin, String(options?.publishableKey ?? ''), renderer.clock)
        renderer.activation = activation
        return browserActivation(activation)
      } catch (problem) {
        return refuse('activation_failed', describeProblem(problem))
      }
    },
  }

  /** What may be known of it: everything but the token. */
  function nameActivation(activation: Activation): Pick<BrowserActivation, 'project_id' | 'key_id' | 'expires_at_ms'> {
    return {
      project_id: activation.result().project_id,
      key_id: activation.result().key_id,
      get expires_at_ms() {
        return activation.result().expires_at_ms
      },
    }
  }
  function browserActivation(activation: Activation): BrowserActivation {
    return Object.assign(nameActivation(activation), {
      requestPlacement: (body?: object, signal?: AbortSignal) =>
        activation
          .requestPlacement(body, signal)
          .catch((problem) => refuse('request_failed', describeProblem(problem))),
    })
  }

  /** Unusable options still make a turn, one that has failed. */
  function guardedStart(options: TurnOptions): Turn {
    const usable = guard(() => start(options ?? {}), null)
    return usable ?? startTurn(renderer, { target: '' })
  }
}
