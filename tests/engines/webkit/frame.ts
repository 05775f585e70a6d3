/** A document in a window of WebKit: code that runs in it, and its elements. Named and shaped as Playwright's. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { NotSupported } from '#qa/result.ts'
import { areaInView, type DeepQuery, findAll, hasMatch } from './in-page.ts'
import type { Area } from './picture.ts'
import { type ElementReference, WebDriverError, type WebDriverSession } from './webdriver.ts'

/** What the document's console, and its errors, have since the last look. */
export interface ConsoleEntry {
  /** `error`, `warning`, `log`, or `pageerror` for an uncaught one. */
  type: string
  text: string
  stack: string
}

/** The window that a document is in. */
export interface WindowOfFrame {
  readonly session: WebDriverSession
  /** Runs one piece of work after the other: a session looks at one document at a time. */
  inTurn<Value>(work: () => Promise<Value>): Promise<Value>
  picture(area: Area): Promise<Buffer>
  onConsole(entries: readonly ConsoleEntry[]): void
  readonly timeout_ms: number
}

/** How to reach a document: the frames around it, each by its element or by a selector in the one before. */
type FramePath = readonly (ElementReference | DeepQuery)[]

/** What a call of code in the document returned. */
interface Outcome {
  id: number
  is_done: boolean
  /** As JSON; null for undefined. */
  value: string | null
  error: string | null
  console: ConsoleEntry[]
  frames: [ElementReference, string][]
}

/** What WebDriver says of an element that has left the document, or is not there yet. */
const gone = ['no such element', 'stale element reference', 'no such frame', 'detached shadow root', 'no such window']
const notYet = [...gone, 'element click intercepted', 'element not interactable', 'move target out of bounds']
const againMs = 50

export class WebKitFrame {
  readonly #window: WindowOfFrame
  readonly #path: FramePath
  readonly #parent: WebKitFrame | null
  readonly #url: () => string
  readonly #children = new Map<string, { frame: WebKitFrame; url: string }>()

  constructor(window: WindowOfFrame, path: FramePath, parent: WebKitFrame | null, url: () => string) {
    this.#window = window
    this.#path = path
    this.#parent = parent
    this.#url = url
  }

  url(): string {
    return this.#url()
  }

  parentFrame(): WebKitFrame | null {
    return this.#parent
  }

  /** The frames in it, and in those, as they were when code last ran in the document around them. */
  inner(): WebKitFrame[] {
    return [...this.#children.values()].flatMap(({ frame }) => [frame, ...frame.inner()])
  }

  async frameElement(): Promise<WebKitElement> {
    return new WebKitElement(this.#parent!, this.#path.at(-1) as ElementReference)
  }

  /** Runs a function, or an expression, as Playwright does; `elements` become its first arguments. */
  async evaluate(code: unknown, argument?: unknown, elements: readonly ElementReference[] = []): Promise<unknown> {
    const source = typeof code === 'function' ? `(${code.toString()})` : `(${String(code)})`
    const given = argument === undefined ? 'undefined' : JSON.stringify(argument)
    const { session } = this.#window
    const first = await this.#within(() =>
      session.call<Outcome>('POST', '/execute/async', { script: startScript(source, given), args: [...elements] }),
    )
    let outcome = this.#noted(first)
    while (!outcome.is_done) {
      await sleep(againMs / 2)
      const next = await this.#within(() =>
        session.call<Outcome | null>('POST', '/execute/async', { script: nextScript, args: [outcome.id] }),
      )
      if (next === null) throw new Error('page.evaluate: Execution context was destroyed by a navigation')
      outcome = this.#noted(next)
    }
    if (outcome.error !== null) throw new Error(`page.evaluate: ${outcome.error}`)
    return outcome.value === null ? undefined : (JSON.parse(outcome.value) as Json)
  }

