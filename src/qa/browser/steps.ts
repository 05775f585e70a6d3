/** The steps that need a browser: `browser` opens a host page, `page` continues with it. */
import { stripVTControlCharacters } from 'node:util'
import { isObject, type Json } from '../../foundation/json.ts'
import type { StepResponse } from '../result.ts'
import type { CaseState } from '../run/case-state.ts'
import { type StepContext, stepKind } from '../steps/step-kind.ts'
import { mount, perform, startTurn } from './actions.ts'
import { type HostPage, observe, openHostPage } from './host-page.ts'
import { type Action, Actions, Open } from './schema.ts'

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
  needs: ({ browser }) => (usesPublishableKey(browser) ? ['browser', 'publishable_key'] : ['browser']),
  title: ({ browser, do: list }) =>
    `browser ${isObject(browser) && 'turn' in browser ? 'turn' : 'page'}${list === undefined ? '' : `: ${titleOf(list)}`}`,
  run: ({ browser: options, do: list }, context) =>
    withPlainErrors(async () => {
      const { target, state } = context
      const { of, set, unset, turn } = options
      await pages.get(state)?.close()
      const opened = await target.browser!.get()
      const host = await openHostPage(opened, { ...options, origin: state.origin, base_url: target.base_url })
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
  title: ({ page }) => `page: ${titleOf(page)}`,
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
): Promise<StepResponse> {
  const started = performance.now()
  if (list !== undefined) await perform(list, field, host, context)
  return { status: 200, headers: {}, body: await observe(host), duration_ms: performance.now() - started }
}

/** Turns errors of the driver, which describe its own calls, into what happened to the page. */
async function withPlainErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const [first = ''] = stripVTControlCharacters(String((error as Error).message)).split('\n')
    const message = first.replace(/^\w+\.\w+: (Error: )?/, '')
    if (/Target crashed|Page crashed/.test(message)) throw new Error('The page crashed.', { cause: error })
    if (/has been closed|browser has disconnected|Browser closed/.test(message)) {
      throw new Error('The browser ended while the step ran.', { cause: error })
    }
    throw new Error(message, { cause: error })
  }
}

/** Whether the turn is activated with the publishable key of the project. */
function usesPublishableKey(browser: Json | undefined): boolean {
  return isObject(browser) && 'turn' in browser && !('endpoint' in browser) && !('publishable_key' in browser)
}

/** Returns the names of actions for a title: `wait_for visible, click ad`. */
function titleOf(list: Json | undefined): string {
  const actions = (Array.isArray(list) ? list : [list]).flatMap((each) => (isObject(each) ? Object.entries(each) : []))
  return actions
    .map(([name, value]) => {
      const of = isObject(value) ? (value.type ?? value.name) : value
      return typeof of === 'string' && name !== 'run' && of.length < 24 ? `${name} ${of}` : name
    })
    .join(', ')
}
