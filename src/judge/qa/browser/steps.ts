/**
 * The steps that need a browser: `browser` opens a host page, `page` continues with it. Their actions are done one after the
 * other: mount, scroll, click, wait for events of the renderer.
 */

import { stripVTControlCharacters } from 'node:util'
import type { Page } from 'playwright-core'
import { isObject, type Json } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { type Check, NotSupported, type StepResponse } from '../result.ts'
import type { CaseState } from '../run/case-state.ts'
import { changedBody } from '../run/exchange.ts'
import { pause, type StepContext, stepKind } from '../steps/step-kind.ts'
import { durationMs } from '../suite/variables.ts'
import type { Preference } from './engines.ts'
import { type HostPage, observe, openHostPage, type PageEvent, type RendererWindow } from './host-page.ts'
import { type Action, Actions, Open, type WantedPageEvent } from './schema.ts'
import { screenshotOfFailure, takeScreenshot } from './screenshot.ts'

/** The page of a case; there is one at a time. */
const pages = new WeakMap<CaseState, HostPage>()

export const browser = stepKind({
  name: 'browser',
  summary: 'opens a page with a slot in a real browser, and mounts a fill',
  shape: {
    browser: Open.describe('What is mounted, and the page around it.'),
    do: Actions.optional().describe('Actions on the page, in order.'),
  },
  isRequest: false,
  needs: ({ browser }) => [
    'browser',
    ...(usesPublishableKey(browser) ? (['publishable_key'] as const) : []),
    ...neededPreferences(browser),
  ],
  title: ({ browser, do: list }) =>
    `browser ${isObject(browser) && 'turn' in browser ? 'turn' : 'page'}${list === undefined ? '' : `: ${describeActions(list)}`}`,
  run: ({ browser: options, do: list }, context) =>
    withPlainErrors(async () => {
      const { target, state } = context
      const { of, set, unset, turn } = options
      const { host, opened } = await context.beforeTime(async () => {
        await pages.get(state)?.close()
        const opened = await target.browser!.get()
        const host = await openHostPage(opened, {
          ...options,
          origin: state.origin,
          base_url: target.base_url,
          notes_beacons: target.browser!.cannot.includes('request_bodies'),
        })
        return { host, opened }
      })
      pages.set(state, host)
      state.onEnd(async () => {
        if (!(await host.close())) await target.browser!.replace(opened)
      })
      if (turn !== undefined) await start(options, turn, host, context)
      else if (of !== null) await mount(host, context, { of, set, unset })
      return act(host, context, 'do', list)
    }),
})

export const page = stepKind({
  name: 'page',
  summary: 'continues with the page that is open: acts on it, waits, takes screenshots',
  shape: { page: Actions.describe('Actions on the page, in order.') },
  isRequest: false,
  needs: () => ['browser'],
  title: ({ page }) => `page: ${describeActions(page)}`,
  run: ({ page: list }, context) =>
    withPlainErrors(async () => {
      const host = pages.get(context.state)
      if (host === undefined) throw new Error('No page is open: an earlier step must be browser.')
      return act(host, context, 'page', list)
    }),
})

async function start(options: Open, body: Record<string, Json>, host: HostPage, { state }: StepContext): Promise<void> {
  const endpoint = options.endpoint ?? null
  await startTurn(host, {
    body: { session_id: state.session, job_type: 'chat', ...body },
    endpoint,
    publishable_key: endpoint === null ? (options.publishable_key ?? (await state.key('publishable'))) : null,
  })
}

async function act(
  host: HostPage,
  context: StepContext,
  field: string,
  list: Action | readonly Action[] | undefined,
): Promise<StepResponse | null> {
  const started = performance.now()
  const hasPassed = list === undefined || (await perform(list, field, host, context))
  // A failed check is reported in time, also when the page hangs after it.
  const inTime = () =>
    Promise.race([
      observe(host),
      untilSpare(context).then(
        () => null,
        () => null,
      ),
    ])
  const body = await (hasPassed ? observe(host) : inTime())
  return body === null ? null : { status: 200, headers: {}, body, duration_ms: performance.now() - started }
}

/** Resolves shortly before the time of a step is up. */
function untilSpare(context: Pick<StepContext, 'ends_at_ms' | 'signal'>): Promise<void> {
  return pause(Math.max(0, context.ends_at_ms - performance.now() - spareMs), context)
}

