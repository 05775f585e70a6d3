/**
 * Pages that tests use one after the other. A new one, with a context and processes of its own, costs more than what most tests do
 * in it; a used one has no script, route, cookie, storage or tab of its last test.
 */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

export interface LentPage {
  context: BrowserContext
  page: Page
  /** Takes it back; `isClean` says whether nothing is left in it that cannot be removed. */
  giveBack(isClean: boolean): Promise<void>
}

const viewport = { width: 800, height: 700 }
const free = new Map<Browser, { page: Page; prepare: Preparation }[]>()

/** Adds what every document of a page runs first. */
export type Preparation = (page: Page) => Promise<unknown>

/**
 * Returns a page, blank, with nothing of other tests. Only those that differ in nothing but their viewport are lent again, to those
 * who want the same preparation.
 */
export async function lendPage(
  browser: Browser,
  prepare: Preparation,
  options: BrowserContextOptions = {},
): Promise<LentPage> {
  const isUsual = Object.keys(options).every((name) => name === 'viewport')
  const pages = free.get(browser) ?? []
  free.set(browser, pages)
  const isAlone = (page: Page) => page.context().pages().length === 1
  const index = isUsual ? pages.findIndex((each) => each.prepare === prepare && isAlone(each.page)) : -1
  const [used] = index < 0 ? [] : pages.splice(index, 1)
  const page = used?.page ?? (await (await browser.newContext({ viewport, ...options })).newPage())
  // What hangs is ended by the guard of the tests.
  page.setDefaultTimeout(0)
  if (used === undefined) await prepare(page)
  else if (options.viewport) await page.setViewportSize(options.viewport)
  const context = page.context()
  return {
    context,
    page,
    giveBack: async (isClean) => {
      const isBlank = isUsual && isClean && !page.isClosed() && (await clear(page))
      if (isBlank) pages.push({ page, prepare })
      else await context.close()
    },
  }
}

/** Resolves to whether the page can be used again. */
async function clear(page: Page): Promise<boolean> {
  const context = page.context()
  // What opened tabs may open more.
  if (context.pages().length > 1) return false
  try {
    for (const type of ['console', 'pageerror', 'dialog', 'request', 'response', 'requestfailed'] as const) {
      page.removeAllListeners(type)
      if (type !== 'pageerror') context.removeAllListeners(type)
    }
    if (page.viewportSize()?.width !== viewport.width || page.viewportSize()?.height !== viewport.height)
      await page.setViewportSize(viewport)
    await Promise.all([page.unrouteAll(), context.unrouteAll(), context.setOffline(false), context.clearCookies()])
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.goto(new URL('/', page.url()).href)
    // A tab that a slow computer has opened only now.
    return context.pages().length === 1
  } catch {
    // A page without an origin, one that is leaving, or one of an engine that cannot is not worth the trouble.
    return false
  }
}
