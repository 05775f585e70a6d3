/** The console on the demo page, in Firefox and WebKit: each outcome of each format has its chip and its reason. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type DemoHosts, openDemoHosts, outcomes } from '#tests/pages/console-outcomes.ts'
import { closeEngine, engineUnderTest } from '../engines.ts'

vi.setConfig({ maxConcurrency: 3 })

let demos: DemoHosts
beforeAll(async () => {
  demos = await openDemoHosts(await (await engineUnderTest()).get())
})
afterAll(async () => {
  await demos?.[Symbol.asyncDispose]()
  await closeEngine()
})

test.concurrent.each(outcomes.map((outcome) => [outcome.name, outcome] as const))('%s', async (_name, outcome) => {
  expect(await demos.show(outcome)).toEqual(expect.arrayContaining([...outcome.shows]))
})