/** Turns errors of the driver, which describe its own calls, into what happened to the page. */
async function withPlainErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof NotSupported) throw error
    const [first = ''] = stripVTControlCharacters(readMessage(error)).split('\n')
    const message = first.replace(/^\w+\.\w+: (Error: )?/, '')
    if (/Target crashed|Page crashed/.test(message)) throw new Error('The page crashed.', { cause: error })
    if (/has been closed|browser has disconnected|Browser closed/.test(message)) {
      throw new Error('The browser exited during the step.', { cause: error })
    }
    throw new Error(message, { cause: error })
  }
}

function neededPreferences(browser: Json | undefined): Preference[] {
  if (!isObject(browser)) return []
  return [
    ...(browser.color_scheme === 'dark' ? (['dark'] as const) : []),
    ...(browser.reduced_motion === true ? (['reduced_motion'] as const) : []),
  ]
}

/** Whether the turn is activated with the publishable key of the project. */
function usesPublishableKey(browser: Json | undefined): boolean {
  return isObject(browser) && 'turn' in browser && !('endpoint' in browser) && !('publishable_key' in browser)
}

/** Returns the names of actions for a title: `wait_for visible, click ad`. */
function describeActions(list: Json | undefined): string {
  const actions = (Array.isArray(list) ? list : [list]).flatMap((each) => (isObject(each) ? Object.entries(each) : []))
  return actions
    .map(([name, value]) => {
      const of = isObject(value) ? (value.type ?? value.name) : value
      return typeof of === 'string' && name !== 'run' && of.length < 24 ? `${name} ${of}` : name
    })
    .join(', ')
}

/** A response to mount: that of a step, changed. */
interface Mounting {
  of?: string | undefined
  set?: Record<string, Json> | undefined
  unset?: string[] | undefined
}

type Run<Value> = (value: Value, host: HostPage, context: StepContext) => Promise<void>

const actions: { [Name in keyof Action]-?: Run<NonNullable<Action[Name]>> } = {
  mount: (what, host, context) => mount(host, context, typeof what === 'string' ? { of: what } : what),
  wait_for: waitForEvent,
  none_of: checkNoEvents,
  wait: (duration, _host, context) => pause(durationMs(duration), context),
  scroll: (to, { page }) => scroll(page, to),
  hidden: (isHidden, { page }) => setHidden(page, isHidden),
  click,
  finish: (_, { page }) => page.evaluate(() => (window as RendererWindow).turn?.finish()),
  clear: (_, { page }) =>
    page.evaluate(() => (window as RendererWindow).SponsoredPlacement?.clearPlacement({ target: '#slot' })),
  remove_label: (_, { page }) => page.locator('#slot [data-sp-label]').evaluate((label) => label.remove()),
  run: runCode,
  screenshot: takeScreenshot,
}

/** Milliseconds before the time of a step is up: enough for a message that names what hung. */
const spareMs = 300
/** The same for a missing event, which also reads what the page has seen. */
const eventSpareMs = 1_500

/** Runs actions in order, up to the first with a failed check. Resolves with whether all passed. The checks are in the context. */
async function perform(
  list: Action | readonly Action[],
  field: string,
  host: HostPage,
  context: StepContext,
): Promise<boolean> {
  const isList = Array.isArray(list)
  for (const [index, action] of [list].flat().entries()) {
    for (const [name, value] of Object.entries(action)) {
      if (value === undefined) continue
      context.signal.throwIfAborted()
      const place = context.locate(isList ? [field, index, name] : [field, name])
      if (await runAction({ name: name as keyof Action, value, place }, host, context)) continue
      await screenshotOfFailure(host, context)
      return false
    }
  }
  return true
}

/** Resolves with whether every check of the action passed. */
async function runAction(
  { name, value, place }: { name: keyof Action; value: unknown; place: Pick<Check, 'place'> },
  host: HostPage,
  context: StepContext,
): Promise<boolean> {
  let hasPassed = true
  const actionContext: StepContext = {
    ...context,
    check: (check) => {
      hasPassed &&= check.passed
      context.check({ ...check, ...place })
    },
  }
  const run = actions[name] as Run<unknown>
  const done = new AbortController()
  const signal = AbortSignal.any([context.signal, done.signal])
  const late = untilSpare({ ends_at_ms: context.ends_at_ms, signal }).then(() => {
    throw new Error(
      `The action ${name} did not finish: the page hangs, or waits for something. Allow it more time: timeout.`,
    )
  })
  await Promise.race([run(value, host, actionContext), late]).finally(() => done.abort())
  return hasPassed
}

