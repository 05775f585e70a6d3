import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildRenderer } from '../../build/renderer.ts'
import type { Creative } from '../../sandbox/http/frame-page.ts'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import type { EventType, RendererEvent } from '../../sandbox/renderer/host/events.ts'
import type { BeaconEvent } from '../../src/contract/v1/beacons.ts'
import { launchChromium } from './chromium.ts'
import { grantedConsent, openStage, type Stage } from './stage.ts'

let scripts: string
let browser: Browser
let context: BrowserContext
let stage: Stage
let page: Page
let console_lines: string[]

beforeAll(async () => {
  scripts = await mkdtemp(join(tmpdir(), 'renderer-'))
  await buildRenderer(scripts)
  stage = await openStage(scripts)
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  await stage?.close()
  await rm(scripts, { recursive: true })
})

beforeEach(async () => {
  stage.beacons.length = 0
  stage.posts.length = 0
  stage.answers.length = 0
  console_lines = []
  context = await browser.newContext({ viewport: { width: 800, height: 700 } })
  page = await context.newPage()
  page.on('console', (message) => console_lines.push(`${message.type()}: ${message.text()}`))
  page.on('pageerror', (error) => console_lines.push(`pageerror: ${error.message}`))
  await page.goto(stage.host_url)
})

afterEach(() => context.close())

const banner = (): Creative => ({
  format: 'banner',
  image_url: stage.asset('test-assets/banner-300x250.png'),
  width: 300,
  height: 250,
})
const clip = (): Creative => ({
  format: 'clip',
  video_url: stage.asset('test-assets/clip-320x180-6s.mp4'),
  poster_url: stage.asset('test-assets/clip-320x180-6s.webp'),
  width: 320,
  height: 180,
  duration_ms: 6_000,
})
const native = (): Creative => ({
  format: 'native',
  template_id: 'card',
  width: 320,
  height: 360,
  assets: {
    title: 'Coffee roasted on Monday, brewed on Wednesday',
    description: 'Tell us how you brew. We send beans to match.',
    cta_text: 'Get a free bag',
    image_url: stage.asset('creatives/larkfield-coffee/native.webp'),
    icon_url: stage.asset('creatives/larkfield-coffee/icon.webp'),
  },
})

/** Mounts a response on the host page. */
async function render(response: unknown): Promise<boolean> {
  return page.evaluate(
    (response) => window.SponsoredPlacement!.renderPlacement({ target: '#slot', response } as never) !== null,
    response,
  )
}

async function events(): Promise<RendererEvent[]> {
  return page.evaluate(() => window.SponsoredPlacement!.getEvents())
}

async function types(): Promise<string[]> {
  return (await events()).map(({ type }) => type)
}

/** The first event of a type, once it has come. */
async function event<T extends EventType>(type: T, timeout = 8_000): Promise<RendererEvent<T>> {
  await page.waitForFunction(
    (type) => window.SponsoredPlacement!.getEvents().some((event) => event.type === type),
    type,
    { timeout, polling: 50 },
  )
  return (await events()).find((event) => event.type === type) as RendererEvent<T>
}

/** The accepted beacon of a kind, once the page knows that it was accepted. */
async function beacon(kind: BeaconEvent) {
  await page.waitForFunction(
    (kind) => window.SponsoredPlacement!.getEvents().some((event) => event.type === 'beacon' && event.event === kind),
    kind,
    { polling: 50 },
  )
  return stage.beacons.find(({ event }) => event === kind)
}

