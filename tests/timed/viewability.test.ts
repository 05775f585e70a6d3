/**
 * Exposure by format, as a matrix: what was in view, for how long, what the page reported and what the emulator recorded.
 * Expectations are data. Over 300 lines because the matrix, its outcomes and the conditions of a dwell are one subject.
 */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BeaconRequest } from '#contract/resources/beacons.ts'
import type { EventType } from '#renderer/host/events.ts'
import { manualClock } from '#sandbox/index.ts'
import { clip_ms, oneCampaign } from '#tests/browser/campaign.ts'
import {
  attempts,
  countByNaiveTimer,
  type Exposed,
  expose,
  type MeasuredStep,
  type Step,
  scrollable,
} from '#tests/browser/exposure.ts'
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'

vi.setConfig({ maxConcurrency: 12 })

let stage: Stage

beforeAll(async () => {
  stage = await openStage({ demand: oneCampaign() })
})
afterAll(() => stage?.[Symbol.asyncDispose]())

interface Kind {
  place: PlaceOptions
  /** Time in view that makes it viewable, milliseconds. */
  dwell_ms: number
  slot?: string
}

const kinds = {
  banner: { place: { format: 'banner' }, dwell_ms: 1_000 },
  clip: { place: { format: 'clip', max_width: 320, max_height: 180 }, dwell_ms: 2_000 },
  list_item: { place: { format: 'native', native_template_id: 'list_item', max_width: 400 }, dwell_ms: 1_000 },
  card: { place: { format: 'native', native_template_id: 'card', max_width: 320 }, dwell_ms: 1_000 },
  /** 970 x 250: exactly 242 500 pixels, from where 30 % are enough. */
  large: { place: { format: 'banner', max_width: 970, max_height: 250 }, dwell_ms: 1_000 },
  /** The same in a column of 969 pixels, with its proportions: 242 000 pixels. */
  squeezed: {
    place: { format: 'banner', max_width: 970, max_height: 250 },
    dwell_ms: 1_000,
    slot: '<div id="slot" style="max-width:969px"></div>',
  },
  /** 300 x 250, displayed at twice its size: 300 000 pixels. */
  zoomed: { place: { format: 'banner' }, dwell_ms: 1_000, slot: '<div id="slot" style="zoom:2"></div>' },
} satisfies Record<string, Kind>
type KindName = keyof typeof kinds

interface Outcome {
  /** Events of the host page, in order. */
  events: EventType[]
  /** Beacons that the emulator recorded. */
  beacons: string[]
  billing: { metric: 'viewable_impression'; would_bill: boolean }
  evidence: ('decision' | 'beacon')[]
}

const unbilled = { metric: 'viewable_impression', would_bill: false } as const
const billed = { metric: 'viewable_impression', would_bill: true } as const

const outcomes = {
  /** Rendered, not viewed. */
  unseen: {
    events: ['rendered', 'beacon'],
    beacons: ['render accepted OK'],
    billing: unbilled,
    evidence: ['decision', 'beacon'],
  },
  viewed: {
    events: ['rendered', 'beacon', 'visible', 'beacon'],
    beacons: ['render accepted OK', 'visible accepted OK +viewable_impression'],
    billing: billed,
    evidence: ['decision', 'beacon', 'beacon'],
  },
  /** A clip that has played, but not been viewed. */
  started: {
    events: ['rendered', 'beacon', 'play_started', 'beacon'],
    beacons: ['render accepted OK', 'play_started accepted OK'],
    billing: unbilled,
    evidence: ['decision', 'beacon', 'beacon'],
  },
  watched: {
    events: ['rendered', 'beacon', 'play_started', 'beacon', 'visible', 'beacon'],
    beacons: ['render accepted OK', 'play_started accepted OK', 'visible accepted OK +viewable_impression'],
    billing: billed,
    evidence: ['decision', 'beacon', 'beacon', 'beacon'],
  },
  completed: {
    events: ['rendered', 'beacon', 'play_started', 'beacon', 'visible', 'beacon', 'play_completed', 'beacon'],
    beacons: [
      'render accepted OK',
      'play_started accepted OK',
      'visible accepted OK +viewable_impression',
      'play_completed accepted OK',
    ],
    billing: billed,
    evidence: ['decision', 'beacon', 'beacon', 'beacon', 'beacon'],
  },
} satisfies Record<string, Outcome>
type OutcomeName = keyof typeof outcomes

