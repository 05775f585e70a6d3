/**
 * `svc-sandbox/playwright`, for Playwright 1.49 or later: `test` with a sandbox for each worker, pages that are wired to
 * it, and an expectation about the placements that a page shows.
 *
 * The app under test is either started here, through the option `sandboxApp`, with the SVC_* variables of its worker's
 * sandbox; or it is already running against the sandbox that SVC_BASE_URL names, as under `svc exec -- playwright test`.
 * Its origin is added to the allowed origins of the project.
 */
import {
  type BrowserContext,
  test as base,
  type Page,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestType,
  expect as unextended,
} from '@playwright/test'
import type { Format } from '#contract/fields.ts'
import { isOriginAllowed } from '#contract/origins.ts'
import type { BeaconEvent } from '#contract/resources/beacons.ts'
import type { PlacementDetail } from '#contract/resources/placements.ts'
import { describeReceived } from './describe-received.ts'
import { haveAccepted, haveBilled, haveNoRejectedBeacons, type Verdict } from './expectations.ts'
import { attachTestSandbox, type OpenTestSandbox, startTestSandbox, type TestSandboxOptions } from './open-sandbox.ts'
import { requireRunner } from './runner-version.ts'
import { type RunningApp, type SandboxApp, startApp } from './running-app.ts'
import {
  type AcceptedWait,
  type BeaconFilter,
  type BilledWait,
  defaultWaitMs,
  eventually,
  type TestSandbox,
} from './test-sandbox.ts'

export type { TestSandboxOptions } from './open-sandbox.ts'
export type { SandboxApp } from './running-app.ts'
export type { AcceptedWait, BeaconFilter, BeaconWait, BilledWait, TestSandbox } from './test-sandbox.ts'

/** Options of the configuration: `use: { sandboxApp: { command: 'node server.js' } }`. */
export interface SandboxWorkerOptions {
  /** The app under test, started once for each worker. Default: null, it is already running. */
  sandboxApp: SandboxApp | null
  /** How the sandbox is started. */
  sandboxOptions: TestSandboxOptions
}

export interface SandboxFixtures {
  /** The sandbox of the worker, reset before the test. A sandbox that SVC_BASE_URL names is shared, and not reset. */
  sandbox: TestSandbox
}

interface WorkerFixtures extends SandboxWorkerOptions {
  workerSandbox: OpenTestSandbox & { isShared: boolean }
  runningApp: RunningApp | null
}

export type SandboxTest = TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & SandboxFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions & SandboxWorkerOptions
>

export interface ShownOptions {
  slot_id?: string
  /** Longest wait, milliseconds. Default: the timeout of `expect`, 5 s. */
  timeout?: number
}

requireRunner('@playwright/test')

const observed = new WeakMap<BrowserContext, { sandbox: TestSandbox; seen: PageObservations }>()

export const test: SandboxTest = base.extend<SandboxFixtures, WorkerFixtures>({
  sandboxApp: [null, { option: true, scope: 'worker' }],
  sandboxOptions: [{}, { option: true, scope: 'worker' }],
  workerSandbox: [
    async ({ sandboxApp, sandboxOptions }, use) => {
      const isShared = sandboxApp === null && (process.env.SVC_BASE_URL ?? '') !== ''
      const sandbox = isShared ? await attachTestSandbox(process.env) : await startTestSandbox(sandboxOptions)
      await use(Object.assign(sandbox, { isShared }))
      await sandbox.close()
    },
    { scope: 'worker' },
  ],
  runningApp: [
    async ({ sandboxApp, workerSandbox }, use) => {
      const app = sandboxApp === null ? null : await startApp(sandboxApp, { ...process.env, ...workerSandbox.env })
      await use(app)
      await app?.close()
    },
    { scope: 'worker', timeout: 120_000 },
  ],
  baseURL: async ({ baseURL, runningApp }, use) => use(runningApp?.url ?? baseURL),
  sandbox: async ({ workerSandbox, baseURL }, use, testInfo) => {
    if (workerSandbox.isShared) await workerSandbox.beginTest()
    else await workerSandbox.reset()
    if (baseURL !== undefined) await allowOrigin(workerSandbox, new URL(baseURL).origin)
    await use(workerSandbox)
    if (testInfo.status === testInfo.expectedStatus) return
    const body = `${await describeReceived(workerSandbox)}\n`
    await testInfo.attach('sandbox', { body, contentType: 'text/plain' })
  },
  context: async ({ context, sandbox }, use, testInfo) => {
    observed.set(context, { sandbox, seen: observeContext(context, sandbox) })
    await use(context)
    if (testInfo.status === testInfo.expectedStatus) return
    for (const page of context.pages()) {
      const body = await readConsole(page)
      if (body !== null) await testInfo.attach('console of the page', { body, contentType: 'text/plain' })
    }
  },
})

