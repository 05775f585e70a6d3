/** The integrator's page in a browser: opens it, brings its ads into view, and records what can be seen. */
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  ConsoleMessage,
  Frame,
  Page,
  Request,
  Response,
} from 'playwright-core'
import { isFrameAddress } from '#contract/words/addresses.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { isLoopback, withoutQuery } from '#foundation/http.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { PageStepFailed } from '#qa/browser/page-steps.ts'
import { measurePixels } from '#qa/browser/screenshot.ts'
import type { Screenshot } from '#qa/result.ts'
import { type FrameLoad, openFrameLoads } from './frame-loads.ts'
import {
  type Blocked,
  bringIntoView,
  inspectPage,
  type PageLook,
  type RendererError,
  recordFromStart,
} from './in-page.ts'
import { type AroundAds, readAroundAds, recordAroundAds } from './in-page-ads.ts'
import { findSlot, type Mount, mergeLook, needsView, type WatchedMount } from './mounts.ts'
import { hasStub, isUseTooEarly } from './renderer-use.ts'
import { type FoundKey, maxFileBytes, type ServedKey, secretKeysIn } from './served-files.ts'
import { takeSlotPictures } from './slot-pictures.ts'

export interface PageSeen {
  url: string
  /** The browser that showed it: `Chromium 153.0`. */
  browser: string
  /** Files that were not served to the page by the service, and the secret keys in them. */
  files: number
  keys: readonly ServedKey[]
  /** Requests of the page that carried a secret key, to any server. */
  key_requests: readonly KeyRequest[]
  /** Every hosted frame that was in the page at any time. */
  mounts: readonly Mount[]
  /** Requests to the service that the browser blocked, and why; also a render.js from elsewhere. */
  blocked: readonly Blocked[]
  /** Addresses of render.js that loaded from another server of this computer than the service and that of the page. */
  other_renderers: readonly string[]
  /** Frames of the page whose address has an asset token, and is no address of a frame of the service. */
  other_frames: readonly { slot_id: string; url: string }[]
  /** Errors and blocks that render.js reported. */
  renderer_errors: readonly RendererError[]
  /** Whether render.js was loaded but never called. */
  is_idle: boolean
  /** Whether a turn was finished before anything came of it. */
  has_early_end: boolean
  /** Whether the page has the stub that runs turns without render.js. */
  has_stub: boolean
  /** Turns in that stub that still wait for render.js. */
  waiting_turns: number
  /** Calls by the page's scripts to other servers than the service that got an error response. */
  refused_calls: readonly RefusedCall[]
  /** Errors on the console, and uncaught ones, that are about the service or come from its scripts. */
  console_errors: readonly string[]
  /** Sum of the layout shifts right after an ad appeared, changed its size or disappeared, as browsers count them; null: this browser does not. */
  shift: number | null
  /** What ads did to each document of the page. */
  around_ads: readonly AroundAds[]
  frame_loads: readonly FrameLoad[]
  /** What the browser said of ads that it found too heavy. */
  interventions: readonly string[]
  screenshot: Screenshot | null
  /** Of each ad at the end, with what the console of the page says of it. */
  slot_pictures: readonly Screenshot[]
  /** Whether a file of steps used the page. */
  is_driven: boolean
  /** Whether you used it in a window. */
  is_headed: boolean
  /** The step that could not be done, after which the page was only watched; null when all could. */
  failed_step: FailedStep | null
}

interface FailedStep {
  /** With the place in its file. */
  message: string
  hint: string
  place: SourceLocation
  /** Whether it waited for an event of render.js. */
  is_wait: boolean
}

interface KeyRequest {
  method: string
  url: string
  where: 'headers' | 'body' | 'url'
  key: FoundKey
}

export interface RefusedCall {
  method: string
  /** Without its query. */
  url: string
  status: number
  /** Whether the request carried cookies. */
  has_cookies: boolean
}