interface Row {
  exposure: string
  steps: readonly Step[]
  /** A naive timer counts it, which is a common bug. */
  naive_timer_counts?: true
  outcome: Partial<Record<KindName, OutcomeName>>
}

/** In view for a time, then out of view for long enough that a late count would show. */
const inView = (share: number, for_ms: number, away_ms = 300): Step[] => [
  { share, for_ms },
  { share: 0, for_ms: away_ms },
]

const visits = (for_ms: number): Step[] => [...inView(1, for_ms, 200), ...inView(1, for_ms, for_ms)]

const hiddenBetween = (for_ms: number): Step[] => [
  { share: 1, for_ms },
  { tab: 'hidden', for_ms: for_ms + 200 },
  { tab: 'visible', for_ms },
  { share: 0, for_ms: 300 },
]

const matrix: readonly Row[] = [
  {
    exposure: 'in view for 1.2 s',
    steps: inView(1, 1_200),
    outcome: { banner: 'viewed', clip: 'started', list_item: 'viewed', card: 'viewed', large: 'viewed' },
  },
  {
    exposure: 'in view for 2.5 s',
    steps: inView(1, 2_500),
    outcome: { banner: 'viewed', clip: 'watched', list_item: 'viewed', card: 'viewed' },
  },
  {
    exposure: 'watched to the end',
    steps: inView(1, clip_ms + 500),
    outcome: { banner: 'viewed', clip: 'completed', list_item: 'viewed' },
  },
  {
    exposure: '49 % for 5 s',
    steps: inView(0.49, 5_000),
    outcome: { banner: 'unseen', clip: 'unseen', list_item: 'unseen', card: 'unseen' },
  },
  {
    exposure: '50 % for 0.9 s, then away',
    steps: inView(0.5, 900, 1_200),
    outcome: { banner: 'unseen', clip: 'started', list_item: 'unseen', card: 'unseen', large: 'unseen' },
  },
  {
    exposure: '50 % for 1.9 s, then away',
    steps: inView(0.5, 1_900, 1_200),
    outcome: { banner: 'viewed', clip: 'started' },
  },
  {
    exposure: '50 % for 2.5 s',
    steps: inView(0.5, 2_500),
    outcome: { banner: 'viewed', clip: 'watched', list_item: 'viewed', card: 'viewed', squeezed: 'viewed' },
  },
  {
    exposure: '29 % for 2 s',
    steps: inView(0.29, 2_000),
    outcome: { large: 'unseen', squeezed: 'unseen', zoomed: 'unseen' },
  },
  {
    exposure: '30 % for 1.2 s',
    steps: inView(0.3, 1_200),
    outcome: { large: 'viewed', squeezed: 'unseen', banner: 'unseen', zoomed: 'viewed' },
  },
  {
    exposure: '30 % for 0.9 s, then away',
    steps: inView(0.3, 900, 1_200),
    outcome: { large: 'unseen' },
  },
  {
    exposure: '49 % for 1.2 s',
    steps: inView(0.49, 1_200),
    outcome: { large: 'viewed', squeezed: 'unseen', banner: 'unseen' },
  },
  {
    exposure: 'two visits of 0.6 s',
    steps: visits(600),
    naive_timer_counts: true,
    outcome: { banner: 'unseen', list_item: 'unseen', card: 'unseen', large: 'unseen' },
  },
  {
    exposure: 'two visits of 1.2 s',
    steps: visits(1_200),
    naive_timer_counts: true,
    outcome: { clip: 'started' },
  },
  {
    exposure: 'tab hidden for 0.8 s between two times of 0.6 s',
    steps: hiddenBetween(600),
    naive_timer_counts: true,
    outcome: { banner: 'unseen', list_item: 'unseen', card: 'unseen', large: 'unseen' },
  },
  {
    exposure: 'tab hidden for 1.4 s between two times of 1.2 s',
    steps: hiddenBetween(1_200),
    naive_timer_counts: true,
    outcome: { clip: 'started' },
  },
  {
    exposure: 'never scrolled to',
    steps: [{ share: 0, for_ms: 1_500 }],
    outcome: { banner: 'unseen', clip: 'unseen', list_item: 'unseen', card: 'unseen', large: 'unseen' },
  },
]

