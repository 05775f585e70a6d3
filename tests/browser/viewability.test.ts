/**
 * What is in view, and for how long, by format: what the page reports and what the emulator records. The ads of one page go
 * through every exposure that must not count, and then through one that does, each to the millisecond.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BeaconRequest } from '#contract/resources/beacons.ts'
import { viewability } from '#contract/viewability.ts'
import { manualClock } from '#sandbox/index.ts'
import { clip_ms, oneCampaign } from './campaign.ts'
import { databaseWith } from './database.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from './stage.ts'
import { beaconPosts } from './turns.ts'

vi.setConfig({ maxConcurrency: 3 })

let stage: Stage
beforeAll(async () => {
  stage = await openStage({ demand: oneCampaign() })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

const kinds = {
  banner: { format: 'banner' },
  list_item: { format: 'native', native_template_id: 'list_item', max_width: 400 },
  card: { format: 'native', native_template_id: 'card', max_width: 320 },
  /** 970 x 250: exactly 242 500 pixels, from where 30 % are enough. */
  large: { format: 'banner', max_width: 970, max_height: 250 },
  /** The same in a column of 969 pixels, with its proportions: 242 000 pixels. */
  squeezed: { format: 'banner', max_width: 970, max_height: 250 },
  /** 300 x 250, displayed at twice its size: 300 000 pixels. */
  zoomed: { format: 'banner' },
} satisfies Record<string, PlaceOptions>
type Kind = keyof typeof kinds
const names = Object.keys(kinds) as Kind[]
const clip = { format: 'clip', max_width: 320, max_height: 180 } as const

const styles: Partial<Record<Kind, string>> = { squeezed: 'max-width:969px', zoomed: 'zoom:2' }
/** Returns a page with each slot in a box of its own, in which it is scrolled out of view and into it. */
const boxes = (ids: readonly string[]): string =>
  `<style>.box { height: 600px; overflow: auto; float: left; width: 1000px }</style><main>${ids
    .map((id) => `<div class="box"><p style="height:700px"></p>${drawSlot(id)}<p style="height:900px"></p></div>`)
    .join('')}</main>`
const drawSlot = (id: string): string => `<div id="${id}" style="${styles[id as Kind] ?? ''}"></div>`

/** Opens a page with one ad of each kind, rendered and out of view. Resolves to their slots. */
async function openBoxes(): Promise<{ host: Host; slots: Record<Kind, string> }> {
  const host = await stage.open({ html: boxes(names), context: { viewport: { width: 2_050, height: 1_900 } } })
  const slots: [Kind, string][] = []
  for (const kind of names) slots.push([kind, (await host.show(kinds[kind], `#${kind}`)).slot_id])
  await host.emitted('beacon', { event: 'render' }, names.length)
  return { host, slots: Object.fromEntries(slots) as Record<Kind, string> }
}

/** Opens a page with one ad, rendered and out of view. */
async function openBox(
  place: PlaceOptions,
  before?: (page: Page) => Promise<unknown>,
): Promise<{ host: Host; slot_id: string }> {
  const host = await stage.open({ html: boxes(['slot']), ...(before && { before }) })
  const { slot_id } = await host.show(place)
  await host.emitted('beacon', { event: 'render' })
  return { host, slot_id }
}

/** Scrolls every ad until this part of its height is in its box, from its top. */
async function bring({ page }: Host, share: number): Promise<void> {
  await page.evaluate((share) => {
    for (const box of document.querySelectorAll<HTMLElement>('.box')) {
      const frame = window.findAll('iframe', box)[0]
      if (!frame) continue
      const { top, height } = frame.getBoundingClientRect()
      if (share === 0) box.scrollTop = 0
      else box.scrollBy(0, top - box.getBoundingClientRect().bottom + Math.round(share * height))
    }
  }, share)
}

async function show(host: Host, share: number, ms: number): Promise<void> {
  await bring(host, share)
  await host.pass(ms)
}

/** In view for this long, and then away for long enough that a late count would show. */
async function visit(host: Host, share: number, ms: number): Promise<void> {
  await show(host, share, ms)
  await show(host, 0, 1_200)
}