/** Mounts the response of an earlier step, as a page does that got it from its backend. */
async function mount({ page }: HostPage, { state }: StepContext, { of, ...changes }: Mounting): Promise<void> {
  const body = of === undefined ? state.lastFill().body : state.findResponse(of)?.body
  if (body === undefined) {
    throw new Error(`There is no response named ${of} to mount: an earlier step must have as: ${of}.`)
  }
  await page.evaluate(
    async ({ response, session_id }) => {
      const { SponsoredPlacement: renderer } = window as RendererWindow
      if (renderer === undefined) throw new Error('The page has no SponsoredPlacement: render.js did not load.')
      const isMounted = renderer.renderPlacement({ target: '#slot', response, session_id }) !== null
      // The first ad of a page waits for the second part of render.js.
      const isOver = () =>
        document.querySelector('#slot [data-sp-placement]') !== null || renderer.state().occupied === 0
      while (isMounted && !isOver()) await new Promise((resolve) => setTimeout(resolve, 10))
    },
    { response: changedBody(body, changes) as object, session_id: state.session },
  )
}

/** Starts a turn as an integration does: with its own endpoint, or activated with the publishable key. */
async function startTurn(
  { page }: HostPage,
  turn: { body: Record<string, Json>; endpoint: string | null; publishable_key: string | null },
): Promise<void> {
  await page.evaluate(
    async ({ body, endpoint, publishable_key }) => {
      const here = window as RendererWindow
      const renderer = here.SponsoredPlacement
      if (renderer === undefined) throw new Error('The page has no SponsoredPlacement: render.js did not load.')
      if (publishable_key !== null && (await renderer.activate({ publishableKey: publishable_key })) === null) return
      here.turn = renderer.startTurn({ target: '#slot', body, ...(endpoint === null ? {} : { endpoint }) })
    },
    { ...turn, body: turn.body as object },
  )
}

/** Runs JavaScript on the page. An error that it throws is reported as the page's. */
async function runCode(code: string, { page }: HostPage): Promise<void> {
  const work = page.evaluate(
    `(async (slot, turn, frame) => {${code}\n})(document.querySelector('#slot'), window.turn, document.querySelector('#slot [data-sp-placement]')?.shadowRoot?.querySelector('iframe'))`,
  )
  await work.catch((error: unknown) => {
    const message = readMessage(error)
    if (!message.startsWith('page.evaluate: ') || /has been closed|crashed|Browser closed/.test(message)) throw error
    const [thrown = ''] = message.slice('page.evaluate: '.length).split('\n')
    throw new Error(`The code of run threw ${thrown}`, { cause: error })
  })
}

const areas = { ad: '.surface', play: 'button.play', mute: 'button.mute' } as const

/** Clicks with the pointer. An ad that is covered or missing is a failed check. */
async function click(what: keyof typeof areas, { page }: HostPage, context: StepContext): Promise<void> {
  const area = page.frameLocator('#slot iframe').locator(areas[what]).first()
  // The landing page of an earlier click is in front of it, and Firefox gives no clicks to what is behind.
  await page.bringToFront()
  // Playwright waits for the area itself, but reports a missing one in twenty lines.
  const reason = await area.click({ timeout: remainingMs(context) }).then(
    () => null,
    (error: unknown) => readMessage(error),
  )
  const isThere = reason === null || (await page.locator('#slot iframe').count()) > 0
  context.check({
    subject: `click ${what}`,
    passed: reason === null,
    expected: 'can be clicked',
    actual: reason === null ? 'can be clicked' : isThere ? `cannot be clicked: ${coverIn(reason)}` : 'no ad',
  })
}

/** Returns the line of a long message that names what is in the way. */
function coverIn(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .map((line) => line.replace(/^[\s-]+/, ''))
  return lines.find((line) => /intercepts pointer events|not visible|not stable|not enabled/.test(line)) ?? lines[0]!
}