export interface WatchOptions {
  url: string
  /** What the browser is called. */
  browser_name: string
  /** Base URLs of the service, without a trailing slash: a page may call it localhost or 127.0.0.1. */
  bases: readonly string[]
  /** How long, real milliseconds; null: until `signal` aborts. */
  for_ms: number | null
  /** Ends it early. */
  signal: AbortSignal
  /** Whether you use the window and scroll it yourself. */
  is_headed: boolean
  /** Uses the page until it resolves; `for_ms` counts from then. */
  drive?: ((page: Page, signal: AbortSignal) => Promise<void>) | undefined
  /** The browser as the page sees it, in addition to a window of 1280 × 800 pixels. */
  context?: BrowserContextOptions
  /** Called before the page is opened. */
  prepare?: (page: Page, context: BrowserContext) => Promise<void>
}

/** The page did not open, or its scripts ran all the time, so that nobody could look at it. */
export class PageUnreachable extends Error {
  override readonly name = 'PageUnreachable'
  readonly hint: string
  constructor(message: string, hint = 'Start the app, then try again.') {
    super(message)
    this.hint = hint
  }
}

/** The longest a timer can wait: 24 days. */
const maxTimerMs = 2 ** 31 - 1
/** Time between two looks at the page. */
const intervalMs = 250
/** A screenshot is taken when the ad has had this much time to paint. */
const paintedMs = 1_500
/** A response that is still going on after the watch is awaited for this long at most. */
const maxReadMs = 1_000
/** How long after the watch a page whose scripts are busy may take for a look or a picture. */
const maxBusyMs = 8_000
/** The same after an interrupt: you are waiting for the end. */
const maxInterruptedMs = 1_000
const readable = /javascript|json|html|css|text|xml/
/** At most this much of a console message is kept. */
const maxMessageLength = 300

/** The lists that browser events are added to while the page is watched. */
interface Records extends Pick<PageSeen, 'files' | 'has_stub'> {
  keys: ServedKey[]
  key_requests: KeyRequest[]
  refused_calls: RefusedCall[]
  other_renderers: string[]
  other_frames: { slot_id: string; url: string }[]
  /** Why the browser blocked it, by address. */
  blocked: Map<string, Blocked>
  console_errors: string[]
}

/** Throws PageUnreachable, and what `drive` throws but PageStepFailed, which does not end the watch. */
export async function watchPage(browser: Pick<Browser, 'newContext'>, options: WatchOptions): Promise<PageSeen> {
  const { url, bases, drive } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options.context })
  try {
    const { records, reading } = await recordEvents(context, bases)
    const loads = openFrameLoads(context, (url) => (isOfService(url, bases) ? findSlot(url) : null))
    const page = await context.newPage()
    await options.prepare?.(page, context)
    await page.goto(url, { waitUntil: 'commit' }).catch((error: Error) => {
      throw new PageUnreachable(
        `${url} does not open: ${error.message.split('\n', 1)[0]?.replace(/^page\.goto: /, '')}`,
      )
    })
    const { mounts, looks, failed_step, isBusy } = await lookUntilOver(page, options, loads.measure)
    if (isBusy && !page.isClosed()) throw createBusyError(url)
    const screenshot = page.isClosed() ? null : await takeScreenshot(page).catch(ignoreBusy)
    await Promise.race([Promise.all(reading), pause(maxReadMs)])
    const { blocked } = records
    for (const each of looks
      .flatMap((look) => look.blocked)
      .sort((one, other) => +one.is_enforced - +other.is_enforced))
      blocked.set(printableUrl(each.url), { ...each, url: printableUrl(each.url) })
    return {
      // Opening the console is not of the page.
      ...structuredClone(records),
      url,
      browser: options.browser_name,
      mounts: mounts.map(({ frame: _frame, ...mount }) => mount),
      blocked: [...blocked.values()],
      is_idle: looks.some((look) => look.is_idle) && looks.every((look) => look.renderer_errors.length === 0),
      has_early_end: looks.some((look) => look.has_early_end),
      renderer_errors: looks.flatMap((look) => look.renderer_errors),
      waiting_turns: looks.reduce((sum, look) => sum + look.waiting_turns, 0),
      shift: looks.some((look) => look.shift === null) ? null : looks.reduce((sum, { shift }) => sum + (shift ?? 0), 0),
      around_ads: looks.map((look) => look.around_ads),
      frame_loads: loads.list(),
      interventions: loads.interventions,
      screenshot,
      slot_pictures: page.isClosed() ? [] : await takeLastPictures(page, options.signal),
      is_driven: drive !== undefined,
      is_headed: options.is_headed,
      failed_step,
    }
  } finally {
    // A page whose scripts never yield ends with its browser.
    await Promise.race([context.close(), pause(maxReadMs)])
  }
}

