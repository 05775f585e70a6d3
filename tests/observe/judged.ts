/** What a browser on a page of an app sees, and what the rules make of it. */
import type { Page as BrowserPage } from 'playwright-core'
import { vi } from 'vitest'
import { createClient } from '#client/index.ts'
import { type WatchOptions, watchPage } from '#diagnosis/facts/page.ts'
import { readJournal } from '#diagnosis/journal.ts'
import { judge, toRunResult } from '#diagnosis/observe.ts'
import { allPageRules } from '#diagnosis/rules/index.ts'
import { loadPageSteps } from '#qa/browser/page-steps.ts'
import type { CaseResult } from '#qa/result.ts'
import type { Sandbox } from '#sandbox/index.ts'
import { sharedChromium } from '#tests/browser/chromium.ts'
import { wait_ms } from '#tests/patience.ts'
import { startApp } from './app.ts'
import type { Page } from './pages.ts'

/** The ad was brought into view. */
export const isInView = `(() => {
  const roots = [document, ...[...document.querySelectorAll('[data-sp-placement]')].map((each) => each.shadowRoot)]
  const ad = roots.map((root) => root.querySelector('iframe[data-svc-element]')).find((each) => each)
  const { top, bottom } = ad?.getBoundingClientRect() ?? { top: -1 }
  return top >= 0 && bottom <= innerHeight
})()`
/** How long a page is watched from then on. */
const watch_ms = 1_500

const until = (condition: string) => (page: BrowserPage) =>
  vi.waitFor(
    async () => {
      if (!(await page.evaluate(condition))) throw new Error(`not yet: ${condition}`)
    },
    { timeout: wait_ms, interval: 250 },
  )

/** Watches a page of an app, in the browser that all tests share, and judges it by a sandbox: that which the app uses, unless said. */
export async function judgePage(
  sandbox: Sandbox,
  page: Page,
  drive: WatchOptions['drive'] = page.steps === undefined ? until(page.until ?? isInView) : steps(page.steps, 1_000),
  used = sandbox,
) {
  await using app = await startApp(used.url, page)
  const { signal } = new AbortController()
  const bases = [sandbox.url, sandbox.url.replace('127.0.0.1', 'localhost')]
  const options = {
    url: app.url,
    browser_name: 'Chromium',
    bases,
    for_ms: page.for_ms ?? watch_ms,
    signal,
    is_headed: false,
    drive,
    ...(page.context && { context: page.context }),
    ...(page.prepare && { prepare: page.prepare }),
  }
  const seen = await watchPage(await sharedChromium(), options)
  const client = createClient({ base_url: sandbox.url, credential: sandbox.projects[0]!.secret_key })
  const about = { client_id: 'proj_demo', command_name: 'svc' }
  const journal = await readJournal(client, await client.sandbox.info(), { limit: 1_000 }, about)
  const watched = { ...journal, is_ended: false, is_whole: false, page: seen }
  const { cases } = toRunResult(judge(watched), watched, {
    target: { base_url: sandbox.url, kind: 'sandbox', version: null, key_mode: 'test' },
    svc_version: '',
    started_at_ms: 0,
    ended_at_ms: 0,
    is_strict: false,
    curl: () => '',
    looked_at: '1 request of a test',
    failed_because: [],
  })
  const of = (wanted: string, isOfPage: boolean) =>
    cases.filter(({ id, tags }) => id.replace('observe/', '') in allPageRules === isOfPage && tags[0] === wanted)
  return { cases, of, violated: [...of('error', true), ...of('warning', true)].map(nameOf) }
}

export function nameOf({ id }: CaseResult): string {
  return id.replace('observe/', '')
}

export const steps = (text: string, timeout?: number) => loadPageSteps(text, 'ask.yaml', timeout)
