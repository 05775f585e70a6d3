/** Opens the integrator's page in a browser, lets its ads come into view, and writes down what is to be seen. */
import type { Browser, ConsoleMessage, Page, Request, Response } from 'playwright-core'
import { pixelsOf } from '../../qa/browser/screenshot.ts'
import type { Mount, PageSeen } from '../observe/page/seen.ts'
import { secretKeysIn } from '../served-keys.ts'
import { bringIntoView, lookAtPage, noteFromStart, type PageLook } from './in-page.ts'

export interface WatchOptions {
  url: string
  /** Base URLs of the service, without a slash at their end: a page may call it localhost or 127.0.0.1. */
  bases: readonly string[]
  /** How long, real milliseconds; null until `signal`. */
  for_ms: number | null
  /** Ends it early. */
  signal: AbortSignal
  /** A person scrolls. */
  is_headed: boolean
}

/** The page did not open. */
export class PageUnreachable extends Error {
  override readonly name = 'PageUnreachable'
}

/** How often the page is looked at. */
const every_ms = 250
/** How long each ad is kept in the window: long enough for a clip to be viewable. */
const inView_ms = 3_000
/** A picture is taken when the ad has had this time to paint. */
const painted_ms = 1_500
/** A response that goes on after the page was looked at is not waited for longer. */
const longestRead_ms = 1_000
const largestFile = 10 * 1024 * 1024
const readable = /javascript|json|html|css|text|xml/
/** At most this much of a message of the console. */
const longestMessage = 300

/** @throws PageUnreachable */
export async function watchPage(browser: Browser, options: WatchOptions): Promise<PageSeen> {
  const { url, bases, for_ms, signal, is_headed } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const notes = {
      files: 0,
      keys: [] as PageSeen['keys'][number][],
      requests: [] as PageSeen['key_requests'][number][],
    }
    const blocked = new Map<string, string>()
    const console_errors: string[] = []
    const reading: Promise<void>[] = []
    await context.addInitScript(noteFromStart, bases)
    context.on('response', (response) => void reading.push(readServed(response, bases, notes)))
    context.on('request', (request) => void reading.push(findKey(request, notes.requests)))
    context.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? 'unknown why'
      if (isOfService(request.url(), bases) && why.includes('BLOCKED')) blocked.set(bare(request.url()), why)
    })
    context.on('console', (message) => noteConsole(message, bases, blocked, console_errors))
    context.on('weberror', (error) => {
      const { message, stack = '' } = error.error()
      if (bases.some((base) => stack.includes(base))) console_errors.push(shortened(message))
    })
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'commit' }).catch((error: Error) => {
      throw new PageUnreachable(
        `${url} does not open: ${error.message.split('\n', 1)[0]?.replace(/^page\.goto: /, '')}`,
      )
    })
    const mounts = new Map<string, Mount>()
    const looks = new Map<string, PageLook>()
    const started = performance.now()
    let last = started
    while (!signal.aborted && !page.isClosed() && (for_ms === null || performance.now() - started < for_ms)) {
      const look = await page.evaluate(lookAtPage, bases).catch(whileNavigating)
      const now = performance.now()
      if (look !== null) {
        looks.set(look.document, look)
        merge(mounts, look, now - last)
        await takePictures(page, mounts)
        const next = is_headed ? undefined : [...mounts.values()].find((mount) => wantsView(mount, look))
        if (next !== undefined) await page.evaluate(bringIntoView, next.element).catch(whileNavigating)
      }
      last = now
      await pause(every_ms, signal)
    }
    const screenshot = page.isClosed() ? null : await pictureOf(page).catch(whileNavigating)
    await Promise.race([Promise.all(reading), pause(longestRead_ms, new AbortController().signal)])
    const all = [...looks.values()]
    for (const each of all.flatMap((look) => look.blocked)) blocked.set(bare(each.url), each.why)
    return {
      url,
      files: notes.files,
      keys: notes.keys,
      key_requests: notes.requests,
      mounts: [...mounts.values()],
      blocked: [...blocked].map(([url, why]) => ({ url, why })),
      renderer_errors: all.flatMap((look) => look.renderer_errors),
      console_errors,
      shift: all.reduce((sum, look) => sum + look.shift, 0),
      screenshot,
    }
  } finally {
    await context.close()
  }
}

function isOfService(url: string, bases: readonly string[]): boolean {
  return bases.some((base) => url.startsWith(base))
}