/** Sets what the Page Visibility API reports, or emits an event of the Page Lifecycle API. */
async function setTab({ page }: Host, state: 'hidden' | 'visible' | 'freeze' | 'resume'): Promise<void> {
  await page.evaluate((state) => {
    if (state === 'freeze' || state === 'resume') return void document.dispatchEvent(new Event(state))
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => state === 'hidden' })
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
  }, state)
}

const setStyle = ({ page }: Host, style: Partial<CSSStyleDeclaration>): Promise<void> =>
  page.evaluate((style) => void Object.assign(document.querySelector('main')!.style, style), style)

/** What ends a dwell while the ad stays where it is, and what ends that. */
const interruptions: Record<string, [(host: Host) => Promise<void>, (host: Host) => Promise<void>]> = {
  'a hidden tab': [(host) => setTab(host, 'hidden'), (host) => setTab(host, 'visible')],
  'a page that freezes, whatever else it reports': [(host) => setTab(host, 'freeze'), async () => {}],
  'visibility: hidden on an ancestor': [
    (host) => setStyle(host, { visibility: 'hidden' }),
    (host) => setStyle(host, { visibility: '' }),
  ],
  'opacity: 0 on an ancestor': [(host) => setStyle(host, { opacity: '0' }), (host) => setStyle(host, { opacity: '' })],
  'display: none on an ancestor': [
    (host) => setStyle(host, { display: 'none' }),
    (host) => setStyle(host, { display: '' }),
  ],
}

/**
 * Resolves when each observer of visibility has looked at the page again: they do so every 100 ms of the browser's time, which does
 * not stand still. This one does every 200 ms, and is told of a change.
 */
function untilObserved(page: Page): Promise<void> {
  return page.evaluate(
    () =>
      new Promise<void>((resolve) => {
        const probe = document.createElement('div')
        probe.style.cssText = 'position:fixed;right:0;bottom:0;width:1px;height:1px;z-index:9'
        const options: object = { trackVisibility: true, delay: 200 }
        const observer = new IntersectionObserver(() => {
          if (probe.style.opacity === '') {
            probe.style.opacity = '0.5'
            return
          }
          observer.disconnect()
          probe.remove()
          resolve()
        }, options)
        document.body.append(probe)
        observer.observe(probe)
      }),
  )
}

/** Returns the kinds that the page has reported as viewed. */
async function viewedOn(host: Host, slots: Record<Kind, string>): Promise<Kind[]> {
  const seen = (await host.events()).flatMap(({ type, slot_id }) => (type === 'visible' ? [slot_id] : []))
  return names.filter((kind) => seen.includes(slots[kind]))
}

/** Expects what the emulator has recorded of an ad and what it would bill, and that evidence has each beacon. */
async function expectRecorded(host: Host, slot_id: string, beacons: string[], would_bill: boolean): Promise<void> {
  const explained = await stage.client.placements.explain({ params: { slot_id } })
  const accepted = explained.beacons.filter(({ event }) => event !== 'heartbeat')
  expect(accepted.map(({ event, verdict }) => `${event} ${verdict}`).toSorted()).toEqual(
    beacons.map((event) => `${event} accepted`).toSorted(),
  )
  expect(explained.billing).toMatchObject({ metric: 'viewable_impression', would_bill })
  expect(explained.evidence.map(({ kind }) => kind)).toEqual(['decision', ...explained.beacons.map(() => 'beacon')])
  const emitted = (await host.events()).filter((event) => event.slot_id === slot_id)
  expect(emitted.filter(({ type }) => type === 'visible')).toHaveLength(would_bill ? 1 : 0)
}

/** Returns the bodies of the beacons that the page has sent, accepted or not. */
function sentBy(host: Host): BeaconRequest[] {
  return beaconPosts(host).map((request) => request.postDataJSON() as BeaconRequest)
}

/** Counts as many pages do instead of measuring a dwell: a timer starts with the view, and when it fires, the last ratio decides. */
async function countByNaiveTimer(page: Page, target: string): Promise<() => Promise<number>> {
  await page.evaluate((target) => {
    let ratio = 0
    let views = 0
    const count = (): void => {
      if (ratio >= 0.5) views += 1
      Object.assign(window, { naive_views: views })
    }
    const look = (entries: IntersectionObserverEntry[]): void => {
      ratio = entries.at(-1)!.intersectionRatio
      if (ratio >= 0.5) setTimeout(count, 1_000)
    }
    new IntersectionObserver(look, { threshold: 0.5 }).observe(
      window.findAll('iframe', document.querySelector(target)!)[0]!,
    )
  }, target)
  return () => page.evaluate(() => Number(Reflect.get(window, 'naive_views') ?? 0))
}

