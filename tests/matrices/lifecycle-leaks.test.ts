/** What fifty turns leave behind in the page: nothing. Counted by the page itself and by the browser. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { TurnOptions } from '#renderer/host/turn.ts'
import { countOpenThings } from '#tests/browser/open-things.ts'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { nothing, openTurnHost, type TurnHost, type TurnRequest } from '#tests/browser/turn-path.ts'
import { wait_ms } from '#tests/patience.ts'

vi.setConfig({ maxConcurrency: 8 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' }, undefined, 'flows')
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const banner: TurnRequest = { format: 'banner', max_width: 300, max_height: 250 }
const html = '<main><div id="slot"></div></main>'

/** A page that counts, once the test's own tools are in it. */
async function open(): Promise<TurnHost> {
  const host = await openTurnHost(stage, { html, before: (page) => page.addInitScript(countOpenThings) })
  await host.page.waitForFunction(() => true)
  return host
}

/** What the browser counts of the page, after it has collected its garbage. */
async function measure({ page, context }: TurnHost) {
  const session = await context.newCDPSession(page)
  await session.send('Performance.enable')
  await page.requestGC()
  await page.requestGC()
  const { metrics } = await session.send('Performance.getMetrics')
  await session.detach()
  const of = (wanted: string) => metrics.find(({ name }) => name === wanted)!.value
  return {
    nodes: of('Nodes'),
    listeners: of('JSEventListeners'),
    documents: of('Documents'),
    frames: of('Frames'),
    kept_elements: await page.evaluate(() => seen.filter((element) => element.deref() !== undefined).length),
  }
}

/** What is left when no frame and no wrapper is held by anything: the last of them may go a moment later. */
async function measureAtRest(host: TurnHost) {
  return vi.waitFor(
    async () => {
      const { kept_elements, ...counts } = await measure(host)
      expect(kept_elements, 'frames and wrappers that cannot be collected').toBe(0)
      return counts
    },
    { timeout: wait_ms, interval: 300 },
  )
}

/** Everything is closed after the last responses. */
async function expectNothingOpen(host: TurnHost, before: unknown): Promise<void> {
  await vi.waitFor(async () => expect(await host.page.evaluate(() => window.openThings())).toEqual(before), {
    timeout: wait_ms,
    interval: 100,
  })
  expect(await host.shown()).toEqual(nothing)
}

declare global {
  /** Every frame and wrapper there has been. */
  var seen: WeakRef<Element>[]
  /** Lives as long as the page: what a host's own view would hand to all of its turns. */
  var lifelong: AbortController
}

/** Ten turns, one of each kind. In the page. */
async function runTen({ endpoint, body }: { endpoint: string; body: Record<string, unknown> }): Promise<string[]> {
  const { startTurn } = window.SponsoredPlacement!
  const ends: string[] = []
  const options = (format: string, more: Partial<TurnOptions> = {}): TurnOptions => ({
    target: '#slot',
    endpoint,
    body: { ...body, overrides: { allowed_formats: [format] }, slot_hint: { max_width: 320, max_height: 250 } },
    signal: globalThis.lifelong.signal,
    ...more,
  })
  type Started = ReturnType<typeof startTurn>
  const until = (turn: Started, type: 'rendered' | 'cleared' | 'error' | 'blocked' | 'no_fill' | 'decision') =>
    new Promise<Started>((resolve) => {
      const off = turn.on(type, () => {
        off()
        queueMicrotask(() => resolve(turn))
      })
    })
  const end = (turn: Started): void => void ends.push(turn.state)
  const look = (): void => {
    for (const element of window.findAll('iframe, [data-sp-placement]')) seen.push(new WeakRef(element))
  }

  const cancelled = await until(startTurn(options('banner')), 'rendered')
  look()
  cancelled.cancel()
  end(cancelled)

  end(await until(startTurn(options('banner', { body: { ...body, test_outcome: 'no_fill' } })), 'no_fill'))

  const hasty = startTurn(options('native'))
  await Promise.resolve()
  hasty.cancel()
  end(hasty)

  end(await until(startTurn(options('banner', { authoritative_consent: null })), 'blocked'))
  end(await until(startTurn(options('banner', { endpoint: '/api/nobody' })), 'error'))

  const replaced = await until(startTurn(options('native')), 'rendered')
  look()
  const mounting = await until(startTurn(options('clip')), 'decision')
  end(replaced)
  look()
  mounting.cancel()
  end(mounting)

  const own = document.querySelector('main')!.appendChild(document.createElement('div'))
  const removed = await until(startTurn(options('clip', { target: own })), 'rendered')
  look()
  own.remove()
  await until(removed, 'cleared')
  end(removed)

  const finished = await until(startTurn(options('banner')), 'rendered')
  look()
  finished.finish()
  await until(finished, 'cleared')
  end(finished)

  const controller = new AbortController()
  const aborted = await until(startTurn(options('native', { signal: controller.signal })), 'rendered')
  look()
  controller.abort()
  end(aborted)
  return ends
}