/** Runs in the page before anything else: counts what has been opened there and not closed. */
function countWhatIsOpen(): void {
  const open = { timers: new Set<unknown>(), observers: new Set<unknown>(), listeners: 0, ports: 0 }
  for (const [start, stop] of [
    ['setTimeout', 'clearTimeout'],
    ['setInterval', 'clearInterval'],
  ] as const) {
    const starting = window[start] as (...given: unknown[]) => number
    const stopping = window[stop] as (id?: number) => void
    const repeats = start === 'setInterval'
    Object.assign(window, {
      [start]: (work: () => void, ms: number) => {
        const id = starting(() => {
          if (!repeats) open.timers.delete(id)
          work()
        }, ms)
        open.timers.add(id)
        return id
      },
      [stop]: (id: number) => {
        open.timers.delete(id)
        stopping(id)
      },
    })
  }
  for (const { prototype } of [IntersectionObserver, MutationObserver, ResizeObserver]) {
    const { observe, disconnect } = prototype
    prototype.observe = function (this: unknown, ...given: unknown[]) {
      open.observers.add(this)
      return (observe as (...given: unknown[]) => void).apply(this, given)
    } as never
    prototype.disconnect = function () {
      open.observers.delete(this)
      disconnect.call(this as never)
    }
  }
  const add = EventTarget.prototype.addEventListener
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    if (this === window || this === document) {
      open.listeners += 1
      const signal = typeof options === 'object' ? options.signal : undefined
      if (signal) add.call(signal, 'abort', () => (open.listeners -= 1))
    }
    add.call(this, type, listener, options)
  }
  const { close } = MessagePort.prototype
  const Channel = MessageChannel
  window.MessageChannel = class extends Channel {
    constructor() {
      super()
      open.ports += 1
    }
  }
  MessagePort.prototype.close = function () {
    open.ports -= 1
    close.call(this)
  }
  Object.assign(window, {
    open_things: () => ({
      timers: open.timers.size,
      observers: open.observers.size,
      listeners: open.listeners,
      ports: open.ports,
      nodes: document.querySelectorAll('*').length,
    }),
  })
}

const settle = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe('each format', () => {
  test('a banner is rendered, then visible, and tells so with beacons', async () => {
    const response = stage.fill({ creative: banner(), is_test: true })
    expect(await render(response)).toBe(true)
    await event('visible')
    const rendered = await beacon('render')
    const visible = await beacon('visible')
    expect(await types()).toEqual(['rendered', 'beacon', 'visible', 'beacon'])
    expect(rendered).toMatchObject({
      asset_token: response.placement?.asset_token,
      slot_id: response.slot_id,
      event: 'render',
      consent_revision: 1,
      seq: 0,
      measurements: { width_px: 300, height_px: 250, page_visible: true },
    })
    expect(rendered?.beacon_id).toBe(`${rendered?.render_instance_id}:render`)
    expect(visible?.measurements).toMatchObject({ visible_ratio: 1, width_px: 300, height_px: 250, page_visible: true })
    expect(visible?.measurements?.visible_ms).toBeGreaterThanOrEqual(1_000)
    expect(visible?.measurements?.visible_ms).toBeLessThan(1_500)
    expect(stage.posts[0]?.authorization).toBe('Bearer bt_1_secret')
    expect(console_lines).toEqual([])
  })

  test('a native card takes the height of its content', async () => {
    await render(stage.fill({ creative: native() }))
    await beacon('render')
    await beacon('visible')
    const { frame, card } = await page.evaluate(() => {
      const frame = document.querySelector('iframe')!
      return { frame: frame.getBoundingClientRect().height, card: frame.style.height }
    })
    expect(card).toBe(`${frame}px`)
    expect(console_lines).toEqual([])
  })

  test('a native card is laid out short where its slot has less room, and keeps its call to action', async () => {
    stage.backend.set('short', stage.fill({ creative: native() }))
    await page.evaluate(() =>
      window.SponsoredPlacement!.startTurn({
        target: '#slot',
        endpoint: '/api/placement',
        body: { case: 'short', slot_hint: { max_height: 180 } },
      }),
    )
    await beacon('render')
    expect(await page.locator('iframe').evaluate((frame) => frame.getBoundingClientRect().height)).toBe(180)
    const cta = page.frameLocator('iframe').getByText('Get a free bag')
    await page.frameLocator('iframe').locator('html.short').waitFor()
    const inside = await cta.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight)
    expect(inside).toBe(true)
  })

  test('a clip plays muted and is completed only when it has really played', async () => {
    await render(stage.fill({ creative: clip() }))
    await event('play_started')
    const visible = await beacon('visible')
    expect(visible?.measurements?.visible_ms).toBeGreaterThanOrEqual(2_000)
    expect(visible?.measurements?.muted).toBe(true)
    await event('play_completed', 12_000)
    const completed = await beacon('play_completed')
    expect(completed?.measurements?.duration_ms).toBe(6_000)
    expect(stage.beacons.map(({ event }) => event)).toEqual(['render', 'play_started', 'visible', 'play_completed'])
    expect(console_lines).toEqual([])
  })

  test('a clip that may not start by itself shows a play button and starts by hand', async () => {
    await context.addInitScript(() => {
      const play = HTMLMediaElement.prototype.play
      HTMLMediaElement.prototype.play = function (this: HTMLMediaElement) {
        if (navigator.userActivation.isActive) return play.call(this)
        return Promise.reject(new DOMException('play() failed', 'NotAllowedError'))
      }
    })
    await page.reload()
    await render(stage.fill({ creative: clip() }))
    expect(await event('error')).toMatchObject({ code: 'autoplay_blocked' })
    expect(await beacon('render')).toBeDefined()
    expect(await types()).not.toContain('play_started')
    await page.frameLocator('iframe').getByRole('button', { name: 'Play' }).click()
    await event('play_started')
  })
})

