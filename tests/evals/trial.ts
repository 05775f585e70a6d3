/** What graders do with a project: start it, use it as a user does, and read what came of it. Nothing here reads its sources. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { type Client, createClient } from '#client/index.ts'
import type { BeaconItem, Metric } from '#contract/resources/beacons.ts'
import { findSlot } from '#diagnosis/facts/mounts.ts'
import { type PageSeen, watchPage } from '#diagnosis/facts/page.ts'
import { type Journal, readJournal } from '#diagnosis/journal.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { type Gate, openGate } from './gate.ts'
import { type Ended, runProgram, serveProgram } from './program.ts'
import type { Reason, Task } from './task.ts'

/** How long a project may take to respond, or a page to show something. Generous: a slow computer fails nobody. */
export const patience_ms = 15_000

export interface Trial extends AsyncDisposable {
  directory: string
  sandbox: Sandbox
  /** The control plane and the API, past the gate. */
  client: Client
  /** SVC_* variables as the project gets them: its service is the gate. */
  env: Readonly<Record<string, string>>
  /** Starts the project's server. Resolves to its URL. */
  serve(words: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
  /** Runs a program of the project to its end. */
  run(
    words: readonly string[],
    options?: { env?: Readonly<Record<string, string>>; directory?: string },
  ): Promise<Ended>
  /** Sends JSON to the project. Null when it sends no JSON within the time. */
  call(url: string, body?: unknown, options?: CallOptions): Promise<Answer | null>
  /** Opens a page of the project in Chromium, uses it, and keeps what was seen for the verdict. */
  browse(url: string, drive: (page: Page) => Promise<void>): Promise<PageSeen>
  /** Shows an ad as a correct client without a page does: loads its frame, and reports render and view. */
  show(response: unknown): Promise<void>
  journal(): Promise<Journal>
  beacons(): Promise<BeaconItem[]>
  /** Resolves to whether production would have billed so many by then; waits for them. */
  billed(count: number, metric?: Metric): Promise<boolean>
  /** Notes a reason to fail unless something is so. */
  check(code: string, isSo: boolean, message: string): void
  /** Returns a value that has to be there. Without it the grading ends: nothing after it would mean anything. */
  require<Value>(code: string, value: Value | null | false, message: string): Value
  readonly found: TrialFindings
}

export interface CallOptions {
  method?: string
  headers?: Record<string, string>
  time_ms?: number
}

export interface Answer {
  status: number
  body: unknown
  headers: Headers
}

/** What the verdict is made of. */
export interface TrialFindings {
  reasons: Reason[]
  checks: number
  pages: PageSeen[]
  /** The slots whose frames a browser of the grader loaded into a page. */
  framed: Set<string | null>
  /** What servers of the project sent to those pages. */
  page_texts: string[]
  /** The ids of beacons that a browser of the grader sent, and of those that the grader sent itself. */
  beacon_ids: Set<string>
  gate: Pick<Gate, 'refused'>
}

/** Ends a grading whose further steps would mean nothing. */
export class GradingEnded extends Error {}

export async function openTrial(task: Task, directory: string, browser: () => Promise<Browser>): Promise<Trial> {
  const gate = await openGate()
  const sandbox = await startSandbox({ ...task.sandbox, public_url: gate.url })
  gate.open(sandbox.url)
  const { client_id, secret_key, publishable_key } = sandbox.keys
  const client = createClient({ base_url: sandbox.url, credential: secret_key })
  const found: TrialFindings = {
    reasons: [],
    checks: 0,
    pages: [],
    page_texts: [],
    framed: new Set(),
    beacon_ids: new Set(),
    gate,
  }
  const open: AsyncDisposable[] = [sandbox, gate]
  const env = {
    SVC_BASE_URL: gate.url,
    SVC_CLIENT_ID: client_id,
    SVC_SECRET_KEY: secret_key,
    SVC_PUBLISHABLE_KEY: publishable_key,
  }
  const trial: Trial = {
    directory,
    sandbox,
    client,
    env,
    found,
    async serve(words, more = {}) {
      const server = await serveProgram(words, { directory, env: { ...env, ...more } }, 4 * patience_ms)
      open.unshift(server)
      return server.url
    },
    run: (words, options = {}) =>
      runProgram(words, {
        directory: options.directory ?? directory,
        env: { ...env, ...options.env },
        time_ms: 60_000,
        output_bytes: 1e6,
      }),
    call,
    async browse(url, drive) {
      const seen = await watch(await browser(), { url, gate: gate.url, drive, found })
      found.pages.push(seen)
      return seen
    },
    show: (response) => show(client, response, found),
    async journal() {
      const about = { client_id, command_name: 'svc' }
      return readJournal(client, await client.sandbox.info(), { limit: 1_000 }, about)
    },
    beacons: async () => (await client.beacons.list({ query: { limit: 1_000 } })).items,
    billed: (count, metric = 'viewable_impression') =>
      waitUntil(async () => {
        const { items } = await client.beacons.list({ query: { billed: 'true', metric, limit: 100 } })
        return items.length >= count
      }),
    check(code, isSo, message) {
      found.checks++
      if (!isSo) found.reasons.push({ code, message })
    },
    require(code, value, message) {
      const isMissing = value === null || value === false
      trial.check(code, !isMissing, message)
      if (isMissing) throw new GradingEnded(code)
      return value
    },
    async [Symbol.asyncDispose]() {
      for (const each of open) await each[Symbol.asyncDispose]()
    },
  }
  return trial
}

async function call(url: string, body?: unknown, options: CallOptions = {}): Promise<Answer | null> {
  const { method = body === undefined ? 'GET' : 'POST', headers = {}, time_ms = patience_ms } = options
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(time_ms),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  } catch {
    return null
  }
}