/** The slot of a frame's address: its token begins with the same identifier. */
function slotOf(src: string): string {
  return `slot_${/\/ast_([0-9a-z]+)_/.exec(src)?.[1] ?? 'unknown'}`
}

function merge(mounts: Map<string, Mount>, { frames }: PageLook, passed_ms: number): void {
  for (const { src, element, width, height, is_shown, is_in_view, label } of frames) {
    const before = mounts.get(element)
    mounts.set(element, {
      slot_id: slotOf(src),
      element,
      width: Math.max(width, before?.width ?? 0),
      height: Math.max(height, before?.height ?? 0),
      is_shown: is_shown || before?.is_shown === true,
      in_view_ms: (before?.in_view_ms ?? 0) + (is_in_view && before !== undefined ? passed_ms : 0),
      label: label ?? before?.label ?? null,
      colors: before?.colors ?? null,
    })
  }
}

/** Still in the page, could be seen, and not seen long enough. */
function wantsView({ element, is_shown, in_view_ms }: Mount, { frames }: PageLook): boolean {
  return is_shown && in_view_ms < inView_ms && frames.some((frame) => frame.element === element)
}

async function takePictures(page: Page, mounts: Map<string, Mount>): Promise<void> {
  for (const mount of mounts.values()) {
    if (mount.colors !== null || mount.in_view_ms < painted_ms || mount.width < 10 || mount.height < 10) continue
    const frame = page.locator(`iframe[data-svc-element="${mount.element}"]`)
    // An ad that the page took away meanwhile has no picture.
    const png = await frame.screenshot({ timeout: 1_000 }).catch(() => null)
    if (png !== null) mounts.set(mount.element, { ...mount, colors: pixelsOf(png).colors })
  }
}

async function pictureOf(page: Page): Promise<PageSeen['screenshot']> {
  const png = await page.screenshot()
  const { width, height } = pixelsOf(png)
  return { name: 'the page at the end', png, width, height }
}

/** What a server of the integrator gives to everybody. The service's own files are not theirs. */
async function readServed(
  response: Response,
  bases: readonly string[],
  notes: { files: number; keys: PageSeen['keys'][number][] },
): Promise<void> {
  const url = response.url()
  const type = response.headers()['content-type'] ?? ''
  if (isOfService(url, bases) || !/^https?:/.test(url) || !readable.test(type)) return
  const length = Number(response.headers()['content-length'] ?? 0)
  if (length > largestFile) return
  // A stream without an end, or a body that a redirect has none of: there is nothing to read.
  const text = type.includes('event-stream') ? null : await response.text().catch(() => null)
  if (text === null) return
  notes.files++
  notes.keys.push(...secretKeysIn(text).map((key) => ({ file: bare(url), ...key })))
}

async function findKey(request: Request, found: PageSeen['key_requests'][number][]): Promise<void> {
  const headers = JSON.stringify(await request.allHeaders().catch(() => request.headers()))
  const places = { url: request.url(), headers, body: request.postData() ?? '' }
  const where = (['headers', 'body', 'url'] as const).find((each) => secretKeysIn(places[each]).length > 0)
  if (where !== undefined) found.push({ method: request.method(), url: bare(request.url()), where })
}

/** Errors about the service or by its scripts; some refusals of the browser are told on the console only. */
function noteConsole(
  message: ConsoleMessage,
  bases: readonly string[],
  blocked: Map<string, string>,
  console_errors: string[],
): void {
  if (message.type() !== 'error') return
  const text = message.text()
  const isOurs = bases.some((base) => text.includes(base) || message.location().url.startsWith(base))
  if (!isOurs) return
  if (/frame-ancestors|X-Frame-Options/.test(text)) {
    blocked.set(`${bases[0]}/v1/render/`, 'frame-ancestors: the page is not on an allowed origin')
  } else console_errors.push(shortened(text))
}

function shortened(message: string): string {
  return withoutTokens(message).slice(0, longestMessage)
}

function bare(url: string): string {
  return withoutTokens(url.split(/[?#]/, 1)[0] as string)
}

function withoutTokens(text: string): string {
  return text.replace(/\b((?:ast|at|bt)_[0-9a-z]*_?|sk_(?:test|live)_)[A-Za-z0-9_-]+/g, '$1…')
}

/** A page that goes elsewhere meanwhile is looked at again there; anything else is a fault of ours. */
function whileNavigating(error: Error): null {
  if (/context was destroyed|closed|navigat|detached/i.test(error.message)) return null
  throw error
}

function pause(duration_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, duration_ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}
