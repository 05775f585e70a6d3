/** The table of tests/browser/pages in Chromium, every page of it, in real time. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Driver, selectEngine } from '#tests/browser/pages/case.ts'
import { kinds } from '#tests/browser/pages/index.ts'
import { openPageHost, type PageHost } from '#tests/browser/pages/page-host.ts'
import { createDriver } from '#tests/browser/pages/playwright-driver.ts'
import { runPage } from '#tests/browser/pages/run.ts'
import { bePatient, openStage, type Stage } from '#tests/browser/stage.ts'

// Most of their time they wait, each for its own page.
vi.setConfig({ maxConcurrency: 6 })

const pages = kinds.flatMap((kind) => kind.pages).map((page) => selectEngine(page, 'chromium'))

let stage: Stage
let host: PageHost
let driver: Driver

beforeAll(async () => {
  stage = await openStage()
  host = await openPageHost(stage.sandbox, stage.client, pages)
  driver = createDriver('chromium', stage.browser, bePatient)
})
afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
})

test.concurrent.each(pages.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
  expect(await runPage({ driver, host, client: stage.client }, page)).toEqual({})
})
