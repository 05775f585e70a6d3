/** The inspector on one sandbox and one page for a file of tests, reset before each: what it does is read back through the API. */
import type { Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { sandboxClock } from '#platform/clock.ts'
import { violations } from '#tests/browser/axe.ts'
import { type Stage, stage } from '#tests/http/stage.ts'
import { desk, type Inspector, openInspector, phone } from './inspector-page.ts'

export interface StagedInspector extends AsyncDisposable {
  here: Stage
  page: Page
  /** Goes to an address below /_sandbox. */
  go(path: string): Promise<void>
}

/** Text that would be a mark, a script, a variable or a break of a line if anything took it for one. */
export const hostile = `<img src=x onerror="window.harmed=1">{{secret_key}}'";\u202eabc\n</script><script>window.harmed=1</script>`

export interface StagedOptions {
  theme?: 'light' | 'dark'
  width?: number
}

/**
 * Returns what opens the inspector in each test of a file. The sandbox begins with its seed again, the page is the same. It
 * must have run nothing hostile, reported no problem and asked nobody else when it is disposed.
 */
export function stagedInspector(): (options?: StagedOptions) => Promise<StagedInspector> {
  let shared: Promise<{ here: Stage; inspector: Inspector }> | undefined
  const start = async () => {
    // render.js compares what it shows with the time of this computer.
    const here = await stage({ clock: sandboxClock() })
    return { here, inspector: await openInspector(here.sandbox, '/controls') }
  }
  afterAll(async () => {
    if (shared === undefined) return
    const { here, inspector } = await shared
    await inspector[Symbol.asyncDispose]()
    await here[Symbol.asyncDispose]()
  })
  return async ({ theme = 'light', width = 1_280 } = {}) => {
    const isFirst = shared === undefined
    shared ??= start()
    const { here, inspector } = await shared
    const { page } = inspector
    if (!isFirst) {
      await page.goto('about:blank')
      await here.api.accept('sandbox.reset', { body: {} })
    }
    await page.emulateMedia({ colorScheme: theme })
    await page.setViewportSize({ width, height: 900 })
    return {
      here,
      page,
      go: inspector.goto,
      async [Symbol.asyncDispose]() {
        const isHarmed = await page.evaluate(() => 'harmed' in window)
        const [problems, strangers] = [inspector.problems.splice(0), inspector.strangers.splice(0)]
        expect({ isHarmed, problems, strangers }).toEqual({ isHarmed: false, problems: [], strangers: [] })
      },
    }
  }
}

/** Expects that axe finds nothing serious on the page as it is, and that nothing is wider than the window. */
export async function expectAccessible(page: Page): Promise<void> {
  // Colours are judged when nothing is fading in.
  await page.evaluate(async () => {
    const finite = document.getAnimations().filter(({ effect }) => effect?.getTiming().iterations !== Infinity)
    await Promise.allSettled(finite.map(({ finished }) => finished))
  })
  expect(await violations(page)).toEqual([])
  const overflow = await page.evaluate(() => {
    const main = document.querySelector('main')
    return main === null ? 0 : main.scrollWidth - main.clientWidth
  })
  expect(overflow).toBeLessThanOrEqual(1)
}

/** Expects it in the light theme on a phone, and in the dark one on a desk. */
export async function expectAccessibleInBoth(page: Page): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(phone)
  await expectAccessible(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(desk)
  await expectAccessible(page)
}
