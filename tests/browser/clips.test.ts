/** A clip's life: when it plays, what counts as started and completed, what its viewer can do, and what cannot play. */
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { oneCampaign } from './campaign.ts'
import { databaseWith } from './database.ts'
import { type Host, openStage, type Stage } from './stage.ts'
import { beaconPosts, until } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ demand: oneCampaign() })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const place = { format: 'clip', max_width: 320, max_height: 180 } as const
const media = '**/v1/test-assets/clip?**'
const hasPoster = /poster=true/

describe.concurrent('a clip', () => {
  test('plays muted from half in view on, pauses below and in a hidden tab, and goes on where it was', async () => {
    await using host = await stage.open({ html: '<div id="slot"></div><p style="height:2000px"></p>' })
    await bring(host, 0)
    await host.show(place)
    await host.emitted('beacon', { event: 'render' })
    const frame = await findFrame(host)
    await bring(host, 0.49)
    await host.pass(1_000)
    expect(await readState(frame)).toEqual({ paused: true, muted: true, at: 0 })
    expect(await host.types()).toEqual(['rendered', 'beacon'])

    await bring(host, 0.5)
    await host.emitted('play_started')
    await host.pass(800)
    await bring(host, 0.49)
    await isPaused(frame)
    await host.pass(400)
    expect(await readState(frame)).toMatchObject({ paused: true, at: 0.8 })

    await bring(host, 1)
    await plays(frame)
    await host.pass(500)
    expect(await readState(frame)).toMatchObject({ paused: false, muted: true, at: 1.3 })
    await setTab(host, 'hidden')
    await isPaused(frame)
    await host.pass(400)
    expect((await readState(frame)).at).toBe(1.3)
    await setTab(host, 'visible')
    await plays(frame)
    await host.pass(500)
    expect((await readState(frame)).at).toBe(1.8)
    expect(await readPlays(host)).toEqual(started)
    expect((await host.types()).filter((type) => type === 'play_started')).toHaveLength(1)
  })

  test('is paused and played by its viewer; a pause in mid-dwell starts the dwell again', {
    tags: 'depth',
  }, async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await host.pass(1_500)
    await frame.getByRole('button', { name: 'Pause' }).click()
    await isPaused(frame)
    // In view all the time, and reported again, which must not start it.
    await host.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    await host.pass(1_000)
    expect((await readState(frame)).paused).toBe(true)
    await frame.getByRole('button', { name: 'Play' }).click()
    await plays(frame)
    await host.pass(1_500)
    expect(await host.types()).not.toContain('visible')
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await recordedBy(host)).toEqual(watched('+viewable_impression', '').slice(0, 3))
  })

  test('is unmuted and muted by its viewer, as its beacons report', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await frame.getByRole('button', { name: 'Unmute' }).click()
    expect(await readState(frame)).toMatchObject({ muted: false, paused: false })
    await host.waitForEvent('play_completed')
    await host.emitted('beacon', { event: 'play_completed' })
    const mutedAt = beaconPosts(host)
      .map((request) => request.postDataJSON())
      .flatMap(({ event, measurements }) => (/^(render|play)/.test(event) ? [[event, measurements?.muted]] : []))
    expect(mutedAt).toEqual([
      ['render', true],
      ['play_started', true],
      ['play_completed', false],
    ])
    await frame.getByRole('button', { name: 'Mute' }).click()
    expect(await readState(frame)).toMatchObject({ muted: true })
  })
})

