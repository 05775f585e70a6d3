/**
 * The table of pages in tests/browser/pages, in Firefox and WebKit: `npm test` runs it in Chromium. Where
 * something else happens in an engine, the case says what.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Driver, type Engine, selectEngine } from '#tests/browser/pages/case.ts'
import { kinds } from '#tests/browser/pages/index.ts'
import { openPageHost, type PageHost } from '#tests/browser/pages/page-host.ts'
import { createDriver } from '#tests/browser/pages/playwright-driver.ts'
import { runPage } from '#tests/browser/pages/run.ts'
import { bePatient, openStage, type Stage } from '#tests/browser/stage.ts'
import { closeEngine, engineUnderTest } from '../engines.ts'

// Most of their time they wait, each for its own page.
vi.setConfig({ maxConcurrency: 6 })

const engine = process.env.SVC_ENGINE as Engine
const pages = kinds.flatMap((kind) => kind.pages).map((page) => selectEngine(page, engine))

let stage: Stage
let host: PageHost
let driver: Driver

beforeAll(async () => {
  stage = await openStage({}, await (await engineUnderTest()).get())
  host = await openPageHost(stage.sandbox, stage.client, pages)
  driver = createDriver(engine, stage.browser, bePatient)
})
afterAll(async () => {
  await host?.[Symbol.asyncDispose]()
  await stage?.[Symbol.asyncDispose]()
  await closeEngine()
})

test.concurrent.each(pages.map((page) => [page.name, page] as const))('%s', async (_name, page) => {
  expect(await runPage({ driver, host, client: stage.client }, page)).toEqual({})
})
