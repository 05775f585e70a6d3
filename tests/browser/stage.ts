/**
 * What browser tests share: the emulator on one loopback origin, an integrator's app on another, a Chromium between them.
 * Nothing is mocked. Every test opens a page with its own session, so tests can run side by side.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContext, BrowserContextOptions, Disposable, Page, Request } from 'playwright-core'
import { type Client, createClient } from '#client/index.ts'
import type { Format, NativeTemplateId } from '#contract/fields.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import type { EventType, RendererEvent } from '#renderer/host/events.ts'
import type { SponsoredPlacement } from '#renderer/host/main.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '#sandbox/index.ts'
import { sharedChromium } from './chromium.ts'
import { holdTime } from './held-time.ts'
import { awaitEvents, type PageEvents } from './page-events.ts'
import { lendPage, type Preparation } from './page-pool.ts'

export interface Stage extends AsyncDisposable {
  readonly sandbox: Sandbox
  /** Uses the secret test key of `proj_demo`. */
  readonly client: Client
  readonly browser: Browser
  /** Origin of the integrator's app: `http://localhost:<port>`, where the emulator is at `http://127.0.0.1:<port>`. */
  readonly host_url: string
  /** Opens a page of the integrator's app, in its own browser context. */
  open(options?: OpenOptions): Promise<Host>
}

export interface OpenOptions {
  /** Body of the host page, after the script element of render.js. Default: one `<div id="slot">`. */
  html?: string
  /** Headers of the host page, for example a policy. */
  headers?: Record<string, string>
  context?: BrowserContextOptions
  /** Where the page reaches the emulator, such as a pass-through. Default: its own URL. */
  service_url?: string
  /** Prepares the page before it is opened. One that returns the script that it adds has it removed afterwards. */
  before?: (page: Page) => Promise<unknown>
  /** Whether the page's time stands still until `pass`, or flows as it does for users. Default: that of the stage. */
  time?: PageTime
}

export type PageTime = 'held' | 'flows'

export interface PlaceOptions {
  format?: Format
  native_template_id?: NativeTemplateId
  max_width?: number
  max_height?: number
  /** More fields of the request. */
  more?: Record<string, unknown>
}

/** A response of the integrator's backend in place of the emulator's own. */
export interface BackendResponse {
  status?: number
  headers?: Record<string, string>
  body: string
  /** Resolves when the response may be sent. */
  after?: Promise<unknown>
}

/** A beacon as the emulator recorded it, accepted or not. */
export interface RecordedBeacon {
  event: BeaconEvent | null
  verdict: 'accepted' | 'duplicate' | 'rejected'
  reason_code: string
  would_bill: boolean
  metric: string | null
}

/** One page of the integrator's app, and its session. */
export interface Host extends AsyncDisposable, PageEvents {
  readonly page: Page
  readonly context: BrowserContext
  readonly session_id: string
  /** The backend route that the page calls: POST for a placement, GET with `slot_id` while it is pending. */
  readonly endpoint: string
  /** Body of a placement request for this session. */
  body(options?: PlaceOptions): Record<string, unknown>
  /** Requests a placement as the backend does, with its secret key. */
  place(options?: PlaceOptions): Promise<PlacementResponse>
  /** Mounts a response. Resolves to whether there is a handle. */
  mount(response: unknown, target?: string): Promise<boolean>
  /** Requests a placement as the backend does and mounts it on `#slot`. */
  show(options?: PlaceOptions, target?: string): Promise<PlacementResponse>
  /** Responses that the backend sends next, first to last, before it forwards the emulator's again. */
  backend_responses: BackendResponse[]
  /** Requests of the page to its backend: method and query. */
  backend_calls: string[]
  /** Events that the renderer has emitted, oldest first. */
  events(): Promise<RendererEvent[]>
  types(): Promise<EventType[]>
  /** The beacons of this session that the emulator recorded, by the time of their event. */
  recorded(): Promise<RecordedBeacon[]>
  /** The recorded beacons without heartbeats, as `event verdict reason_code`, with `+metric` where production would bill. */
  ledger(): Promise<string[]>
  /** Requests of the browser to the emulator. */
  readonly requests: Request[]
  /** Console lines and uncaught errors of the host page. */
  readonly console_lines: string[]
}

declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
    /** Returns the elements that match in the page and its shadow roots, where the parts of ads are. */
    findAll(selector: string, around?: ParentNode): HTMLElement[]
  }
}

/** Runs in a page before its own scripts. */
export function defineFindAll(): void {
  window.findAll = (selector, around = document) => [
    ...around.querySelectorAll<HTMLElement>(selector),
    ...[...around.querySelectorAll('*')].flatMap(({ shadowRoot }) =>
      shadowRoot ? window.findAll(selector, shadowRoot) : [],
    ),
  ]
}

/**
 * Of a page whose time flows, the renderer waits twenty times as long for a frame before it gives the ad up. A busy host needs that;
 * that it gives up in time is tested elsewhere.
 */
export function bePatient(page: Page): Promise<Disposable> {
  return page.addInitScript(() => {
    const start = window.setTimeout.bind(window)
    const isLimit = (ms = 0): boolean => ms === 3_000 || ms === 5_000
    Object.assign(window, {
      setTimeout: (work: () => void, ms?: number) => start(work, isLimit(ms) ? 20 * ms! : ms),
    })
  })
}

/** What pages have before their own scripts. */
const prepare: Readonly<Record<PageTime, Preparation>> = {
  held: async (page) => [await page.addInitScript(defineFindAll), await holdTime(page)],
  flows: async (page) => [await page.addInitScript(defineFindAll), await bePatient(page)],
}

function isScript(given: unknown): given is Disposable {
  return typeof given === 'object' && given !== null && 'dispose' in given
}

let sessions = 0

