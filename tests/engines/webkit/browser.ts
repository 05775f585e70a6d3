/**
 * WebKit with the interface of playwright-core, as far as svc uses it: Playwright drives only a WebKit of its own, Debian's and
 * Fedora's are driven by WebDriver. A window is a process, and a context has one window. A method that is not here throws
 * NotSupported.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { findEntry } from '#foundation/table-entry.ts'
import type { BrowserComputer } from '#qa/browser/engines.ts'
import { NotSupported } from '#qa/result.ts'
import { type ConsoleEntry, WebKitFrame, type WindowOfFrame } from './frame.ts'
import { keepConsole } from './in-page.ts'
import { type Area, cropScreen } from './picture.ts'
import { type Fulfilment, openProxy, type PageProxy, type SeenRequest } from './proxy.ts'
import { openWindow, screenSize, WebDriverError, type WebDriverSession, type WebKitPrograms } from './webdriver.ts'

interface WebKitOptions {
  programs: WebKitPrograms
  computer: BrowserComputer
  /** Host names that pages may reach beside loopback. */
  reachable: readonly string[] | 'anything'
}

interface ContextOptions {
  viewport?: { width: number; height: number } | null
  colorScheme?: 'light' | 'dark' | 'no-preference' | null
  reducedMotion?: 'reduce' | 'no-preference' | null
}

type Listener = (value: unknown) => void
type Handler = (route: { fulfill(response: Fulfilment): Promise<void> }, request: SeenRequest) => Promise<void>

/** Starts a screen for WebKit's windows, and resolves with the browser and what ends it at once. Throws Error. */
export async function openWebKit({
  programs,
  ...options
}: WebKitOptions): Promise<{ browser: Browser; kill(): Promise<void> }> {
  const contexts = new Set<Context>()
  let isConnected = true
  let version = 'unknown'
  const close = async (): Promise<void> => {
    isConnected = false
    await Promise.all([...contexts].map((context) => context.close()))
  }
  const open = async (contextOptions: ContextOptions = {}): Promise<Context> => {
    const context = new Context(options)
    contexts.add(context)
    context.on('close', () => contexts.delete(context))
    version = await context.open(programs, contextOptions)
    return context
  }
  // Shows at the start what is missing, and the version.
  await (await open()).close()
  const browser = {
    newContext: open,
    newPage: async (options?: ContextOptions) => (await open(options)).newPage(),
    isConnected: () => isConnected,
    version: () => version,
    close,
  }
  return { browser: limited(browser, 'browser') as unknown as Browser, kill: close }
}

/** Throws where a method of Playwright's is called that WebKit's part does not have. */
function limited<Value extends object>(value: Value, name: string): Value {
  return new Proxy(value, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key)
      // A promise that resolves to it looks for then.
      if (found !== undefined || typeof key === 'symbol' || key === 'then' || key === 'toJSON') {
        return typeof found === 'function' ? found.bind(target) : found
      }
      throw new NotSupported(`${name}.${key} is not supported in WebKit.`)
    },
  })
}

class Context {
  readonly #computer: BrowserComputer
  readonly #reachable: WebKitOptions['reachable']
  readonly #listeners = new Map<string, Set<Listener>>()
  #routes: { matches(url: URL): boolean; handler: Handler }[] = []
  readonly #scripts: string[] = [`(${keepConsole.toString()})()`]
  #session: WebDriverSession | null = null
  #proxy: PageProxy | null = null
  #page: Page | null = null
  #timeout_ms = 30_000
  #landings: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor({ computer, reachable }: Pick<WebKitOptions, 'computer' | 'reachable'>) {
    this.#computer = computer
    this.#reachable = reachable
  }

  get timeout_ms(): number {
    return this.#timeout_ms
  }

  get session(): WebDriverSession {
    return this.#session!
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  async open(programs: WebKitPrograms, options: ContextOptions): Promise<string> {
    this.#proxy = await openProxy({
      reachable: this.#reachable,
      newNonce: () => this.#computer.randomText(24),
      onRequest: (request) => this.emit('request', request),
      onResponse: (response) => this.emit('response', response),
      onFailure: (request) => this.emit('requestfailed', request),
      scripts: () => this.#scripts,
      findRoute: (url) => {
        const found = this.#routes.find(({ matches }) => matches(url))
        return found === undefined ? null : (request) => answer(found.handler, request)
      },
    })
    try {
      this.#session = await openWindow({
        programs,
        env: this.#computer.env,
        proxy_port: this.#proxy.port,
        color_scheme: options.colorScheme === 'dark' ? 'dark' : 'light',
        reduced_motion: options.reducedMotion === 'reduce',
      })
      const { width, height } = options.viewport ?? { width: 1280, height: 720 }
      await resize(this.#session, width, height)
      return this.#session.version
    } catch (error) {
      this.#proxy.close()
      throw error
    }
  }

  async newPage(): Promise<Page> {
    if (this.#page !== null) throw new NotSupported('A second page in a context is not supported in WebKit.')
    this.#page = limited(new Page(this), 'page')
    return this.#page
  }

  pages(): Page[] {
    return this.#page === null ? [] : [this.#page]
  }

  on(type: string, listener: Listener): this {
    const known = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, known.add(listener))
    return this
  }

  emit(type: string, value: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(value)
  }

  /** @param timeout_ms 0 for none */
  setDefaultTimeout(timeout_ms: number): void {
    this.#timeout_ms = timeout_ms === 0 ? Number.POSITIVE_INFINITY : timeout_ms
  }

  async newCDPSession(): Promise<never> {
    throw new NotSupported('A CDP session is only available in Chromium.')
  }

  async addInitScript(code: unknown, argument?: unknown): Promise<void> {
    const source = typeof code === 'function' ? `(${code.toString()})(${JSON.stringify(argument)})` : String(code)
    this.#scripts.push(source)
  }

  async route(matches: string | ((url: URL) => boolean), handler: Handler): Promise<void> {
    if (typeof matches === 'string') throw new NotSupported('A route by a pattern is not supported in WebKit.')
    this.#routes.push({ matches, handler })
  }

  async unrouteAll(): Promise<void> {
    this.#routes = []
  }

  findFailure(url: string): string | null {
    return this.#proxy?.findFailure(url) ?? null
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#landings
    await this.#session?.end()
    this.#proxy?.close()
    this.emit('close', this)
  }
}