test('every format counts at its share and its dwell, not a millisecond before', async () => {
  const { host, slots } = await openBoxes()
  await using _ = host
  const viewed = () => viewedOn(host, slots)
  const naiveViews = await countByNaiveTimer(host.page, '#banner')

  await host.pass(3_000)
  await visit(host, 0.29, 2_000)
  await visit(host, 0.3, 999)
  expect(await viewed()).toEqual([])
  await visit(host, 0.3, 1_000)
  expect(await viewed()).toEqual(['large', 'zoomed'])

  await visit(host, 0.49, 5_000)
  await visit(host, 0.5, 999)
  await visit(host, 1, 999)
  expect(await naiveViews()).toBe(0)
  await show(host, 1, 600)
  await show(host, 0, 200)
  await visit(host, 1, 600)
  expect(await naiveViews()).toBeGreaterThan(0)
  for (const [name, [interrupt, resume]] of Object.entries(interruptions)) {
    await show(host, 1, 700)
    await interrupt(host)
    await untilObserved(host.page)
    await host.pass(300)
    await resume(host)
    await show(host, 1, 600)
    await show(host, 0, 1_200)
    expect([name, await viewed()]).toEqual([name, ['large', 'zoomed']])
  }
  await visit(host, 0.5, 1_000)
  expect(await viewed()).toEqual(['banner', 'list_item', 'card', 'large', 'squeezed', 'zoomed'])

  await host.emitted('beacon', { event: 'visible' }, 6)
  for (const kind of names) await expectRecorded(host, slots[kind], ['render', 'visible'], true)
  const visible = sentBy(host).filter(({ event }) => event === 'visible')
  for (const { slot_id, measurements } of visible) {
    const kind = names.find((name) => slots[name] === slot_id)!
    const { width, height } = (await host.page.locator(`#${kind} iframe`).boundingBox())!
    expect([kind, measurements]).toEqual([
      kind,
      {
        visible_ratio: expect.closeTo(kind === 'large' || kind === 'zoomed' ? 0.3 : 0.5, 2),
        visible_ms: 1_000,
        visibility_check: expect.stringMatching(/^(observer_v2|hit_test)$/),
        width_px: Math.round(width),
        height_px: Math.round(height),
        page_visible: true,
      },
    ])
  }
})

test('a clip counts after two seconds of playing with half of it in view', { tags: 'depth' }, async () => {
  const { host, slot_id } = await openBox(clip)
  await using _ = host
  await visit(host, 0.49, 5_000)
  expect(await host.types()).not.toContain('play_started')
  await bring(host, 0.5)
  await host.emitted('play_started')
  // It would end before its last exposure.
  await host.page
    .frameLocator('iframe')
    .locator('video')
    .evaluate((video: HTMLVideoElement) => {
      video.playbackRate = 0.1
    })
  await visit(host, 0.5, 1_900)
  await visit(host, 1, 1_200)
  await show(host, 1, 1_200)
  await setTab(host, 'hidden')
  await host.pass(1_400)
  await setTab(host, 'visible')
  await visit(host, 1, 1_200)
  await host.emitted('beacon', { event: 'play_started' })
  await expectRecorded(host, slot_id, ['render', 'play_started'], false)
  await show(host, 0.5, 2_500)
  await host.emitted('beacon', { event: 'visible' })
  await expectRecorded(host, slot_id, ['render', 'play_started', 'visible'], true)
  const { measurements } = sentBy(host).find(({ event }) => event === 'visible')!
  expect(measurements).toMatchObject({
    visible_ratio: expect.closeTo(0.5, 2),
    width_px: 320,
    height_px: 180,
    position_ms: expect.any(Number),
    duration_ms: clip_ms,
    muted: true,
  })
  expect(measurements?.visible_ms).toBeGreaterThanOrEqual(2_000)
})

