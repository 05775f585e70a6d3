/** Turns of a host page, as an integrator's own code runs them, and the parts of an ad that the page shows. */
import type { Request } from 'playwright-core'
import { expect, vi } from 'vitest'
import type { Turn, TurnOptions } from '#renderer/host/turn.ts'
import { wait_ms } from '#tests/patience.ts'
import type { Host, PlaceOptions } from './stage.ts'

export type TurnGiven = Omit<Partial<TurnOptions>, 'signal' | 'target'> & { target?: string; place?: PlaceOptions }

declare global {
  interface Window {
    /** The turn that `startTurn` started. */
    hostTurn?: Turn
  }
}

/** Returns the options of a turn. By default it requests from the host's own backend. */
function buildOptions(
  host: Host,
  { place, ...more }: TurnGiven,
): Omit<TurnOptions, 'signal' | 'target'> & { target: string } {
  return { target: '#slot', endpoint: host.endpoint, body: host.body(place), ...more }
}

/** Starts a turn that lasts until `endTurn`. */
export async function startTurn(host: Host, given: TurnGiven = {}): Promise<void> {
  await host.page.evaluate(
    (options) => {
      window.hostTurn = window.SponsoredPlacement!.startTurn(options)
    },
    buildOptions(host, given),
  )
}

/** Finishes or cancels the turn that `startTurn` started. */
export async function endTurn(host: Host, how: 'finish' | 'cancel' = 'finish'): Promise<void> {
  await host.page.evaluate((how) => window.hostTurn![how](), how)
}

/**
 * Runs a turn whose work waits for the decision. The result of the work must be the same whether or not an ad shows.
 * Resolves to what the page showed during the work.
 */
export async function runTurn(host: Host, given: TurnGiven = {}): Promise<Pick<View, 'frames' | 'labels'>> {
  const { untouched, seen } = await host.page.evaluate(
    async (options) => {
      const answer = { text: 'the answer' }
      let seen = { frames: 0, labels: [''] }
      let isOver = false
      const passing = window
        .SponsoredPlacement!.withTurn(options, async (turn) => {
          window.hostTurn = turn
          await turn.decision
          seen = {
            frames: window.findAll('iframe').length,
            labels: window.findAll('[data-sp-label]').map((label) => label.textContent ?? ''),
          }
          return answer
        })
        .finally(() => {
          isOver = true
        })
      await window.passTimeUntil(() => isOver)
      const passed = await passing
      return { untouched: passed === answer, seen }
    },
    buildOptions(host, given),
  )
  expect(untouched).toBe(true)
  return seen
}

export function turnState(host: Host): Promise<string> {
  return host.page.evaluate(() => window.hostTurn!.state)
}

/** The ads that a visitor of the page sees. */
export interface View {
  frames: number
  labels: string[]
  /** Elements that the renderer has put into the slot. */
  nodes: number
  occupied: number
}

export const nothing: View = { frames: 0, labels: [], nodes: 0, occupied: 0 }

export function view(host: Host): Promise<View> {
  return host.page.evaluate(() => ({
    frames: window.findAll('iframe').length,
    labels: window.findAll('[data-sp-label]').map((label) => label.textContent ?? ''),
    nodes: document.querySelectorAll('[data-sp-placement]').length,
    occupied: window.SponsoredPlacement!.state().occupied,
  }))
}

/** Returns the beacons that the browser sent, accepted or not. */
export function beaconPosts({ requests }: Host): Request[] {
  return requests.filter((request) => request.method() === 'POST' && request.url().endsWith('/v1/beacons'))
}

/** Returns the requests for documents of frames. */
export function frameLoads({ requests }: Host): Request[] {
  return requests.filter((request) => request.url().includes('/v1/render/'))
}

/** Expects that nothing shows, nothing was counted, and no beacon was sent. */
export async function expectNothing(host: Host): Promise<void> {
  expect(await view(host)).toEqual(nothing)
  expect(beaconPosts(host)).toEqual([])
  expect(await host.recorded()).toEqual([])
}

/** Returns the warnings of the renderer on the console. */
export function warnings({ console_lines }: Host): string[] {
  return console_lines.filter((line) => line.startsWith('warning: '))
}

export const blockedLine = (reason: string): string =>
  expect.stringMatching(new RegExp(`^warning: \\[sponsored placement\\] blocked: ${reason}( \\{|$)`))

/** Waits until `read` returns the wanted value. Unlike `expect.poll` it works in concurrent tests. */
export async function until<T>(read: () => T | Promise<T>, wanted: T): Promise<void> {
  await vi.waitFor(async () => expect(await read()).toEqual(wanted), { timeout: wait_ms, interval: 50 })
}

/** Lets time pass, where the renderer waits for nothing else, until `isSo`. */
export async function passUntil({ page }: Host, isSo: () => boolean): Promise<void> {
  while (!isSo()) await page.evaluate(() => window.passSome())
}

/** Lets time pass until the page has called its backend this often. */
export async function untilCalled(host: Host, count: number): Promise<void> {
  await passUntil(host, () => host.backend_calls.length >= count)
  expect(host.backend_calls.length).toBe(count)
}
