/** The table of docs/renderer.md in Firefox and WebKit, which have no IntersectionObserver v2: `npm test` judges it in Chromium. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { judgeLayouts } from '#tests/browser/sight-page.ts'
import { sights } from '#tests/browser/sight-table.ts'
import { closeEngine, engineUnderTest } from '../engines.ts'

let page: Page
beforeAll(async () => {
  const browser = await (await engineUnderTest()).get()
  page = await (await browser.newContext({ viewport: { width: 900, height: 700 } })).newPage()
})
afterAll(closeEngine)

test.for(sights.map(({ title, cases }) => [title, cases] as const))('%s', async ([, cases]) => {
  const found = await judgeLayouts(page, cases)
  const lines = cases.map(({ what }, index) => `${what}: ${found[index]!.unobserved.outcome}`)
  expect(lines).toEqual(cases.map(({ what, is, elsewhere }) => `${what}: ${elsewhere?.is ?? is}`))
})
