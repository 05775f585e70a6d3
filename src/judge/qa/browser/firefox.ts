/**
 * Firefox as distributions and Mozilla ship it, driven by playwright-core over WebDriver BiDi.
 *
 * Playwright may use commands that an extended support release does not have yet, and then opens no page. Between the two
 * stands a relay, which reports those as done. What they would have emulated is not, and `cannot` says so.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserType, LaunchOptions } from 'playwright-core'
import { type RawData, WebSocket, WebSocketServer } from 'ws'
import { listeningPort } from '#foundation/http.ts'
import type { Launched, Limit } from './engines.ts'

/** Playwright sets no reduced motion by WebDriver BiDi, and reads no bodies of requests. */
const always: Limit[] = ['reduced_motion', 'request_bodies']

/** Commands without which a page is still a page. */
const dispensable = new Set(['emulation.setMediaFeaturesOverride'])
const startsWithinMs = 30_000

/** Starts Firefox. Throws what Playwright throws when it does not start. */
export async function launchFirefox(
  firefox: Pick<BrowserType, 'launch'>,
  options: LaunchOptions,
  platform: string,
): Promise<Launched> {
  const { executablePath } = options
  const launch = (path: string | undefined) =>
    firefox.launch({
      ...options,
      ...(path !== undefined && { executablePath: path }),
      channel: 'moz-firefox',
      firefoxUserPrefs: { ...quietly, ...options.firefoxUserPrefs },
    })
  // Windows has no scripts that start a program in their place.
  if (platform === 'win32' || executablePath === undefined) {
    const browser = await launch(executablePath)
    return { browser, process: { kill: () => browser.close() }, cannot: always }
  }
  const relay = await openRelay()
  const folder = mkdtempSync(join(tmpdir(), 'svc-firefox-'))
  try {
    const script = join(folder, 'firefox')
    writeFileSync(script, startScript(executablePath, relay), { mode: 0o700 })
    const browser = await launch(script)
    browser.on('disconnected', () => relay.close())
    // Shows which commands are missing.
    await (await browser.newContext()).close()
    const cannot: Limit[] = relay.lacks().size > 0 ? ['dark', ...always] : always
    return { browser, process: { kill: () => browser.close() }, cannot }
  } catch (error) {
    relay.close()
    throw error
  } finally {
    // The shell has read it by now.
    rmSync(folder, { recursive: true, force: true })
  }
}

/** It opens no page and sends no request by itself. */
const quietly: NonNullable<LaunchOptions['firefoxUserPrefs']> = {
  'app.normandy.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage_override.mstone': 'ignore',
  'datareporting.policy.dataSubmissionEnabled': false,
  // Frames of other sites run in processes of their own: only the parent can dispatch to all of them.
  'remote.events.async.mouse.enabled': true,
  'media.volume_scale': '0.0',
  'services.settings.server': 'data:,',
  'toolkit.telemetry.reportingpolicy.firstRun': false,
}

/** Playwright takes the first address that it reads for Firefox's own. */
function startScript(program: string, { port, firefox_port }: { port: number; firefox_port: number }): string {
  return `#!/bin/sh
echo "WebDriver BiDi listening on ws://127.0.0.1:${port}" >&2
for given in "$@"; do
  shift
  case "$given" in --remote-debugging-port=*) given=--remote-debugging-port=${firefox_port} ;; esac
  set -- "$@" "$given"
done
exec '${program.replaceAll("'", "'\\''")}' "$@"
`
}

interface Relay {
  /** Where Playwright connects. */
  port: number
  /** Where Firefox is to listen. */
  firefox_port: number
  /** The commands that this Firefox does not have. */
  lacks(): ReadonlySet<string>
  close(): void
}

async function openRelay(): Promise<Relay> {
  const firefox_port = await freePort()
  const lacking = new Set<string>()
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  await new Promise<void>((resolve) => server.once('listening', resolve))
  let isClosed = false
  server.on('connection', (playwright, { url }) => {
    const waiting: RawData[] = []
    let firefox: WebSocket | null = null
    const methods = new Map<number, string>()
    playwright.on('error', () => {})
    playwright.on('close', () => firefox?.close())
    playwright.on('message', (data) => {
      const { id, method } = JSON.parse(String(data)) as { id: number; method: string }
      if (dispensable.has(method)) methods.set(id, method)
      if (firefox === null) waiting.push(data)
      else firefox.send(String(data))
    })
    const open = async () => {
      firefox = await connected(`ws://127.0.0.1:${firefox_port}${url}`, () => isClosed)
      firefox.on('error', () => {})
      firefox.on('close', () => playwright.close())
      firefox.on('message', (data) => {
        const text = String(data)
        const method = methods.size === 0 ? undefined : methods.get((JSON.parse(text) as { id?: number }).id ?? -1)
        if (method === undefined) return playwright.send(text)
        const { id, error } = JSON.parse(text) as { id: number; error?: string }
        methods.delete(id)
        if (error !== 'unknown command') return playwright.send(text)
        lacking.add(method)
        playwright.send(JSON.stringify({ type: 'success', id, result: {} }))
      })
      for (const data of waiting) firefox.send(String(data))
    }
    open().catch(() => playwright.close())
  })
  return {
    port: listeningPort(server),
    firefox_port,
    lacks: () => lacking,
    close() {
      isClosed = true
      for (const client of server.clients) client.terminate()
      server.close()
    },
  }
}

/** Connects as soon as Firefox listens. */
async function connected(url: string, isClosed: () => boolean): Promise<WebSocket> {
  const ends_at = performance.now() + startsWithinMs
  for (;;) {
    const socket = new WebSocket(url, { maxPayload: 2 ** 28 })
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('open', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    if (isOpen) return socket
    if (isClosed() || performance.now() >= ends_at) throw new Error('Firefox does not listen for WebDriver BiDi.')
    await sleep(50)
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = listeningPort(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}
