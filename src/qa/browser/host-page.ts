/**
 * An integrator's page around one slot, at an origin that the project allows. It is answered inside the browser, so that
 * no port is taken and any origin can be played; only what goes to the service leaves it. Where an ad leads to, an empty
 * page answers: nothing reaches the network.
 */
import type { Browser, BrowserContext, Page, Request } from 'playwright-core'
import type { JsonValue } from '../json.ts'

export interface HostPageOptions {
  origin: string
  base_url: string
  /** CSS pixels. */
  viewport: { width: number; height: number }
  color_scheme: 'light' | 'dark'
  reduced_motion: boolean
  /** Empty space before the slot, CSS pixels. */
  above: number
  /** Width of the slot, CSS pixels; null for all there is. */
  slot_width: number | null
  /** Content-Security-Policy of the page; null for none. */
  policy: string | null
}

/** What the page asked the service for. */
export interface PageRequest {
  method: string
  path: string
  /** 0: no answer came. */
  status: number
}

export interface HostPage {
  readonly page: Page
  readonly requests: PageRequest[]
  /** Errors on the console, and uncaught ones. */
  readonly console_errors: string[]
  /** Where clicks have led. */
  readonly landings: string[]
  close(): Promise<void>
}

/** The events of the renderer, as plain data. */
export type PageEvent = { type: string } & Record<string, JsonValue>

export async function openHostPage(browser: Browser, options: HostPageOptions): Promise<HostPage> {
  const { origin, base_url, viewport, color_scheme, reduced_motion } = options
  const context = await browser.newContext({
    viewport,
    colorScheme: color_scheme,
    reducedMotion: reduced_motion ? 'reduce' : 'no-preference',
  })
  const requests: PageRequest[] = []
  const console_errors: string[] = []
  const landings: string[] = []
  const service = new URL(base_url).origin
  await context.route(
    (url) => url.origin !== service,
    (route, request) => {
      const url = new URL(request.url())
      if (url.origin === origin) return route.fulfill(hostAnswer(url, options))
      if (request.isNavigationRequest()) landings.push(request.url())
      return route.fulfill({
        status: 200,
        contentType: 'text/html',
        body: '<!doctype html><title>Landing page</title>',
      })
    },
  )
  recordRequests(context, service, requests)
  const page = await context.newPage()
  page.on('console', (message) => {
    if (message.type() === 'error') console_errors.push(message.text())
  })
  page.on('pageerror', (error) => console_errors.push(error.message))
  await page.goto(`${origin}/`)
  return { page, requests, console_errors, landings, close: () => context.close() }
}

function hostAnswer({ pathname }: URL, options: HostPageOptions) {
  if (pathname !== '/') return { status: 404, contentType: 'text/plain', body: 'There is nothing here.' }
  const { policy } = options
  return {
    status: 200,
    contentType: 'text/html; charset=utf-8',
    headers: policy === null ? {} : { 'content-security-policy': policy },
    body: hostHtml(options),
  }
}

function hostHtml({ base_url, above, slot_width }: HostPageOptions): string {
  const width = slot_width === null ? '' : ` style="width:${slot_width}px"`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Host</title>
<link rel="icon" href="data:,">
<style>:root{color-scheme:light dark}body{margin:16px;font:16px/1.5 system-ui,sans-serif}</style>
<script src="${base_url}/v1/render.js"></script>
<div style="height:${above}px"></div>
<p>The answer of the assistant stands here.</p>
<div id="slot"${width}></div>
<div style="height:2000px"></div>
</html>`
}

function recordRequests(context: BrowserContext, service: string, requests: PageRequest[]): void {
  const record = async (request: Request, status: number) => {
    const url = new URL(request.url())
    if (url.origin === service) requests.push({ method: request.method(), path: url.pathname, status })
  }
  context.on('requestfinished', async (request) => {
    const response = await request.response().catch(() => null)
    await record(request, response?.status() ?? 0)
  })
  context.on('requestfailed', (request) => void record(request, 0))
}