async function answer(handler: Handler, request: SeenRequest): Promise<Fulfilment> {
  const { promise, resolve } = Promise.withResolvers<Fulfilment>()
  await handler({ fulfill: async (response) => resolve(response) }, request)
  return promise
}

/** Makes the window so large that the page in it has the size: around it are the bars of the window. */
async function resize(session: WebDriverSession, width: number, height: number): Promise<void> {
  const script = 'return [outerWidth - innerWidth, outerHeight - innerHeight, innerWidth, innerHeight]'
  let [more_width, more_height] = [0, 40]
  for (let tries = 0; tries < 40; tries++) {
    await session.call('POST', '/window/rect', { x: 0, y: 0, width: width + more_width, height: height + more_height })
    const [x = 0, y = 0, w, h] = await session.call<number[]>('POST', '/execute/sync', { script, args: [] })
    if (w === width && h === height) return
    ;[more_width, more_height] = [x, y]
    await sleep(25)
  }
}

/** How long what is painted takes to the screen. */
const settledMs = 100

class Page implements WindowOfFrame {
  readonly #context: Context
  readonly #main: WebKitFrame
  #url = 'about:blank'
  #last: Promise<unknown> = Promise.resolve()
  #handle: string | null = null
  readonly #known = new Set<string>()
  readonly #listeners = new Map<string, Set<Listener>>()

  constructor(context: Context) {
    this.#context = context
    this.#main = new WebKitFrame(this, [], null, () => this.#url)
  }

  get session(): WebDriverSession {
    return this.#context.session
  }

  get timeout_ms(): number {
    return this.#context.timeout_ms
  }

  setDefaultTimeout(timeout_ms: number): void {
    this.#context.setDefaultTimeout(timeout_ms)
  }