const cases = matrix.flatMap((row) =>
  (Object.keys(row.outcome) as KindName[]).map((kind) => ({ ...row, kind, outcome: row.outcome[kind]! })),
)

describe.concurrent('exposure', () => {
  test.each(cases)('$exposure, $kind: $outcome', async ({ kind, steps, outcome, naive_timer_counts }) => {
    const { dwell_ms, place } = kinds[kind]
    const isClip = place.format === 'clip'
    const [first, ...rest] = steps
    const isPlayed = isClip && outcome !== 'unseen'
    const until = outcome === 'completed' ? { until_completed: true as const } : {}
    const played = isPlayed ? [{ ...first!, once_playing: true as const, ...until }, ...rest] : steps
    const fits = (measured_steps: readonly MeasuredStep[]) =>
      mismatch(played, measured_steps, dwell_ms, outcomes[outcome].billing.would_bill)
    await attempt(kinds[kind], played, fits, async (host, slot_id, { measured_steps, naive_views }) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes[outcome])
      if (naive_timer_counts) expect(naive_views).toBeGreaterThan(0)
      const visible = (await beaconsSent(host)).find(({ event }) => event === 'visible')
      if (!visible) return
      const { width, height } = (await host.page.locator('iframe').boundingBox())!
      const { visible_ms, ...measured } = visible.measurements!
      expect(measured).toEqual({
        visible_ratio: expect.closeTo(measured_steps[0]!.share, 2),
        visibility_check: expect.stringMatching(/^(observer_v2|hit_test)$/),
        width_px: Math.round(width),
        height_px: Math.round(height),
        page_visible: true,
        ...(isClip && { position_ms: expect.any(Number), duration_ms: clip_ms, muted: true }),
      })
      expect(visible_ms).toBeGreaterThanOrEqual(dwell_ms)
      expect(visible_ms).toBeLessThan(dwell_ms + 400)
    })
  })
})

describe.concurrent('a dwell starts again', () => {
  const again: Record<string, { away: Partial<Step>; back: Partial<Step> }> = {
    'visibility: hidden on an ancestor': {
      away: { style: { visibility: 'hidden' } },
      back: { style: { visibility: '' } },
    },
    'opacity: 0 on an ancestor': { away: { style: { opacity: '0' } }, back: { style: { opacity: '' } } },
    'display: none on an ancestor': {
      away: { style: { display: 'none' } },
      back: { style: { display: '' }, share: 1 },
    },
    'a hidden tab': { away: { tab: 'hidden' }, back: { tab: 'visible' } },
    'a tab that was hidden and frozen': {
      away: { tab: 'hidden', event: 'freeze' },
      back: { tab: 'visible', event: 'resume' },
    },
  }
  const each = Object.entries(again).map(([name, parts]) => ({ name, ...parts }))

  test.each(each)('after $name: 0.7 s before and 0.7 s after it do not add up', async ({ away, back }) => {
    const steps = [
      { share: 1, for_ms: 700 },
      { ...away, for_ms: 300 },
      { ...back, for_ms: 700 },
      { share: 0, for_ms: 400 },
    ]
    const fits = (measured_steps: readonly MeasuredStep[]) => mismatch(steps, measured_steps, 1_000, false)
    await attempt(kinds.banner, steps, fits, async (host, slot_id) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes.unseen)
    })
  })

  test.each(each)('after $name: a whole dwell afterwards counts', async ({ away, back }) => {
    const steps = [
      { share: 1, for_ms: 500 },
      { ...away, for_ms: 300 },
      { ...back, for_ms: 2_000 },
    ]
    const fits = (measured_steps: readonly MeasuredStep[]) => mismatch(steps, measured_steps, 1_000, true)
    await attempt(kinds.banner, steps, fits, async (host, slot_id) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes.viewed)
      const [visible] = (await beaconsSent(host)).filter(({ event }) => event === 'visible')
      expect(visible?.measurements).toMatchObject({ visible_ratio: 1, page_visible: true })
      expect(visible?.measurements?.visible_ms).toBeLessThan(1_400)
    })
  })
})