describe.concurrent('a dwell', () => {
  test('does not take the time of a blocked main thread, and goes on after it', async () => {
    const { host, slot_id } = await openBox(kinds.banner)
    await using _ = host
    await show(host, 1, 300)
    await host.page.evaluate(() => window.blockTime(600))
    await host.pass(600)
    await expectRecorded(host, slot_id, ['render'], false)
    await host.pass(100)
    await host.emitted('beacon', { event: 'visible' })
    await expectRecorded(host, slot_id, ['render', 'visible'], true)
  })

  test('ends when its own frame is taken out, and a frame put back is not the same ad', { tags: 'depth' }, async () => {
    const { host, slot_id } = await openBox(kinds.banner)
    await using _ = host
    await show(host, 1, 900)
    await host.page.evaluate(() => {
      const frame = window.findAll('iframe')[0]!
      const root = frame.getRootNode() as ShadowRoot
      frame.remove()
      if (root.host.isConnected) root.append(frame)
    })
    await host.emitted('cleared')
    await host.pass(2_000)
    expect(await host.page.locator('[data-sp-label], iframe').count()).toBe(0)
    await expectRecorded(host, slot_id, ['render'], false)
  })

  test('reports what is in view when it is met, not when it started', { tags: 'depth' }, async () => {
    const { host } = await openBox(kinds.banner)
    await using _ = host
    await show(host, 0.84, 400)
    await show(host, 0.81, 600)
    await host.emitted('beacon', { event: 'visible' })
    const visible = sentBy(host).find(({ event }) => event === 'visible')
    expect(visible?.measurements?.visible_ratio).toBeCloseTo(0.81, 2)
  })

  test('is measured by hit tests where the browser has no IntersectionObserver v2', { tags: 'depth' }, async () => {
    const { host } = await openBox(kinds.banner, (page) =>
      page.addInitScript(() => Reflect.deleteProperty(IntersectionObserverEntry.prototype, 'isVisible')),
    )
    await using _ = host
    await show(host, 0.69, 1_000)
    await host.emitted('beacon', { event: 'visible', accepted: true })
    const visible = sentBy(host).find(({ event }) => event === 'visible')
    expect(visible?.measurements).toMatchObject({
      visibility_check: 'hit_test',
      visible_ratio: expect.closeTo(0.69, 1),
    })
  })
})

test("a project's own thresholds reach the page: what it reports as a view is what would be billed", async () => {
  using database = await databaseWith({ viewability: { ...viewability, ratio: 0.8, duration_ms: 3_000 } })
  await using own = await openStage({ demand: oneCampaign(), database: database.path })
  await using host = await own.open({ html: boxes(['slot']) })
  await host.show(kinds.banner)
  await host.emitted('beacon', { event: 'render' })
  await visit(host, 0.79, 5_000)
  await visit(host, 0.8, 2_999)
  expect((await host.events()).filter(({ type }) => type === 'visible')).toEqual([])
  await visit(host, 0.8, 3_000)
  await host.emitted('beacon', { event: 'visible' })
  const recorded = (await host.recorded()).filter(({ event }) => event === 'visible')
  expect(recorded.map(({ verdict, would_bill }) => [verdict, would_bill])).toEqual([['accepted', true]])
})

test('heartbeats come every 10 s while the tab is visible, and end after 30', async () => {
  const clock = manualClock(Date.now())
  await using other = await openStage({ demand: oneCampaign(), clock })
  await using host = await other.open()
  await host.show(kinds.banner)
  await host.emitted('beacon', { event: 'render' })
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await host.pass(ms)
  }
  for (let beat = 1; beat <= 32; beat += 1) {
    await pass(10_000)
    await host.emitted('beacon', { event: 'heartbeat' }, Math.min(beat, 30))
    if (beat !== 2) continue
    await setTab(host, 'hidden')
    await pass(30_000)
    await setTab(host, 'visible')
  }
  const beats = sentBy(host).filter(({ event }) => event === 'heartbeat')
  expect(beats.map(({ beacon_id }) => beacon_id.split(':').slice(1).join(':'))).toEqual(
    Array.from({ length: 30 }, (_, index) => `heartbeat:${index + 1}`),
  )
  const times = beats.map(({ occurred_at_ms }) => occurred_at_ms!)
  for (const [index, time] of times.slice(1).entries())
    expect(time - times[index]!).toBeGreaterThanOrEqual(index === 1 ? 40_000 : 10_000)
  const recorded = (await host.recorded()).filter(({ event }) => event === 'heartbeat')
  expect(recorded.map(({ verdict, would_bill }) => [verdict, would_bill])).toEqual(beats.map(() => ['accepted', false]))
})
