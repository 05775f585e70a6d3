/** Opens pages of the table in a browser with Playwright's interface, each in a context of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import type { Driver, Engine } from './case.ts'

/** `before` prepares each page. */
export function createDriver(engine: Engine, browser: Browser, before?: (page: Page) => Promise<unknown>): Driver {
  return {
    engine,
    async open(url) {
      const context = await browser.newContext({ viewport: { width: 1380, height: 920 } })
      const page = await context.newPage()
      await before?.(page)
      await page.goto(url, { waitUntil: 'domcontentloaded' })
      return {
        call: (name, given) =>
          page.evaluate(
            ({ name, given }) => (window as unknown as Record<string, (...all: unknown[]) => unknown>)[name]!(...given),
            { name, given: [...given] },
          ),
        pass: async (ms) => {
          const isHeld = await page.evaluate(() => window.passTime !== undefined)
          if (!isHeld) return void (await sleep(ms))
          await page.evaluate(async (ms) => {
            await window.passSome()
            if (ms > 1_000) await window.passTime(ms)
          }, ms)
        },
        close: () => context.close(),
      }
    },
  }
}