describe.concurrent('a dwell', () => {
  test('starts again when the page freezes, whatever else it reports', async () => {
    const steps: Step[] = [
      { share: 1, for_ms: 700 },
      { event: 'freeze', for_ms: 700 },
      { share: 0, for_ms: 400 },
    ]
    const fits = (measured_steps: readonly MeasuredStep[]) => mismatch(steps, measured_steps, 1_000, false)
    await attempt(kinds.banner, steps, fits, async (host, slot_id) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes.unseen)
    })
  })

  test('does not take the time of a blocked main thread: 1.2 s in view, 0.6 s of them blocked', async () => {
    const steps = [
      { share: 1, for_ms: 300 },
      { busy_ms: 600, for_ms: 900 },
      { share: 0, for_ms: 1_200 },
    ]
    const fits = ([before, blocked]: readonly MeasuredStep[]) =>
      before!.at_most_ms + blocked!.at_most_ms - 600 < 1_000 ? null : 'in view for too long'
    await attempt(kinds.banner, steps, fits, async (host, slot_id) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes.unseen)
    })
  })

  test('goes on after a blocked main thread', async () => {
    const steps = [
      { share: 1, for_ms: 300 },
      { busy_ms: 600, for_ms: 2_200 },
    ]
    const fits = (measured_steps: readonly MeasuredStep[]) => mismatch(steps, measured_steps, 1_000, true)
    await attempt(kinds.banner, steps, fits, async (host, slot_id) => {
      expect(await outcomeOf(host, slot_id)).toEqual(outcomes.viewed)
    })
  })

  test('ends when its own frame is taken out, and a frame put back is not the same ad', async () => {
    await attempts(async () => {
      await using host = await open(kinds.banner)
      await host.show(kinds.banner.place)
      await host.waitForEvent('beacon', { event: 'render' })
      const seen_ms = await host.page.evaluate(async () => {
        const frame = window.findAll('iframe')[0]!
        const parent = frame.parentNode as ShadowRoot
        const since = performance.now()
        frame.scrollIntoView()
        await new Promise((resolve) => setTimeout(resolve, 500))
        frame.remove()
        setTimeout(() => parent.host.isConnected && parent.append(frame), 1_000)
        return performance.now() - since
      })
      if (seen_ms >= 1_000) return `taken out after ${seen_ms} ms`
      expect(await host.waitForEvent('cleared')).toBeDefined()
      expect(await host.page.locator('[data-sp-label]').count()).toBe(0)
      expect(await host.ledger()).toEqual(outcomes.unseen.beacons)
      expect(await host.types()).not.toContain('visible')
      return null
    })
  })

  test('ends with the page that is left', async () => {
    await attempts(async () => {
      await using host = await open(kinds.banner)
      const { slot_id } = await host.show(kinds.banner.place)
      await host.waitForEvent('beacon', { event: 'render' })
      await host.page.evaluate(() => {
        const since = performance.now()
        addEventListener('pagehide', () => sessionStorage.setItem('in view', `${performance.now() - since}`))
        window.findAll('iframe')[0]!.scrollIntoView()
        setTimeout(() => location.assign(`${location.pathname}?left`), 500)
      })
      await host.page.waitForURL('**?left')
      const seen_ms = await host.page.evaluate(() => Number(sessionStorage.getItem('in view')))
      if (seen_ms >= 1_000) return `left after ${seen_ms} ms`
      await host.page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 700)))
      expect(seen_ms).toBeGreaterThan(0)
      expect(await host.ledger()).toEqual(outcomes.unseen.beacons)
      const { billing } = await stage.client.placements.explain({ params: { slot_id } })
      expect(billing).toMatchObject(unbilled)
      return null
    })
  })

  test('reports what is in view when the dwell is met, not when it started', async () => {
    const steps = [
      { share: 0.84, for_ms: 400 },
      { share: 0.81, for_ms: 2_000 },
    ]
    const fits = (measured_steps: readonly MeasuredStep[]) =>
      measured_steps[0]!.at_most_ms < 900 ? null : 'the first part took too long'
    await attempt(kinds.banner, steps, fits, async (host) => {
      const visible = (await beaconsSent(host)).find(({ event }) => event === 'visible')
      expect(visible?.measurements?.visible_ratio).toBeCloseTo(0.81, 2)
    })
  })

  test('in a box that cuts the ad off is measured by hit tests where the browser has no IntersectionObserver v2', async () => {
    await using host = await stage.open({
      html: '<div style="height:200px;overflow:auto"><div id="slot"></div></div>',
      before: (page) =>
        page.addInitScript(() => Reflect.deleteProperty(IntersectionObserverEntry.prototype, 'isVisible')),
    })
    await host.show(kinds.banner.place)
    await host.waitForEvent('beacon', { event: 'visible', accepted: true })
    const visible = (await beaconsSent(host)).find(({ event }) => event === 'visible')
    expect(visible?.measurements).toMatchObject({
      visibility_check: 'hit_test',
      visible_ratio: expect.closeTo(0.69, 1),
    })
  })

  test('cannot be measured without IntersectionObserver: an error, and never a visible beacon', async () => {
    await using host = await stage.open({
      html: '<div id="around"><div id="slot"></div></div>',
      before: (page) => page.addInitScript(() => Reflect.deleteProperty(window, 'IntersectionObserver')),
    })
    const { slot_id } = await host.show(kinds.banner.place)
    expect(await host.waitForEvent('error')).toMatchObject({ code: 'unmeasurable' })
    await host.waitForEvent('beacon', { event: 'render' })
    await expose(host.page, [{ for_ms: 1_500 }])
    expect(await outcomeOf(host, slot_id)).toEqual({
      ...outcomes.unseen,
      events: ['error', ...outcomes.unseen.events],
    })
    expect(host.console_lines).toEqual([expect.stringContaining('[sponsored placement] error: unmeasurable')])
  })
})

