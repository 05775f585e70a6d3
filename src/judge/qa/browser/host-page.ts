/**
 * An integrator's page around one slot, at an origin that the project allows. The driver serves it inside the browser, so
 * that no port is taken and any origin can be used. Only requests to the service leave the browser: other host names do
 * not resolve in it.
 *
 * While the driver serves requests it also responds to their CORS preflights, those to the service included. So it stops as
 * soon as the page has loaded, unless the page has more to serve.
 */
import { createHash } from 'node:crypto'
import type { Browser, BrowserContext, Page, Request, Route } from 'playwright-core'
import { ownAgents } from '#contract/own-requests.ts'
import { escapeHtml } from '#foundation/html.ts'
import type { Json } from '#foundation/json.ts'
import { durationMs } from '../suite/variables.ts'
import { endsWithin } from './launch.ts'
import type { Open } from './schema.ts'

/** The page as a `browser` step describes it, at an origin, with the address of the service. */
export interface HostPageOptions extends Omit<Open, 'of' | 'set' | 'unset' | 'turn' | 'publishable_key' | 'endpoint'> {
  origin: string
  base_url: string
  /** Whether the page itself notes its beacons, in a browser that does not show what it sends. */
  notes_beacons?: boolean
  /** Responds in place of the service to some of its addresses, for as long as the page is open. */
  substitute?: { isMeant(url: URL): boolean; respond(route: Route): Promise<void> }
}

/** A request of the page to the service. */
interface PageRequest {
  method: string
  path: string
  /** 0: no response came. */
  status: number
  /** Of a beacon: its event. */
  event: string | null
}

export interface HostPage {
  readonly page: Page
  readonly requests: PageRequest[]
  /** Requests to further paths of the page: `POST /api/placement`. */
  readonly served: string[]
  /** Errors on the console, and uncaught errors. */
  readonly console_errors: string[]
  /** Warnings on the console. */
  readonly console_warnings: string[]
  /** Addresses that clicks have opened. */
  readonly landings: string[]
  /** Resolves within seconds with whether the page could be closed: false when the browser hangs. Never rejects. */
  close(): Promise<boolean>
}

/** An event of the renderer, as plain data. */
export type PageEvent = { type: string } & Record<string, Json>

const closesWithinMs = 5_000
/** Longer than a step may take: how fast a browser opens a page is not what is tested. */
const opensWithinMs = 30_000

/** Before a screenshot, the driver puts this style into each frame of Firefox; policies refuse it, and the console names its hash. */
const driverStyle = createHash('sha256').update('body {}').digest('base64')

const opening = new WeakMap<Browser, Promise<unknown>>()

/** Opens pages one after the other: Firefox fails to open several at a time, now and then. */
function newPage(browser: Browser, context: BrowserContext): Promise<Page> {
  const open = () => context.newPage()
  const page = (opening.get(browser) ?? Promise.resolve()).then(open, open)
  opening.set(browser, page)
  return page
}

/** Returns a User-Agent as Chrome sends it, for pages of a browser of this version. */
function chromeUserAgent(browser: Browser): string {
  return `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${browser.version()} Safari/537.36`
}

export async function openHostPage(browser: Browser, options: HostPageOptions): Promise<HostPage> {
  const { origin, base_url, width = 800, height = 700, color_scheme = 'light', reduced_motion, serve = {} } = options
  const context = await browser.newContext({
    userAgent: `${chromeUserAgent(browser)} ${ownAgents.qa}`,
    viewport: { width, height },
    colorScheme: color_scheme,
    reducedMotion: reduced_motion === true ? 'reduce' : 'no-preference',
  })
  context.setDefaultTimeout(opensWithinMs)
  const host: Omit<HostPage, 'page' | 'close'> = {
    requests: [],
    served: [],
    console_errors: [],
    console_warnings: [],
    landings: [],
  }
  const close = () => endsWithin(closesWithinMs, context.close())
  try {
    await context.route((url) => url.origin === origin, serveWith(options, host.served))
    const { substitute } = options
    if (substitute !== undefined) await context.route(substitute.isMeant, substitute.respond)
    watch(context, new URL(base_url).origin, origin, host)
    const page = await newPage(browser, context)
    if (options.notes_beacons === true) await page.addInitScript(noteBeacons, `${base_url}/v1/beacons`)
    const noteError = (text: string) => text.includes(driverStyle) || host.console_errors.push(text)
    page.on('console', (message) => {
      if (message.type() === 'error') noteError(message.text())
      if (message.type() === 'warning') host.console_warnings.push(message.text())
    })
    page.on('pageerror', ({ message }) => noteError(message))
    await page.goto(`${origin}/`)
    if (Object.keys(serve).length === 0 && substitute === undefined) await context.unrouteAll()
    return { ...host, page, close }
  } catch (error) {
    await close()
    throw error
  }
}