describe.concurrent('a clip is completed', () => {
  test('when it was played to its end, once, also with a pause in between', async () => {
    await using host = await stage.open({ html: '<div id="slot"></div><p style="height:2000px"></p>' })
    const { slot_id } = await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await host.pass(2_500)
    await bring(host, 0)
    await isPaused(frame)
    await host.pass(600)
    await bring(host, 1)
    await host.waitForEvent('play_completed')
    await host.emitted('beacon', { event: 'play_completed' })
    await frame.getByRole('button', { name: 'Play' }).click()
    await plays(frame)
    await host.pass(7_000)
    expect(await emittedOn(host)).toEqual(['rendered', 'play_started', 'visible', 'play_completed'])
    expect(await recordedBy(host)).toEqual(watched('+viewable_impression', ''))
    expect(await readBill(stage, slot_id)).toEqual(oneView)
  })

  const shortcuts: Record<string, number[]> = {
    'by a seek to its end': [5.8],
    'by seeking back and forth either, without playing what lies between': [4.5, 0.2, 5.5],
  }
  test.each(Object.entries(shortcuts))('not %s', { tags: 'depth' }, async (_, places) => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await host.pass(500)
    await seek(frame, places)
    await end(host, frame)
    expect(await readPlays(host)).toEqual([...started, 'click accepted OK'])
    expect(await emittedOn(host)).not.toContain('play_completed')
  })

  test('not at sixteen times its speed: that much of it was not really played', { tags: 'depth' }, async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await frame.evaluate(() => {
      document.querySelector('video')!.playbackRate = 16
    })
    await end(host, frame)
    expect(await readPlays(host)).toEqual([...started, 'click accepted OK'])
    expect(await emittedOn(host)).not.toContain('play_completed')
  })
})

describe.concurrent('under cpcv', () => {
  let database: Awaited<ReturnType<typeof databaseWith>>
  let billing: Stage

  beforeAll(async () => {
    database = await databaseWith({ billing_model: 'cpcv' })
    billing = await openStage({ database: database.path, demand: oneCampaign() })
  })
  afterAll(async () => {
    await billing?.[Symbol.asyncDispose]()
    database?.[Symbol.dispose]()
  })

  test('a completed view is billed, the impression before it is not', async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show(place)
    await host.emitted('play_started')
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await readBill(billing, slot_id)).toEqual(uncompleted)
    await host.waitForEvent('play_completed')
    await host.emitted('beacon', { event: 'play_completed' })
    expect(await recordedBy(host)).toEqual(watched('', ' +completed_view'))
    expect(await readBill(billing, slot_id)).toEqual(['completed_view', true, 'One completed view counted.'])
  })

  test('a seek to the end bills nothing', { tags: 'depth' }, async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show(place)
    const frame = await findFrame(host)
    await host.emitted('play_started')
    await host.waitForEvent('beacon', { event: 'visible' })
    await seek(frame, [5.8])
    await end(host, frame)
    expect(await readBill(billing, slot_id)).toEqual(uncompleted)
    expect(await recordedBy(host)).toEqual([...watched('', '').slice(0, 3), 'click accepted OK'])
  })

  test('a page that claims it too soon gets a reason code for it, and is not billed', { tags: 'depth' }, async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show(place)
    await host.emitted('beacon', { event: 'play_started' })
    const sent = host.requests.find((request) => request.postData()?.includes('"play_started"'))!
    const headers = { authorization: (await sent.allHeaders()).authorization!, 'content-type': 'application/json' }
    const body = { ...sent.postDataJSON(), beacon_id: 'claimed-by-hand', event: 'play_completed' }
    body.occurred_at_ms += 1_000
    const answer = await host.page.evaluate(
      async ({ url, headers, body }) => (await fetch(url, { method: 'POST', headers, body })).json(),
      { url: sent.url(), headers, body: JSON.stringify(body) },
    )
    expect(answer).toMatchObject({ accepted: true, reason_code: 'COMPLETED_TOO_FAST' })
    expect(await readPlays(host)).toEqual([...started, 'play_completed accepted COMPLETED_TOO_FAST'])
    const reason = 'No completed view: the clip completed sooner than it can play.'
    expect(await readBill(billing, slot_id)).toEqual(['completed_view', false, reason])
  })

  test('a banner can complete nothing', { tags: 'depth' }, async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'visible' })
    const reason = 'No completed view: only a clip can be completed.'
    expect(await readBill(billing, slot_id)).toEqual(['completed_view', false, reason])
  })
})

