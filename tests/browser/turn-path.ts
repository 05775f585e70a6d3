/** Turns whose every state is recorded in the page. */

import { expect } from 'vitest'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { EventType } from '#renderer/host/events.ts'
import type { Turn, TurnOptions } from '#renderer/host/turn.ts'
import type { TurnState } from '#renderer/host/turn-state.ts'
import type { Host, OpenOptions, PlaceOptions, Stage } from './stage.ts'

export interface TurnRequest extends PlaceOptions, Pick<TurnOptions, 'turnId' | 'keepMounted'> {
  target?: string
  authoritative_consent?: unknown
  /** null: none. Default: the backend of this page. */
  endpoint?: string | null
  /** Passes a signal to the turn, aborted before it starts or by `abort`. */
  signal?: 'open' | 'aborted'
  /** Calls the turn from within its own listener. */
  within?: { event: EventType; call: 'finish' | 'cancel' }
}

interface Followed {
  turn: Turn
  /** Every state once, in order, as read within listeners and right after them. */
  path: TurnState[]
  controller: AbortController
}

type StartOptions = Omit<TurnOptions, 'signal' | 'target'> & { target: string }

declare global {
  interface Window {
    followed: Map<string, Followed>
    follow(request: TurnRequest, options: StartOptions): string
  }
}

/** The parts of an ad that are on the host page. */
export interface Shown {
  frames: number
  labels: number
  /** Targets that hold an ad. */
  occupied: number
}

export const nothing: Shown = { frames: 0, labels: 0, occupied: 0 }
export const one_ad: Shown = { frames: 1, labels: 1, occupied: 1 }
export const viewed = ['render accepted OK', 'visible accepted OK +viewable_impression']
export const rendered_only = ['render accepted OK']

export interface TurnHost extends Host {
  /** Starts a turn. Resolves to its id. */
  start(request?: TurnRequest): Promise<string>
  path(id: string): Promise<TurnState[]>
  /** Runs `act` in the page in the task after the next ad is rendered: long before it can have been viewed. */
  whenRendered(act: () => unknown): Promise<void>
  reaches(id: string, state: TurnState): Promise<void>
  call(id: string, method: 'finish' | 'cancel' | 'abort'): Promise<void>
  shown(): Promise<Shown>
  /** Holds the backend's next response until `release` is called. */
  hold(options?: PlaceOptions): Promise<{ response: PlacementResponse; release: () => void }>
  /** Holds the documents of frames until the returned function is called. */
  holdFrames(): Promise<() => void>
  /** The billing of a slot, as the service explains it. */
  billed(slot_id: string): Promise<boolean>
}

export async function openTurnHost(stage: Stage, options: OpenOptions = {}): Promise<TurnHost> {
  const host = await stage.open({
    ...options,
    before: async (page) => {
      await page.addInitScript(followTurns)
      await options.before?.(page)
    },
  })
  const { page, endpoint } = host
  return {
    ...host,
    start: (request = {}) => {
      const { target = '#slot', turnId, keepMounted, authoritative_consent, ...rest } = request
      const given = {
        target,
        body: host.body(request),
        ...(rest.endpoint !== null && { endpoint: rest.endpoint ?? endpoint }),
        ...(turnId !== undefined && { turnId }),
        ...(keepMounted !== undefined && { keepMounted }),
        ...(authoritative_consent !== undefined && { authoritative_consent }),
      } as StartOptions
      return page.evaluate(({ request, given }) => window.follow(request, given), { request, given })
    },
    path: (id) => page.evaluate((id) => window.followed.get(id)!.path, id),
    whenRendered: async (act) => {
      await page.evaluate(`{
        const off = SponsoredPlacement.on('rendered', () => { off(); setTimeout(${act}) })
      }`)
    },
    reaches: async (id, state) => {
      const seen = await page.evaluate(
        async ({ id, state }) => {
          const { turn } = window.followed.get(id)!
          const isThere = () => turn.state === state
          if ('passTimeUntil' in window) await window.passTimeUntil(isThere)
          while (!isThere() && !('passTimeUntil' in window)) await new Promise(requestAnimationFrame)
          return turn.state
        },
        { id, state },
      )
      expect(seen).toBe(state)
    },
    call: (id, method) =>
      page.evaluate(
        ({ id, method }) => {
          const { turn, controller } = window.followed.get(id)!
          if (method === 'abort') controller.abort()
          else turn[method]()
        },
        { id, method },
      ),
    shown: () =>
      page.evaluate(() => ({
        frames: window.findAll('iframe').length,
        labels: window.findAll('[data-sp-label]').length,
        occupied: window.SponsoredPlacement!.state().occupied,
      })),
    hold: async (options) => {
      const response = await host.place(options)
      const { promise, resolve } = Promise.withResolvers<void>()
      host.backend_responses.push({ body: JSON.stringify(response), after: promise })
      return { response, release: resolve }
    },
    holdFrames: async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      await host.context.route('**/v1/render/*', async (route) => {
        await promise
        await route.continue().catch(() => {})
      })
      return resolve
    },
    billed: async (slot_id) =>
      (await stage.client.placements.explain({ params: { slot_id } })).billing?.would_bill === true,
  }
}

/** Runs in the page before anything else. */
function followTurns(): void {
  window.followed = new Map()
  window.follow = ({ signal, within }, options) => {
    const controller = new AbortController()
    if (signal === 'aborted') controller.abort()
    const turn = window.SponsoredPlacement!.startTurn(signal ? { ...options, signal: controller.signal } : options)
    const path: TurnState[] = []
    const step = (): void => {
      if (path.at(-1) !== turn.state) path.push(turn.state)
    }
    turn.on('*', ({ type }) => {
      step()
      if (type === within?.event) turn[within.call]()
      queueMicrotask(step)
    })
    step()
    window.followed.set(turn.id, { turn, path, controller })
    return turn.id
  }
}

export const banner: TurnRequest = { format: 'banner', max_width: 300, max_height: 250 }
/** `#other` measures time: the dwell of an ad on it starts after everything that came before. */
export const htmlWithOther = '<main><div id="slot"></div></main><div id="other"></div>'

/** Waits for a whole dwell of another ad, so that any beacon of the first would have come. */
export async function letDwellPass(host: TurnHost): Promise<string[]> {
  const before = await host.ledger()
  const id = await host.start({ ...banner, target: '#other' })
  await host.waitForEvent('beacon', { event: 'visible', turn_id: id })
  const after = await host.ledger()
  expect(after).toEqual([...before, ...viewed])
  return before
}
