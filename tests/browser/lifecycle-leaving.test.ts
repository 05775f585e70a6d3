/** Beacons of a page that is closed, left or hidden: what was sent or seen arrives, what was not seen does not. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openBeaconProxy } from './beacon-proxy.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from './stage.ts'
import { rendered_only, viewed } from './turn-path.ts'
import { until } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ rate_limit: 'off' })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const banner: PlaceOptions = { format: 'banner', max_width: 300, max_height: 250 }
/** A slot out of view: what is on it is rendered, and never viewed. */
const below = '<div id="slot" style="margin-top: 3000px"></div>'
const openProxy = () => openBeaconProxy(stage.sandbox.url)

/** Waits until the emulator has recorded exactly these beacons. */
const arrives = (host: Host, ledger: string[]) => until(() => host.ledger(), ledger)

/** Delays between attempts never end by themselves: only a flush ends them. */
const neverWaitOut = (page: Page) =>
  page.addInitScript(() => {
    if (window !== top) return
    const start = window.setTimeout as (...given: unknown[]) => number
    let waits = 0
    const patched = (work: unknown, ms = 0, ...more: unknown[]): number => {
      if (ms < 300 || ms > 2_500) return start(work, ms, ...more)
      Object.assign(window, { waits: ++waits })
      return start(() => {}, 2 ** 30)
    }
    Object.assign(window, { setTimeout: patched, waits })
  })

/** Waits until the page delays an attempt for the nth time. */
const waitsAgain = async ({ page }: Host, times: number) => {
  await page.waitForFunction((times) => Reflect.get(window, 'waits') === times, times)
}

describe.concurrent('a page that is closed', () => {
  test.for(['preflight', 'render'] as const)(
    'while its %s is under way: the beacon arrives',
    { tags: 'depth' },
    async (what) => {
      await using proxy = await openProxy()
      await using host = await stage.open({ html: below })
      const held = proxy.hold(what)
      const response = await host.place(banner)
      await host.mount(proxy.through(response))
      await held.arrived
      expect(await host.ledger()).toEqual([])
      await host.page.close()
      held.release()
      await arrives(host, rendered_only)
      const { billing } = await stage.client.placements.explain({ params: { slot_id: response.slot_id } })
      expect(billing).toMatchObject({ would_bill: false })
    },
  )

  test('while the view is under way: it arrives, and is billed', async () => {
    await using proxy = await openProxy()
    await using host = await stage.open()
    const response = await host.place(banner)
    const held = proxy.hold('visible')
    await host.mount(proxy.through(response))
    await host.waitForEvent('visible')
    await held.arrived
    await host.page.close()
    await arrives(host, rendered_only)
    held.release()
    await arrives(host, viewed)
    const { billing } = await stage.client.placements.explain({ params: { slot_id: response.slot_id } })
    expect(billing).toMatchObject({ would_bill: true })
  })

  test('at the moment of the view: the view arrives', async () => {
    await using host = await stage.open()
    const closed = host.page.waitForEvent('close')
    await host.page.exposeFunction('closePage', () => void host.page.close())
    await host.page.evaluate(() => {
      window.SponsoredPlacement!.on('visible', () => Reflect.get(window, 'closePage')())
    })
    await host.show(banner)
    // Ends with the page.
    await host.waitForEvent('visible').catch(() => {})
    await closed
    await arrives(host, viewed)
  })
})

describe.concurrent('a page that is left', () => {
  test('at the moment of the view: the view arrives', async () => {
    await using host = await stage.open()
    await host.page.evaluate(() => {
      window.SponsoredPlacement!.on('visible', () => {
        location.href = '/page/elsewhere'
      })
    })
    await host.show(banner)
    await host.waitForEvent('visible').catch(() => {})
    await host.page.waitForURL('**/elsewhere')
    await arrives(host, viewed)
  })

  test('before the view: it was rendered, not viewed', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    await host.page.evaluate(() => {
      window.SponsoredPlacement!.on('rendered', () => setTimeout(() => location.reload()))
    })
    const reloaded = host.page.waitForEvent('load')
    const { slot_id } = await host.show(banner)
    await reloaded
    await arrives(host, rendered_only)
    await host.show(banner)
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await host.ledger()).toEqual([...rendered_only, ...viewed])
    const { billing } = await stage.client.placements.explain({ params: { slot_id } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  test('while a beacon waits to be sent again: it is sent at once, and arrives', { tags: 'depth' }, async () => {
    await using proxy = await openProxy()
    await using host = await stage.open({ html: below, before: neverWaitOut })
    proxy.refusals = 1
    await host.mount(proxy.through(await host.place(banner)))
    await waitsAgain(host, 1)
    await host.page.goto(`${stage.host_url}/page/elsewhere`)
    await arrives(host, rendered_only)
    expect(new Set(proxy.beacon_ids).size).toBe(1)
  })
})

describe.concurrent('a tab that is hidden', { tags: 'depth' }, () => {
  test('sends at once what waits to be sent again', async () => {
    await using proxy = await openProxy()
    await using host = await stage.open({ html: below, before: neverWaitOut })
    proxy.refusals = 2
    await host.mount(proxy.through(await host.place(banner)))
    await host.page.evaluate(() =>
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden', configurable: true }),
    )
    for (const tries of [1, 2]) {
      await waitsAgain(host, tries)
      expect(await host.ledger()).toEqual([])
      await host.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    }
    await host.waitForEvent('beacon', { event: 'render', accepted: true })
    expect(await host.ledger()).toEqual(rendered_only)
    expect(new Set(proxy.beacon_ids).size).toBe(1)
  })
})
