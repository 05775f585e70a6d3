/** The stage of the browser templates' tests: the packed sandbox, a Chromium, and the server of a scaffolded template. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect, inject, vi } from 'vitest'
import { type Client, createClient } from '#client/index.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { wait_ms } from '#tests/patience.ts'
import { environment, run } from './run.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
export interface Stage extends AsyncDisposable {
  /** Uses the secret test key of the sandbox's first project. */
  client: Client
  /** The settings of a template, for its build and its server. */
  env: Record<string, string>
  /** Starts the server of a template in its directory; resolves with its origin once it listens. */
  serve(
    directory: string,
    command: readonly string[],
    env?: Record<string, string>,
  ): Promise<{ origin: string } & AsyncDisposable>
  /** Runs a command of svc against the sandbox; resolves with its stdout. */
  svc(...args: string[]): Promise<string>
  open(origin: string, options?: BrowserContextOptions): Promise<ChatPage>
}

/** A user of a chat template's page, in a browser context of its own. */
export interface ChatPage extends AsyncDisposable {
  page: Page
  /** Requests to the placement service, as `METHOD path`. */
  asked: string[]
  /** Uncaught errors and the console's warnings and errors, which include violations of the page's policy. */
  complaints: string[]
  /** Answers the consent question and waits until the page confirms it. */
  decide(answer: 'Allow' | 'No, thanks', sharesQuestions?: boolean): Promise<void>
  /** Asks a question and waits for the end of the answer. */
  ask(question: string): Promise<string>
  /** Heights of the sponsored slots, CSS pixels. */
  slots(): Promise<number[]>
  /** Returns the serious and critical violations that axe finds. */
  violations(): Promise<string[]>
}

/** @param options further ones of `svc start` */
export async function openStage(options: readonly string[] = []): Promise<Stage> {
  const svc = join(inject('newcomer'), 'node_modules/svc-sandbox/bin/svc.js')
  const command = [process.execPath, svc, 'start', '--port', '0', '--ephemeral', '-o', 'json', ...options]
  const home = join(inject('newcomer'), 'home')
  const sandbox = await startProgram(command, inject('newcomer'), { SVC_HOME: home }, /^\{.*\}$/m)
  const { url, projects } = JSON.parse(sandbox.found)
  const { client_id, secret_key, publishable_key } = projects[0]
  const env = {
    SVC_BASE_URL: url,
    SVC_CLIENT_ID: client_id,
    SVC_SECRET_KEY: secret_key,
    SVC_PUBLISHABLE_KEY: publishable_key,
  }
  const browser = await launchChromium()
  return {
    client: createClient({ base_url: url, credential: secret_key }),
    env,
    serve: async (directory, command, more = {}) => {
      const listening = /http:\/\/localhost:\d+/
      const server = await startProgram(command, directory, { ...env, PORT: '0', ...more }, listening)
      return { origin: server.found, [Symbol.asyncDispose]: server.end }
    },
    svc: (...args) => run(process.execPath, [svc, ...args, '--base-url', url], inject('newcomer'), { SVC_HOME: home }),
    open: (origin, options = {}) => openChat(browser, url, origin, options),
    async [Symbol.asyncDispose]() {
      await browser.close()
      await sandbox.end()
    },
  }
}

async function openChat(browser: Browser, service: string, origin: string, options: BrowserContextOptions) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  page.setDefaultTimeout(0)
  const asked: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin === service) asked.push(`${request.method()} ${url.pathname}`)
  })
  page.on('pageerror', ({ message }) => complaints.push(message))
  page.on('console', (line) => {
    if (line.type() === 'error' || line.type() === 'warning') complaints.push(line.text())
  })
  await page.goto(origin)
  const consent = page.getByRole('button', { name: /^Sponsored: / })
  const chat: ChatPage = {
    page,
    asked,
    complaints,
    async decide(answer, sharesQuestions = false) {
      const button = page.getByRole('button', { name: answer })
      if (!(await button.isVisible())) await consent.click()
      await page.getByRole('checkbox').setChecked(sharesQuestions)
      await button.click()
      await page.getByRole('button', { name: answer === 'Allow' ? 'Sponsored: on' : 'Sponsored: off' }).waitFor()
      await button.waitFor({ state: 'hidden' })
    },
    async ask(question) {
      const turns = await page.getByRole('article').count()
      await page.getByRole('textbox', { name: 'Your question' }).fill(question)
      await page.getByRole('button', { name: 'Send' }).click()
      await page.locator('article').nth(turns).locator('.answer[aria-busy="false"]').waitFor()
      return page.locator('article').nth(turns).locator('.answer').innerText()
    },
    slots: () => page.locator('.slot').evaluateAll((slots) => slots.map((slot) => slot.getBoundingClientRect().height)),
    async violations() {
      // Through the debugger, since the page's policy blocks any other script.
      await page.evaluate(axe)
      const results = (await page.evaluate('axe.run(document, { iframes: false })')) as AxeResults
      return results.violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
  return chat
}

/** Returns the sandbox's decisions since then, newest first. */
export async function placementsSince(client: Client, since_ms: number) {
  const { items } = await client.placements.list({ query: { limit: 50 } })
  return items.filter(({ created_at_ms }) => created_at_ms >= since_ms)
}

/** Waits until a slot has exactly these beacons, without heartbeats, as `event verdict +metric`. */
export async function expectBeacons(client: Client, slot_id: string, wanted: readonly string[]): Promise<void> {
  const read = async () => {
    const { items } = await client.beacons.list({ query: { slot_id, limit: 50 } })
    return items
      .filter(({ event }) => event !== 'heartbeat')
      .toSorted((a, b) => (a.occurred_at_ms ?? 0) - (b.occurred_at_ms ?? 0))
      .map(({ event, verdict, would_bill, metric }) => `${event} ${verdict}${would_bill ? ` +${metric}` : ''}`)
  }
  await vi.waitFor(async () => expect(await read()).toEqual(wanted), { timeout: wait_ms, interval: 100 })
}

/** Starts a program; resolves with the match of `wanted` in its stdout. `end` stops it and waits until it has exited. */
async function startProgram(
  [program = '', ...args]: readonly string[],
  cwd: string,
  env: Record<string, string>,
  wanted: RegExp,
): Promise<{ found: string; end(): Promise<void> }> {
  const child: ChildProcess = spawn(program, args, { cwd, env: { ...environment(), ...env } })
  const closed = once(child, 'close')
  let output = ''
  const found = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${program} ${args.join(' ')} ${why}\n${output}`))
    const timer = setTimeout(() => fail('said nothing of the kind in time'), wait_ms)
    const onOutput = (chunk: Buffer) => {
      output += chunk.toString()
      const match = output.match(wanted)
      if (match === null) return
      clearTimeout(timer)
      resolve(match[0])
    }
    child.stdout?.on('data', onOutput)
    child.stderr?.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => fail(`ended with ${code}`))
  }).catch((problem: unknown) => {
    child.kill('SIGKILL')
    throw problem
  })
  return {
    found,
    async end() {
      child.kill('SIGTERM')
      await closed
    },
  }
}
