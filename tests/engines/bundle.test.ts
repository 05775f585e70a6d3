/** In each engine: the page of a bundle, opened from the disk, without a network. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formats } from '#contract/fields.ts'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { connect } from '#tests/http/call.ts'
import { fill } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { closeEngine, engineUnderTest } from './engines.ts'

let stage: Stage
beforeAll(async () => {
  stage = await openStage({}, await (await engineUnderTest()).get())
})
afterAll(async () => {
  await stage?.[Symbol.asyncDispose]()
  await closeEngine()
})

test.each(formats)('the bundle of a %s shows its creative and its data, and fits a phone', async (format) => {
  const { url } = stage.sandbox
  const { slot_id } = await fill(connect({ url }), { format })
  const response = await fetch(`${url}/_sandbox/bundle.html?slot_id=${slot_id}`)
  const file = join(temporaryDirectory(), `${format}.html`)
  // Its data is read too: nothing in it may name an address that the page loads.
  writeFileSync(file, await response.text())
  await using host = await stage.open({ context: { viewport: { width: 360, height: 700 } } })
  await host.page.goto(pathToFileURL(file).href)
  const shown = await host.page.evaluate(() => ({
    heading: document.querySelector('h1')!.textContent,
    picture: document.querySelector('img')!.naturalWidth > 0,
    loaded: performance.getEntriesByType('resource').filter(({ name }) => !name.startsWith('data:')).length,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    data: JSON.parse(document.querySelector('#svc-bundle')!.textContent).kind as string,
  }))
  expect(shown).toEqual({ heading: slot_id, picture: true, loaded: 0, overflow: 0, data: 'svc_bundle' })
})
