/** The steps that need a browser: `browser` opens a host page, `page` goes on with it. */
import { stripVTControlCharacters } from 'node:util'
import { isObject, type Json } from '../../foundation/json.ts'
import type { Answer } from '../result.ts'
import type { CaseState } from '../run/case-state.ts'
import { stepKind, type Turn } from '../steps/step-kind.ts'
import { mount, perform, startTurn } from './actions.ts'
import { type HostPage, observe, openHostPage } from './host-page.ts'
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
  needs: ({ browser }) => (activates(browser) ? ['browser', 'publishable_key'] : ['browser']),
  moves: () => [],
  title: ({ browser, do: list }) =>
    `browser ${isObject(browser) && 'turn' in browser ? 'turn' : 'page'}${list === undefined ? '' : `: ${actNames(list)}`}`,
  run: ({ browser: wish, do: list }, turn) =>
    inBrowser(async () => {
      const { target, state } = turn
      await pages.get(state)?.close()
      const opened = await target.browser!.get()
      const host = await openHostPage(opened, {
        origin: state.origin,
        base_url: target.base_url,
        viewport: { width: wish.width ?? 800, height: wish.height ?? 700 },
        color_scheme: wish.color_scheme ?? 'light',
        reduced_motion: wish.reduced_motion ?? false,
        above: wish.above ?? 0,
        slot_width: wish.slot_width ?? null,
        policy: wish.policy ?? null,
        serve: wish.serve ?? {},
      })
      pages.set(state, host)
      state.atEnd(async () => {
        if (!(await host.close())) await target.browser!.giveUp(opened)
      })
      if (wish.turn !== undefined) await begin(wish, wish.turn, host, turn)
      else if (wish.of !== null) await mount(host, turn, { of: wish.of, set: wish.set, unset: wish.unset })
      return act(host, turn, 'do', list)
    }),
})

export const page = stepKind({
  name: 'page',
  summary: 'goes on with the page that is open: acts on it, waits, takes pictures',
  shape: { page: Acts.describe('What is done on the page, in order.') },
  isRequest: false,
  needs: () => ['browser'],
  moves: () => [],
  title: ({ page }) => `page: ${actNames(page)}`,
  run: ({ page: list }, turn) =>
    inBrowser(async () => {
      const host = pages.get(turn.state)
      if (host === undefined) throw new Error('No page is open: an earlier step must be browser.')
      return act(host, turn, 'page', list)
    }),
})

async function begin(wish: Open, body: Record<string, Json>, host: HostPage, turn: Turn): Promise<void> {
  const { state } = turn
  const endpoint = wish.endpoint ?? null
  const publishable_key = endpoint === null ? (wish.publishable_key ?? (await state.key('publishable'))) : null
  await startTurn(host, {
    body: { session_id: state.session, job_type: 'chat', ...body },
    endpoint,
    publishable_key,
  })
}

async function act(
  host: HostPage,
  turn: Turn,
  member: string,
  list: Act | readonly Act[] | undefined,
): Promise<Answer> {
  const started = performance.now()
  if (list !== undefined) await perform(list, member, host, turn)
  return { status: 200, headers: {}, body: await observe(host), duration_ms: performance.now() - started }
}

/** Says what a person can do something with, where the driver tells of its own calls. */
async function inBrowser<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const [first = ''] = stripVTControlCharacters(String((error as Error).message)).split('\n')
    const message = first.replace(/^\w+\.\w+: (Error: )?/, '')
    if (/Target crashed|Page crashed/.test(message)) throw new Error('The page crashed.', { cause: error })
    if (/has been closed|browser has disconnected|Browser closed/.test(message)) {
      throw new Error('The browser ended while the step was under way.', { cause: error })
    }
    throw new Error(message, { cause: error })
  }
}

/** Whether its turn takes the publishable key of the project. */
function activates(browser: Json | undefined): boolean {
  return isObject(browser) && 'turn' in browser && !('endpoint' in browser) && !('publishable_key' in browser)
}

function actNames(acts: Json | undefined): string {
  const list = (Array.isArray(acts) ? acts : [acts]) as (Json | undefined)[]
  return list.flatMap((each) => (isObject(each) ? Object.entries(each).map(actName) : [])).join(', ')
}

/** `wait_for visible`, `click ad`. */
function actName([name, value]: [string, Json]): string {
  const of = isObject(value) ? (value.type ?? value.name) : value
  return typeof of === 'string' && name !== 'run' && of.length < 24 ? `${name} ${of}` : name
}
