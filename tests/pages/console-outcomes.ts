/**
 * The console on the demo page: what it shows of each outcome of each format. The table knows no browser; `npm test` runs it in
 * Chromium, and tests/engines in Firefox and WebKit.
 */
import type { Browser, Page } from 'playwright-core'
import { createClient } from '#client/index.ts'
import { type Format, formats } from '#contract/fields.ts'
import { startSandbox } from '#sandbox/index.ts'

interface Outcome {
  name: string
  format: Format
  /** Of the demo's address. */
  query: string
  /** Whether the service responds with 503. */
  isBroken?: true
  /** The states that are shown, in this order; others may be shown between them. */
  shows: readonly string[]
}

/** A clip is viewed after two seconds of playing, the others after one. */
export const outcomes: readonly Outcome[] = formats.flatMap((format): Outcome[] => [
  { name: `${format}: a fill`, format, query: '', shows: ['fill', 'viewed'] },
  { name: `${format}: a no-fill`, format, query: 'outcome=no_fill', shows: ['no-fill test_forced'] },
  { name: `${format}: a slow decision`, format, query: 'outcome=slow', shows: ['pending requesting', 'viewed'] },
  { name: `${format}: denied consent`, format, query: 'consent=denied', shows: ['no-fill consent_not_granted'] },
  { name: `${format}: expiring consent`, format, query: 'consent=expiring', shows: ['blocked consent_expired'] },
  { name: `${format}: an outage`, format, query: '', isBroken: true, shows: ['error injected_fault'] },
])

export interface DemoHosts extends AsyncDisposable {
  /** Opens the demo with its console, shows the outcome, and resolves to the states that were shown. */
  show(outcome: Outcome): Promise<string[]>
}

/**
 * Starts two sandboxes with their demos: one, and one whose placements are refused with a 503. Time flows in their pages, or is held
 * by `hold`.
 */
export async function openDemoHosts(browser: Browser, hold?: (page: Page) => Promise<void>): Promise<DemoHosts> {
  const [working, broken] = await Promise.all([startSandbox({ port: 0 }), startSandbox({ port: 0 })])
  const client = createClient({ base_url: broken.url, credential: broken.keys.secret_key })
  await client.faults.add({ body: { path: '/v1/placements', status: 503 } })
  return {
    show: async (outcome) => {
      const context = await browser.newContext({ viewport: { width: 1_280, height: 900 } })
      try {
        const page = await context.newPage()
        await page.addInitScript(recordStates)
        await page.addInitScript(waitLonger)
        await hold?.(page)
        return await showOutcome(page, (outcome.isBroken ? broken : working).url, outcome)
      } finally {
        await context.close()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([working.close(), broken.close()])
    },
  }
}

async function showOutcome(page: Page, url: string, { format, query, shows }: Outcome): Promise<string[]> {
  const choices = ['svc_console=1', 'surface=image', `format=${format}`, query].filter(Boolean).join('&')
  await page.goto(`${url}/_sandbox/demo?${choices}`)
  return page.evaluate(async (last) => {
    const isShown = (): boolean => window.consoleStates?.includes(last) ?? false
    if ('passTimeUntil' in window) await window.passTimeUntil(isShown)
    else while (!isShown()) await new Promise(requestAnimationFrame)
    return window.consoleStates ?? []
  }, shows.at(-1)!)
}

declare global {
  interface Window {
    /** The states that the chip at a slot has shown, each once. */
    consoleStates?: string[]
  }
}

/** Runs in the page: looks at the chip at the slot, many times a second. */
function recordStates(): void {
  const states: string[] = []
  window.consoleStates = states
  setInterval(() => {
    const chip = document.querySelector('svc-console')?.shadowRoot?.querySelector('.mark-chip')
    const state = [...(chip?.children ?? [])].map((part) => part.textContent).join(' ')
    if (state !== '' && !states.includes(state)) states.push(state)
  }, 20)
}

/** Runs in the page: the demo waits longer for its backend. A busy host is no failure of a request. */
function waitLonger(): void {
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  AbortSignal.timeout = (ms) => timeout(20 * ms)
}
