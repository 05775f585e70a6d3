/** Whether an ad is seen, not seen or unmeasured: the table of docs/renderer.md, each row judged in one page. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sharedChromium } from './chromium.ts'
import { judgeLayouts } from './sight-page.ts'
import { sights } from './sight-table.ts'

let page: Page
beforeAll(async () => {
  page = await (await sharedChromium()).newPage({ viewport: { width: 900, height: 700 } })
})
afterAll(() => page?.close())

test.for(sights.flatMap(({ title, cases }) => [true, false].map((isObserved) => [title, isObserved, cases] as const)))(
  '%s, with the observer: %s',
  async ([, isObserved, cases]) => {
    const found = await judgeLayouts(page, cases, isObserved)
    const lines = cases.map(({ what }, index) => `${what}: ${found[index]!.outcome}`)
    expect(lines).toEqual(cases.map(({ what, is, elsewhere }) => `${what}: ${isObserved ? is : (elsewhere?.is ?? is)}`))
  },
)
