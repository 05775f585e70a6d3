/** Runs built-in suites in this process against a sandbox by its address: what an edit must not survive. */

import chromium from '@sparticuz/chromium'
import { keyOfStarted } from '#client/permitted-key.ts'
import { type BrowserHost, openBrowserHost } from '#qa/browser/launch.ts'
import type { RunResult } from '#qa/result.ts'
import { expand, needsBrowser, type PlannedCase } from '#qa/run/plan.ts'
import { runPlan } from '#qa/run/runner.ts'
import { openTarget } from '#qa/run/target.ts'
import { builtinNames, loadSuites } from '#qa/suite/builtin.ts'
import { computer } from '#tests/computer.ts'
import type { Edit } from './edits.ts'

export interface Sandbox {
  url: string
  keys: Record<'secret_key' | 'publishable_key', string>
}

export const all = expand(loadSuites(builtinNames(), (file) => file))

/** Every case that needs no browser. */
export const withoutBrowser: readonly PlannedCase[] = all.filter((planned) => !needsBrowser(planned))
const withBrowser = all.filter(needsBrowser)

/** The cases that an edit is shown to: those that should notice it first, then all others. */
export function casesFor({ checks }: Edit): readonly (readonly PlannedCase[])[] {
  const first = (checks.renderer ?? checks.suites ?? '').split(' | ')
  const isFirst = ({ id }: PlannedCase) => first.some((prefix) => id.startsWith(prefix))
  const cases = checks.renderer === undefined ? withoutBrowser : withBrowser
  return [cases.filter(isFirst), cases.filter((planned) => !isFirst(planned))]
}

let browser: Promise<BrowserHost> | null = null

/** The result of these cases; `bail`: it ends with the first that fails. A step of a mutant may never end. */
export async function runCases(
  cases: readonly PlannedCase[],
  { url, keys }: Sandbox,
  { bail, step_timeout_ms = 10_000 }: { bail: boolean; step_timeout_ms?: number },
): Promise<RunResult> {
  const target = await openTarget({
    kind: 'sandbox',
    base_url: url,
    client_id: 'proj_demo',
    origin: null,
    keys: { secret: keyOfStarted({ keys }), publishable: keys.publishable_key },
    browser: cases.some(needsBrowser) ? await sharedBrowser() : null,
  })
  try {
    return await runPlan(cases, {
      targets: [target],
      workers: 4,
      seed: '1',
      reporter: {},
      environment: { now: () => Date.now(), curl: () => '', command_name: 'svc' },
      svc_version: '0.0.0',
      interrupt: new AbortController().signal,
      bail: bail ? 1 : null,
      step_timeout_ms,
      update_snapshots: false,
    })
  } finally {
    await target.close()
  }
}

export async function closeBrowser(): Promise<void> {
  await (await browser)?.close()
}

function sharedBrowser(): Promise<BrowserHost> {
  browser ??= chromium
    .executablePath()
    .then((path) => openBrowserHost({ path, computer: computer, reachable: ['127.0.0.1'] }))
  return browser
}
