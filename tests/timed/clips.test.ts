/**
 * A clip's life: when it plays, what counts as started and completed, what its viewer can do, and what cannot play.
 * Reads the video itself, the events of the page and what the emulator records. Over 300 lines because these are the
 * stages of one life.
 */
import type { Frame, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BeaconRequest } from '#contract/resources/beacons.ts'
import { oneCampaign } from '#tests/browser/campaign.ts'
import { databaseWith } from '#tests/browser/database.ts'
import { expose, scrollable } from '#tests/browser/exposure.ts'
import { type Host, openStage, type Stage, withSlowClips } from '#tests/browser/stage.ts'

vi.setConfig({ maxConcurrency: 8 })

let stage: Stage

beforeAll(async () => {
  stage = await openStage({ demand: oneCampaign() })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const place = { format: 'clip', max_width: 320, max_height: 180 } as const
const media = '**/v1/test-assets/clip?**'
const hasPoster = /poster=true/

describe.concurrent('a clip', () => {
  test('plays muted from half in view on, pauses below, and goes on where it was', async () => {
    await using host = await stage.open({ html: scrollable() })
    await host.show(place)
    await host.waitForEvent('beacon', { event: 'render' })
    const frame = await frameOf(host)
    await expose(host.page, [{ share: 0.49, for_ms: 500 }])
    expect(await stateOf(frame)).toEqual({ paused: true, muted: true, at: 0, rate: 1 })
    expect(await host.types()).toEqual(['rendered', 'beacon'])

    // Driven inside the page: on a busy host the clip would otherwise end before the pause.
    await expose(host.page, [
      { share: 0.5, for_ms: 800, once_playing: true },
      { share: 0.49, for_ms: 0 },
    ])
    await host.waitForEvent('play_started')
    await isPaused(frame)
    const { at } = await stateOf(frame)
    expect(at).toBeGreaterThan(0)
    await expose(host.page, [{ share: 0.2, for_ms: 400 }])
    expect((await stateOf(frame)).at).toBe(at)

    await expose(host.page, [{ share: 1, for_ms: 0 }])
    await playsPast(frame, at + 0.2)
    expect((await stateOf(frame)).muted).toBe(true)
    expect(await playsOf(host)).toEqual(started)
    expect((await host.types()).filter((type) => type === 'play_started')).toHaveLength(1)
  })

  test('pauses while its tab is hidden', async () => {
    await using host = await stage.open({ html: scrollable() })
    await host.show(place)
    await host.waitForEvent('beacon', { event: 'render' })
    const frame = await frameOf(host)
    await expose(host.page, [{ share: 1, for_ms: 0 }])
    await playsPast(frame, 0.3)
    await expose(host.page, [{ tab: 'hidden', for_ms: 0 }])
    await isPaused(frame)
    const { at } = await stateOf(frame)
    await expose(host.page, [{ for_ms: 400 }])
    expect((await stateOf(frame)).at).toBe(at)
    await expose(host.page, [{ tab: 'visible', for_ms: 0 }])
    await playsPast(frame, at + 0.2)
    await host.waitForEvent('beacon', { event: 'play_started' })
    expect(await playsOf(host)).toEqual(started)
  })

  test('is paused and played by its viewer; a pause in mid-dwell starts the dwell again', async () => {
    await using host = await stage.open({ before: withSlowClips })
    await holdDwell(host.page)
    await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('play_started')
    await frame.getByRole('button', { name: 'Pause' }).click()
    await isPaused(frame)
    await host.page.evaluate(() => window.releaseDwell!())
    expect(await host.types()).not.toContain('visible')
    // In view all the time, and reported again, which must not start it.
    await host.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    await pass(host.page, 300)
    expect((await stateOf(frame)).paused).toBe(true)
    await host.page.evaluate(() => {
      window.SponsoredPlacement!.on('visible', () => {
        document.documentElement.dataset.at = `${Date.now()}`
      })
    })
    await frame.evaluate(() => {
      document.querySelector('video')!.addEventListener('play', () => {
        document.documentElement.dataset.at = `${Date.now()}`
      })
    })
    await frame.getByRole('button', { name: 'Play' }).click()
    await host.waitForEvent('beacon', { event: 'visible' })
    const timeOf = (where: Page | Frame): Promise<number> =>
      where.evaluate(() => Number(document.documentElement.dataset.at))
    expect((await timeOf(host.page)) - (await timeOf(frame))).toBeGreaterThanOrEqual(1_990)
    expect(await recordedBy(host)).toEqual([
      'render accepted OK',
      'play_started accepted OK',
      'visible accepted OK +viewable_impression',
    ])
  })

  test('is unmuted and muted by its viewer, as its beacons report', async () => {
    await using host = await stage.open({ before: withSlowClips })
    await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('play_started')
    await frame.getByRole('button', { name: 'Unmute' }).click()
    expect(await stateOf(frame)).toMatchObject({ muted: false, paused: false })
    await frame.locator('video').evaluate((video: HTMLVideoElement) => {
      video.playbackRate = 1
    })
    await host.waitForEvent('beacon', { event: 'play_completed' })
    const mutedAt = sentBy(host).flatMap(({ event, measurements }) =>
      event === 'visible' || event === 'heartbeat' ? [] : [[event, measurements?.muted]],
    )
    expect(mutedAt).toEqual([
      ['render', true],
      ['play_started', true],
      ['play_completed', false],
    ])
    await frame.getByRole('button', { name: 'Mute' }).click()
    expect(await stateOf(frame)).toMatchObject({ muted: true })
  })
})

describe.concurrent('a clip is completed', () => {
  test('when it was played to its end, once, also with a pause in between', async () => {
    await using host = await stage.open({ html: scrollable() })
    const { slot_id } = await host.show(place)
    await host.waitForEvent('beacon', { event: 'render' })
    const frame = await frameOf(host)
    await expose(host.page, [
      { share: 1, for_ms: 2_500, once_playing: true },
      { share: 0, for_ms: 600 },
      { share: 1, for_ms: 0 },
    ])
    await host.waitForEvent('beacon', { event: 'play_completed' })
    await frame.getByRole('button', { name: 'Play' }).click()
    await playsPast(frame, 0.3)
    expect(await emittedOn(host)).toEqual(['rendered', 'play_started', 'visible', 'play_completed'])
    expect(await recordedBy(host)).toEqual(watched('+viewable_impression', ''))
    expect(await billOf(stage, slot_id)).toEqual(oneView)
  })

  test('not by a seek to its end', async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('play_started')
    await playsPast(frame, 0.5)
    await frame.evaluate(() => {
      const video = document.querySelector('video')!
      video.currentTime = video.duration - 0.2
    })
    await hasEnded(host, frame)
    expect(await playsOf(host)).toEqual([...started, 'click accepted OK'])
    expect(await emittedOn(host)).not.toContain('play_completed')
  })

  test('not by seeking back and forth either, without playing what lies between', async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('play_started')
    await frame.evaluate(async () => {
      const video = document.querySelector('video')!
      for (const at of [4.5, 0.2, 5.5]) {
        video.currentTime = at
        await new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))
      }
    })
    await hasEnded(host, frame)
    expect(await playsOf(host)).toEqual([...started, 'click accepted OK'])
    expect(await emittedOn(host)).not.toContain('play_completed')
  })

  test('not at sixteen times its speed: that much of it was not really played', async () => {
    await using host = await stage.open()
    await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('play_started')
    await frame.evaluate(() => {
      document.querySelector('video')!.playbackRate = 16
    })
    await hasEnded(host, frame)
    expect(await playsOf(host)).toEqual([...started, 'click accepted OK'])
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
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await billOf(billing, slot_id)).toEqual(uncompleted)
    await host.waitForEvent('beacon', { event: 'play_completed' })
    expect(await recordedBy(host)).toEqual(watched('', ' +completed_view'))
    expect(await billOf(billing, slot_id)).toEqual(['completed_view', true, 'One completed view counted.'])
  })

  test('a seek to the end bills nothing', async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show(place)
    const frame = await frameOf(host)
    await host.waitForEvent('beacon', { event: 'visible' })
    await frame.evaluate(() => {
      document.querySelector('video')!.currentTime = 5.8
    })
    await hasEnded(host, frame)
    expect(await billOf(billing, slot_id)).toEqual(uncompleted)
    expect(await recordedBy(host)).toEqual([...watched('', '').slice(0, 3), 'click accepted OK'])
  })

  test('a page that claims it too soon gets a reason code for it, and is not billed', async () => {
    await using host = await billing.open({ html: scrollable() })
    const { slot_id } = await host.show(place)
    await host.waitForEvent('beacon', { event: 'render' })
    await expose(host.page, [{ share: 1, for_ms: 300, once_playing: true }])
    await host.waitForEvent('beacon', { event: 'play_started' })
    const sent = host.requests.find((request) => request.postData()?.includes('"play_started"'))!
    const headers = { authorization: (await sent.allHeaders()).authorization!, 'content-type': 'application/json' }
    const body = {
      ...sent.postDataJSON(),
      beacon_id: 'claimed-by-hand',
      event: 'play_completed',
      occurred_at_ms: Date.now(),
    }
    const answer = await host.page.evaluate(
      async ({ url, headers, body }) => (await fetch(url, { method: 'POST', headers, body })).json(),
      { url: sent.url(), headers, body: JSON.stringify(body) },
    )
    expect(answer).toMatchObject({ accepted: true, reason_code: 'COMPLETED_TOO_FAST' })
    expect(await playsOf(host)).toEqual([...started, 'play_completed accepted COMPLETED_TOO_FAST'])
    const reason = 'No completed view: the clip completed sooner than it can play.'
    expect(await billOf(billing, slot_id)).toEqual(['completed_view', false, reason])
  })

  test('a banner can complete nothing', async () => {
    await using host = await billing.open()
    const { slot_id } = await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'visible' })
    const reason = 'No completed view: only a clip can be completed.'
    expect(await billOf(billing, slot_id)).toEqual(['completed_view', false, reason])
  })
})