describe('the host page', () => {
  test('has one isolated frame, and draws the label outside of it', async () => {
    await render(stage.fill({ creative: banner() }))
    await event('rendered')
    const attributes = await page.evaluate(() => {
      const frame = document.querySelector('iframe')!
      return Object.fromEntries([...frame.attributes].map(({ name, value }) => [name, value]))
    })
    expect({ ...attributes, src: '', style: '' }).toEqual({
      title: 'Sponsored: Larkfield Coffee',
      sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
      referrerpolicy: 'no-referrer',
      allow: 'autoplay',
      loading: 'eager',
      width: '300',
      height: '250',
      src: '',
      style: '',
    })
    expect(await page.locator('[data-sp-label]').textContent()).toBe('Sponsored · Larkfield Coffee')
  })

  test('gets its label back when something removes or hides it', async () => {
    await render(stage.fill({ creative: banner() }))
    const label = page.locator('[data-sp-label]')
    await label.evaluate((element) => element.remove())
    expect(await label.textContent()).toBe('Sponsored · Larkfield Coffee')
    await label.evaluate((element) => element.style.setProperty('display', 'none', 'important'))
    expect(await label.isVisible()).toBe(true)
  })

  test('keeps the aspect ratio where there is less room', async () => {
    await page.setViewportSize({ width: 232, height: 600 })
    await render(stage.fill({ creative: banner() }))
    const box = await page.locator('iframe').boundingBox()
    expect(box?.width).toBe(200)
    expect(box?.height).toBeCloseTo(200 * (250 / 300), 1)
  })

  test('a click opens the landing page outside the sandbox and counts once', async () => {
    await render(stage.fill({ creative: banner() }))
    await event('rendered')
    const link = page.frameLocator('iframe').getByRole('link')
    const [landing] = await Promise.all([context.waitForEvent('page'), link.click()])
    await landing.waitForLoadState()
    expect(landing.url()).toBe(`${stage.host_url}/landing`)
    expect(await landing.evaluate(() => ({ origin: self.origin, opener: window.opener }))).toEqual({
      origin: stage.host_url,
      opener: null,
    })
    await landing.close()
    await Promise.all([context.waitForEvent('page'), link.click({ button: 'middle' })])
    expect((await beacon('click'))?.measurements?.user_activated).toBe(true)
    expect((await types()).filter((type) => type === 'click')).toHaveLength(1)
    expect(stage.beacons.filter(({ event }) => event === 'click')).toHaveLength(1)
  })

  test('a placement below the fold is rendered, but visible only once it has been scrolled to', async () => {
    await page.evaluate(() => {
      document.querySelector<HTMLElement>('#slot')!.style.marginTop = '2000px'
    })
    await render(stage.fill({ creative: banner() }))
    await beacon('render')
    await settle(1_500)
    expect(await types()).not.toContain('visible')
    await page.evaluate(() => document.querySelector('iframe')!.scrollIntoView())
    await beacon('visible')
  })

  test('clearing leaves nothing behind', async () => {
    await render(stage.fill({ creative: banner() }))
    await event('rendered')
    await page.evaluate(() => window.SponsoredPlacement!.clearPlacement({ target: '#slot' }))
    expect(await page.evaluate(() => document.querySelector('#slot')!.childNodes.length)).toBe(0)
    expect(await page.evaluate(() => window.SponsoredPlacement!.state().occupied)).toBe(0)
    await settle(1_200)
    expect(await types()).not.toContain('visible')
    expect((await types()).filter((type) => type === 'cleared')).toHaveLength(1)
  })

  test('after many turns no timer, observer, listener or port is left over', async () => {
    await context.addInitScript(countWhatIsOpen)
    await page.reload()
    const responses = Array.from({ length: 50 }, () => stage.fill({ creative: banner() }))
    const counts = await page.evaluate(async (responses) => {
      const open = (window as unknown as { open_things: () => Record<string, number> }).open_things
      const api = window.SponsoredPlacement!
      const before = open()
      let most = before
      for (const response of responses) {
        api.renderPlacement({ target: '#slot', response: response as never })
        await new Promise((resolve) => setTimeout(resolve, 20))
        most = open()
      }
      api.clearPlacement({ target: '#slot' })
      await new Promise((resolve) => setTimeout(resolve, 100))
      return { before, most, after: open() }
    }, responses)
    expect(counts.after).toEqual(counts.before)
    expect(counts.most).not.toEqual(counts.before)
  })

  test('a page that is cross-origin isolated shows the frame and its images', async () => {
    await page.goto(`${stage.host_url}/isolated`)
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(true)
    await render(stage.fill({ creative: native() }))
    await beacon('render')
    expect(console_lines).toEqual([])
  })

  test('a target that the page removes takes the placement with it', async () => {
    await render(stage.fill({ creative: banner() }))
    await event('rendered')
    await page.evaluate(() => document.querySelector('#slot')!.remove())
    expect(await event('cleared')).toMatchObject({ reason: 'target_removed' })
  })
})

