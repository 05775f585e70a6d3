/** Opens the page of an app at the planned times, each time in a browser context of its own, and times its first ad. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { PageUnreachable, watchPage } from '#diagnosis/facts/page.ts'
import { installConsentTool } from '#qa/browser/consent-tool.ts'
import type { PageSteps } from '#qa/browser/page-steps.ts'
import type { Gameday } from './gameday-file.ts'
import type { Plan } from './plan.ts'
import type { Wait } from './records.ts'

interface PageApp {
  url: string
  /** Base URLs of the sandbox. */
  bases: readonly string[]
  browser: Pick<Browser, 'newContext'>
  /** What the browser is called. */
  browser_name: string
  /** Uses each page after it was opened. */
  drive: PageSteps | undefined
  /** Epoch milliseconds, for the strings of the consent tool. */
  now: () => number
}

export interface PageOpenings {
  /** From the planned time of each page to the response of its first ad frame. */
  waits: readonly Wait[]
  /** Pages that did not open, and those on which a step could not be done, with the first reason. */
  failed: number
  failure: string | null
}

/** Opens a page for each turn of a plan from now on. Rejects when the signal aborts. */
export async function openPages(
  gameday: Gameday,
  { turns }: Pick<Plan, 'turns'>,
  app: PageApp,
  { signal, is_faulted }: { signal: AbortSignal; is_faulted: boolean },
): Promise<PageOpenings> {
  const start_ms = performance.now()
  const failures: string[] = []
  const waits = await Promise.all(
    turns.map(async ({ at_ms }): Promise<Wait> => {
      await sleep(Math.max(0, start_ms + at_ms - performance.now()), undefined, { signal })
      const seen = { shown_ms: null as number | null }
      const failure = await openPage(gameday, app, signal, async (page) => {
        page.on('response', (response) => {
          if (isFrame(response.url(), app.bases)) seen.shown_ms ??= performance.now() - start_ms - at_ms
        })
        await prepareConsentTool(page, gameday, { at_ms: is_faulted ? at_ms : null, now_ms: app.now() })
        await app.drive?.prepare(page)
      })
      if (failure !== null) failures.push(failure)
      return { at_ms, latency_ms: seen.shown_ms }
    }),
  )
  return { waits, failed: failures.length, failure: failures[0] ?? null }
}

/** Opens one page and watches it for as long as a turn may take. Resolves to why it failed, or null. */
async function openPage(
  { patience_ms, view_ms }: Gameday,
  { url, bases, browser, browser_name, drive }: PageApp,
  signal: AbortSignal,
  prepare: (page: Page) => Promise<void>,
): Promise<string | null> {
  const for_ms = patience_ms + view_ms
  const options = { url, bases, browser_name, for_ms, signal, is_headed: false, drive, prepare }
  try {
    const { failed_step } = await watchPage(browser, options)
    signal.throwIfAborted()
    return failed_step?.message ?? null
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof PageUnreachable) return error.message
    throw error
  }
}

/**
 * With consent_late in the timeline every page has a consent tool, in both runs: late while the fault is active, else
 * granted. `at_ms` is null in the run without faults.
 */
async function prepareConsentTool(
  page: Page,
  { timeline }: Gameday,
  { at_ms, now_ms }: { at_ms: number | null; now_ms: number },
): Promise<void> {
  const late = timeline.filter(({ fault }) => fault === 'consent_late')
  if (late.length === 0) return
  const active = at_ms === null ? undefined : late.find((each) => each.at_ms <= at_ms && at_ms < each.end_ms)
  const step = active === undefined ? 'granted' : ({ state: 'late', after: `${active.latency_ms}ms` } as const)
  await installConsentTool(page, step, now_ms)
}

function isFrame(url: string, bases: readonly string[]): boolean {
  return bases.some((base) => url.startsWith(`${base}/v1/render/`))
}