function createBusyError(url: string): PageUnreachable {
  const message = `${url} opened, and could not be looked at: its scripts never let anything else run.`
  return new PageUnreachable(
    message,
    'Open it in a browser: a loop in a script, or one that is very slow, stops the page.',
  )
}

/** Resolves with the pictures of the ads; without any when the scripts of the page let nothing else run. */
async function takeLastPictures(page: Page, signal: AbortSignal): Promise<Screenshot[]> {
  return (await Promise.race([takeSlotPictures(page).catch(() => []), waitForBusyPage(signal)])) ?? []
}

/** Records what the browser reports from now on. `reading` are the responses that are read for it. */
async function recordEvents(
  context: BrowserContext,
  bases: readonly string[],
): Promise<{ records: Records; reading: Promise<void>[] }> {
  const records: Records = {
    files: 0,
    has_stub: false,
    keys: [],
    key_requests: [],
    refused_calls: [],
    other_renderers: [],
    other_frames: [],
    blocked: new Map(),
    console_errors: [],
  }
  const reading: Promise<void>[] = []
  await context.addInitScript(recordFromStart, bases)
  await context.addInitScript(recordAroundAds, bases)
  context.on('response', (response) => {
    reading.push(readServed(response, bases, records))
    reading.push(recordRefusal(response, bases, records))
  })
  context.on('request', (request) => {
    reading.push(findKey(request, records))
    recordOtherFrame(request, bases, records)
  })
  context.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? 'unknown'
    // A response that is not a script, such as a 404: the requests show what is wrong with it.
    if (why.includes('BLOCKED_BY_ORB')) return
    const url = printableUrl(request.url())
    const isElsewhere = url.endsWith('/v1/render.js') && !isOfService(url, bases)
    if (isElsewhere || (isOfService(url, bases) && why.includes('BLOCKED')))
      records.blocked.set(url, { url, why, is_enforced: true })
  })
  context.on('console', (message) => recordConsole(message, bases, records))
  context.on('weberror', (error) => {
    const { message, stack = '' } = error.error()
    const isOurs = message.includes('SponsoredPlacement') || bases.some((base) => stack.includes(base))
    if (isOurs || isUseTooEarly(message)) records.console_errors.push(shortened(message))
  })
  return { records, reading }
}

/** Looks at the page again and again, and brings its ads into view. Resolves with the last look at each document. */
async function lookUntilOver(
  page: Page,
  { bases, for_ms, signal, is_headed, drive }: WatchOptions,
  measureLoads: (page: Page) => void,
): Promise<{ mounts: WatchedMount[]; looks: DocumentLook[]; failed_step: PageSeen['failed_step']; isBusy: boolean }> {
  const mounts = new Map<string, WatchedMount>()
  const looks = new Map<string, DocumentLook>()
  const frames: Frame[] = []
  let isOver = false
  let isBusy = false
  let failed_step: PageSeen['failed_step'] = null
  const driving = (drive?.(page, signal) ?? Promise.resolve())
    .catch((error: unknown) => {
      if (!(error instanceof PageStepFailed)) throw error
      const { message, hint, place, is_wait } = error
      failed_step = { message, hint, place, is_wait }
    })
    .then(() => pause(for_ms ?? maxTimerMs, signal))
  const ending = driving
    .catch(() => {})
    .then(() => {
      isOver = true
    })
  const busy = Promise.race([ending, untilAborted(signal)]).then(() => waitForBusyPage(signal))
  /** Resolves to undefined, some time after the watch, for a page whose scripts let nothing else run. */
  const unlessBusy = <Value>(value: Promise<Value>) => Promise.race([value, busy])
  let last = performance.now()
  /** The ad that is being brought into view. */
  let sought: string | null = null
  do {
    const seen = await unlessBusy(lookAtFrames(page, bases, frames))
    if (!seen) {
      isBusy = looks.size === 0
      break
    }
    const now = performance.now()
    for (const { look, frame, key } of seen) {
      looks.set(key(look.document), look)
      mergeLook(mounts, look, { key, frame, sought, is_headed, now, passed_ms: now - last })
    }
    await unlessBusy(takeScreenshots(mounts))
    measureLoads(page)
    const present = seen.flatMap(({ look, key }) => look.frames.map((each) => key(each.element)))
    const next = is_headed ? undefined : [...mounts.values()].find((mount) => needsView(mount, present))
    sought = next?.element ?? null
    if (next !== undefined) await unlessBusy(scrollTo(next).catch(ignoreNavigation))
    last = now
    await pause(intervalMs, signal)
  } while (!isOver && !signal.aborted && !page.isClosed())
  if (isOver) await driving
  return { mounts: [...mounts.values()], looks: [...looks.values()], failed_step, isBusy }
}

