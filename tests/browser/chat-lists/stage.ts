/**
 * The recipes of docs/guides/chat-lists.md in a real browser. The code is that of the guide, built for a page; the integrator's
 * server has the route of the placements, and streams the answers of a model.
 */
import { copyFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createUIMessageStream, pipeUIMessageStreamToResponse } from 'ai'
import type { Page } from 'playwright-core'
import { build, type Rolldown } from 'vite'
import { expect, vi } from 'vitest'
import { blocksOf } from '#tests/docs/markdown.ts'
import { wait_ms } from '#tests/patience.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { openStage as openBrowserStage } from '../stage.ts'

const guide = 'docs/guides/chat-lists.md'
const words = 'Grind finer, and weigh what you brew. '.repeat(7).split(/(?<= )/)

/** A page with a recipe, in a browser context of its own. */
export interface ListPage extends AsyncDisposable {
  page: Page
  /** Asks the question of a chat. */
  ask(): Promise<void>
  /** Scrolls to the last message, and to the first, until the last is gone from the page. */
  scrollToLast(): Promise<void>
  scrollAway(): Promise<void>
  /** Scrolls to the last message, and waits until its ad is painted below its label. */
  scrollBack(): Promise<void>
  /** The heights of the last two messages, CSS pixels. */
  rowHeights(): Promise<number[]>
  /** Requests of the page to its route for placements: method and query. */
  asked: string[]
  /** Scrolls away and back three times: one placement, one billed view, and the ad is there after each. */
  roundTrips(): Promise<void>
  /** Errors and warnings on the console, and uncaught errors. */
  problems(): string[]
}

export interface ListStage extends AsyncDisposable {
  /** Lets time pass on the clock of the sandbox. */
  pass(by_ms: number): Promise<void>
  open(recipe: string, hash?: string): Promise<ListPage>
}

/** Builds the page `entry` with the code of the guide and the packages of `node_modules`. */
async function buildPage(entry: string, node_modules: string, base_url: string): Promise<string> {
  const directory = temporaryDirectory()
  symlinkSync(node_modules, join(directory, 'node_modules'), 'dir')
  for (const { flags, text } of blocksOf(guide)) {
    if (flags.file !== undefined)
      writeFileSync(join(directory, flags.file), text.replaceAll('http://127.0.0.1:4010', base_url))
  }
  copyFileSync(entry, join(directory, 'app.tsx'))
  const built = (await build({
    root: directory,
    configFile: false,
    logLevel: 'error',
    define: { 'process.env.NODE_ENV': '"development"' },
    plugins: [
      {
        name: 'guide',
        resolveId: (id) => (id.startsWith('guide:') ? join(directory, id.slice('guide:'.length)) : null),
      },
    ],
    build: {
      write: false,
      target: 'es2022',
      minify: false,
      lib: { entry: join(directory, 'app.tsx'), formats: ['iife'], name: 'page' },
    },
  })) as Rolldown.RolldownOutput[]
  const { code } = built[0]!.output[0]
  return code.replaceAll('</script', '<\\/script')
}

interface Options {
  /** The file of the page. */
  entry: string
  /** A folder of packages. */
  node_modules: string
}

