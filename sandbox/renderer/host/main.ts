/** render.js: the public API, `window.SponsoredPlacement`. No entry point throws, and no promise rejects because of an ad. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { ActivationResult } from '#contract/resources/browser.ts'
import type { Placement, PlacementResponse } from '#contract/resources/placements.ts'
import { activate } from './activation.ts'
import { decisionError, readDecision, requestDecision } from './decision.ts'
import { describeTarget, findTarget, removeCopies, whenActivated } from './dom.ts'
import type { EventType, Listener, RendererError, RendererEvent } from './events.ts'
import { openLoader } from './loader.ts'
import type { Mount } from './mount.ts'
import { type Activation, findObstacle, type Occupant, openRenderer } from './renderer.ts'
import { describeProblem } from './request.ts'
import { createTurn, isLast, type KeptTurn, type Turn, type TurnOptions, type TurnState } from './turn.ts'

/** Turns that are kept, so that the same id stays the same turn: more than the messages of a long chat. */
const maxKeptTurns = 300

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
  /** Runs functions with this API: those that a page has queued before the script arrived, and later ones at once. */
  queue: { push(work: (api: SponsoredPlacement) => unknown): void }
}

/** `script_url` is where the script came from: activation sends its requests there. */
function createApi(version: string, script_url: string | null): SponsoredPlacement {
  const renderer = openRenderer()
  const loader = openLoader(renderer, script_url)
  const turns = new Map<string, KeptTurn>()

  /** Returns null after an error event when `work` throws. */
  function guard<Result>(work: () => Result): Result | null {
    try {
      return work()
    } catch (problem) {
      return refuse({ code: 'internal', message: String(problem) })
    }
  }

  function start(options: TurnOptions): Turn {
    const turn = turns.get(options.turnId!) ?? createTurn(renderer, loader, options.turnId)
    turns.delete(turn.id)
    turns.set(turn.id, turn)
    turn.start(options)
    for (const [id, { state }] of turns) {
      if (turns.size <= maxKeptTurns) break
      if (isLast(state)) turns.delete(id)
    }
    return turn
  }

  function render(options: RenderOptions): Handle | null {
    const { target: given_target, response, placement: given, authoritative_consent, session_id = '' } = options
    const target = findTarget(given_target)
    if (!target) return refuse({ code: 'target_not_found', got: [describeTarget(given_target)] })
    const obstacle = findObstacle()
    if (obstacle) return refuse(obstacle)
    const decision = readDecision(given ? { placement: given } : response)
    if (decision.kind === 'no_fill') {
      renderer.emit('no_fill', { no_fill_reason: decision.no_fill_reason })
      return null
    }
    if (decision.kind !== 'filled') return refuse(decisionError(decision))
    const consent = authoritative_consent !== undefined ? authoritative_consent : response?.authoritative_consent
    const reason = renderer.consents.problem(consent, session_id, true)
    if (reason !== null || !consent) {
      renderer.block(reason ?? 'consent_missing')
      return null
    }
    let mount: Mount | null = null
    let isEnded = false
    const end = (why: string): void => {
      isEnded = true
      mount?.clear(why)
      renderer.leave(target, occupant)
    }
    const occupant: Occupant = { end }
    if (!renderer.occupy(target, occupant)) return null
    const show = async (): Promise<void> => {
      const { mountPlacement } = await loader.load()
      if (isEnded) return
      mount = mountPlacement({
        target,
        placement: decision.placement,
        consent: { ...consent },
        session_id,
        slot_id: response?.slot_id,
        onCleared: () => renderer.leave(target, occupant),
        onReturned: () => {
          if (!isEnded && !renderer.occupants.has(target) && renderer.occupy(target, occupant)) void show()
        },
      })
    }
    show().catch((problem) => {
      refuse(loader.describe(problem))
      end('failed')
    })
    return {
      target,
      get state() {
        return mount?.state ?? (isEnded ? 'cleared' : 'mounting')
      },
      clear: () => end('cleared'),
    }
  }
  function refuse(error: RendererError): null {
    renderer.emit('error', error)
    return null
  }

  const api: SponsoredPlacement = {
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
        if (!target) return
        renderer.occupants.get(target)?.end('cleared')
        removeCopies(target)
      }),
    destroy: () =>
      guard(() => {
        for (const occupant of [...renderer.occupants.values()]) occupant.end('destroyed')
        removeCopies(document)
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
    queue: {
      push: (work) => {
        // The promise of a queued `withTurn` rejects with the host's own error, which the host has handled.
        void guard(async () => work(api))?.catch(() => {})
      },
    },
  }
  return api

  async function tryToActivate(options: { publishableKey: string }): Promise<BrowserActivation | null> {
    const obstacle = findObstacle()
    if (obstacle) return refuse(obstacle)
    try {
      if (!script_url) throw new Error('No script element')
      await new Promise<void>(whenActivated)
      const base_url = new URL(script_url).origin
      const activation = await activate(base_url, String(options?.publishableKey ?? ''), renderer.clock)
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
        requestDecision({
          request: () => activation.request(body, signal),
          poll: (slot_id, query) => activation.poll(slot_id, query, signal),
          clock: renderer.clock,
          signal,
        }).catch((problem) => refuse({ code: 'request_failed', ...describeProblem(problem) })),
    })
  }

  /** Unusable options still return a turn: one that has failed. */
  function guardedStart(options: TurnOptions): Turn {
    return guard(() => start(options ?? {})) ?? createTurn(renderer, loader)
  }
}

declare const __RENDERER_VERSION__: string
declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
  }
}

/** Where the API of a document is found by a second copy of the script: two would mount two ads into one slot. */
const key = Symbol.for('sponsored-placement')
const page = document as unknown as Record<symbol, SponsoredPlacement | undefined>

function open(): SponsoredPlacement {
  // A module has no current script.
  const script = document.currentScript ?? document.querySelector('script[src*="/v1/render.js"]')
  return createApi(__RENDERER_VERSION__, (script as HTMLScriptElement | null)?.src || null)
}

const queued: unknown = window.SponsoredPlacement?.queue
const api = page[key] ?? open()
page[key] = api
window.SponsoredPlacement = api
if (Array.isArray(queued)) queued.forEach(api.queue.push)
