/** render.js: the public API, `window.SponsoredPlacement`. No entry point throws, and no promise rejects because of an ad. */
import type { BrowserActivation } from './browser-activation.ts'
import { createConsole, listenForConsole, type OpenConsole } from './console.ts'
import { findTarget, removeCopies } from './dom.ts'
import type { EventType, Listener, RendererEvent } from './events.ts'
import { type Loader, openLoader } from './loader.ts'
import { type Handle, type RenderOptions, renderPlacement } from './placement.ts'
import { openRenderer, type Renderer, type Viewport } from './renderer.ts'
import { createTurn, type KeptTurn } from './start-turn.ts'
import type { Turn, TurnOptions } from './turn.ts'
import { isLast, type TurnState } from './turn-state.ts'

/** Turns that are kept, so that the same id stays the same turn: more than the messages of a long chat. */
const maxKeptTurns = 300

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
  /** Shows what each ad of this page does. Resolves with null where the script is not a sandbox's. */
  openConsole: OpenConsole
  /**
   * Says which part of the page the host shows, CSS pixels of the page: for a WebView that is as tall as its page. Until then the
   * browser's own viewport counts, and none that is larger than the screen. Null takes it back.
   */
  setViewport(part: Viewport | null): void
  activate(options: { publishableKey: string }): Promise<BrowserActivation | null>
  /** Runs functions with this API: those that a page has queued before the script arrived, and later ones at once. */
  queue: { push(work: (api: SponsoredPlacement) => unknown): void }
}

/** `script_url` is where the script came from: activation sends its requests there. */
function createApi(version: string, script_url: string | null): SponsoredPlacement {
  const renderer = openRenderer()
  const loader = openLoader(renderer, script_url)
  const turns = keepTurns(renderer, loader)
  /** Unusable options still return a turn: one that has failed. */
  const startTurn = (options: TurnOptions): Turn =>
    guard(renderer, () => turns.start(options ?? {})) ?? createTurn(renderer, loader)

  const api: SponsoredPlacement = {
    version,
    withTurn: async (options, work) => {
      const turn = startTurn(options)
      try {
        return await (typeof work === 'function' ? work(turn) : work)
      } finally {
        turn.finish()
      }
    },
    startTurn,
    renderPlacement: (options) => guard(renderer, () => renderPlacement(renderer, loader, options ?? {})),
    clearPlacement: (options) => guard(renderer, () => clear(renderer, findTarget(options?.target))),
    destroy: () =>
      guard(renderer, () => {
        for (const occupant of [...renderer.occupants.values()]) occupant.end('destroyed')
        removeCopies(document)
        turns.clear()
        renderer.consents.clear()
        renderer.activation = null
      }),
    on: (type, listener) => renderer.events.on(type, listener),
    state: () => ({
      version,
      turns: turns.list().map(({ id, state }) => ({ id, state })),
      occupied: renderer.occupants.size,
      activation: renderer.activation?.described ?? null,
    }),
    getEvents: () => renderer.events.list(),
    openConsole: createConsole(renderer, { version, script_url, turns: turns.list }),
    setViewport: (part) => {
      renderer.viewport = part
    },
    activate: (options) => {
      const activation = loader.activate(options)
      renderer.activating = activation
      return activation
    },
    queue: {
      push: (work) => {
        // The promise of a queued `withTurn` rejects with the host's own error, which the host has handled.
        void guard(renderer, async () => work(api))?.catch(() => {})
      },
    },
  }
  return api
}

function keepTurns(renderer: Renderer, loader: Loader) {
  const turns = new Map<string, KeptTurn>()
  return {
    list: (): KeptTurn[] => [...turns.values()],
    clear: () => turns.clear(),
    start: (options: TurnOptions): Turn => {
      const turn = turns.get(options.turnId!) ?? createTurn(renderer, loader, options.turnId)
      turns.delete(turn.id)
      turns.set(turn.id, turn)
      turn.start(options)
      for (const [id, { state }] of turns) {
        if (turns.size <= maxKeptTurns) break
        if (isLast(state)) turns.delete(id)
      }
      return turn
    },
  }
}

/** Returns null after an error event when `work` throws. */
function guard<Result>(renderer: Renderer, work: () => Result): Result | null {
  try {
    return work()
  } catch (problem) {
    return renderer.refuse({ code: 'internal', message: String(problem) })
  }
}

function clear({ occupants }: Renderer, target: Element | null): void {
  if (!target) return
  occupants.get(target)?.end('cleared')
  removeCopies(target)
}

declare const __RENDERER_VERSION__: string
declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
  }
}

/** Where the API of a document is found by a second copy of the script: two would mount two ads into one slot. */
const key = Symbol.for('sponsored-placement')
const page: Document & { [key]?: SponsoredPlacement } = document

/** Returns where the script is from, or null where it was bundled with scripts of the page. A module has no current script. */
function findOwnUrl(): string | null {
  const current = document.currentScript as HTMLScriptElement | null
  const found = document.querySelector<HTMLScriptElement>('script[src*="/v1/render.js"]')
  // No element of the page has loaded it where it was loaded by `import()`: the stack of an error names it, with line and column.
  const places = `${current?.src} ${found?.src} ${new Error().stack}`
  return places.split(/\s|[(@](?=http)/).find((url) => url.includes('/v1/render.js')) ?? null
}

const queued: unknown = window.SponsoredPlacement?.queue
const present = page[key]
const api = present ?? createApi(__RENDERER_VERSION__, findOwnUrl())
if (!present) listenForConsole(api.openConsole)
page[key] = api
window.SponsoredPlacement = api
if (Array.isArray(queued)) {
  queued.forEach(api.queue.push)
  // Who keeps the stub pushes to its queue later too.
  queued.push = api.queue.push as typeof queued.push
}