  readonly inTurn = <Value>(work: () => Promise<Value>): Promise<Value> => {
    const turn = this.#last.then(async () => {
      await this.#noteLandings()
      return work()
    })
    this.#last = turn.catch(() => {})
    return turn
  }

  /** Windows that clicks have opened: each navigates to an address, which a request alone does not show over https. */
  async #noteLandings(): Promise<void> {
    const handles = await this.session.call<string[]>('GET', '/window/handles')
    if (this.#handle === null) {
      this.#handle = handles[0]!
      this.#known.add(this.#handle)
    }
    const opened = handles.filter((handle) => !this.#known.has(handle))
    for (const handle of opened) {
      await this.session.call('POST', '/window', { handle })
      const url = await this.session.call<string>('GET', '/url').catch(() => '')
      if (url === '' || url === 'about:blank') continue
      this.#known.add(handle)
      // Over http the proxy has seen it.
      if (url.startsWith('https:')) this.#context.emit('request', landing(url))
      // Beside the page, not above it.
      await this.session.call('POST', '/window/rect', { x: screenSize.width / 2, y: 0, width: 800, height: 600 })
    }
    if (opened.length > 0) await this.session.call('POST', '/window', { handle: this.#handle })
  }

  onConsole(entries: readonly ConsoleEntry[]): void {
    for (const { type, text, stack } of entries) {
      if (type === 'pageerror') {
        const error = Object.assign(new Error(text), { stack })
        this.#emit('pageerror', error)
        this.#context.emit('weberror', { error: () => error })
        continue
      }
      const url = /(https?:\/\/[^\s)]+?)(:\d+)*$/m.exec(stack.split('\n')[1] ?? '')?.[1] ?? ''
      const message = { type: () => type, text: () => text, location: () => ({ url }) }
      this.#emit('console', message)
      this.#context.emit('console', message)
    }
  }

  on(type: string, listener: Listener): this {
    const known = this.#listeners.get(type) ?? new Set()
    this.#listeners.set(type, known.add(listener))
    return this
  }

  #emit(type: string, value: unknown): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(value)
  }

  async goto(url: string, { waitUntil = 'load' }: { waitUntil?: string } = {}): Promise<null> {
    this.#url = url
    const failure = () => this.#context.findFailure(url)
    try {
      await this.inTurn(() => this.session.call('POST', '/url', { url }))
    } catch (error) {
      const why = failure()
      if (why !== null) throw new Error(`page.goto: ${why} at ${url}`)
      const isLoading = error instanceof WebDriverError && error.code === 'timeout'
      if (!isLoading || waitUntil !== 'commit') throw error
    }
    const why = failure()
    if (why !== null) throw new Error(`page.goto: ${why} at ${url}`)
    return null
  }

  async reload(): Promise<null> {
    await this.inTurn(() => this.session.call('POST', '/refresh'))
    return null
  }

  async goBack(): Promise<null> {
    await this.inTurn(() => this.session.call('POST', '/back'))
    return null
  }

  url(): string {
    return this.#url
  }

  isClosed(): boolean {
    return this.#context.isClosed
  }

  context(): Context {
    return this.#context
  }

  mainFrame(): WebKitFrame {
    return this.#main
  }

  frames(): WebKitFrame[] {
    return [this.#main, ...this.#main.inner()]
  }

  evaluate(code: unknown, argument?: unknown): Promise<unknown> {
    return this.#main.evaluate(code, argument)
  }

  waitForFunction(code: unknown, argument?: unknown, options?: { timeout?: number; polling?: number }) {
    return this.#main.waitForFunction(code, argument, options)
  }

  waitForTimeout(time_ms: number): Promise<void> {
    return sleep(time_ms)
  }

  locator(query: string) {
    return this.#main.locator(query)
  }

  frameLocator(query: string) {
    return this.#main.frameLocator(query)
  }

  addInitScript(code: unknown, argument?: unknown): Promise<void> {
    return this.#context.addInitScript(code, argument)
  }

  async setViewportSize({ width, height }: { width: number; height: number }): Promise<void> {
    await this.inTurn(() => resize(this.session, width, height))
  }

  /** WebDriver acts on the window that it was given, wherever that is. */
  async bringToFront(): Promise<void> {}

  async screenshot(): Promise<Buffer> {
    const [width = 0, height = 0] = (await this.evaluate('[innerWidth, innerHeight]')) as number[]
    return this.picture({ x: 0, y: 0, width, height })
  }

  /** Takes a picture of an area of the page, from the upper left corner of what is in view. */
  async picture(area: Area): Promise<Buffer> {
    const file = this.session.screen_file
    if (file === null) throw new NotSupported('A screenshot of a window of your own is not supported in WebKit.')
    // What has been painted last is on the screen a moment later.
    const bars = (await this.evaluate(
      'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done([outerWidth - innerWidth, outerHeight - innerHeight]))))',
    )) as [number, number]
    await sleep(settledMs)
    return cropScreen(file, { ...area, x: area.x + bars[0], y: area.y + bars[1] })
  }

  readonly keyboard = limited(
    {
      press: (key: string): Promise<void> => {
        const value = findEntry(keys, key) ?? (key.length === 1 ? key : null)
        if (value === null) throw new NotSupported(`The key ${key} is not supported in WebKit.`)
        return this.inTurn(async () => {
          const actions = ['keyDown', 'keyUp'].map((type) => ({ type, value }))
          await this.session.call('POST', '/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] })
        })
      },
    },
    'page.keyboard',
  )

  close(): Promise<void> {
    return this.#context.close()
  }
}

/** Of WebDriver's table of keys. */
const keys: Readonly<Record<string, string>> = {
  Backspace: '\uE003',
  Tab: '\uE004',
  Enter: '\uE007',
  Escape: '\uE00C',
  Space: ' ',
  ArrowLeft: '\uE012',
  ArrowUp: '\uE013',
  ArrowRight: '\uE014',
  ArrowDown: '\uE015',
  Delete: '\uE017',
}

function landing(url: string): SeenRequest {
  return {
    url: () => url,
    method: () => 'GET',
    headers: () => ({}),
    allHeaders: async () => ({}),
    postData: () => null,
    postDataJSON: () => null,
    isNavigationRequest: () => true,
    resourceType: () => 'document',
    frame: () => ({ parentFrame: () => null, url: () => url }),
    response: async () => null,
    failure: () => null,
  }
}