function serveWith(options: HostPageOptions, served: string[]): (route: Route, request: Request) => Promise<void> {
  const { policy, serve = {} } = options
  const counts = new Map<string, number>()
  return async (route, request) => {
    const { pathname } = new URL(request.url())
    if (pathname === '/') {
      const headers: Record<string, string> = policy === undefined ? {} : { 'content-security-policy': policy }
      return route.fulfill({ contentType: 'text/html; charset=utf-8', headers, body: hostHtml(options) })
    }
    if (!Object.hasOwn(serve, pathname)) {
      return route.fulfill({ status: 404, contentType: 'text/plain', body: 'Not found.' })
    }
    served.push(`${request.method()} ${pathname}`)
    const responses = [serve[pathname]!].flat()
    const count = counts.get(pathname) ?? 0
    counts.set(pathname, count + 1)
    const { status = 200, headers = {}, body = null, after = 0 } = responses[Math.min(count, responses.length - 1)]!
    await new Promise((resolve) => setTimeout(resolve, durationMs(after)))
    const isText = typeof body === 'string'
    return route.fulfill({
      status,
      headers: { 'content-type': isText ? 'text/html; charset=utf-8' : 'application/json', ...headers },
      body: isText ? body : JSON.stringify(body),
    })
  }
}

/** Records the requests of the page and its popups. */
function watch(
  context: BrowserContext,
  service: string,
  origin: string,
  { requests, landings }: Pick<HostPage, 'requests' | 'landings'>,
): void {
  context.on('request', (request) => {
    if (request.isNavigationRequest() && isOfWindow(request) && new URL(request.url()).origin !== origin) {
      landings.push(request.url())
    }
  })
  const record = (request: Request, status: number) => {
    const url = new URL(request.url())
    if (url.origin !== service) return
    requests.push({ method: request.method(), path: url.pathname, status, event: readBeaconEvent(request, url) })
  }
  context.on('response', (response) => record(response.request(), response.status()))
  context.on('requestfailed', (request) => {
    // A request that failed after its response began has been recorded already.
    void request.response().then(
      (response) => response === null && record(request, 0),
      () => record(request, 0),
    )
  })
}

/** Whether a window navigates, not a frame in it. A popup that has just opened has no frame yet. */
function isOfWindow(request: Request): boolean {
  try {
    return request.frame().parentFrame() === null
  } catch {
    return true
  }
}

function readBeaconEvent(request: Request, { pathname }: URL): string | null {
  if (pathname !== '/v1/beacons' || request.method() !== 'POST') return null
  const { event } = (request.postDataJSON() ?? {}) as { event?: unknown }
  return typeof event === 'string' ? event : null
}

