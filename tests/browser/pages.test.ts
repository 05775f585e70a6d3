/**
 * A case of the main kinds of the table in `pages/`, in Chromium: what extensions, caches, frameworks, networks and policies do to a
 * page, and what must happen to the ad there. All of them are in tests/pages. The host page has another origin than the emulator,
 * and no request is intercepted.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { measurePixels } from '#qa/browser/screenshot.ts'
import { manualClock } from '#sandbox/index.ts'
import { holdTime } from './held-time.ts'
import { type Driver, selectEngine } from './pages/case.ts'
import { consoles } from './pages/console.ts'
import { copies } from './pages/copies.ts'
import { extensions } from './pages/extensions.ts'
import { network } from './pages/network.ts'
import { openPageHost, type PageHost } from './pages/page-host.ts'
import { createDriver } from './pages/playwright-driver.ts'
import { policies } from './pages/policies.ts'
import { runPage } from './pages/run.ts'
import { bePatient, openStage, type Stage } from './stage.ts'

vi.setConfig({ maxConcurrency: 3 })

/** Of what others do to a page the page with the fewest cases, and of those the first. Turns and views have files of their own. */
const pages = [extensions, copies, network, policies, consoles].map(({ pages }) => {
  const [smallest] = pages.toSorted((one, other) => one.cases.length - other.cases.length)
  const page = selectEngine(smallest!, 'chromium')
  return { ...page, cases: page.cases.slice(0, 1) }
})

let stage: Stage
let host: PageHost
let driver: Driver
let flowing: Driver

beforeAll(async () => {
  stage = await openStage()
  host = await openPageHost(stage.sandbox, stage.client, pages)
  driver = createDriver('chromium', stage.browser, holdTime)
  // The console looks at its page again and again, by real time.
  flowing = createDriver('chromium', stage.browser, bePatient)
})
afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

test.concurrent.each(pages.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
  const isConsole = page.name.startsWith('console')
  expect(await runPage({ driver: isConsole ? flowing : driver, host, client: stage.client }, page)).toEqual({})
})

test.concurrent('a copy of the frame itself, which nothing initialises, is blank', { tags: 'depth' }, async () => {
  await using page = await stage.open()
  const { placement } = await page.place({ format: 'banner' })
  await page.page.evaluate((src) => {
    const frame = Object.assign(document.createElement('iframe'), { src, width: 300, height: 250, id: 'copy' })
    frame.setAttribute('sandbox', 'allow-scripts')
    document.body.append(frame)
    return new Promise((resolve) => frame.addEventListener('load', resolve))
  }, placement!.render.frame_url)
  // The picture of a mounted ad has been painted by then.
  await page.show({ format: 'banner' })
  await page.waitForEvent('rendered')
  const png = await page.page.locator('#copy').screenshot({ style: '#copy { border: 0 !important }' })
  expect(measurePixels(png).colors).toBe(1)
})

test.concurrent.each([
  ['a turn with the backend', false],
  ['a turn with an activation', true],
])('a click 31 minutes after the ad was rendered is counted, of %s', { tags: 'depth' }, async (_, isActivated) => {
  const clock = manualClock(Date.now())
  await using own = await openStage({ clock })
  await using page = await own.open()
  await page.page.evaluate(
    async ({ body, endpoint, isActivated }) => {
      const renderer = window.SponsoredPlacement!
      if (isActivated) await renderer.activate({ publishableKey: 'pk_test_sandbox_demo' })
      renderer.startTurn({ target: '#slot', body, keepMounted: true, ...(!isActivated && { endpoint }) })
    },
    { body: page.body({ format: 'banner' }), endpoint: page.endpoint, isActivated },
  )
  await page.waitForEvent('beacon', { event: 'visible', accepted: true })
  clock.advance(31 * 60_000)
  await page.page.evaluate(() => window.blockTime(31 * 60_000))
  await page.page.frameLocator('iframe').locator('a').first().click()
  const { accepted, reason_code } = await page.waitForEvent('beacon', { event: 'click' })
  expect([accepted, reason_code]).toEqual([true, 'OK'])
})