describe.concurrent('beacons in time', () => {
  test('heartbeats come every 10 s while the tab is visible, and end after 30', async () => {
    const clock = manualClock(Date.now())
    await using other = await openStage({ demand: oneCampaign(), clock })
    await using host = await other.open({ before: (page) => page.clock.install() })
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render' })
    await pauseClock(host.page)
    const pass = async (ms: number): Promise<void> => {
      clock.advance(ms)
      await host.page.clock.runFor(ms)
    }
    const setTab = (tab: 'hidden' | 'visible'): Promise<void> =>
      host.page.evaluate((tab) => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => tab })
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
      }, tab)

    for (let beat = 1; beat <= 2; beat += 1) {
      await pass(10_000)
      await host.waitForEvent('beacon', { event: 'heartbeat' }, beat)
    }
    await setTab('hidden')
    await pass(30_000)
    await setTab('visible')
    for (let beat = 3; beat <= 30; beat += 1) {
      await pass(10_000)
      await host.waitForEvent('beacon', { event: 'heartbeat' }, beat)
    }
    for (let more = 0; more < 3; more += 1) await pass(10_000)
    // A request after the last interval follows anything that was sent in it.
    await host.page.evaluate((url) => fetch(`${url}/v1/render.js`).then(() => undefined), other.sandbox.url)
    const beats = (await beaconsSent(host)).filter(({ event }) => event === 'heartbeat')
    expect(beats.map(({ beacon_id }) => beacon_id.split(':').slice(1).join(':'))).toEqual(
      Array.from({ length: 30 }, (_, index) => `heartbeat:${index + 1}`),
    )
    const times = beats.map(({ occurred_at_ms }) => occurred_at_ms!)
    const steps = times.slice(1).map((time, index) => Math.round((time - times[index]!) / 1_000))
    expect(steps).toEqual(steps.map((_, index) => (index === 1 ? 40 : 10)))
    const recorded = (await host.recorded()).filter(({ event }) => event === 'heartbeat')
    expect(recorded.map(({ verdict, would_bill }) => [verdict, would_bill])).toEqual(
      recorded.map(() => ['accepted', false]),
    )
    expect(recorded).toHaveLength(30)
  })

  test('one that waits for another try goes out at once when the tab is hidden', async () => {
    await using host = await stage.open({ before: (page) => page.clock.install() })
    await host.show({ format: 'banner' })
    await host.waitForEvent('beacon', { event: 'render' })
    await pauseClock(host.page)
    await host.page.route(
      '**/v1/beacons',
      (route) => route.fulfill({ status: 503, headers: { 'access-control-allow-origin': stage.host_url }, json: {} }),
      { times: 1 },
    )
    const refused = host.page.waitForResponse((response) => response.status() === 503)
    await host.page.frameLocator('iframe').getByRole('link').click()
    await (await refused).finished()
    await host.page.evaluate(() => {
      // The clock of the page stands still: nothing but the hidden tab can end the wait.
      return new Promise<void>((resolve) => {
        const channel = new MessageChannel()
        channel.port1.onmessage = () => {
          Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' })
          document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
          resolve()
        }
        channel.port2.postMessage(null)
      })
    })
    expect(await host.waitForEvent('beacon', { event: 'click' })).toMatchObject({ accepted: true })
    const clicks = (await beaconsSent(host)).filter(({ event }) => event === 'click')
    expect(clicks).toHaveLength(2)
    expect(new Set(clicks.map(({ beacon_id }) => beacon_id)).size).toBe(1)
  })
})