/** Starts an emulator and an integrator's app, for pages in the browser that all tests share or in another. */
export async function openStage(
  options: SandboxOptions = {},
  other?: Browser,
  time: PageTime = other ? 'flows' : 'held',
): Promise<Stage> {
  const sandbox = await startSandbox(options)
  const { secret_key, client_id } = sandbox.keys
  const client = createClient({ base_url: sandbox.url, credential: secret_key })
  const pages = new Map<string, { html: string; headers: Record<string, string> }>()
  const hosts = new Map<string, Pick<Host, 'backend_responses' | 'backend_calls'>>()

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://host')
    const name = url.pathname.split('/')[2] ?? ''
    if (url.pathname.startsWith('/page/')) return sendPage(response, pages.get(name))
    const host = hosts.get(name)
    if (!host) return response.writeHead(404).end()
    host.backend_calls.push(`${request.method} ${url.search}`)
    const scripted = host.backend_responses.shift()
    if (scripted) {
      await scripted.after
      const headers = { 'content-type': 'application/json', ...scripted.headers }
      return response.writeHead(scripted.status ?? 200, headers).end(scripted.body)
    }
    await forward(request, response, url)
  })
  /** Acts as the integrator's backend: adds its key and forwards the response unchanged. */
  async function forward(request: IncomingMessage, response: ServerResponse, { searchParams }: URL): Promise<void> {
    const headers = { authorization: `Bearer ${secret_key}`, 'content-type': 'application/json' }
    const slot_id = searchParams.get('slot_id')
    const upstream = slot_id
      ? await fetch(`${sandbox.url}/v1/decisions/${slot_id}?wait_ms=${searchParams.get('wait_ms') ?? 0}`, { headers })
      : await fetch(`${sandbox.url}/v1/placements`, { method: 'POST', headers, body: await readBody(request) })
    const retry_after = upstream.headers.get('retry-after')
    const passed = { 'content-type': 'application/json', date: upstream.headers.get('date') ?? '' }
    response.writeHead(upstream.status, { ...passed, ...(retry_after && { 'retry-after': retry_after }) })
    response.end(await upstream.text())
  }
  await listen(server)
  const host_url = `http://localhost:${(server.address() as AddressInfo).port}`
  const browser = other ?? (await sharedChromium())

  async function open(given: OpenOptions = {}): Promise<Host> {
    const session_id = `browser-${process.pid}-${++sessions}`
    const backend_responses: BackendResponse[] = []
    const backend_calls: string[] = []
    const { service_url = sandbox.url } = given
    hosts.set(session_id, { backend_responses, backend_calls })
    pages.set(session_id, {
      headers: given.headers ?? {},
      html: `<!doctype html><html lang="en"><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width"><style>body{margin:8px}</style>
<!-- Loaded beforehand: a page whose time stands still would wait for it. -->${given.headers ? '' : `<script type="module" src="${service_url}/assets/render/judge.js"></script>`}
<script src="${service_url}/v1/render.js"></script>${given.html ?? '<div id="slot"></div>'}`,
    })
    const { context, page, giveBack } = await lendPage(browser, prepare[given.time ?? time], given.context)
    const requests: Request[] = []
    const console_lines: string[] = []
    context.on('request', (request) => {
      if (request.url().startsWith(service_url)) requests.push(request)
    })
    page.on('console', (message) => console_lines.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => console_lines.push(`pageerror: ${error.message}`))
    const prepared = await given.before?.(page)
    const isClean = given.before === undefined || isScript(prepared)
    await page.goto(`${host_url}/page/${session_id}`)

    const body: Host['body'] = ({ format, native_template_id, max_width, max_height, more } = {}) => ({
      client_id,
      session_id,
      job_type: 'chat',
      ...(max_width && { slot_hint: { max_width, max_height: max_height ?? 600 } }),
      ...(format && { overrides: { allowed_formats: [format], ...(native_template_id && { native_template_id }) } }),
      ...more,
    })
    const place: Host['place'] = (options) =>
      client.placements.create({ body: body(options) as Parameters<typeof client.placements.create>[0]['body'] })
    const mount: Host['mount'] = (response, target = '#slot') =>
      page.evaluate(
        ({ response, target }) =>
          window.SponsoredPlacement!.renderPlacement({ target, response: response as PlacementResponse }) !== null,
        { response, target },
      )
    const events: Host['events'] = () => page.evaluate(() => window.SponsoredPlacement!.getEvents())
    const recorded: Host['recorded'] = async () => {
      const { items } = await client.beacons.list({ query: { session_id, limit: 200 } })
      return items
        .toSorted((a, b) => (a.occurred_at_ms ?? 0) - (b.occurred_at_ms ?? 0))
        .map(({ event, verdict, reason_code, would_bill, metric }) => ({
          event,
          verdict,
          reason_code,
          would_bill,
          metric,
        }))
    }
    return {
      page,
      context,
      session_id,
      endpoint: `/api/${session_id}`,
      body,
      place,
      mount,
      show: async (options, target) => {
        const response = await place(options)
        await mount(response, target)
        return response
      },
      backend_responses,
      backend_calls,
      events,
      types: async () => (await events()).map(({ type }) => type),
      ...awaitEvents(page),
      recorded,
      ledger: async () =>
        (await recorded())
          .filter(({ event }) => event !== 'heartbeat')
          .map(
            ({ event, verdict, reason_code, would_bill, metric }) =>
              `${event} ${verdict} ${reason_code}${would_bill ? ` +${metric}` : ''}`,
          ),
      requests,
      console_lines,
      [Symbol.asyncDispose]: async () => {
        if (isScript(prepared) && !page.isClosed()) await prepared.dispose()
        await giveBack(isClean)
      },
    }
  }

  return {
    sandbox,
    client,
    browser,
    host_url,
    open,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await sandbox.close()
    },
  }
}

function sendPage(response: ServerResponse, page: { html: string; headers: Record<string, string> } | undefined): void {
  if (!page) return void response.writeHead(404).end()
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers }).end(page.html)
}

async function listen(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