describe.concurrent('a clip that may not start by itself', () => {
  test('shows its poster and a play button, reports it, and starts when its viewer presses play', async () => {
    await using host = await stage.open({ before: refuseAutoplay })
    const { slot_id } = await host.show(place)
    expect(await host.waitForEvent('error')).toMatchObject({ code: 'autoplay_blocked' })
    await host.waitForEvent('beacon', { event: 'render' })
    const frame = await frameOf(host)
    expect(await frame.getByRole('button', { name: 'Play' }).isVisible()).toBe(true)
    const poster = await frame.locator('video').evaluate(async (video: HTMLVideoElement) => {
      const answer = new Image()
      answer.src = video.poster
      await answer.decode()
      return [answer.naturalWidth, video.currentTime, video.played.length]
    })
    expect(poster).toEqual([320, 0, 0])
    // Long enough in view for a dwell that would not check whether it plays; and scrolling causes no second refusal.
    await pass(host.page, 2_300)
    await host.page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    expect(await recordedBy(host)).toEqual(['render accepted OK'])
    expect(await host.types()).toEqual(expect.not.arrayContaining(['play_started', 'visible', 'cleared']))
    expect((await host.types()).filter((type) => type === 'error')).toHaveLength(1)
    expect(await billOf(stage, slot_id)).toEqual(noView)

    await frame.getByRole('button', { name: 'Play' }).click()
    await host.waitForEvent('beacon', { event: 'visible' })
    expect(await recordedBy(host)).toEqual(watched('+viewable_impression', '').slice(0, 3))
    expect(await billOf(stage, slot_id)).toEqual(oneView)
    expect(host.console_lines).toEqual([expect.stringContaining('[sponsored placement] error: autoplay_blocked')])
  })
})