describe('consent fails closed', () => {
  test.each([
    ['missing', null, 'consent_missing'],
    ['denied', { ...grantedConsent(), lifecycle_state: 'denied' }, 'consent_not_granted'],
    ['expired', { ...grantedConsent(-1) }, 'consent_expired'],
    ['unreadable', { lifecycle_state: 'granted', revision: '1' }, 'consent_unreadable'],
  ])('%s: no frame, no beacon, and a reason', async (_, authoritative_consent, reason) => {
    const response = { ...stage.fill({ creative: banner() }), authoritative_consent }
    expect(await render(response)).toBe(false)
    expect(await events()).toMatchObject([{ type: 'blocked', reason }])
    expect(await page.locator('iframe').count()).toBe(0)
    expect(console_lines).toEqual([`warning: [sponsored placement] blocked: ${reason}`])
    expect(stage.posts).toEqual([])
  })

  test('consent that ends while the ad shows takes it away', async () => {
    await render(stage.fill({ creative: banner(), consent: grantedConsent(1_200) }))
    await event('rendered')
    expect(await event('blocked')).toMatchObject({ reason: 'consent_expired' })
    expect(await page.locator('iframe').count()).toBe(0)
  })

  test('a service that says so takes the ad away as well', async () => {
    stage.answers.push({ status: 403, body: { reason_code: 'consent_superseded' } })
    await render(stage.fill({ creative: banner() }))
    expect(await event('blocked')).toMatchObject({ reason: 'consent_superseded' })
    expect(await page.locator('iframe').count()).toBe(0)
    expect(stage.posts).toHaveLength(1)
  })
})

describe('what cannot be shown', () => {
  test('a creative that is not there is an error without a beacon', async () => {
    await render(stage.fill({ creative: { ...banner(), image_url: stage.asset('missing.png') } as Creative }))
    expect(await event('error')).toMatchObject({ code: 'creative_failed' })
    expect(await page.locator('iframe').count()).toBe(0)
    expect(stage.posts).toEqual([])
  })

  test('a problem page says what is wrong', async () => {
    await render(stage.problem(404, 'asset_token_expired'))
    expect(await event('error')).toMatchObject({ code: 'asset_token_expired' })
    await page.evaluate(() => window.SponsoredPlacement!.destroy())
    await render(stage.problem(403, 'consent_superseded'))
    expect(await event('blocked')).toMatchObject({ reason: 'consent_superseded' })
    expect(stage.posts).toEqual([])
  })

  test('a frame that never answers is cleared', async () => {
    const response = stage.fill({ creative: banner() })
    response.placement!.render.frame_url = `${stage.base_url}/nothing`
    await render(response)
    expect(await event('error')).toMatchObject({ code: 'render_timeout' })
    expect(stage.posts).toEqual([])
  })

  test('a reshaped response is named, never silence', async () => {
    await render({ data: stage.fill({ creative: banner() }), meta: {} })
    expect(await events()).toMatchObject([{ type: 'error', code: 'response_unreadable', got: ['data', 'meta'] }])
  })
})