describe.concurrent('nothing is left', () => {
  test('of fifty turns of every kind', async () => {
    await using host = await open()
    const first = await host.page.evaluate(() => {
      globalThis.seen = []
      globalThis.lifelong = new AbortController()
      Object.assign(window, { emitted: 0 })
      window.SponsoredPlacement!.on('*', () => Object.assign(window, { emitted: Reflect.get(window, 'emitted') + 1 }))
      return window.openThings()
    })
    // One observer of the page notices that a slot which has left comes back. It holds its elements weakly.
    const before = { ...first, observers: first.observers + 1 }
    const given = { endpoint: host.endpoint, body: host.body() }
    const ends = [
      'cancelled',
      'no_fill',
      'cancelled',
      'blocked',
      'failed',
      'cancelled',
      'cancelled',
      'cleared',
      'cleared',
      'cancelled',
    ]
    expect(await host.page.evaluate(runTen, given)).toEqual(ends)
    await expectNothingOpen(host, before)
    const after_10 = await measureAtRest(host)
    for (const _ of [2, 3, 4, 5]) expect(await host.page.evaluate(runTen, given)).toEqual(ends)
    await expectNothingOpen(host, before)
    const after_50 = await measureAtRest(host)
    expect(after_50).toMatchObject({ documents: after_10.documents, frames: after_10.frames })
    expect(after_50.nodes).toBeLessThan(after_10.nodes + 8)
    expect(after_50.listeners).toBeLessThan(after_10.listeners + 4)

    const emitted = await host.page.evaluate(() => Reflect.get(window, 'emitted') as number)
    expect(emitted).toBeGreaterThan(200)
    expect(await host.events()).toHaveLength(200)
    const ledger = await host.ledger()
    expect(ledger.filter((line) => line.includes('rejected'))).toEqual([])
    expect(ledger.filter((line) => line === 'visible accepted OK +viewable_impression')).toHaveLength(5)
    expect(host.console_lines.filter((line) => line.startsWith('pageerror'))).toEqual([])
  })

  test.for(['decision', 'rendered', 'visible', 'beacon'] as const)(
    'of a turn that is cancelled from its own listener of %s',
    async (event) => {
      await using host = await open()
      const before = await host.page.evaluate(() => window.openThings())
      await host.start({ ...banner, within: { event, call: 'cancel' } })
      await host.waitForEvent('turn:cancelled')
      await expectNothingOpen(host, before)
    },
  )

  test('of placements without a turn, cleared one by one and by destroy', async () => {
    await using host = await open()
    const before = await host.page.evaluate(() => window.openThings())
    for (const end of ['clear', 'clearPlacement', 'destroy'] as const) {
      const response = await host.place(banner)
      await host.page.evaluate(
        async ({ response, end }) => {
          const api = window.SponsoredPlacement!
          const rendered = new Promise((resolve) => {
            const off = api.on('rendered', (event) => {
              off()
              resolve(event)
            })
          })
          const handle = api.renderPlacement({ target: '#slot', response })
          await rendered
          if (end === 'clear') handle!.clear()
          else if (end === 'clearPlacement') api.clearPlacement({ target: '#slot' })
          else api.destroy()
        },
        { response, end },
      )
      await expectNothingOpen(host, before)
    }
    await host.waitForEvent('beacon', { event: 'render' }, 3)
    expect(await host.ledger()).toEqual(Array(3).fill('render accepted OK'))
  })
})
