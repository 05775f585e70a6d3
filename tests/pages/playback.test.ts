/** A page whose traffic `svc record` has recorded, played with the service gone: its ads are shown and counted as they were. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Format } from '#contract/fields.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { openRecorder } from '#recordings/recorder.ts'
import { createRecordingFile } from '#recordings/recording-file.ts'
import { createSession } from '#recordings/session.ts'
import { openStage, type Stage } from '#tests/browser/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const formats: readonly Format[] = ['banner', 'clip', 'native']
const sponsors = '[data-sp-label]'

/** Shows one ad of each format, waits until its view was counted, and resolves with what the page says of them. */
async function showAll(stage: Stage, service_url: string) {
  const html = formats.map((format) => `<div id="${format}"></div>`).join('')
  const context = { viewport: { width: 800, height: 1_100 } }
  await using host = await stage.open({ html, context, service_url })
  const responses = await host.page.evaluate(
    async ({ publishableKey, bodies }) => {
      const activation = await window.SponsoredPlacement!.activate({ publishableKey })
      const responses: PlacementResponse[] = []
      for (const { target, body } of bodies) {
        const response = (await activation!.requestPlacement(body)) as PlacementResponse
        window.SponsoredPlacement!.renderPlacement({ target, response })
        responses.push(response)
      }
      return responses
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
  const recorded = await host.recorded()
  return {
    labels: await host.page.evaluate((selector) => window.findAll(selector).map((label) => label.innerText), sponsors),
    shown: responses.map(({ placement }) => [placement?.sponsor_name, placement?.width, placement?.height]),
    tokens: responses.map(({ placement }) => placement?.asset_token),
    isAccepted: recorded.every(({ verdict }) => verdict === 'accepted'),
    bills: recorded.filter(({ would_bill }) => would_bill).length,
    complaints: [...host.console_lines],
  }
}

test('banner, clip and native of a recording', async () => {
  const file = join(temporaryDirectory(), 'page.har')
  let recorded: Awaited<ReturnType<typeof showAll>>
  {
    await using stage = await openStage()
    const upstream = new URL(stage.sandbox.url)
    const session = createSession({
      origin: upstream.origin,
      file: createRecordingFile(file, { version: '1', overwrite: false }),
      onEntry: () => undefined,
      onFailure: (error) => {
        throw error
      },
    })
    const recorder = await openRecorder({
      ...{ upstream, port: 0, allow_live: false, now: Date.now },
      onExchange: session.add,
      onRefusal: () => session.countRefusal(),
    })
    recorded = await showAll(stage, recorder.url)
    await recorder.close()
    await session.finish()
  }
  const playback = readFileSync(file, 'utf8')
  await using stage = await openStage({ playback, demand: { revision: 1, partners: [], campaigns: [] } })
  const played = await showAll(stage, stage.sandbox.url)
  expect(played.tokens).not.toEqual(recorded.tokens)
  expect({ ...played, tokens: null }).toEqual({ ...recorded, tokens: null })
  expect(played).toMatchObject({ isAccepted: true, bills: formats.length, complaints: [] })
  expect(stage.sandbox.playback()).toMatchObject({ not_recorded: 0, refused: 0 })
  // The media of the recording, at its addresses.
  const { items } = (await stage.client.placements.list({})) as { items: { slot_id: string }[] }
  const explained = await stage.client.placements.explain({ params: { slot_id: items.at(-1)!.slot_id } })
  const { decision } = explained
  if (decision?.fill !== true) throw new Error('the banner was filled')
  const media = await fetch(decision.delivery_url!)
  expect([media.status, media.headers.get('x-sandbox-source')]).toEqual([200, 'recording'])
})