describe.concurrent('a clip that cannot play', () => {
  test('whose file is missing is cleared, and sends nothing', async () => {
    await using host = await stage.open({
      before: (page) =>
        page.route(media, (route) =>
          hasPoster.test(route.request().url()) ? route.continue() : route.fulfill({ status: 404, body: '' }),
        ),
    })
    const { slot_id } = await host.show(place)
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'creative_failed' })
    expect(await host.types()).toEqual(['error', 'cleared'])
    expect(await billOf(stage, slot_id)).toEqual(noView)
    await leftNothing(host)
  })

  test('whose file is no video is cleared, and sends nothing', async () => {
    await using host = await stage.open({
      before: (page) =>
        page.route(media, (route) =>
          hasPoster.test(route.request().url())
            ? route.continue()
            : route.fulfill({
                contentType: 'video/mp4',
                headers: { 'cross-origin-resource-policy': 'cross-origin' },
                body: 'no video',
              }),
        ),
    })
    await host.show(place)
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'creative_failed' })
    await leftNothing(host)
  })

  test('whose stream stalls before its first frame times out, and sends nothing', async () => {
    await using host = await stage.open({
      before: (page) =>
        page.route(media, (route) => (hasPoster.test(route.request().url()) ? route.continue() : undefined)),
    })
    const { slot_id } = await host.show(place)
    expect(await host.waitForEvent('cleared')).toMatchObject({ reason: 'render_timeout' })
    expect(await host.events()).toMatchObject([{ type: 'error', code: 'render_timeout' }, { type: 'cleared' }])
    expect(await billOf(stage, slot_id)).toEqual(noView)
    await leftNothing(host)
  })

  async function leftNothing(host: Host): Promise<void> {
    expect(await host.recorded()).toEqual([])
    expect(sentBy(host)).toEqual([])
    expect(await host.page.locator('#slot').innerHTML()).toBe('')
  }
})