/** Returns the document of the host page: a turn of an assistant, and a slot below it. */
function hostHtml({ base_url, above = 0, slot_width }: HostPageOptions): string {
  const width = slot_width === undefined ? '' : ` style="width:${slot_width}px"`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Host</title>
<link rel="icon" href="data:,">
<style>:root{color-scheme:light dark}body{margin:16px;font:16px/1.5 system-ui,sans-serif}</style>
<script src="${escapeHtml(base_url)}/v1/render.js"></script>
<div style="height:${above}px"></div>
<p>The answer of the assistant appears here.</p>
<div id="slot"${width}></div>
<p>The next turn appears here.</p>
<div style="height:2000px"></div>
</html>`
}

/** The renderer on the page. Its types belong to the browser code, which cannot be imported here. */
export interface RendererWindow {
  SponsoredPlacement?: {
    renderPlacement(options: { target: string; response: unknown; session_id: string }): object | null
    clearPlacement(options: { target: string }): void
    activate(options: { publishableKey: string }): Promise<object | null>
    startTurn(options: { target: string; body: object; endpoint?: string }): { finish(): void }
    getEvents(): PageEvent[]
    on(type: string, listener: () => void): () => void
    state(): { occupied: number; turns: { state: string }[] }
  }
  /** The page's turn, once it has started. */
  turn?: { finish(): void }
}

/** Returns what the page shows now: what `expect.body` of a browser or page step looks at. */
export async function observe(host: HostPage): Promise<Json> {
  const { page, requests } = host
  const seen = await page.evaluate(observeInPage)
  const { noted, ...shown } = seen
  const { events } = shown
  const beacons = events.filter(({ type }) => type === 'beacon')
  const listValues = (type: string, field: string) =>
    events.filter((event) => event.type === type).map((event) => event[field])
  return {
    ...shown,
    slot_id: events.findLast(({ slot_id }) => typeof slot_id === 'string')?.slot_id ?? null,
    events: events.map(({ type }) => type),
    log: events,
    errors: listValues('error', 'code'),
    blocked: listValues('blocked', 'reason'),
    cleared: listValues('cleared', 'reason'),
    beacons: beacons.map(({ event, accepted, reason_code }) => ({ event, accepted, reason_code })),
    counted: beacons
      .filter(({ accepted, event }) => accepted === true && event !== 'heartbeat')
      .map(({ event }) => event),
    tries: noted === null ? groupTries(requests) : groupTries(noted),
    requests: requests.map(({ method, path, status }) => ({ method, path, status })),
    served: [...host.served],
    console_errors: [...host.console_errors],
    console_warnings: [...host.console_warnings],
    landings: [...host.landings],
  } as unknown as Json
}

/** Returns the statuses of the beacons of each event, try by try; 0 where no response came. */
function groupTries(requests: readonly Pick<PageRequest, 'event' | 'status'>[]): Record<string, number[]> {
  const tries: Record<string, number[]> = {}
  for (const { event, status } of requests) {
    if (event === null) continue
    tries[event] ??= []
    tries[event].push(status)
  }
  return tries
}

/** Runs before the page's own scripts: notes each beacon with the status of its response. */
function noteBeacons(url: string): void {
  const noted: Pick<PageRequest, 'event' | 'status'>[] = []
  Object.defineProperty(window, Symbol.for('svc.beacons'), { value: noted })
  const send = window.fetch
  window.fetch = async (input, init) => {
    const isBeacon = init?.method === 'POST' && String(input) === url
    if (!isBeacon) return send(input, init)
    const { event = null } = JSON.parse(String(init.body)) as { event?: string }
    const entry = { event, status: 0 }
    try {
      const response = await send(input, init)
      entry.status = response.status
      return response
    } finally {
      noted.push(entry)
    }
  }
}

/** Runs in the page. */
function observeInPage() {
  const { SponsoredPlacement: renderer } = window as RendererWindow
  const slot = document.querySelector('#slot')
  // Label and frame are in the shadow root of what render.js mounts.
  const roots = [...(slot?.querySelectorAll('[data-sp-placement]') ?? [])].flatMap(({ shadowRoot }) => shadowRoot ?? [])
  const labels = roots.flatMap((root) => [...root.querySelectorAll<HTMLElement>('[data-sp-label]')])
  const frames = roots.flatMap((root) => [...root.querySelectorAll('iframe')])
  const [label = null] = labels
  const [frame = null] = frames
  const size = (element: Element) => {
    const { width, height } = element.getBoundingClientRect()
    return { width: Math.round(width), height: Math.round(height) }
  }
  const isShown = (element: HTMLElement) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const state = renderer?.state()
  const beacons = Symbol.for('svc.beacons')
  return {
    noted:
      beacons in window
        ? (window as unknown as Record<symbol, Pick<PageRequest, 'event' | 'status'>[]>)[beacons]!
        : null,
    events: renderer?.getEvents() ?? [],
    turn: state?.turns.at(-1)?.state ?? null,
    occupied: state?.occupied ?? 0,
    slot: slot === null ? null : { frames: frames.length, is_empty: slot.childElementCount === 0, ...size(slot) },
    label:
      label === null
        ? null
        : {
            text: label.innerText,
            is_shown: isShown(label),
            is_above: frame !== null && label.getBoundingClientRect().bottom <= frame.getBoundingClientRect().top,
            ...size(label),
          },
    labels: labels.length,
    frame:
      frame === null
        ? null
        : {
            title: frame.title,
            sandbox: frame.getAttribute('sandbox'),
            allow: frame.allow,
            referrer_policy: frame.referrerPolicy,
            ...size(frame),
          },
  }
}