describe.concurrent('a clip that may not start by itself', () => {
  const refusals = {
    'by the settings of the browser': { before: refuseAutoplay },
    'for a viewer who prefers reduced motion': { context: { reducedMotion: 'reduce' } },
  } as const
  test.each(Object.entries(refusals))(
    '%s shows its poster, reports it, and starts when its viewer presses play',
    { tags: 'depth' },
    async (_, options) => {
      await using host = await stage.open(options)
      const { slot_id } = await host.show(place)
      expect(await host.emitted('error')).toMatchObject({ code: 'autoplay_blocked' })
      await host.emitted('beacon', { event: 'render' })
      const frame = await findFrame(host)
      expect(await frame.getByRole('button', { name: 'Play' }).isVisible()).toBe(true)
      const poster = await frame.locator('video').evaluate(async (video: HTMLVideoElement) => {
        const answer = new Image()
        answer.src = video.poster
        await answer.decode()
        return [answer.naturalWidth, video.currentTime, video.played.length]
      })
      expect(poster).toEqual([320, 0, 0])
      // Long enough in view for a dwell that would not check whether it plays; and scrolling causes no second refusal.
      await host.pass(2_300)
      await host.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
      await host.pass(100)
      expect(await recordedBy(host)).toEqual(['render accepted OK'])
      expect((await host.types()).toSorted()).toEqual(['beacon', 'error', 'rendered'])
      expect(await readBill(stage, slot_id)).toEqual(noView)

      await frame.getByRole('button', { name: 'Play' }).click()
      await host.emitted('play_started')
      await host.waitForEvent('beacon', { event: 'visible' })
      expect(await recordedBy(host)).toEqual(watched('+viewable_impression', '').slice(0, 3))
      expect(await readBill(stage, slot_id)).toEqual(oneView)
      expect(host.console_lines).toEqual([expect.stringContaining('[sponsored placement] error: autoplay_blocked')])
    },
  )

  /** Refuses to play, even muted, before a user gesture: a browser with strict settings. */
  async function refuseAutoplay(page: Page): Promise<void> {
    await page.addInitScript(() => {
      const { play } = HTMLMediaElement.prototype
      HTMLMediaElement.prototype.play = function () {
        if (navigator.userActivation.hasBeenActive) return play.call(this)
        return Promise.reject(new DOMException('play() was refused', 'NotAllowedError'))
      }
    })
  }
})

describe.concurrent('a clip that cannot play is cleared, and sends nothing', { tags: 'depth' }, () => {
  const answers = {
    'its file is missing': { status: 404, body: '' },
    'its file is no video': {
      contentType: 'video/mp4',
      headers: { 'cross-origin-resource-policy': 'cross-origin' },
      body: 'no video',
    },
    'its stream stalls before its first frame': null,
  }
  test.each(Object.entries(answers))('when %s', async (_, answer) => {
    const asked = Promise.withResolvers<void>()
    await using host = await stage.open({
      before: (page) =>
        page.route(media, (route) => {
          if (hasPoster.test(route.request().url())) return route.continue()
          asked.resolve()
          return answer === null ? undefined : route.fulfill(answer)
        }),
    })
    const { slot_id } = await host.show(place)
    await asked.promise
    const code = answer === null ? 'render_timeout' : 'creative_failed'
    // The frame has 5 s to start, and may do so at any moment of this; then its creative has 15 s.
    if (answer === null) await host.pass(20_000)
    expect(await host.emitted('cleared')).toMatchObject({ reason: code })
    expect(await host.events()).toMatchObject([{ type: 'error', code }, { type: 'cleared' }])
    expect(await readBill(stage, slot_id)).toEqual(noView)
    expect(await host.recorded()).toEqual([])
    expect(beaconPosts(host)).toEqual([])
    expect(await host.page.locator('#slot').innerHTML()).toBe('')
  })
})

