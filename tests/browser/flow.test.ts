/**
 * The whole way of a placement, nothing played: the emulator on one origin, a host page and its backend on another, and
 * a browser between them. What each part does for itself is in renderer.test.ts.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../sandbox/index.ts'
import type { EventType } from '../../sandbox/renderer/host/events.ts'
import { type Client, createClient } from '../../src/client/index.ts'
import type { Format } from '../../src/contract/fields.ts'
import type { BeaconEvent } from '../../src/contract/v1/beacons.ts'
import type { PlacementResponse } from '../../src/contract/v1/placements.ts'
import { ensureBuilt } from '../cli/process.ts'
import { launchChromium } from './chromium.ts'

let sandbox: Sandbox
let client: Client
let browser: Browser
let context: BrowserContext
let page: Page
let host: Server
let host_url: string
/** What the browser asked the emulator for, on every page of this test. */
let requests: Request[]
let problems: string[]
let sessions = 0
let session_id: string

beforeAll(async () => {
  ensureBuilt()
  sandbox = await startSandbox({ port: 0 })
  client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
  host = createServer(async (request, answer) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://host')
    if (pathname === '/') return answer.writeHead(200, { 'content-type': 'text/html' }).end(hostPage())
    const response = await place(searchParams.get('session') ?? '', searchParams.get('format') as Format)
    answer.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(response))
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  host_url = `http://localhost:${(host.address() as AddressInfo).port}`
  browser = await launchChromium()
})

afterAll(async () => {
  await browser?.close()
  host?.closeAllConnections()
  host?.close()
  await sandbox?.close()
})

beforeEach(async () => {
  requests = []
  problems = []
  session_id = `flow-${++sessions}`
  context = await browser.newContext({ viewport: { width: 800, height: 1_100 } })
  page = await openHost(host_url)
})

afterEach(() => context.close())

/** Three slots, one for each format, all of them in view. */
function hostPage(): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<script src="${sandbox.url}/v1/render.js"></script><div id="banner"></div><div id="clip"></div><div id="native"></div>`
}

async function openHost(url: string): Promise<Page> {
  const opened = await context.newPage()
  opened.on('request', (request) => {
    if (request.url().startsWith(sandbox.url)) requests.push(request)
  })
  opened.on('console', (message) => problems.push(message.text()))
  opened.on('pageerror', (error) => problems.push(error.message))
  await opened.goto(url)
  return opened
}

/** What the host's backend does with its secret key. */
function place(session_id: string, format: Format): Promise<PlacementResponse> {
  return client.placements.create({ body: { client_id: sandbox.keys.client_id, ...bodyFor(session_id, format) } })
}

function bodyFor(session_id: string, format: Format) {
  const native_template_id = 'list_item' as const
  return {
    session_id,
    job_type: 'chat' as const,
    slot_hint: { max_width: 640, max_height: 360 },
    overrides: { allowed_formats: [format], ...(format === 'native' && { native_template_id }) },
  }
}

/** A placement as the page gets it from its own backend, mounted. */
function renderFromBackend(format: Format): Promise<PlacementResponse> {
  return page.evaluate(
    async ({ format, session_id }) => {
      const answer = await fetch(`/api/placement?format=${format}&session=${session_id}`)
      const response = await answer.json()
      window.SponsoredPlacement!.renderPlacement({ target: `#${format}`, response })
      return response as PlacementResponse
    },
    { format, session_id },
  )
}

/** A placement as a page gets it with a publishable key alone, mounted. */
function renderFromBrowser(formats: readonly Format[]): Promise<PlacementResponse[]> {
  return page.evaluate(
    async ({ publishableKey, wanted }) => {
      const activation = await window.SponsoredPlacement!.activate({ publishableKey })
      return Promise.all(
        wanted.map(async ({ target, body }) => {
          const response = (await activation!.requestPlacement(body)) as PlacementResponse
          window.SponsoredPlacement!.renderPlacement({ target, response })
          return response
        }),
      )
    },
    {
      publishableKey: sandbox.keys.publishable_key,
      wanted: formats.map((format) => ({ target: `#${format}`, body: bodyFor(session_id, format) })),
    },
  )
}

/** Waits until the page has told an event so many times. */
async function told(type: EventType, times = 1, beacon?: BeaconEvent): Promise<void> {
  await page.waitForFunction(
    ({ type, times, beacon }) => {
      const events = window.SponsoredPlacement!.getEvents()
      const matching = events.filter((event) => {
        return event.type === type && (beacon === undefined || (event.type === 'beacon' && event.event === beacon))
      })
      return matching.length >= times
    },
    { type, times, beacon },
    { polling: 50, timeout: 10_000 },
  )
}

/** What became of each beacon of this session, by event: two that are sent at once may arrive in either order. */
async function beacons(): Promise<[Format | null, BeaconEvent | null, string, boolean][]> {
  const { items } = await client.beacons.list({ query: { session_id } })
  return items
    .toSorted((a, b) => `${a.event}`.localeCompare(`${b.event}`))
    .map(({ format, event, reason_code, would_bill }) => [format, event, reason_code, would_bill])
}

/** Beacons that the browser sent, whatever became of them. */
function posts(): Request[] {
  return requests.filter((request) => request.method() === 'POST' && request.url().endsWith('/v1/beacons'))
}