/** What render.js has on a page, as far as it is read here. */
interface ConsoleApi {
  openConsole?(options: { hidden: true }): Promise<{ text(): string; close(): void }>
}

const maxConsoleWaitMs = 3_000

/** Resolves to what each ad of a page is doing, as its console says; null for a page without render.js. */
async function readConsole(page: Page): Promise<string | null> {
  const read = page.evaluate(async () => {
    const api = (window as { SponsoredPlacement?: ConsoleApi }).SponsoredPlacement
    const opened = await api?.openConsole?.({ hidden: true })
    const text = opened?.text() ?? null
    opened?.close()
    return text
  })
  // A page that is closed or hangs has no text.
  const { promise: late, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, maxConsoleWaitMs, null)
  return Promise.race([read.catch(() => null), late]).finally(() => clearTimeout(timer))
}

/** Adds the origin of the app to the allowed origins of its project, unless it is already allowed. */
async function allowOrigin({ client, keys }: TestSandbox, origin: string): Promise<void> {
  const params = { client_id: keys.client_id }
  const { allowed_origins } = (await client.projects.show({ params })).settings
  if (isOriginAllowed(origin, allowed_origins, 'test')) return
  await client.projects.update({ params, body: { allowed_origins: [...allowed_origins, origin] } })
}

/** Playwright's `expect` with the expectations of this module. */
export const expect = unextended.extend({
  async toHaveAccepted(received: TestSandbox, event: BeaconEvent, options: AcceptedWait = {}): Promise<Verdict> {
    return haveAccepted(received, event, options, { isNot: this.isNot, timeout_ms: readTimeout(this) })
  },
  async toHaveBilled(received: TestSandbox, options: BilledWait = {}): Promise<Verdict> {
    return haveBilled(received, options, { isNot: this.isNot, timeout_ms: readTimeout(this) })
  },
  async toHaveNoRejectedBeacons(received: TestSandbox, filter: BeaconFilter = {}): Promise<Verdict> {
    return haveNoRejectedBeacons(received, filter, { isNot: this.isNot })
  },
  /**
   * Expects that a page shows a placement: its frame was loaded, is visible, and has its ad label. Waits until it does;
   * with `.not`, until it does not.
   */
  async toShowPlacement(page: Page, format?: Format, options: ShownOptions = {}): Promise<Verdict> {
    const found = observed.get(page.context())
    if (found === undefined) {
      throw new TypeError('toShowPlacement expects a page from the fixture page or context of svc-sandbox/playwright.')
    }
    const { sandbox, seen } = found
    const timeout_ms = options.timeout ?? readTimeout(this)
    const wanted = { format, slot_id: options.slot_id }
    let frames: SeenFrame[] = []
    const look = async () => {
      const now = await findShown(page, sandbox, wanted)
      if (now.frames.length > 0) frames = now.frames
      return now.isShown !== this.isNot
    }
    const isMet = await eventually(look, timeout_ms)
    const text = isMet
      ? ''
      : await describeShown(page, sandbox, wanted, { seen, frames, timeout_ms, isNot: this.isNot })
    const pass = isMet !== this.isNot
    return { pass, message: () => text }
  },
})

function readTimeout({ timeout }: { timeout?: number }): number {
  return timeout ?? defaultWaitMs
}

/** The placement that a page should show. */
interface WantedPlacement {
  format: Format | undefined
  slot_id: string | undefined
}

/** The events that a page reported, for messages. */
interface PageObservations {
  /** Errors and warnings of the console, uncaught errors, and requests to the sandbox that failed. */
  problems: string[]
}

/** A hosted frame in a page. */
interface SeenFrame {
  slot_id: string | null
  format: Format | null
  /** Why it does not count as shown; null when it does. */
  problem: string | null
  /** Its size in the page, CSS pixels. */
  size: string
}