interface Watch {
  url: string
  gate: string
  drive: (page: Page) => Promise<void>
  found: TrialFindings
}

function watch(browser: Browser, { url, gate, drive, found }: Watch): Promise<PageSeen> {
  return watchPage(browser, {
    url,
    browser_name: 'Chromium',
    bases: [gate, gate.replace('127.0.0.1', 'localhost')],
    for_ms: 0,
    signal: new AbortController().signal,
    // The steps of the task scroll, as its user would.
    is_headed: true,
    drive,
    prepare: async (_page, context) => {
      context.on('request', (request) => {
        if (request.isNavigationRequest() && request.frame().parentFrame() !== null)
          found.framed.add(findSlot(request.url()))
        const { beacon_id } = (request.url().endsWith('/beacons') ? request.postDataJSON() : null) ?? {}
        if (beacon_id !== undefined) found.beacon_ids.add(String(beacon_id))
      })
      context.on('response', async (response) => {
        if (response.url().startsWith(gate)) return
        // A body that the page has left is of no page any more.
        found.page_texts.push(await response.text().catch(() => ''))
      })
    },
  })
}

interface Filled {
  slot_id: string
  decision: { fill: boolean; asset_token: string; format: string | null } | null
  placement: { render: { frame_url: string } } | null
}

/** Stamps the view two seconds later, which the service accepts: nobody waits for it. */
async function show(client: Client, response: unknown, { beacon_ids }: TrialFindings): Promise<void> {
  const { slot_id, decision = null, placement } = (response ?? {}) as Filled
  if (decision?.fill !== true || !placement) return
  await fetch(placement.render.frame_url, { headers: { 'sec-fetch-dest': 'iframe' } })
  // A view of a clip counts once it plays.
  const events = [
    ['render', 0],
    ...(decision.format === 'clip' ? [['play_started', 0] as const] : []),
    ['visible', 2_000],
  ] as const
  for (const [event, after_ms] of events) {
    const beacon_id = `grader_${slot_id}:${event}`
    beacon_ids.add(beacon_id)
    const measurements = event === 'visible' ? { visible_ratio: 1, visible_ms: 2_000 } : {}
    const { asset_token } = decision
    const occurred_at_ms = Date.now() + after_ms
    await client.beacons.send({ body: { beacon_id, slot_id, asset_token, event, occurred_at_ms, measurements } })
  }
}

/** Resolves to whether something becomes so in time. */
export async function waitUntil(isSo: () => Promise<boolean>, time_ms = patience_ms): Promise<boolean> {
  const until = performance.now() + time_ms
  while (!(await isSo())) {
    if (performance.now() > until) return false
    await sleep(50)
  }
  return true
}
