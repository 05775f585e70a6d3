/** render.js: the public API, `window.SponsoredPlacement`. No entry point throws, and no promise rejects because of an ad. */
import type { AuthoritativeConsent } from '../../../src/contract/fields.ts'
import type { ActivationResult } from '../../../src/contract/resources/browser.ts'
import type { Placement, PlacementResponse } from '../../../src/contract/resources/placements.ts'
import { activate, decisionError, readDecision } from './decision.ts'
import { type Mount, mountPlacement } from './mount.ts'
import {
  type Activation,
  describeProblem,
  type EventType,
  findTarget,
  type Listener,
  type Occupant,
  openRenderer,
  type RendererError,
  type RendererEvent,
} from './renderer.ts'
import { isLast, startTurn, type Turn, type TurnOptions, type TurnState } from './turn.ts'

/** Turns that are kept, so that the same id stays the same turn. */
const max_kept_turns = 20

interface RenderOptions {
  target: Element | string
  response?: PlacementResponse
  placement?: Placement
  authoritative_consent?: AuthoritativeConsent | null
  /** The session of the consent: a revision below the last one seen for it is superseded. */
  session_id?: string
}

/** A placement mounted without a turn. */
interface Handle {
  readonly target: Element
  readonly state: Mount['state']
  clear(): void
}

/** The activation of a publishable key. Turns without an endpoint use it automatically. */
interface BrowserActivation extends Readonly<Pick<ActivationResult, 'project_id' | 'key_id' | 'expires_at_ms'>> {
  /** Resolves with the decided placement response, or null after an error event. `client_id` is filled in. */
  requestPlacement(body?: object, signal?: AbortSignal): Promise<unknown>
}

export interface SponsoredPlacement {
  readonly version: string
  /** Starts a turn, awaits `work`, finishes it. The result or the exception of `work` passes through untouched. */
  withTurn<Result>(options: TurnOptions, work: (turn: Turn) => Result | Promise<Result>): Promise<Result>
  startTurn(options: TurnOptions): Turn
  renderPlacement(options: RenderOptions): Handle | null
  clearPlacement(options: { target: Element | string }): void
  /** Clears every placement and turn of this page. The API stays usable. */
  destroy(): void
  on<T extends EventType>(type: T | '*', listener: Listener<T>): () => void
  state(): { version: string; turns: { id: string; state: TurnState }[]; occupied: number; activation: object | null }
  getEvents(): RendererEvent[]
  activate(options: { publishableKey: string }): Promise<BrowserActivation | null>
}

/** `script_origin` is the origin of the script: activation sends its requests there. */
function createApi(version: string, script_origin: string | null): SponsoredPlacement {
  const renderer = openRenderer()
  const turns = new Map<string, Turn>()

  /** Returns null after an error event when `work` throws. */
  function guard<Result>(work: () => Result): Result | null {
    try {
      return work()
    } catch (problem) {
      return refuse({ code: 'internal', message: String(problem) })
    }
  }

  function start(options: TurnOptions): Turn {
    const known = turns.get(options.turnId!)
    if (known && known.state !== 'cancelled' && known.target === findTarget(options.target)) return known
    const turn = startTurn(renderer, options)
    turns.set(turn.id, turn)
    for (const [id, { state }] of turns) {
      if (turns.size <= max_kept_turns) break
      if (isLast(state)) turns.delete(id)
    }
    return turn
  }

  function render(options: RenderOptions): Handle | null {
    const { target: given_target, response, placement: given, authoritative_consent, session_id = '' } = options
    const target = findTarget(given_target)
    if (!target) return refuse({ code: 'target_not_found' })
    const decision = readDecision(given ? { placement: given } : response)
    if (decision.kind === 'no_fill') {
      renderer.emit('no_fill', { no_fill_reason: decision.no_fill_reason })
      return null
    }
    if (decision.kind !== 'filled') return refuse(decisionError(decision))
    const consent = authoritative_consent !== undefined ? authoritative_consent : response?.authoritative_consent
    const reason = renderer.consents.problem(consent, session_id)
    if (reason !== null || !consent) {
      renderer.block(reason ?? 'consent_missing')
      return null
    }
    let mount: Mount | null = null
    const occupant: Occupant = { end: (why) => mount?.clear(why) }
    if (!renderer.occupy(target, occupant)) return null
    mount = mountPlacement(renderer, {
      target,
      placement: decision.placement,
      consent: { ...consent },
      session_id,
      slot_id: response?.slot_id,
      onCleared: () => renderer.leave(target, occupant),
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
  function refuse(error: RendererError): null {
    renderer.emit('error', error)
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
    renderPlacement: (options) => guard(() => render(options ?? {})),
    clearPlacement: (options) =>
      guard(() => {
        const target = findTarget(options?.target)
        if (target) renderer.occupants.get(target)?.end('cleared')
      }),
    destroy: () =>
      guard(() => {
        for (const occupant of [...renderer.occupants.values()]) occupant.end('destroyed')
        turns.clear()
        renderer.consents.clear()
        renderer.activation = null
      }),
    on: (type, listener) => renderer.events.on(type, listener),
    state: () => ({
      version,
      turns: [...turns.values()].map(({ id, state }) => ({ id, state })),
      occupied: renderer.occupants.size,
      activation: renderer.activation && describeActivation(renderer.activation),
    }),
    getEvents: () => renderer.events.list(),
    activate: (options) => {
      const activation = tryToActivate(options)
      renderer.activating = activation
      return activation
    },
  }

  async function tryToActivate(options: { publishableKey: string }): Promise<BrowserActivation | null> {
    try {
      if (script_origin === null) throw new Error('No script element')
      const activation = await activate(script_origin, String(options?.publishableKey ?? ''), renderer.clock)
      renderer.activation = activation
      return browserActivation(activation)
    } catch (problem) {
      return refuse({ code: 'activation_failed', ...describeProblem(problem) })
    }
  }

  /** Returns everything but the token. */
  function describeActivation(activation: Activation): Omit<BrowserActivation, 'requestPlacement'> {
    const { project_id, key_id } = activation.result()
    return {
      project_id,
      key_id,
      get expires_at_ms() {
        return activation.result().expires_at_ms
      },
    }
  }
  function browserActivation(activation: Activation): BrowserActivation {
    return Object.assign(describeActivation(activation), {
      requestPlacement: (body?: object, signal?: AbortSignal) =>
        activation
          .requestPlacement(body, signal)
          .catch((problem) => refuse({ code: 'request_failed', ...describeProblem(problem) })),
    })
  }

  /** Unusable options still return a turn: one that has failed. */
  function guardedStart(options: TurnOptions): Turn {
    return guard(() => start(options ?? {})) ?? startTurn(renderer, { target: '' })
  }
}

declare const __RENDERER_VERSION__: string
declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
  }
}

const script = document.currentScript
const origin = script instanceof HTMLScriptElement && script.src ? new URL(script.src).origin : null
window.SponsoredPlacement ??= createApi(__RENDERER_VERSION__, origin)
