/** What steps do to a host page, one act after the other. */
/** Waiting for events of the renderer, and judging that others did not come. */
import { stripVTControlCharacters } from 'node:util'
import type { Page } from 'playwright-core'
import type { Json } from '../../foundation/json.ts'
import { withoutValue, withValue } from '../../foundation/json-path.ts'
import type { Check } from '../result.ts'
import { pause, type Turn } from '../steps/step-kind.ts'
import { durationMs } from '../suite/variables.ts'
import type { HostPage, PageEvent } from './host-page.ts'
import type { Act, WantedPageEvent } from './schema.ts'
import { pictureOfFailure, takePicture } from './screenshot.ts'

/** The renderer, as far as acts call it. */
interface RendererWindow {
  SponsoredPlacement?: {
    renderPlacement(options: { target: string; response: unknown; session_id: string }): object | null
    clearPlacement(options: { target: string }): void
    activate(options: { publishableKey: string }): Promise<object | null>
    startTurn(options: { target: string; body: object; endpoint?: string }): { finish(): void }
  }
  /** The page's turn, once it has begun. */
  turn?: { finish(): void }
}

/** A response to mount: that of a step, changed. */
export interface Mounting {
  of?: string | undefined
  set?: Record<string, Json> | undefined
  unset?: readonly string[] | undefined
}

const acts: { [Name in keyof Act]-?: (value: NonNullable<Act[Name]>, host: HostPage, turn: Turn) => Promise<void> } = {
  mount: (what, host, turn) => mount(host, turn, typeof what === 'string' ? { of: what } : what),
  wait_for: waitForEvent,
  none_of: noneOf,
  wait: (duration, _host, turn) => pause(durationMs(duration), turn),
  scroll: (to, { page }) => scroll(page, to),
  hidden: (isHidden, { page }) => setHidden(page, isHidden),
  click,
  finish: (_, { page }) => page.evaluate(() => (window as RendererWindow).turn?.finish()),
  clear: (_, { page }) =>
    page.evaluate(() => (window as RendererWindow).SponsoredPlacement?.clearPlacement({ target: '#slot' })),
  remove_label: (_, { page }) => page.evaluate(() => document.querySelector('#slot [data-sp-label]')?.remove()),
  run: runCode,
  screenshot: takePicture,
}

/** Does them in order, up to the first that fails. What an expectation of them says is in the turn. */
export async function perform(list: Act | readonly Act[], member: string, host: HostPage, turn: Turn): Promise<void> {
  const isList = Array.isArray(list)
  for (const [index, act] of [list].flat().entries()) {
    for (const [name, value] of Object.entries(act)) {
      if (value === undefined) continue
      turn.signal.throwIfAborted()
      const place = turn.placeOf(isList ? [member, index, name] : [member, name])
      const isGood = await one(name as keyof Act, value, host, turn, place)
      if (isGood) continue
      return pictureOfFailure(host, turn)
    }
  }
}

/** Whether nothing about it failed. */
async function one(name: keyof Act, value: unknown, host: HostPage, turn: Turn, place: Pick<Check, 'place'>) {
  let isGood = true
  const judging: Turn = {
    ...turn,
    check: (check) => {
      isGood &&= check.passed
      turn.check({ ...check, ...place })
    },
  }
  const run = acts[name] as (value: unknown, host: HostPage, turn: Turn) => Promise<void>
  const done = new AbortController()
  const left_ms = Math.max(0, turn.ends_at_ms - performance.now() - spare_ms)
  const late = pause(left_ms, { signal: AbortSignal.any([turn.signal, done.signal]) }).then(() => {
    throw new Error(`The act ${name} did not end: the page hangs, or waits for what does not come. More time: timeout.`)
  })
  await Promise.race([run(value, host, judging), late]).finally(() => done.abort())
  return isGood
}

/** Milliseconds before the time of a step is up: enough for a message that names what hung. */
const spare_ms = 300
/** The same for a missing event, which also asks the page what it has seen. */
const eventSpare_ms = 1_500

