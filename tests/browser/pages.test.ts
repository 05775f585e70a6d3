/**
 * The table of pages in `pages/`, in Chromium: what extensions, caches, frameworks, networks, policies and older engines do to
 * a page, and what must happen to the ad there. The host page has another origin than the emulator, and no request is intercepted.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Driver } from './pages/case.ts'
import { kinds } from './pages/index.ts'
import { openPageHost, type PageHost } from './pages/page-host.ts'
import { runPage } from './pages/run.ts'
import { openStage, type Stage } from './stage.ts'

// Most of their time they wait, each for its own page.
vi.setConfig({ maxConcurrency: 6 })

const pages = kinds.flatMap((kind) => kind.pages)

let stage: Stage
let host: PageHost
let driver: Driver

beforeAll(async () => {
  stage = await openStage()
  host = await openPageHost(stage.sandbox, stage.client, pages)
  driver = {
    engine: 'chromium',
    async open(url) {
      const context = await stage.browser.newContext({ viewport: { width: 1380, height: 920 } })
      const page = await context.newPage()
      await page.goto(url, { waitUntil: 'domcontentloaded' })
      return {
        call: (name, given) =>
          page.evaluate(
            ({ name, given }) => (window as unknown as Record<string, (...all: unknown[]) => unknown>)[name]!(...given),
            { name, given: [...given] },
          ),
        close: () => context.close(),
      }
    },
  }
})
afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

test.concurrent.each(pages.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
  expect(await runPage({ driver, host, client: stage.client }, page)).toEqual({})
})