const maxProblems = 10

/** Collects what the pages of a context report. */
function observeContext(context: BrowserContext, { url }: TestSandbox): PageObservations {
  const problems: string[] = []
  const add = (problem: string) => {
    if (problems.length < maxProblems) problems.push(problem)
  }
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') add(`console ${message.type()}: ${message.text()}`)
  })
  context.on('weberror', (error) => add(`uncaught: ${error.error().message}`))
  context.on('requestfailed', (request) => {
    if (!request.url().startsWith(url)) return
    add(
      `${request.method()} ${new URL(request.url()).pathname.replace(/ast_\w+/, 'ast_...')} failed: ${request.failure()?.errorText}`,
    )
  })
  return { problems }
}

/** Returns whether a page shows a placement of the kind, and every hosted frame in it. */
async function findShown(
  page: Page,
  sandbox: TestSandbox,
  wanted: WantedPlacement,
): Promise<{ isShown: boolean; frames: SeenFrame[] }> {
  const frames: SeenFrame[] = []
  for (const frame of await page.locator('iframe').all()) {
    const address = await frame.getAttribute('src', { timeout: 1_000 }).catch(() => null)
    const [, token] = /\/v1\/render\/ast_([0-9a-z]{11})_/.exec(address ?? '') ?? []
    if (token === undefined) continue
    const detail = await sandbox.client.placements.explain({ params: { slot_id: `slot_${token}` } }).catch(() => null)
    const box = await frame.boundingBox({ timeout: 1_000 }).catch(() => null)
    const isVisible = await frame.isVisible().catch(() => false)
    frames.push({
      slot_id: detail?.slot_id ?? null,
      format: detail?.format ?? null,
      size: box === null ? 'not drawn' : `${Math.round(box.width)} x ${Math.round(box.height)}`,
      problem: await findProblem(page, detail, isVisible && box !== null && box.width > 1 && box.height > 1),
    })
  }
  const isWanted = ({ format, slot_id, problem }: SeenFrame) =>
    problem === null &&
    (wanted.format === undefined || format === wanted.format) &&
    (wanted.slot_id === undefined || slot_id === wanted.slot_id)
  return { isShown: frames.some(isWanted), frames }
}

async function findProblem(page: Page, detail: PlacementDetail | null, isVisible: boolean): Promise<string | null> {
  if (detail === null) return 'its asset token is not from this sandbox'
  if (!isVisible) return 'it is not visible'
  if (detail.first_frame_at_ms === null) return 'its document was not loaded from the sandbox'
  const label = detail.decision?.fill === true ? detail.decision.ad_label_text : ''
  const isLabelled = await page
    .getByText(label)
    .first()
    .isVisible()
    .catch(() => false)
  return isLabelled ? null : `the ad label "${label}" is not visible in the page`
}

/**
 * Returns the message of a failed expectation that a page shows a placement, or does not. `frames` are the last ones that
 * it had: an app may have removed them since.
 */
async function describeShown(
  page: Page,
  sandbox: TestSandbox,
  { format, slot_id }: WantedPlacement,
  {
    seen,
    frames,
    timeout_ms,
    isNot,
  }: { seen: PageObservations; frames: readonly SeenFrame[]; timeout_ms: number; isNot: boolean },
): Promise<string> {
  const kind = `a ${format === undefined ? '' : `${format} `}placement${slot_id === undefined ? '' : ` ${slot_id}`}`
  const lines = frames.map(({ slot_id, format, size, problem }) => {
    return `  ${slot_id ?? 'a frame'}  ${format ?? 'unknown'}, ${size}: ${problem === null ? 'shown' : `not shown, ${problem}`}`
  })
  if (isNot) return [`Expected the page not to show ${kind}, but it does.`, '', ...lines].join('\n')
  const current = await page.locator('iframe').count()
  const heading = current === 0 ? 'Frames that have left the page:' : 'Frames in the page:'
  return [
    `The page ${page.url()} did not show ${kind} within ${timeout_ms} ms.`,
    '',
    ...(lines.length === 0 ? ['The page had no placement frame.'] : [heading, ...lines]),
    await describeReceived(sandbox),
    ...(seen.problems.length === 0 ? [] : ['The page reported:', ...seen.problems.map((problem) => `  ${problem}`)]),
  ].join('\n')
}
