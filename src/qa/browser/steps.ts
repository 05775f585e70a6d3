/** The steps that need a browser: `browser` opens a host page, `page` goes on with it. */
import { isObject } from '../expect/paths.ts'
import type { JsonValue } from '../json.ts'
import type { CaseState } from '../run/case-state.ts'
import type { Turn } from '../run/turn.ts'
import { type Answer, stepKind } from '../steps/step-kind.ts'
import { mount, perform } from './acts.ts'
import { type HostPage, openHostPage } from './host-page.ts'
import { launchBrowser } from './launch.ts'
import { observe } from './observe.ts'
import { type Act, Acts, Open } from './schema.ts'

/** The page of a case; there is one at a time. */
const pages = new WeakMap<CaseState, HostPage>()

export const browser = stepKind({
  name: 'browser',
  summary: 'opens a page with a slot in a real browser, and mounts a fill',
  shape: {
    browser: Open.describe('What is mounted, and the page around it.'),
    do: Acts.optional().describe('What is done on the page, in order.'),
  },
  isRequest: false,
  needs: ({ browser }) => (hasTurn(browser) ? ['browser', 'publishable_key'] : ['browser']),
  moves: () => [],
  title: ({ browser }) => `browser ${hasTurn(browser) ? 'turn' : 'mount'}`,
  async run({ browser: wish, do: list }, turn) {
    const { target, state } = turn
    await pages.get(state)?.close()
    const opened = await turn.resource('browser', async () => {
      const value = await launchBrowser(target.browser_path!)
      return { value, close: () => value.close() }
    })
    const host = await openHostPage(opened, {
      origin: state.origin,
      base_url: target.base_url,
      viewport: { width: wish.width ?? 800, height: wish.height ?? 700 },
      color_scheme: wish.color_scheme ?? 'light',
      reduced_motion: wish.reduced_motion ?? false,
      above: wish.above ?? 0,
      slot_width: wish.slot_width ?? null,
      policy: wish.policy ?? null,
    })
    pages.set(state, host)
    state.atEnd(() => host.close())
    if (wish.turn !== undefined) await startTurn(host, await state.key('publishable'), wish.turn)
    else if (wish.of !== null) await mount(host, turn, wish.of)
    return act(host, turn, list)
  },
})

export const page = stepKind({
  name: 'page',
  summary: 'goes on with the page that is open: acts on it, waits, takes pictures',
  shape: { page: Acts.describe('What is done on the page, in order.') },
  isRequest: false,
  needs: () => ['browser'],
  moves: () => [],
  title: ({ page }) => `page ${actNames(page)}`,
  async run({ page: list }, turn) {
    const host = pages.get(turn.state)
    if (host === undefined) throw new Error('No page is open: an earlier step must be browser.')
    return act(host, turn, list)
  },
})

async function act(host: HostPage, turn: Turn, list: Act | readonly Act[] | undefined): Promise<Answer> {
  const started = performance.now()
  await perform(list === undefined ? [] : [list].flat(), host, turn)
  return { status: 200, headers: {}, body: await observe(host), duration_ms: performance.now() - started }
}

/** What an integration without a backend does. */
async function startTurn({ page }: HostPage, publishableKey: string, body: Record<string, JsonValue>): Promise<void> {
  await page.evaluate(
    async ({ publishableKey, body }) => {
      const { SponsoredPlacement: renderer } = window as unknown as {
        SponsoredPlacement: {
          activate(options: { publishableKey: string }): Promise<object | null>
          startTurn(options: { target: string; body: object }): object
        }
      }
      if ((await renderer.activate({ publishableKey })) !== null) renderer.startTurn({ target: '#slot', body })
    },
    { publishableKey, body: body as object },
  )
}

function hasTurn(browser: JsonValue | undefined): boolean {
  return isObject(browser) && 'turn' in browser
}

function actNames(acts: JsonValue | undefined): string {
  const list = (Array.isArray(acts) ? acts : [acts]) as (JsonValue | undefined)[]
  return list.flatMap((each) => (isObject(each) ? Object.keys(each) : [])).join(', ')
}