function isOfService(url: string, bases: readonly string[]): boolean {
  return bases.some((base) => url.startsWith(base))
}

/** How long to wait for the frames inside a page: a frame that loads forever has no document. */
const maxLookMs = 1_000

type DocumentLook = PageLook & { around_ads: AroundAds }

async function lookAtDocument(frame: Frame, bases: readonly string[]): Promise<DocumentLook> {
  const [look, around_ads] = await Promise.all([frame.evaluate(inspectPage, bases), frame.evaluate(readAroundAds)])
  return { ...look, around_ads }
}

/** Looks at the page and at the frames in it that are not the service's; `frames` numbers them, for `key`. */
async function lookAtFrames(page: Page, bases: readonly string[], frames: Frame[]) {
  const own = page.frames().filter((frame) => !isOfService(frame.url(), bases))
  frames.push(...own.filter((frame) => !frames.includes(frame)))
  const looks = own.map(async (frame) => {
    const looking = lookAtDocument(frame, bases).catch(ignoreNavigation)
    const look = await (frame === page.mainFrame() ? looking : Promise.race([looking, pause(maxLookMs)]))
    return look ? [{ look, frame, key: (id: string) => `${frames.indexOf(frame)}/${id}` }] : []
  })
  return (await Promise.all(looks)).flat()
}

/** Scrolls to an ad, from the outermost frame around it down to the ad itself. */
async function scrollTo(mount: WatchedMount): Promise<void> {
  const around: Frame[] = []
  for (let at = mount.frame; at.parentFrame() !== null; at = at.parentFrame()!) around.unshift(at)
  for (const frame of around) await (await frame.frameElement()).evaluate(bringIntoView)
  const iframe = describeElement(mount)
  // Null when the page has removed it in the meantime.
  for (const ad of await iframe.elementHandles()) await ad.evaluate(bringIntoView)
}

function describeElement({ frame, element }: WatchedMount) {
  return frame.locator(`iframe[data-svc-element="${element.split('/')[1]}"]`)
}

async function takeScreenshots(mounts: Map<string, WatchedMount>): Promise<void> {
  for (const mount of mounts.values()) {
    if (mount.colors !== null || mount.in_view_ms < paintedMs || mount.width < 10 || mount.height < 10) continue
    // An ad that the page has removed in the meantime has no screenshot.
    const png = await describeElement(mount)
      .screenshot({ timeout: 1_000 })
      .catch(() => null)
    if (png !== null) mounts.set(mount.element, { ...mount, colors: measurePixels(png).colors })
  }
}

async function takeScreenshot(page: Page): Promise<PageSeen['screenshot']> {
  const png = await page.screenshot({ timeout: maxBusyMs })
  const { width, height } = measurePixels(png)
  return { name: 'the page at the end', png, width, height }
}