export async function openListStage({ entry, node_modules }: Options): Promise<ListStage> {
  const stage = await openBrowserStage({ rate_limit: 'off' }, undefined, 'flows')
  const code = await buildPage(entry, node_modules, stage.sandbox.url)
  const { secret_key, client_id } = stage.sandbox.keys
  const headers = { authorization: `Bearer ${secret_key}`, 'content-type': 'application/json' }
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title><link rel="icon" href="data:,">
<style>.messages{height:500px;overflow:auto}article{padding:8px;min-height:60px}</style>
<div id="list" class="messages"></div><div id="root"></div><script>${code}</script>`

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://chat')
    if (pathname === '/api/placement') return sendPlacement(request, response, searchParams)
    if (pathname === '/api/chat') return sendChat(response)
    if (pathname === '/api/answer') return sendAnswer(response)
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
  })
  async function sendPlacement(request: IncomingMessage, response: ServerResponse, query: URLSearchParams) {
    const url = new URL(`${stage.sandbox.url}/v1/${request.method === 'POST' ? 'placements' : 'decisions'}`)
    if (request.method === 'GET') url.pathname += `/${query.get('slot_id')}`
    const text = (await request.toArray()).join('')
    const overrides = { allowed_formats: ['banner'] }
    const slot_hint = { max_width: 300, max_height: 250 }
    const body = text === '' ? null : JSON.stringify({ ...JSON.parse(text), client_id, overrides, slot_hint })
    const answer = await fetch(url, { method: request.method ?? 'GET', headers, body })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`

  async function open(recipe: string, hash = ''): Promise<ListPage> {
    const context = await stage.browser.newContext({ viewport: { width: 800, height: 700 } })
    const page = await context.newPage()
    const asked: string[] = []
    const console_lines: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname === '/api/placement') asked.push(`${request.method()} ${search}`)
    })
    page.on('console', (message) => console_lines.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => console_lines.push(`pageerror: ${error.message}`))
    await page.goto(`${origin}/${recipe}${hash}`)
    const session = () => page.evaluate(() => (sessionStorage.session_id as string | undefined) ?? 'none')
    const scrollTo = (end: 'top' | 'bottom') =>
      page.evaluate((end) => {
        const list = document.querySelector('.messages')!
        list.scrollTop = end === 'top' ? 0 : list.scrollHeight
      }, end)
    const last = page.getByText(/Message 40|Grind finer/)
    /** The beacons without heartbeats, as `event reason_code`, with `+metric` where production would bill. */
    const ledger = async () => {
      const { items } = await stage.client.beacons.list({ query: { session_id: await session(), limit: 200 } })
      return items
        .filter(({ event }) => event !== 'heartbeat')
        .toSorted((one, other) => (one.occurred_at_ms ?? 0) - (other.occurred_at_ms ?? 0))
        .map(
          ({ event, reason_code, would_bill, metric }) => `${event} ${reason_code}${would_bill ? ` +${metric}` : ''}`,
        )
    }
    // A list that measures its rows learns its height on the way down.
    const scrollToLast = () =>
      waitUntil(async () => {
        await scrollTo('bottom')
        return (await last.count()) > 0 && (await last.first().isVisible())
      })
    const scrollAway = async () => {
      await scrollTo('top')
      await waitUntil(async () => (await last.count()) === 0)
      expect(await page.locator('iframe').count()).toBe(0)
    }
    const scrollBack = async () => {
      await scrollToLast()
      const label = page.locator('[data-sp-label]').first()
      await waitUntil(async () => {
        await scrollTo('bottom')
        return (await label.isVisible()) && (await page.frameLocator('iframe').locator('img').count()) > 0
      })
      const { width, height } = (await page.locator('iframe').boundingBox())!
      const frames = await page.locator('iframe').count()
      expect({ width, height, frames }).toEqual({ width: 300, height: 250, frames: 1 })
    }
    const rowHeights = () =>
      page.locator('article').evaluateAll((rows) => rows.slice(-2).map((row) => row.getBoundingClientRect().height))
    return {
      page,
      ask: async () => {
        await page.getByLabel('Your question').fill('How do I make better espresso?')
        await page.getByLabel('Your question').press('Enter')
        await last.first().waitFor({ state: 'attached' })
      },
      asked,
      rowHeights,
      scrollToLast,
      scrollAway,
      scrollBack,
      roundTrips: async () => {
        try {
          await roundTrips()
        } catch (problem) {
          const events = await page.evaluate(() => window.SponsoredPlacement?.getEvents())
          const boxes = await page
            .locator('.messages, iframe')
            .evaluateAll((elements) => elements.map((element) => JSON.stringify(element.getBoundingClientRect())))
          const seen = JSON.stringify(
            events?.map(({ at_ms: _at, turn_id: _turn, instance_id: _ri, ...event }) => event),
          )
          throw new Error(
            `${String(problem)}; ${boxes}; asked: ${asked}; events: ${seen}; console: ${console_lines.join('; ')}`,
          )
        }
      },
      problems: () => console_lines.filter((line) => /^(error|warning|pageerror)/.test(line)),
      [Symbol.asyncDispose]: () => context.close(),
    }
    async function roundTrips() {
      await scrollBack()
      const heights: (number | undefined)[] = []
      for (let trip = 1; trip <= 3; trip++) {
        await scrollAway()
        await scrollBack()
        heights.push((await rowHeights()).at(-1))
        // The first time it leaves before it was seen. A list that measures its rows late moves what it shows.
        if (trip === 1)
          await waitUntil(async () => {
            await scrollTo('bottom')
            return (await ledger()).some((line) => line.startsWith('visible'))
          })
      }
      expect(await ledger()).toEqual(['render OK', 'visible OK +viewable_impression'])
      const { items } = await stage.client.placements.list({ query: { session_id: await session(), limit: 50 } })
      expect(items.length).toBe(1)
      expect(asked).toEqual(['POST '])
      // An answer may still be arriving on the first one.
      expect(heights[2]).toBe(heights[1])
    }
  }

  return {
    open,
    pass: async (by_ms) => void (await stage.client.clock.advance({ body: { by_ms } })),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await stage[Symbol.asyncDispose]()
    },
  }
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await isSo()).toBe(true), { timeout: wait_ms, interval: 100 })
}

/** Streams an answer as a model behind the AI SDK does. */
function sendChat(response: ServerResponse): void {
  const stream = createUIMessageStream({
    execute: async ({ writer }) => {
      writer.write({ type: 'text-start', id: 'text' })
      for (const delta of words) {
        writer.write({ type: 'text-delta', id: 'text', delta })
        await sleep(10)
      }
      writer.write({ type: 'text-end', id: 'text' })
    },
  })
  pipeUIMessageStreamToResponse({ response, stream })
}

/** Streams an answer as plain text. */
async function sendAnswer(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' })
  for (const word of words) {
    response.write(word)
    await sleep(20)
  }
  response.end()
}