declare global {
  interface Window {
    releaseDwell?: () => void
  }
}

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

/**
 * Stops the clock by which the page measures its dwell, one second after the clip has started, until `releaseDwell`: a busy host
 * needs seconds to pause it.
 */
async function holdDwell(page: Page): Promise<void> {
  await page.evaluate(() => {
    const now = performance.now.bind(performance)
    let held_ms = Number.POSITIVE_INFINITY
    let released_ms = Number.POSITIVE_INFINITY
    performance.now = () => Math.min(now(), held_ms) + Math.max(0, now() - Math.max(held_ms, released_ms))
    window.SponsoredPlacement!.on('play_started', () => {
      held_ms = now() + 1_000
    })
    window.releaseDwell = () => {
      released_ms = now()
    }
  })
}

const polling = { polling: 20, timeout: 30_000 }

async function frameOf({ page }: Host): Promise<Frame> {
  const frame = await (await page.waitForSelector('iframe')).contentFrame()
  return frame!
}

function stateOf(frame: Frame) {
  return frame.locator('video').evaluate(({ paused, muted, currentTime, playbackRate }: HTMLVideoElement) => ({
    paused,
    muted,
    at: currentTime,
    rate: playbackRate,
  }))
}

async function playsPast(frame: Frame, at: number): Promise<void> {
  await frame.waitForFunction(
    (at) => {
      const { paused, currentTime } = document.querySelector('video')!
      return !paused && currentTime > at
    },
    at,
    polling,
  )
}

async function isPaused(frame: Frame): Promise<void> {
  await frame.waitForFunction(() => document.querySelector('video')!.paused, undefined, polling)
}

/** Waits for the end, and until the page has processed it: a later click over the same port has been handled. */
async function hasEnded(host: Host, frame: Frame): Promise<void> {
  await frame.waitForFunction(() => document.querySelector('video')!.ended, undefined, polling)
  await frame.evaluate(() => {
    const link = document.querySelector<HTMLElement>('a.surface')!
    link.addEventListener('click', (event) => event.preventDefault())
    link.click()
  })
  await host.waitForEvent('beacon', { event: 'click' })
}

/** Lets time pass in the page. */
function pass(page: Page, ms: number): Promise<void> {
  return page.evaluate((ms) => new Promise((resolve) => setTimeout(resolve, ms)), ms)
}

const stages = ['render', 'play_started', 'visible', 'click', 'play_completed']

/** Returns the recorded beacons by the stages of a clip's life: a clip in view from the start starts when rendered. */
async function recordedBy(host: Host): Promise<string[]> {
  const stageOf = (line: string): number => stages.indexOf(line.split(' ')[0] ?? '')
  return (await host.ledger()).toSorted((a, b) => stageOf(a) - stageOf(b))
}

/** Returns the recorded beacons without the view, whose timing is the subject of viewability.test.ts. */
async function playsOf(host: Host): Promise<string[]> {
  await host.waitForEvent('beacon', { event: 'play_started' })
  return (await recordedBy(host)).filter((line) => !line.startsWith('visible accepted OK'))
}

/** Events of the page except those about beacons, which may come in either order. */
async function emittedOn(host: Host) {
  return (await host.types()).filter((type) => type !== 'beacon')
}

function sentBy(host: Host) {
  return host.requests
    .filter((request) => request.method() === 'POST' && request.url().endsWith('/v1/beacons'))
    .map((request) => request.postDataJSON() as BeaconRequest)
}

async function billOf({ client }: Stage, slot_id: string): Promise<[string, boolean, string]> {
  const { billing, evidence, beacons } = await client.placements.explain({ params: { slot_id } })
  const accepted = beacons.filter(({ verdict }) => verdict === 'accepted')
  expect(evidence.map(({ kind }) => kind)).toEqual(['decision', ...accepted.map(() => 'beacon')])
  return [billing!.metric, billing!.would_bill, billing!.explanation]
}
