/** Many tabs of one browser: one event stream for all of them, which outlives any tab, and pages that still load. */
import diagnostics from 'node:diagnostics_channel'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { sandboxClock } from '#platform/clock.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { fill, stage } from '#tests/http/stage.ts'

/** Counts the event streams that are open at the sandbox, and the most that were at one time. */
function countStreams(): { open: number; most: number } {
  const streams = { open: 0, most: 0 }
  const onRequest = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    if (request.url?.startsWith('/_sandbox/events?') !== true) return
    streams.most = Math.max(streams.most, ++streams.open)
    response.once('close', () => streams.open--)
  }
  diagnostics.subscribe('http.server.request.start', onRequest)
  onTestFinished(() => void diagnostics.unsubscribe('http.server.request.start', onRequest))
  return streams
}

/** The overview lists the newest events of the stream, and reads none of them again. */
async function expectEvents(tabs: readonly Page[], slot_ids: readonly string[]): Promise<void> {
  for (const tab of tabs) {
    for (const slot_id of slot_ids) await tab.locator('.event-list').getByText(slot_id).first().waitFor()
  }
}

async function openTabs(context: BrowserContext, address: string, count: number): Promise<Page[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const tab = await context.newPage()
      tab.setDefaultTimeout(0)
      await tab.goto(address)
      await tab.locator('.live[data-tone=good]').waitFor()
      return tab
    }),
  )
}

test('eight tabs share one event stream; it outlives its tabs, misses nothing and leaves room for host pages', async () => {
  await using here = await stage({ clock: sandboxClock() })
  const { url } = here.sandbox
  const streams = countStreams()
  const host = createServer((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<title>Host</title><script src="${url}/v1/render.js"></script><p>${'after the script'}</p>`)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void host.close())
  const context = await (await sharedChromium()).newContext({ reducedMotion: 'reduce' })
  onTestFinished(() => context.close())

  const tabs = await openTabs(context, `${url}/_sandbox/`, 7)
  const demo = await context.newPage()
  await demo.goto(`${url}/_sandbox/demo`)
  await demo.getByText('Live').first().waitFor()
  expect(streams).toEqual({ open: 1, most: 1 })

  const slot_ids = [(await fill(here.api)).slot_id]
  await expectEvents(tabs, slot_ids)
  const page = await context.newPage()
  await page.goto(`http://127.0.0.1:${(host.address() as AddressInfo).port}/`)
  await page.getByText('after the script').waitFor()

  // The tab that started the worker: frozen, it keeps nothing from the others and gets what it missed; then it is closed.
  const first = tabs.shift()!
  const lifecycle = await context.newCDPSession(first)
  await lifecycle.send('Page.setWebLifecycleState', { state: 'frozen' })
  slot_ids.push((await fill(here.api)).slot_id)
  await expectEvents(tabs, slot_ids)
  await lifecycle.send('Page.setWebLifecycleState', { state: 'active' })
  await expectEvents([first], slot_ids)
  await first.close()
  slot_ids.push((await fill(here.api)).slot_id)
  await expectEvents(tabs, slot_ids)

  // One that crashes may take the worker with it; then the worker alone.
  const crashed = tabs.shift()!
  const gone = crashed.waitForEvent('crash')
  void (await context.newCDPSession(crashed)).send('Page.crash').catch(() => undefined)
  slot_ids.push((await fill(here.api)).slot_id)
  await gone
  slot_ids.push((await fill(here.api)).slot_id)
  const left = (await Promise.all(tabs.map(async (tab) => ((await isAlive(tab)) ? [tab] : [])))).flat()
  if (left.length === 0) left.push(...(await openTabs(context, `${url}/_sandbox/`, 2)))
  await expectEvents(left, slot_ids)
  const browser = await context.browser()!.newBrowserCDPSession()
  const { targetInfos } = await browser.send('Target.getTargets')
  const workers = targetInfos.filter(({ type, url: script }) => type === 'shared_worker' && script.startsWith(url))
  expect(workers).toHaveLength(1)
  await browser.send('Target.closeTarget', { targetId: workers[0]!.targetId })
  slot_ids.push((await fill(here.api)).slot_id)
  await expectEvents(left, slot_ids)
  // A tab that is opened later has what was before it.
  await expectEvents(await openTabs(context, `${url}/_sandbox/`, 1), slot_ids)
  await expect.poll(() => streams.open).toBe(1)
})

async function isAlive(tab: Page): Promise<boolean> {
  return Promise.race([
    tab.evaluate(() => true).catch(() => false),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 2_000)),
  ])
}

test('without shared workers a tab holds its own stream while it is visible, and none while it is hidden', async () => {
  await using here = await stage({ clock: sandboxClock() })
  const { url } = here.sandbox
  const streams = countStreams()
  const context = await (await sharedChromium()).newContext({ reducedMotion: 'reduce' })
  onTestFinished(() => context.close())
  await context.addInitScript(() => Reflect.deleteProperty(window, 'SharedWorker'))
  const [tab] = await openTabs(context, `${url}/_sandbox/`, 1)
  expect(streams.open).toBe(1)
  const setVisibility = (state: string) =>
    tab!.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, state)
  await setVisibility('hidden')
  await expect.poll(() => streams.open).toBe(0)
  const { slot_id } = await fill(here.api)
  await setVisibility('visible')
  await expectEvents([tab!], [slot_id])
  expect(streams).toEqual({ open: 1, most: 1 })
})
