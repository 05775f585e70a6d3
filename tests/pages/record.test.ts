/** A page against `svc record`: script, frame and media come through it, and its beacons arrive. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Format } from '#contract/fields.ts'
import { readRecording } from '#contract/recordings/recording.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { openRecorder, type Recorder } from '#recordings/recorder.ts'
import { createRecordingFile } from '#recordings/recording-file.ts'
import { createSession, type RecordingSession } from '#recordings/session.ts'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

let stage: Stage
let recorder: Recorder
let session: RecordingSession
const file = join(temporaryDirectory(), 'page.har')
beforeAll(async () => {
  stage = await openStage()
  const upstream = new URL(stage.sandbox.url)
  session = createSession({
    origin: upstream.origin,
    file: createRecordingFile(file, { version: '1', overwrite: false }),
    onEntry: () => undefined,
    onFailure: (error) => {
      throw error
    },
  })
  recorder = await openRecorder({
    ...{ upstream, port: 0, allow_live: false, now: Date.now },
    onExchange: session.add,
    onRefusal: () => session.countRefusal(),
  })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const formats: readonly Format[] = ['banner', 'clip', 'native']

test('every format is shown and counted through it, and the file has all of it with the addresses of the service', async () => {
  const html = formats.map((format) => `<div id="${format}"></div>`).join('')
  const context = { viewport: { width: 800, height: 1_100 } }
  const host = await stage.open({ html, context, service_url: recorder.url })
  await host.page.evaluate(
    async ({ publishableKey, bodies }) => {
      const activation = await window.SponsoredPlacement!.activate({ publishableKey })
      for (const { target, body } of bodies) {
        const response = (await activation!.requestPlacement(body)) as PlacementResponse
        window.SponsoredPlacement!.renderPlacement({ target, response })
      }
    },
    {
      publishableKey: stage.sandbox.keys.publishable_key,
      bodies: formats.map((format) => ({
        target: `#${format}`,
        body: host.body({ format, max_width: 640, max_height: 300 }),
      })),
    },
  )
  await host.waitForEvent('beacon', { event: 'visible' }, formats.length)
  const elsewhere = await host.page.evaluate(() => performance.getEntriesByType('resource').map(({ name }) => name))
  expect(elsewhere.filter((url) => url.startsWith(stage.sandbox.url))).toEqual([])
  const recorded = await host.recorded()
  expect(recorded.filter(({ would_bill }) => would_bill)).toHaveLength(formats.length)
  expect(recorded.every(({ verdict }) => verdict === 'accepted')).toBe(true)
  expect(host.console_lines).toEqual([])
  await host[Symbol.asyncDispose]()
  await recorder.close()
  const { left_out, endpoints } = await session.finish()
  expect(left_out).toEqual({})
  expect(endpoints).toMatchObject({
    'render.script': 1,
    'browser.activate': expect.any(Number),
    'render.frame': formats.length,
    file: expect.any(Number),
  })
  const text = readFileSync(file, 'utf8')
  expect(text).not.toContain(new URL(recorder.url).host)
  expect(text).not.toMatch(/(?:ast|at|bt)_\w{11}_(?!redacted)|pk_test_(?!redacted)/)
  const { exchanges } = readRecording(text)
  const frames = exchanges.filter(({ endpoint }) => endpoint === 'render.frame')
  expect(frames.map(({ response_headers }) => response_headers['content-security-policy'])).toEqual(
    formats.map(() => expect.stringContaining(`img-src ${stage.sandbox.url};`)),
  )
  expect(
    exchanges.some(
      ({ path, response_body }) => path.startsWith('/assets/') && response_body !== null && 'base64' in response_body,
    ),
  ).toBe(true)
})