/** A share puts the ad at the lower edge of the window, with so much of its height in view. */
async function scroll(page: Page, to: 'slot' | 'away' | number): Promise<void> {
  await page.evaluate((to) => {
    if (to === 'slot') {
      document.querySelector('#slot')!.scrollIntoView({ block: 'center', behavior: 'instant' })
      return
    }
    const wrapper = document.querySelector('#slot [data-sp-placement]')
    const frame = wrapper?.shadowRoot?.querySelector('iframe') ?? document.querySelector('#slot')!
    const { top, height } = frame.getBoundingClientRect()
    const share = typeof to === 'number' ? to : null
    const at = share === null ? document.documentElement.scrollHeight : scrollY + top + height * share - innerHeight
    window.scrollTo({ top: at, behavior: 'instant' })
  }, to)
}

/** Puts the tab into the background as the page sees it: a headless browser has no other tabs. */
function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((isHidden) => {
    const state = isHidden ? 'hidden' : 'visible'
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

/** Returns how long an action may wait for the page and still report what it waited for, at least 1 ms. */
function remainingMs({ ends_at_ms }: StepContext): number {
  return Math.max(1, ends_at_ms - performance.now() - eventSpareMs)
}

async function waitForEvent(wanted: WantedPageEvent, { page }: HostPage, context: StepContext): Promise<void> {
  const { type, ...fields } = toPageEvent(wanted)
  const subject = `event ${type}`
  const expected = wanted as Json
  const left_ms = remainingMs(context)
  const instead = await page.evaluate(waitInPage, { type, fields: fields as object, left_ms })
  if (instead === null) return context.check({ subject, passed: true, expected, actual: expected })
  const actual = instead.map(eventText)
  const hint = `The renderer did not emit it within ${Math.round(left_ms)} ms.`
  context.check({ subject, passed: false, expected, actual, hint })
}

async function checkNoEvents(
  list: readonly WantedPageEvent[],
  { page }: HostPage,
  context: StepContext,
): Promise<void> {
  const events = await page.evaluate(eventsInPage)
  const actual = events.map(eventText)
  for (const wanted of list) {
    const isFound = events.some((event) => isEvent(event, wanted))
    const text = eventText(toPageEvent(wanted))
    context.check({ subject: `no event ${text}`, passed: !isFound, expected: `no ${text}`, actual })
  }
}

function toPageEvent(wanted: WantedPageEvent): PageEvent {
  return (typeof wanted === 'string' ? { type: wanted } : wanted) as PageEvent
}

/** Whether an event has the type and the fields that are wanted. */
export function isEvent(event: PageEvent, wanted: WantedPageEvent): boolean {
  return Object.entries(toPageEvent(wanted)).every(([name, value]) => event[name] === value)
}

/** Returns an event in words: `error render_timeout`, `beacon visible rejected: beacon_stale`. */
export function eventText(event: PageEvent): string {
  const { type, code, reason, no_fill_reason, event: beacon, accepted, reason_code } = event
  const words = [type, code, reason, no_fill_reason, beacon].filter((word) => typeof word === 'string')
  if (accepted !== undefined) words.push(accepted === true ? 'accepted' : 'rejected:')
  if (accepted === false || (accepted === undefined && typeof reason_code === 'string')) words.push(String(reason_code))
  return words.join(' ')
}

/** Runs in the page. Returns nothing where render.js did not load. */
export function eventsInPage(): PageEvent[] {
  return (window as RendererWindow).SponsoredPlacement?.getEvents() ?? []
}

/** Runs in the page. Resolves with null as soon as the renderer has emitted the event, with all that it emitted when time is up. */
function waitInPage({
  type,
  fields,
  left_ms,
}: {
  type: string
  fields: object
  left_ms: number
}): Promise<PageEvent[] | null> {
  const { SponsoredPlacement: renderer } = window as RendererWindow
  const isThere = () =>
    (renderer?.getEvents() ?? []).some(
      (event) => event.type === type && Object.entries(fields).every(([name, value]) => event[name] === value),
    )
  return new Promise((resolve) => {
    if (isThere()) return resolve(null)
    const off = renderer?.on('*', () => {
      if (isThere()) end(null)
    })
    const timer = setTimeout(() => end(renderer?.getEvents() ?? []), left_ms)
    const end = (instead: PageEvent[] | null) => {
      off?.()
      clearTimeout(timer)
      resolve(instead)
    }
  })
}