describe('beacons', () => {
  test('are tried again under the same id, and not on a refusal', async () => {
    stage.answers.push({ status: 503 }, { status: 500 })
    await render(stage.fill({ creative: banner() }))
    await beacon('render')
    const tries = stage.posts.filter(({ beacon_id }) => beacon_id.endsWith(':render'))
    expect(tries).toHaveLength(3)
    expect(new Set(tries.map(({ beacon_id }) => beacon_id)).size).toBe(1)
    stage.answers.push({ status: 400, body: { reason_code: 'beacon_stale' } })
    await page.frameLocator('iframe').getByRole('link').click()
    await beacon('click')
    const told = (await events()).findLast(({ type }) => type === 'beacon')
    expect(told).toMatchObject({ event: 'click', accepted: false, reason_code: 'beacon_stale' })
  })

  test('wait as long as a rate limit asks', async () => {
    stage.answers.push({ status: 429, headers: { 'retry-after': '1' } })
    await render(stage.fill({ creative: banner() }))
    await beacon('render')
    const [first, second] = stage.posts
    expect(second!.at_ms - first!.at_ms).toBeGreaterThan(990)
  })

  test("carry the server's time, whatever the user's clock says", async () => {
    await page.addInitScript(() => {
      const now = Date.now
      Date.now = () => now() - 3_000
    })
    await page.reload()
    await render(stage.fill({ creative: banner() }))
    const { occurred_at_ms } = (await beacon('render'))!
    expect(Math.abs(occurred_at_ms! - Date.now())).toBeLessThan(1_000)
  })
})

describe('turns', () => {
  /** Runs a turn whose work takes `work_ms`, and gives what `work` answered. */
  const turn = (name: string, work_ms: number, more: object = {}): Promise<string> =>
    page.evaluate(
      ({ name, work_ms, more }) =>
        window.SponsoredPlacement!.withTurn(
          { target: '#slot', endpoint: '/api/placement', body: { case: name }, ...more },
          async () => {
            await new Promise((resolve) => setTimeout(resolve, work_ms))
            return 'the answer'
          },
        ),
      { name, work_ms, more },
    )

  test('a finished turn keeps its ad until the dwell is met, then clears it', async () => {
    stage.backend.set('banner', stage.fill({ creative: banner() }))
    expect(await turn('banner', 300)).toBe('the answer')
    await event('cleared')
    await beacon('visible')
    expect((await types()).filter((type) => type !== 'beacon')).toEqual([
      'turn:started',
      'decision',
      'rendered',
      'turn:finished',
      'visible',
      'cleared',
    ])
  })

  test("work's exception passes through, and its ad stays when asked to", async () => {
    stage.backend.set('banner', stage.fill({ creative: banner() }))
    const problem = await page.evaluate(() =>
      window
        .SponsoredPlacement!.withTurn(
          { target: '#slot', endpoint: '/api/placement', body: { case: 'banner' }, keepMounted: true },
          async (turn) => {
            await turn.decision
            throw new RangeError('of the host')
          },
        )
        .catch((problem: Error) => problem.message),
    )
    expect(problem).toBe('of the host')
    await beacon('visible')
    expect(await page.locator('iframe').count()).toBe(1)
  })

  test('a decision after the turn mounts nothing', async () => {
    const response = stage.fill({ creative: banner() })
    stage.backend.set(
      'slow',
      settle(400).then(() => response),
    )
    await turn('slow', 0)
    expect(await event('error')).toMatchObject({ code: 'late_decision' })
    expect(await page.locator('iframe').count()).toBe(0)
    expect(stage.posts).toEqual([])
  })

  test('a no-fill and a failing backend leave the host in peace', async () => {
    const { placement, ...response } = stage.fill({ creative: banner() })
    const decision = { fill: false, no_fill_reason: 'no_demand' }
    stage.backend.set('no_fill', { ...response, placement: null, decision })
    expect(await turn('no_fill', 100)).toBe('the answer')
    expect(await event('no_fill')).toMatchObject({ no_fill_reason: 'no_demand' })
    expect(await turn('unknown', 100)).toBe('the answer')
    expect(await event('error')).toMatchObject({ code: 'request_failed', status: 500 })
  })

  test('a new turn replaces the old one, the same turn does not', async () => {
    stage.backend.set('banner', stage.fill({ creative: banner() }))
    const same = await page.evaluate(() => {
      const options = { target: '#slot', endpoint: '/api/placement', body: { case: 'banner' } }
      const { startTurn } = window.SponsoredPlacement!
      const first = startTurn({ ...options, turnId: 'turn-1' })
      const again = startTurn({ ...options, turnId: 'turn-1' })
      startTurn({ ...options, turnId: 'turn-2' })
      return { isSame: first === again, state: first.state }
    })
    expect(same).toEqual({ isSame: true, state: 'cancelled' })
    await event('rendered')
    expect(await page.locator('iframe').count()).toBe(1)
  })

  test('no entry point throws, whatever it is given', async () => {
    const states = await page.evaluate(async () => {
      const api = window.SponsoredPlacement! as unknown as Record<string, (...given: unknown[]) => unknown>
      for (const given of [undefined, null, 1, 'x', {}, { target: '>>>' }, { target: null }]) {
        api.renderPlacement!(given)
        api.clearPlacement!(given)
        api.startTurn!(given)
        api.on!(given, given)
        await api.activate!(given)
        await api.withTurn!(given, () => 1)
      }
      api.destroy!()
      return window.SponsoredPlacement!.state().occupied
    })
    expect(states).toBe(0)
  })
})