/** Mounts the answer of an earlier step, as a page does that got it from its backend. */
export async function mount(
  { page }: HostPage,
  { state }: Turn,
  { of, set = {}, unset = [] }: Mounting,
): Promise<void> {
  const body = of === undefined ? state.lastFill().body : state.answer(of)?.body
  if (body === undefined)
    throw new Error(`There is no answer named ${of} to mount: an earlier step must have as: ${of}.`)
  const written = Object.entries(set).reduce((whole, [path, value]) => withValue(whole, path, value), body)
  const response = unset.reduce(withoutValue, written)
  await page.evaluate(
    ({ response, session_id }) => {
      const { SponsoredPlacement: renderer } = window as RendererWindow
      if (renderer === undefined) throw new Error('render.js has not come: the page has no SponsoredPlacement.')
      renderer.renderPlacement({ target: '#slot', response, session_id })
    },
    { response: response as object, session_id: state.session },
  )
}

/** What an integration does for a turn: with an endpoint of its own, or activated by the publishable key. */
export async function startTurn(
  { page }: HostPage,
  turn: { body: Record<string, Json>; endpoint: string | null; publishable_key: string | null },
): Promise<void> {
  await page.evaluate(
    async ({ body, endpoint, publishable_key }) => {
      const here = window as RendererWindow
      const renderer = here.SponsoredPlacement
      if (renderer === undefined) throw new Error('render.js has not come: the page has no SponsoredPlacement.')
      if (publishable_key !== null && (await renderer.activate({ publishableKey: publishable_key })) === null) return
      here.turn = renderer.startTurn({ target: '#slot', body, ...(endpoint === null ? {} : { endpoint }) })
    },
    { ...turn, body: turn.body as object },
  )
}

/** What the page throws is told as the page's. */
async function runCode(code: string, { page }: HostPage): Promise<void> {
  const work = page.evaluate(`(async (slot, turn) => {${code}\n})(document.querySelector('#slot'), window.turn)`)
  await work.catch((error: unknown) => {
    const message = String((error as Error).message)
    if (!message.startsWith('page.evaluate: ') || /has been closed|crashed|Browser closed/.test(message)) throw error
    const [thrown = ''] = message.slice('page.evaluate: '.length).split('\n')
    throw new Error(`What run does on the page threw ${thrown}`, { cause: error })
  })
}

const places = { ad: '.surface', play: 'button.play', mute: 'button.mute' } as const

/** A real click, by the pointer. What covers the ad, or its absence, is an expectation that failed. */
async function click(what: keyof typeof places, { page }: HostPage, turn: Turn): Promise<void> {
  const place = page.frameLocator('#slot iframe').locator(places[what]).first()
  // Playwright waits for it itself, but tells its absence in twenty lines.
  const reason = await place.click({ timeout: 3_000 }).then(
    () => null,
    (error: unknown) => String((error as Error).message),
  )
  const isThere = reason === null || (await page.locator('#slot iframe').count()) > 0
  turn.check({
    subject: `click ${what}`,
    passed: reason === null,
    expected: 'it can be clicked',
    actual: reason === null ? 'it can be clicked' : isThere ? `it cannot: ${coverOf(reason)}` : 'there is no ad',
  })
}

/** The line of a long message that tells what is in the way. */
function coverOf(message: string): string {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .map((line) => line.replace(/^[\s-]+/, ''))
  return lines.find((line) => /intercepts pointer events|not visible|not stable|not enabled/.test(line)) ?? lines[0]!
}

/** Where `to` is a share, the ad stands at the lower edge of the window with so much of its height in view. */
async function scroll(page: Page, to: 'slot' | 'away' | number): Promise<void> {
  await page.evaluate((to) => {
    if (to === 'slot') {
      document.querySelector('#slot')!.scrollIntoView({ block: 'center', behavior: 'instant' })
      return
    }
    const frame = document.querySelector('#slot iframe') ?? document.querySelector('#slot')!
    const { top, height } = frame.getBoundingClientRect()
    const share = typeof to === 'number' ? to : null
    const at = share === null ? document.documentElement.scrollHeight : scrollY + top + height * share - innerHeight
    window.scrollTo({ top: at, behavior: 'instant' })
  }, to)
}

