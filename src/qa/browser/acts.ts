/** What steps do to a host page, one act after the other. */
import type { Locator, Page } from 'playwright-core'
import { check as judged } from '../expect/expectations.ts'
import type { JsonValue } from '../json.ts'
import type { Turn } from '../run/turn.ts'
import { pause } from '../steps/slot-steps.ts'
import { durationMs } from '../suite/fields.ts'
import type { HostPage, PageEvent } from './host-page.ts'
import { compareWithStored, pixelsOf } from './pixels.ts'
import type { Act, Screenshot } from './schema.ts'

/** The renderer, as far as acts call it. */
interface Renderer {
  getEvents(): PageEvent[]
  renderPlacement(options: { target: string; response: unknown; session_id: string }): object | null
  clearPlacement(options: { target: string }): void
}
interface RendererWindow {
  SponsoredPlacement: Renderer
}

const acts: { [Name in keyof Act]-?: (value: NonNullable<Act[Name]>, host: HostPage, turn: Turn) => Promise<void> } = {
  mount: (name, host, turn) => mount(host, turn, name),
  wait_for: waitForEvent,
  none_of: noneOf,
  wait: (duration, _host, turn) => pause(durationMs(duration), turn),
  async scroll(to, { page }) {
    await page.evaluate((to) => {
      if (to === 'slot') document.querySelector('#slot')!.scrollIntoView({ block: 'center', behavior: 'instant' })
      else window.scrollTo({ top: to === 'away' ? document.body.scrollHeight : 0, behavior: 'instant' })
    }, to)
  },
  hidden: (isHidden, { page }) => setHidden(page, isHidden),
  async click(what, { page }) {
    const frame = page.frameLocator('#slot iframe')
    await frame
      .locator(what === 'ad' ? '.surface' : 'button')
      .first()
      .click()
  },
  async clear(_, { page }) {
    await page.evaluate(() =>
      (window as unknown as RendererWindow).SponsoredPlacement.clearPlacement({ target: '#slot' }),
    )
  },
  async remove_label(_, { page }) {
    await page.evaluate(() => document.querySelector('#slot [data-sp-label]')?.remove())
  },
  screenshot: takePicture,
}

/** Does them in order. What an expectation of them says is in the turn; a timeout is thrown. */
export async function perform(list: readonly Act[], host: HostPage, turn: Turn): Promise<void> {
  for (const act of list) {
    for (const [name, value] of Object.entries(act)) {
      if (value === undefined) continue
      turn.signal.throwIfAborted()
      const run = acts[name as keyof Act] as (value: unknown, host: HostPage, turn: Turn) => Promise<void>
      await run(value, host, turn)
    }
  }
}

/** Mounts the answer of an earlier step, as a page does that got it from its backend. */
export async function mount({ page }: HostPage, { state }: Turn, name: string | undefined): Promise<void> {
  const response = name === undefined ? state.lastFill().body : state.answer(name)?.body
  if (response === undefined) throw new Error(`There is no answer named ${name} to mount.`)
  await page.evaluate(
    ({ response, session_id }) => {
      const { SponsoredPlacement: renderer } = window as unknown as RendererWindow
      renderer.renderPlacement({ target: '#slot', response, session_id })
    },
    { response: response as object, session_id: state.session },
  )
}

async function waitForEvent(
  wanted: string | ({ type: string } & Record<string, unknown>),
  { page }: HostPage,
  turn: Turn,
) {
  const { type, ...members } = typeof wanted === 'string' ? { type: wanted } : wanted
  const isThere = () =>
    page.evaluate(
      ({ type, members }) =>
        (window as unknown as RendererWindow).SponsoredPlacement.getEvents().some(
          (event) => event.type === type && Object.entries(members).every(([name, value]) => event[name] === value),
        ),
      { type, members },
    )
  const started = performance.now()
  while (!(await isThere())) {
    if (performance.now() - started > longestWait_ms || turn.signal.aborted) {
      const seen = await page.evaluate(() =>
        (window as unknown as RendererWindow).SponsoredPlacement.getEvents().map(({ type }) => type),
      )
      turn.check({
        subject: `event ${type}`,
        passed: false,
        expected: wanted as JsonValue,
        actual: seen,
        hint: `The renderer did not tell it within ${longestWait_ms} ms.`,
      })
      return
    }
    await pause(25, turn)
  }
  turn.check({ subject: `event ${type}`, passed: true, expected: wanted as JsonValue, actual: wanted as JsonValue })
}

/** Events come within a few seconds, the longest after the play of a clip. */
const longestWait_ms = 8_000

async function noneOf(types: readonly string[], { page }: HostPage, turn: Turn): Promise<void> {
  const seen = await page.evaluate(() =>
    (window as unknown as RendererWindow).SponsoredPlacement.getEvents().map(({ type }) => type),
  )
  for (const type of types) {
    turn.check({ subject: `no event ${type}`, passed: !seen.includes(type), expected: 'none', actual: seen })
  }
}

/** A tab in the background, as the page sees it: a window without a screen has no other tabs. */
function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((isHidden) => {
    Object.defineProperty(document, 'visibilityState', {
      configurable: true,
      get: () => (isHidden ? 'hidden' : 'visible'),
    })
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
    document.dispatchEvent(new Event('visibilitychange'))
  }, isHidden)
}

const areas: Readonly<Record<string, string>> = { slot: '#slot', ad: '#slot iframe', label: '#slot [data-sp-label]' }

async function takePicture(wanted: Screenshot, { page }: HostPage, turn: Turn): Promise<void> {
  const {
    name,
    of = 'slot',
    matches,
    tolerance = 0.01,
    ...figures
  } = typeof wanted === 'string' ? ({ name: wanted } as Exclude<Screenshot, string>) : wanted
  const area: Page | Locator = of === 'page' ? page : page.locator(areas[of]!).first()
  const png = await area.screenshot({ animations: 'disabled' })
  const seen = pixelsOf(png)
  turn.screenshot({ name, png, width: seen.width, height: seen.height })
  for (const [member, expected] of Object.entries(figures)) {
    if (expected === undefined) continue
    turn.check(judged(`pixels ${name}.${member}`, expected as JsonValue, seen[member as keyof typeof seen], {}))
  }
  if (matches === undefined) return
  const compared = compareWithStored(png, turn.folder, matches, turn.update_snapshots)
  if (compared.status === 'written') return
  const subject = `pixels ${name} like ${matches}`
  if (compared.status === 'missing') {
    const hint = 'Look at it, then store it: --update-snapshots.'
    turn.check({ subject, passed: false, expected: 'a stored picture', actual: 'none', hint })
    return
  }
  const { difference, difference_png } = compared
  if (difference_png !== null)
    turn.screenshot({ name: `${name}, difference`, png: difference_png, width: seen.width, height: seen.height })
  turn.check({
    subject,
    passed: difference <= tolerance,
    expected: `at most ${tolerance} of the pixels differ`,
    actual: Math.round(difference * 1e4) / 1e4,
  })
}