describe('with the emulator', () => {
  let sandbox: Sandbox

  beforeAll(async () => {
    sandbox = await startSandbox()
  })
  afterAll(() => sandbox?.close())

  test('every format is accepted as rendered and counted as viewed', async () => {
    await page.evaluate(() => {
      document.querySelector('#slot')!.innerHTML = '<div id="banner"></div><div id="native"></div><div id="clip"></div>'
    })
    for (const format of ['banner', 'native', 'clip'] as const) {
      const response = await fetch(`${sandbox.url}/v1/placements`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${sandbox.keys.secret_key}` },
        body: JSON.stringify({
          client_id: sandbox.keys.client_id,
          session_id: 'session-1',
          job_type: 'chat',
          slot_hint: { max_width: 320, max_height: 180 },
          overrides: { allowed_formats: [format], ...(format === 'native' ? { native_template_id: 'list_item' } : {}) },
        }),
      })
      stage.backend.set(format, await response.json())
      await page.evaluate(
        (name) =>
          window.SponsoredPlacement!.startTurn({
            target: `#${name}`,
            endpoint: '/api/placement',
            body: { case: name },
          }),
        format,
      )
    }
    await page.waitForFunction(
      () =>
        window.SponsoredPlacement!.getEvents().filter((event) => event.type === 'beacon' && event.event === 'visible')
          .length === 3,
      undefined,
      { polling: 100 },
    )
    const { items } = (await (await fetch(`${sandbox.url}/_sandbox/beacons`)).json()) as {
      items: { format: string; event: string; verdict: string; would_bill: boolean }[]
    }
    const viewed = items.filter(({ event, verdict }) => event === 'visible' && verdict === 'accepted')
    expect(viewed.map(({ format, would_bill }) => [format, would_bill]).sort()).toEqual([
      ['banner', true],
      ['clip', true],
      ['native', true],
    ])
    expect(items.filter(({ verdict }) => verdict === 'rejected')).toEqual([])
    expect(console_lines).toEqual([])
  })

  test('a page with a publishable key needs no backend', async () => {
    await page.goto(`${stage.host_url}/?script=${sandbox.url}/v1/render.js`)
    const activation = await page.evaluate(async (publishableKey) => {
      const activation = await window.SponsoredPlacement!.activate({ publishableKey })
      window.SponsoredPlacement!.startTurn({
        target: '#slot',
        body: { session_id: 'session-2', job_type: 'chat', overrides: { allowed_formats: ['banner'] } },
      })
      return activation
    }, sandbox.keys.publishable_key)
    expect(activation).toEqual({
      project_id: sandbox.keys.client_id,
      key_id: expect.stringMatching(/^key_/),
      expires_at_ms: expect.any(Number),
    })
    expect(await event('beacon')).toMatchObject({ event: 'render', accepted: true, reason_code: 'OK' })
  })

  test('a key that is not accepted is an error, not an exception', async () => {
    await page.goto(`${stage.host_url}/?script=${sandbox.url}/v1/render.js`)
    const activation = await page.evaluate(() =>
      window.SponsoredPlacement!.activate({ publishableKey: 'pk_test_unknown' }),
    )
    expect(activation).toBe(null)
    expect(await event('error')).toMatchObject({ code: 'activation_failed', status: 401, reason_code: 'key_unknown' })
  })
})

test('at top level a frame is a labelled preview that sends nothing', async () => {
  const response = stage.fill({ creative: native() })
  await page.goto(response.placement!.render.frame_url)
  expect(await page.locator('.preview').textContent()).toContain('Preview: opened outside a page')
  await page.getByRole('link').click()
  await settle(300)
  expect(stage.posts).toEqual([])
})