/** A tab in the background, as the page sees it: a window without a screen has no other tabs. */
function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((isHidden) => {
    const state = isHidden ? 'hidden' : 'visible'
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

interface Wanted {
  type: string
  /** Members that it must have. */
  members: Record<string, Json>
}

export async function waitForEvent(wanted: WantedPageEvent, { page }: HostPage, turn: Turn): Promise<void> {
  const { type, members } = read(wanted)
  const subject = `event ${type}`
  const expected = wanted as Json
  const left_ms = Math.max(0, turn.ends_at_ms - performance.now() - eventSpare_ms)
  const isCome = await page.evaluate(comeInPage, { type, members: members as object, left_ms })
  if (isCome) return turn.check({ subject, passed: true, expected, actual: expected })
  const seen = await seenOn(page)
  const hint = `The renderer did not tell it within ${Math.round(left_ms)} ms.`
  turn.check({ subject, passed: false, expected, actual: seen, hint })
}

export async function noneOf(list: readonly WantedPageEvent[], { page }: HostPage, turn: Turn): Promise<void> {
  const events = await page.evaluate(eventsInPage)
  const seen = events.map(wordsOf)
  for (const wanted of list) {
    const { type, members } = read(wanted)
    const found = events.some(
      (event) => event.type === type && Object.entries(members).every(([name, value]) => event[name] === value),
    )
    const words = wordsOf({ type, ...members })
    turn.check({ subject: `no event ${words}`, passed: !found, expected: `no ${words}`, actual: seen })
  }
}

function read(wanted: WantedPageEvent): Wanted {
  const { type, ...members } = typeof wanted === 'string' ? { type: wanted } : wanted
  return { type, members: members as Wanted['members'] }
}

async function seenOn(page: HostPage['page']): Promise<Json> {
  return (await page.evaluate(eventsInPage)).map(wordsOf)
}

/** `error render_timeout`, `beacon visible rejected: beacon_stale`. */
export function wordsOf(event: PageEvent): string {
  const { type, code, reason, no_fill_reason, event: beacon, accepted, reason_code } = event
  const what = [type, code, reason, no_fill_reason, beacon].filter((word) => typeof word === 'string')
  if (accepted !== undefined) what.push(accepted === true ? 'accepted' : 'rejected:')
  if (accepted === false || (accepted === undefined && typeof reason_code === 'string')) what.push(String(reason_code))
  return what.join(' ')
}

/** Runs in the page. Nothing where render.js has not come. */
function eventsInPage(): PageEvent[] {
  const { SponsoredPlacement: renderer } = window as unknown as { SponsoredPlacement?: { getEvents(): PageEvent[] } }
  return renderer?.getEvents() ?? []
}

/** Runs in the page: resolves as soon as the renderer tells it, or with false when the time is up. */
function comeInPage({ type, members, left_ms }: { type: string; members: object; left_ms: number }): Promise<boolean> {
  const { SponsoredPlacement: renderer } = window as unknown as {
    SponsoredPlacement?: { getEvents(): PageEvent[]; on(type: string, heard: () => void): () => void }
  }
  const isThere = () =>
    (renderer?.getEvents() ?? []).some(
      (event) => event.type === type && Object.entries(members).every(([name, value]) => event[name] === value),
    )
  return new Promise((resolve) => {
    if (isThere()) return resolve(true)
    const off = renderer?.on('*', () => {
      if (isThere()) end(true)
    })
    const timer = setTimeout(() => end(false), left_ms)
    const end = (isCome: boolean) => {
      off?.()
      clearTimeout(timer)
      resolve(isCome)
    }
  })
}
