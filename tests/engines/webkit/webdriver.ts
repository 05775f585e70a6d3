/** A session of WebKitWebDriver: a window of WebKitGTK's MiniBrowser, driven by the W3C's WebDriver protocol. */

import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchText } from '#client/node-fetch.ts'
import { createFolder } from '#foundation/file-system.ts'
import { listeningPort } from '#foundation/http.ts'
import { startProgram } from '#foundation/programs.ts'
import type { BrowserComputer } from '#qa/browser/engines.ts'

/** Where the programs of WebKit are. */
export interface WebKitPrograms {
  /** WebKitWebDriver. */
  driver: string
  /** MiniBrowser. */
  browser: string
  /** Xvfb, for a screen that nobody sees; null: the windows open on the screen of `env.DISPLAY`. */
  screen: string | null
}

interface WindowOptions {
  programs: WebKitPrograms
  env: BrowserComputer['env']
  /** Port of the proxy on this machine through which every request goes. */
  proxy_port: number
  color_scheme: 'light' | 'dark'
  reduced_motion: boolean
}

/** A reference to an element, as WebDriver writes it. */
export type ElementReference = Readonly<Record<string, string>>

/** What WebDriver refused, with its code: `no such element`, `element click intercepted`. */
export class WebDriverError extends Error {
  override readonly name = 'WebDriverError'
  readonly code: string

  constructor(code: string, message: string) {
    super(message === '' ? code : `${code}: ${message}`)
    this.code = code
  }
}

export interface WebDriverSession {
  /** The file that the screen of the window is in; null: it is a screen of the user. */
  readonly screen_file: string | null
  /** `2.50.6`. */
  readonly version: string
  /** Sends a command of the session. Throws WebDriverError. */
  call<Value>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<Value>
  isRunning(): boolean
  /** Ends the window and the driver. Never rejects. */
  end(): Promise<void>
}

const startsWithinMs = 20_000

/** Starts a driver with one window. Throws Error when it does not start. */
export async function openWindow(options: WindowOptions): Promise<WebDriverSession> {
  const { programs, proxy_port, color_scheme } = options
  const folder = mkdtempSync(join(tmpdir(), 'svc-webkit-'))
  writeSettings(folder, options)
  const screen = programs.screen === null ? null : await openScreen(programs.screen, folder, options.env)
  const endScreen = async () => {
    await screen?.end()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  const port = await freePort()
  const env = {
    ...options.env,
    ...(screen !== null && { DISPLAY: screen.display, GDK_BACKEND: 'x11' }),
    XDG_CONFIG_HOME: folder,
    GTK_THEME: color_scheme === 'dark' ? 'Adwaita:dark' : 'Adwaita',
    NO_AT_BRIDGE: '1',
  }
  const child = await startGroup([programs.driver, `--port=${port}`], { env, stdio: 'ignore' }).catch(
    async (error: unknown) => {
      await endScreen()
      throw error
    },
  )
  const end = async () => {
    await stop(child)
    await endScreen()
  }
  const base = `http://127.0.0.1:${port}`
  try {
    await started(child, programs.driver, base)
    const proxy = `127.0.0.1:${proxy_port}`
    const created = await send<{ sessionId: string; capabilities: { browserVersion: string } }>(
      'POST',
      `${base}/session`,
      {
        capabilities: {
          alwaysMatch: {
            proxy: { proxyType: 'manual', httpProxy: proxy, sslProxy: proxy },
            timeouts: { script: 30_000, pageLoad: 15_000, implicit: 0 },
            'webkitgtk:browserOptions': { binary: programs.browser, args: ['--automation'] },
          },
        },
      },
    )
    const root = `${base}/session/${created.sessionId}`
    return {
      screen_file: screen?.file ?? null,
      version: created.capabilities.browserVersion,
      call: (method, path, body) => send(method, `${root}${path}`, body),
      isRunning: () => child.exitCode === null && child.signalCode === null,
      async end() {
        await send('DELETE', root).catch(() => {})
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

interface Screen {
  /** The X display: `:7`. */
  display: string
  /** Its memory, in the X Window Dump format. */
  file: string
  end(): Promise<void>
}

/** The right half is for windows that the page opens: they must not cover it. */
export const screenSize = { width: 5_000, height: 2_400 }

/** Starts a screen that nobody sees, for one window. Throws Error when it does not start. */
async function openScreen(program: string, folder: string, env: WindowOptions['env']): Promise<Screen> {
  const size = `${screenSize.width}x${screenSize.height}x24`
  const words = [program, '-displayfd', '3', '-screen', '0', size, '-nolisten', 'tcp', '-fbdir', folder]
  const child = await startGroup(words, { env, stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  const pipe = child.stdio[3] as NodeJS.ReadableStream
  const number = await new Promise<string>((resolve, reject) => {
    pipe.once('data', (data: Buffer) => resolve(String(data).trim()))
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${program} ended with ${code}.`)))
  })
  return { display: `:${number}`, file: join(folder, 'Xvfb_screen0'), end: () => stop(child) }
}

/** A preference of the user that WebKitGTK reads from GTK's settings. */
function writeSettings(folder: string, { reduced_motion }: WindowOptions): void {
  createFolder(join(folder, 'gtk-3.0'))
  writeFileSync(
    join(folder, 'gtk-3.0', 'settings.ini'),
    `[Settings]\ngtk-enable-animations=${Number(!reduced_motion)}\n`,
  )
}

async function started(child: ChildProcess, program: string, base: string): Promise<void> {
  let failure: Error | null = null
  child.once('error', (error) => {
    failure = error
  })
  child.once('exit', (code) => {
    failure ??= new Error(`${program} ended with ${code}.`)
  })
  const ends_at = performance.now() + startsWithinMs
  while (performance.now() < ends_at) {
    if (failure !== null) throw failure
    const isReady = await fetchText(`${base}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await sleep(50)
  }
  throw new Error(`${program} did not respond within ${startsWithinMs / 1_000} s.`)
}

/** Starts a program in a group of its own: the windows end with their driver, and both with this process. */
async function startGroup(words: readonly string[], options: SpawnOptions): Promise<ChildProcess> {
  const child = await startProgram(words, { ...options, detached: true })
  const kill = () => killGroup(child)
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  return child
}

/** Ends a process and those that it started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return
  const ended = new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
  killGroup(child)
  await ended
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const port = listeningPort(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function send<Value>(method: string, url: string, body?: object): Promise<Value> {
  const response = await fetchText(url, {
    method,
    ...(method === 'POST' && {
      body: JSON.stringify(body ?? {}),
      headers: { 'content-type': 'application/json' },
    }),
  })
  const { value } = JSON.parse(response.text) as { value: unknown }
  if (response.ok) return value as Value
  const { error, message } = value as { error: string; message: string }
  throw new WebDriverError(error, message)
}