/** Looks for keys in the files that the integrator's servers serve, not in those of the service. */
async function readServed(response: Response, bases: readonly string[], records: Records): Promise<void> {
  const url = response.url()
  const type = response.headers()['content-type'] ?? ''
  if (isOfService(url, bases) || !/^https?:/.test(url) || !readable.test(type)) return
  if (response.ok() && isOtherRenderer(url, response.frame().url())) records.other_renderers.push(printableUrl(url))
  const length = Number(response.headers()['content-length'] ?? 0)
  if (length > maxFileBytes) return
  // An endless stream, or a redirect without a body: there is nothing to read.
  const text = type.includes('event-stream') ? null : await response.text().catch(() => null)
  if (text === null) return
  records.files++
  records.has_stub ||= hasStub(text)
  records.keys.push(...secretKeysIn(text).map((key) => ({ file: printableUrl(url), ...key })))
}

/** Whether a page loads render.js from a server of this computer that is not its own: from another sandbox, or a proxy. */
function isOtherRenderer(url: string, page_url: string): boolean {
  const { hostname, pathname, origin } = new URL(url)
  return pathname === '/v1/render.js' && isLoopback(hostname) && !page_url.startsWith(`${origin}/`)
}

function recordOtherFrame(request: Request, bases: readonly string[], { other_frames }: Records): void {
  const url = request.url()
  const slot_id = findSlot(url)
  const isFrame = request.isNavigationRequest() && request.frame().parentFrame() !== null
  if (!isFrame || slot_id === null || bases.some((base) => isFrameAddress(url, base))) return
  other_frames.push({ slot_id, url: printableUrl(url) })
}

async function recordRefusal(response: Response, bases: readonly string[], { refused_calls }: Records): Promise<void> {
  const request = response.request()
  const isCall = request.resourceType() === 'fetch' || request.resourceType() === 'xhr'
  if (!isCall || response.status() < 400 || isOfService(response.url(), bases)) return
  const headers = await request.allHeaders().catch(() => request.headers())
  const has_cookies = headers.cookie !== undefined
  refused_calls.push({
    method: request.method(),
    url: printableUrl(response.url()),
    status: response.status(),
    has_cookies,
  })
}

async function findKey(request: Request, { key_requests }: Records): Promise<void> {
  const headers = JSON.stringify(await request.allHeaders().catch(() => request.headers()))
  const places = { url: request.url(), headers, body: request.postData() ?? '' }
  const url = printableUrl(request.url())
  for (const where of ['headers', 'body', 'url'] as const) {
    const [key] = secretKeysIn(places[where])
    if (key === undefined) continue
    key_requests.push({ method: request.method(), url, where, key })
    return
  }
}

/** Records errors about the service or by its scripts; some refusals of the browser are on the console only. */
function recordConsole(message: ConsoleMessage, bases: readonly string[], records: Records): void {
  if (message.type() !== 'error') return
  const text = message.text()
  const isOurs = bases.some((base) => text.includes(base) || message.location().url.startsWith(base))
  if (!isOurs) return
  if (/frame-ancestors|X-Frame-Options/.test(text)) {
    const why = 'frame-ancestors: the page is not on an allowed origin'
    records.blocked.set(`${bases[0]}/v1/render/`, { url: `${bases[0]}/v1/render/`, why, is_enforced: true })
  } else records.console_errors.push(shortened(text))
}

function shortened(message: string): string {
  return redactSecrets(message).slice(0, maxMessageLength)
}

function printableUrl(url: string): string {
  return redactSecrets(withoutQuery(url))
}

/** A page that is navigating is looked at again afterwards; anything else is a fault of svc. */
function ignoreNavigation(error: Error): null {
  if (/context was destroyed|cannot find context|closed|navigat|detached/i.test(error.message)) return null
  throw error
}

/** A page that is busy at the end has no picture. */
function ignoreBusy(error: Error): null {
  return error.name === 'TimeoutError' || error.message.includes('Unable to capture') ? null : ignoreNavigation(error)
}

/** Keeps no program alive that has nothing else to do. */
async function waitForBusyPage(signal: AbortSignal): Promise<undefined> {
  await Promise.race([
    sleep(maxBusyMs, undefined, { ref: false }),
    untilAborted(signal).then(() => sleep(maxInterruptedMs, undefined, { ref: false })),
  ])
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Resolves after a time, or when the signal aborts. */
function pause(duration_ms: number, signal?: AbortSignal): Promise<void> {
  return sleep(duration_ms, undefined, { signal }).catch(() => {})
}