describe('a page with a publishable key', () => {
  test('shows every format, and each is counted as production would', async () => {
    const responses = await renderFromBrowser(['banner', 'clip', 'native'])
    await told('beacon', 3, 'visible')

    const frame = (format: Format) => page.frameLocator(`#${format} iframe`)
    const image = frame('banner').locator('img.image')
    expect(await image.evaluate((element: HTMLImageElement) => [element.complete, element.naturalWidth > 0])).toEqual([
      true,
      true,
    ])
    const video = frame('clip').locator('video')
    expect(await video.evaluate((element: HTMLVideoElement) => [element.muted, element.currentTime > 1])).toEqual([
      true,
      true,
    ])
    expect(await frame('native').locator('.title').isVisible()).toBe(true)
    expect(await page.locator('[data-sp-label]').count()).toBe(3)

    const counted = await beacons()
    const of = (wanted: Format) => counted.filter(([format]) => format === wanted).map(([, ...rest]) => rest)
    expect(of('banner')).toEqual([
      ['render', 'OK', false],
      ['visible', 'OK', true],
    ])
    expect(of('native')).toEqual(of('banner'))
    expect(of('clip')).toEqual([
      ['play_started', 'OK', false],
      ['render', 'OK', false],
      ['visible', 'OK', true],
    ])

    for (const { slot_id, placement } of responses) {
      const detail = await client.placements.explain({ params: { slot_id } })
      expect(detail).toMatchObject({
        session_id,
        format: placement?.format,
        first_frame_at_ms: expect.any(Number),
        billing: { metric: 'viewable_impression', would_bill: true },
      })
      const at = (wanted: BeaconEvent) => detail.beacons.find(({ event }) => event === wanted)?.occurred_at_ms ?? 0
      const dwell_ms = at('visible') - Math.max(at('play_started'), at('render'))
      expect(dwell_ms).toBeGreaterThanOrEqual(placement?.format === 'clip' ? 1_990 : 990)
      expect(detail.evidence.map(({ kind }) => kind)).toEqual(['decision', ...detail.beacons.map(() => 'beacon')])
    }
    expect(await client.evidence.verify()).toMatchObject({ ok: true })
    expect(problems).toEqual([])
  })

  test('after a denial gets no fill, and sends no beacon', async () => {
    await client.consent.set({ body: { client_id: sandbox.keys.client_id, session_id, decision: 'denied' } })
    const [response] = await renderFromBrowser(['banner'])
    expect(response?.decision).toMatchObject({ fill: false, no_fill_reason: 'consent_not_granted' })
    await told('no_fill')
    expect(await page.locator('iframe').count()).toBe(0)
    expect(await page.locator('[data-sp-label]').count()).toBe(0)
    expect(posts()).toEqual([])
    expect(await beacons()).toEqual([])
  })
})

describe('a page with a backend', () => {
  test("sends beacons with the frame's token alone, and never sees the secret key", async () => {
    await renderFromBackend('native')
    await told('beacon', 1, 'visible')
    expect(await beacons()).toEqual([
      ['native', 'render', 'OK', false],
      ['native', 'visible', 'OK', true],
    ])
    for (const post of posts()) {
      const headers = await post.allHeaders()
      expect(headers).toMatchObject({ authorization: expect.stringMatching(/^Bearer bt_/), origin: host_url })
    }
    const credentials = requests.flatMap((request) => request.headers().authorization ?? [])
    expect(credentials.filter((credential) => !credential.startsWith('Bearer bt_'))).toEqual([])
    expect(problems).toEqual([])
  })

  test("a frame's token is pinned to the origin of its page: on another one it is good for nothing", async () => {
    await renderFromBackend('banner')
    await told('beacon', 1, 'render')
    const [post] = posts()
    const { authorization } = await post!.allHeaders()
    const elsewhere = await openHost(host_url.replace('localhost', '127.0.0.1'))
    const outcome = await elsewhere.evaluate(
      async ({ url, authorization, body }) => {
        const headers = { authorization: authorization ?? '', 'content-type': 'application/json' }
        return fetch(url, { method: 'POST', headers, body }).then(
          () => 'readable',
          () => 'unreadable',
        )
      },
      {
        url: post!.url(),
        authorization,
        body: JSON.stringify({ ...post!.postDataJSON(), beacon_id: 'elsewhere', event: 'click' }),
      },
    )
    expect(outcome).toBe('unreadable')
    const { items } = await client.requests.list({ query: { path: '/v1/beacons' } })
    expect(items[0]).toMatchObject({ status: 403, reason_code: 'origin_mismatch' })
    expect((await beacons()).filter(([, event]) => event === 'click')).toEqual([])
  })

  test('a consent withdrawn before the frame loads leaves the page empty', async () => {
    const response = await place(session_id, 'banner')
    expect(response.decision).toMatchObject({ fill: true })
    await withdraw()
    await page.evaluate(
      (response) => window.SponsoredPlacement!.renderPlacement({ target: '#banner', response }),
      response,
    )
    await told('blocked')
    expect(await page.locator('iframe').count()).toBe(0)
    expect(posts()).toEqual([])
  })

  test('a consent withdrawn while the ad shows takes it away, and its view does not count', async () => {
    const slot = page.locator('#banner')
    await slot.evaluate((element) => element.style.setProperty('margin-top', '3000px'))
    const { slot_id } = await renderFromBackend('banner')
    await told('beacon', 1, 'render')
    await withdraw()
    await slot.evaluate((element) => element.scrollIntoView())
    await told('blocked')
    expect(await page.locator('iframe').count()).toBe(0)
    const { billing } = await client.placements.explain({ params: { slot_id } })
    expect(billing).toMatchObject({ would_bill: false })
  })

  async function withdraw(): Promise<void> {
    await client.consent.set({ body: { client_id: sandbox.keys.client_id, session_id, decision: 'withdrawn' } })
  }
})
