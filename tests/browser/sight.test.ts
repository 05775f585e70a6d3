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

test.for(sights.map(({ title, cases }) => [title, cases] as const))(
  '%s, with the observer and without it',
  async ([, cases]) => {
    const found = await judgeLayouts(page, cases)
    const lines = cases.flatMap(({ what }, index) => {
      const { observed, unobserved } = found[index]!
      return [`${what}: ${observed.outcome}`, `${what}, without: ${unobserved.outcome}`]
    })
    expect(lines).toEqual(
      cases.flatMap(({ what, is, elsewhere }) => [`${what}: ${is}`, `${what}, without: ${elsewhere?.is ?? is}`]),
    )
  },
)