function open({ slot }: Kind): Promise<Host> {
  return stage.open({ html: scrollable(slot), context: { viewport: { width: 1_100, height: 700 } } })
}

/** Stops the clock of a page at most a second from now. A busy host needs more than one attempt. */
async function pauseClock(page: Page): Promise<void> {
  const isLate = await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1_000)).then(
    () => false,
    (error: unknown) => {
      if (String(error).includes('fast-forward to the past')) return true
      throw error
    },
  )
  if (isLate) await pauseClock(page)
}

/** Exposes new placements until the measured exposure matches the planned one, then checks the result. */
async function attempt(
  kind: Kind,
  steps: readonly Step[],
  mismatch: (measured_steps: readonly MeasuredStep[]) => string | null,
  check: (host: Host, slot_id: string, exposed: Exposed) => Promise<void>,
): Promise<void> {
  await attempts(async () => {
    await using host = await open(kind)
    const { slot_id } = await host.show(kind.place)
    await host.waitForEvent('beacon', { event: 'render' })
    await countByNaiveTimer(host.page, kind.dwell_ms)
    const exposed = await expose(host.page, steps)
    const problem = mismatch(exposed.measured_steps)
    if (problem === null) await check(host, slot_id, exposed)
    return problem
  })
}

/**
 * Returns why the measured exposure differs from the planned one, or null. One that must not count has to end before the
 * dwell is met. One that must count has to last, without gaps that the renderer discards.
 */
function mismatch(
  steps: readonly Step[],
  measured_steps: readonly MeasuredStep[],
  dwell_ms: number,
  isCounted: boolean,
): string | null {
  for (const [index, { for_ms }] of steps.entries()) {
    const { at_most_ms, at_least_ms, longest_gap_ms } = measured_steps[index]!
    const surplus_ms = for_ms - dwell_ms
    if (surplus_ms < 0 && at_most_ms >= dwell_ms && index + 1 < steps.length)
      return `${at_most_ms} ms instead of ${for_ms}`
    const slack_ms = Math.min(surplus_ms / 2, 350)
    if (!isCounted || surplus_ms <= 0) continue
    if (at_least_ms < for_ms - slack_ms) return `${at_least_ms} ms instead of ${for_ms}`
    if (longest_gap_ms > slack_ms) return `a gap of ${longest_gap_ms} ms`
  }
  return null
}

/** Returns the outcome of a placement, without heartbeats, after every beacon of the page has its response. */
async function outcomeOf(host: Host, slot_id: string): Promise<Outcome> {
  await host.page.waitForFunction(
    () => {
      const events = window.SponsoredPlacement!.getEvents()
      const sent = events.filter(({ type }) => ['rendered', 'visible', 'play_started', 'play_completed'].includes(type))
      const answered = events.filter((event) => event.type === 'beacon' && event.event !== 'heartbeat')
      return answered.length >= sent.length
    },
    undefined,
    { polling: 50 },
  )
  const { billing, evidence, beacons } = await stage.client.placements.explain({ params: { slot_id } })
  const { metric, would_bill } = billing!
  const heartbeats = beacons.filter(({ event }) => event === 'heartbeat').length
  const emitted = (await host.events()).filter((event) => event.type !== 'beacon' || event.event !== 'heartbeat')
  return {
    events: emitted.map(({ type }) => type),
    beacons: await host.ledger(),
    billing: { metric, would_bill } as Outcome['billing'],
    evidence: evidence.map(({ kind }) => kind).slice(0, evidence.length - heartbeats) as Outcome['evidence'],
  }
}

/** Returns the bodies of the beacons that the page has sent, accepted or not. */
async function beaconsSent(host: Host): Promise<BeaconRequest[]> {
  return host.requests
    .filter((request) => request.method() === 'POST' && request.url().endsWith('/v1/beacons'))
    .map((request) => request.postDataJSON() as BeaconRequest)
}