const oneView = ['viewable_impression', true, 'One viewable impression counted.']
const noView = ['viewable_impression', false, 'No viewable impression: no visible beacon was accepted.']
const uncompleted = ['completed_view', false, 'No completed view: no completion beacon was accepted.']

const started = ['render accepted OK', 'play_started accepted OK']

/** All beacons of a clip that was watched to its end; the marks are those of the view and of the completion. */
const watched = (viewed: string, completed: string): string[] => [
  'render accepted OK',
  'play_started accepted OK',
  `visible accepted OK ${viewed}`.trim(),
  `play_completed accepted OK${completed}`,
]

/** Scrolls until this part of the ad is in view. */
async function bring({ page }: Host, share: number): Promise<void> {
  await page.evaluate((share) => {
    const { bottom, height } = document.querySelector('#slot')!.getBoundingClientRect()
    const frame = window.findAll('iframe')[0]?.getBoundingClientRect()
    scrollBy(0, frame === undefined ? bottom + height + 100 : frame.bottom - Math.round(share * frame.height))
  }, share)
}

async function setTab({ page }: Host, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate((state) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }, state)
}

async function findFrame({ page }: Host): Promise<Frame> {
  const frame = await (await page.waitForSelector('iframe')).contentFrame()
  return frame!
}

function readState(frame: Frame) {
  return frame.locator('video').evaluate(({ paused, muted, currentTime }: HTMLVideoElement) => ({
    paused,
    muted,
    at: Math.round(currentTime * 1_000) / 1_000,
  }))
}

const isPaused = (frame: Frame): Promise<void> => until(async () => (await readState(frame)).paused, true)
/** Waits until the page knows that it plays: the button says so. */
const plays = (frame: Frame): Promise<void> => frame.getByRole('button', { name: 'Pause' }).waitFor()

async function seek(frame: Frame, places: readonly number[]): Promise<void> {
  await frame.evaluate(async (places) => {
    const video = document.querySelector('video')!
    for (const at of places) {
      video.currentTime = at
      await new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))
    }
  }, places)
}

/** Plays it to its end, until the page has processed that: a later click over the same port has been handled. */
async function end(host: Host, frame: Frame): Promise<void> {
  await host.pass(1_000)
  expect(await frame.evaluate(() => document.querySelector('video')!.ended)).toBe(true)
  await frame.evaluate(() => {
    const link = document.querySelector<HTMLElement>('a.surface')!
    link.addEventListener('click', (event) => event.preventDefault())
    link.click()
  })
  await host.emitted('beacon', { event: 'click' })
}

const stages = ['render', 'play_started', 'visible', 'click', 'play_completed']

/** Returns the recorded beacons by the stages of a clip's life: a clip in view from the start starts when rendered. */
async function recordedBy(host: Host): Promise<string[]> {
  const findStage = (line: string): number => stages.indexOf(line.split(' ')[0] ?? '')
  return (await host.ledger()).toSorted((a, b) => findStage(a) - findStage(b))
}

/** Returns the recorded beacons without the view, whose timing is the subject of viewability.test.ts. */
async function readPlays(host: Host): Promise<string[]> {
  await host.emitted('beacon', { event: 'play_started' })
  return (await recordedBy(host)).filter((line) => !line.startsWith('visible accepted OK'))
}

/** Events of the page except those about beacons, which may come in either order. */
async function emittedOn(host: Host) {
  return (await host.types()).filter((type) => type !== 'beacon')
}

async function readBill({ client }: Stage, slot_id: string): Promise<[string, boolean, string]> {
  const { billing, evidence, beacons } = await client.placements.explain({ params: { slot_id } })
  const accepted = beacons.filter(({ verdict }) => verdict === 'accepted')
  expect(evidence.map(({ kind }) => kind)).toEqual(['decision', ...accepted.map(() => 'beacon')])
  return [billing!.metric, billing!.would_bill, billing!.explanation]
}