  async waitForFunction(code: unknown, argument?: unknown, { timeout = this.#window.timeout_ms, polling = 50 } = {}) {
    const ends_at = performance.now() + timeout
    for (;;) {
      const value = await this.evaluate(code, argument)
      if (value) return { jsonValue: async () => value }
      if (performance.now() >= ends_at) throw new Error(`page.waitForFunction: Timeout ${timeout}ms exceeded.`)
      await sleep(polling)
    }
  }

  locator(query: DeepQuery): WebKitLocator {
    return new WebKitLocator(this.#window, this, query)
  }

  frameLocator(query: DeepQuery): Pick<WebKitFrame, 'locator'> {
    return new WebKitFrame(this.#window, [...this.#path, query], this, () => '')
  }

  /** Finds elements and works with them, in one turn of the session. */
  async withElements<Value>(
    query: DeepQuery,
    work: (elements: ElementReference[], session: WebDriverSession) => Promise<Value>,
  ): Promise<Value> {
    return this.#within(async () => work(await find(this.#window.session, query), this.#window.session))
  }

  withElement<Value>(work: (session: WebDriverSession) => Promise<Value>): Promise<Value> {
    return this.#within(() => work(this.#window.session))
  }

  /** Enters the document, in a turn of its own. */
  #within<Value>(work: () => Promise<Value>): Promise<Value> {
    const { session, inTurn } = this.#window
    return inTurn(async () => {
      try {
        await session.call('POST', '/frame', { id: null })
        for (const step of this.#path) {
          const element = typeof step === 'string' ? (await find(session, step))[0] : step
          if (element === undefined) throw new WebDriverError('no such frame', `nothing matches ${String(step)}`)
          await session.call('POST', '/frame', { id: element })
        }
        return await work()
      } catch (error) {
        if (this.#path.length > 0 && error instanceof WebDriverError && gone.includes(error.code)) {
          throw new WebDriverError(error.code, 'the frame was detached')
        }
        throw error
      }
    })
  }

  #noted(outcome: Outcome): Outcome {
    this.#window.onConsole(outcome.console)
    const present = new Set<string>()
    for (const [element, url] of outcome.frames) {
      const id = Object.values(element)[0]!
      present.add(id)
      const known = this.#children.get(id)
      if (known === undefined) {
        const entry: { url: string; frame: WebKitFrame } = {
          url,
          frame: new WebKitFrame(this.#window, [...this.#path, element], this, (): string => entry.url),
        }
        this.#children.set(id, entry)
      } else known.url = url
    }
    for (const id of this.#children.keys()) if (!present.has(id)) this.#children.delete(id)
    return outcome
  }
}

/** An element that has been found. */
class WebKitElement {
  readonly #frame: WebKitFrame
  readonly #reference: ElementReference

  constructor(frame: WebKitFrame, reference: ElementReference) {
    this.#frame = frame
    this.#reference = reference
  }

  evaluate(code: unknown, argument?: unknown): Promise<unknown> {
    return this.#frame.evaluate(code, argument, [this.#reference])
  }
}

/** Elements by a selector, looked up at each use. */
class WebKitLocator {
  readonly #window: WindowOfFrame
  readonly #frame: WebKitFrame
  readonly #query: DeepQuery

  constructor(window: WindowOfFrame, frame: WebKitFrame, query: DeepQuery) {
    this.#window = window
    this.#frame = frame
    this.#query = query
  }

  first(): WebKitLocator {
    return this
  }

  locator(query: DeepQuery): WebKitLocator {
    return new WebKitLocator(this.#window, this.#frame, `${this.#query} ${query}`)
  }

  count(): Promise<number> {
    return this.#frame.withElements(this.#query, async ({ length }) => length).catch(() => 0)
  }

  elementHandles(): Promise<WebKitElement[]> {
    return this.#frame.withElements(this.#query, async (elements) =>
      elements.map((element) => new WebKitElement(this.#frame, element)),
    )
  }

  async evaluate(code: unknown, argument?: unknown): Promise<unknown> {
    const element = await this.#untilDone(async (element) => element)
    return this.#frame.evaluate(code, argument, [element])
  }

  click({ timeout }: { timeout?: number } = {}): Promise<void> {
    return this.#untilDone(
      (element, session) => session.call('POST', `/element/${readElementId(element)}/click`),
      timeout,
      'click',
    )
  }

  fill(text: string, { timeout }: { timeout?: number } = {}): Promise<void> {
    return this.#untilDone(
      async (element, session) => {
        await session.call('POST', `/element/${readElementId(element)}/clear`)
        await session.call('POST', `/element/${readElementId(element)}/value`, { text })
      },
      timeout,
      'fill',
    )
  }

  boundingBox(): Promise<{ x: number; y: number; width: number; height: number } | null> {
    return this.#frame.withElements(this.#query, async ([element], session) =>
      element === undefined ? null : session.call('GET', `/element/${readElementId(element)}/rect`),
    )
  }

  /** Of an element of the page itself. It is scrolled into view, as far as it fits. */
  async screenshot({ timeout }: { timeout?: number } = {}): Promise<Buffer> {
    if (this.#frame.parentFrame() !== null)
      throw new NotSupported('A screenshot in a frame is not supported in WebKit.')
    const element = await this.#untilDone(async (element) => element, timeout, 'screenshot')
    const area = (await this.#frame.evaluate(areaInView, undefined, [element])) as Area
    return this.#window.picture(area)
  }

  /** Tries until the element is there and lets it be done, as Playwright does. */
  async #untilDone<Value>(
    work: (element: ElementReference, session: WebDriverSession) => Promise<Value>,
    timeout = this.#window.timeout_ms,
    name = 'evaluate',
  ): Promise<Value> {
    const ends_at = performance.now() + timeout
    for (;;) {
      try {
        return await this.#frame.withElements(this.#query, async ([element], session) => {
          if (element === undefined) throw new WebDriverError('no such element', `nothing matches ${this.#query}`)
          return work(element, session)
        })
      } catch (error) {
        const isLate = performance.now() >= ends_at
        if (isLate || !(error instanceof WebDriverError) || !notYet.includes(error.code)) {
          throw new Error(`locator.${name}: ${readMessage(error)}`, { cause: error })
        }
        await sleep(againMs)
      }
    }
  }
}

function readElementId(element: ElementReference): string {
  return Object.values(element)[0]!
}

function find(session: WebDriverSession, query: DeepQuery): Promise<ElementReference[]> {
  const script = `const hasMatch = ${hasMatch.toString()}; return (${findAll.toString()})(${JSON.stringify(query)}, hasMatch)`
  return session.call('POST', '/execute/sync', { script, args: [] })
}

/** Waits for a job for a moment; one that takes longer is asked for again, so that others get their turn. */
const awaited = `
const all = (root) => [...root.querySelectorAll('*')].flatMap((e) => [...(e.tagName === 'IFRAME' ? [e] : []), ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
const finish = () => done({
  id, is_done: job.is_done === true, value: job.value ?? null, error: job.error ?? null,
  console: (window[Symbol.for('svc.console')] || []).splice(0),
  frames: all(document).map((e) => [e, e.src]),
});
const wait = (left) => (job.is_done || left <= 0 ? finish() : window[Symbol.for('svc.later')](() => wait(left - 5), 5));
if (job.is_done) { delete store.jobs[id]; }
Promise.resolve().then(() => wait(40));
`

function startScript(source: string, argument: string): string {
  return `
const done = arguments[arguments.length - 1];
const elements = [...arguments].slice(0, -1);
window[Symbol.for('svc.later')] ??= window.setTimeout.bind(window);
const store = (window[Symbol.for('svc.jobs')] ??= { next: 0, jobs: {} });
const id = ++store.next;
const job = (store.jobs[id] = {});
const run = async () => { const code = ${source}; return typeof code === 'function' ? code(...elements, ${argument}) : code; };
run().then((value) => { job.value = JSON.stringify(value); }, (error) => { job.error = String(error); }).finally(() => { job.is_done = true; });
${awaited}`
}

const nextScript = `
const [id, done] = arguments;
const store = window[Symbol.for('svc.jobs')];
const job = store && store.jobs[id];
if (!job) return done(null);
${awaited}`
