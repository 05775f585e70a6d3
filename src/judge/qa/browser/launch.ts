/** The browser of a run: starting it, starting it again. It is driven by playwright-core. */

import { stripVTControlCharacters } from 'node:util'
import type { Browser, LaunchOptions } from 'playwright-core'
import { readMessage } from '#foundation/system-error.ts'
import { QaError } from '../result.ts'
import { type Engine, type EngineOptions, engineNames, installHints, type Launched, type Limit } from './engines.ts'

/** The browser of a run. Pages of all cases share it, each in a separate context. */
export interface BrowserHost {
  /** What it is, for verdicts: `Firefox 153.7.0`. */
  readonly name: string
  /** What svc cannot do in it. */
  readonly cannot: readonly Limit[]
  /** Resolves with the browser, or with a new one when the last has ended. Throws QaError. */
  get(): Promise<Browser>
  /** Kills a browser that hangs and starts another. */
  replace(hung: Browser): Promise<void>
  /** Ends the browser within seconds. Never rejects. */
  close(): Promise<void>
}

export interface BrowserOptions extends EngineOptions {
  /** Default: chromium. */
  engine?: Engine
}

/** How long it may take to start, and to end, milliseconds. */
const startsWithinMs = 30_000
const endsWithinMs = 5_000

/**
 * Starts the browser, without a window, and starts it again when it has crashed or hangs.
 * Throws QaError when playwright-core is not installed, or the browser does not start.
 */
export async function openBrowserHost(options: BrowserOptions): Promise<BrowserHost> {
  let current: Promise<Launched> = launch(options)
  const { browser, cannot } = await current
  return {
    name: `${shownName(options)} ${browser.version()}`,
    cannot,
    async get() {
      const known = current
      const { browser } = await known
      if (browser.isConnected()) return browser
      // Of all callers that find it ended, the first starts the next.
      if (current === known) current = launch(options)
      return (await current).browser
    },
    async replace(hung) {
      const known = current
      const { browser, process } = await known
      if (browser !== hung || current !== known) return
      current = launch(options)
      await process.kill()
    },
    async close() {
      const [launched] = await Promise.allSettled([current])
      if (launched.status === 'rejected') return
      const { browser, process } = launched.value
      await endsWithin(endsWithinMs, browser.close())
      await endsWithin(endsWithinMs, process.kill())
    },
  }
}

const shownNames: Readonly<Record<Engine, string>> = { chromium: 'Chromium', firefox: 'Firefox', webkit: 'WebKit' }

function shownName({ engine = 'chromium', computer }: BrowserOptions): string {
  return computer.own_engines?.[engine]?.name ?? shownNames[engine]
}

async function launch({ engine = 'chromium', ...options }: BrowserOptions): Promise<Launched> {
  const { path, computer } = options
  try {
    return await (computer.own_engines?.[engine]?.launch(options) ?? launchByPlaywright(engine, options))
  } catch (error) {
    if (error instanceof QaError) throw error
    const hint =
      engine === 'webkit' ? installHints.webkit : `Name a ${engineNames[engine]} that does: --browser-path FILE`
    throw new QaError('browser_missing', `The browser ${path} does not start: ${findCause(error)}`, hint)
  }
}

/**
 * The driver serves the host page at an origin that does not resolve, so Chromium cannot know that it is local: its
 * check of requests to local addresses is off.
 */
async function launchByPlaywright(
  engine: Engine,
  { path, computer, reachable, is_headed = false }: EngineOptions,
): Promise<Launched> {
  const { chromium, firefox, webkit } = await import('playwright-core').catch(() => {
    throw new QaError(
      'browser_missing',
      'The package playwright-core, which drives the browser, is not installed.',
      'Install it: npm install -D playwright-core',
    )
  })
  const hosts = reachable === 'anything' ? null : ['127.0.0.1', '[::1]', 'localhost', ...reachable]
  const launched: LaunchOptions = {
    executablePath: path,
    headless: !is_headed,
    timeout: startsWithinMs,
    // The run itself handles an interrupt, with teardown.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  }
  if (engine === 'firefox') {
    const { launchFirefox } = await import('./firefox.ts')
    const preferences = hosts === null ? {} : onlyTo(hosts)
    return launchFirefox(firefox, { ...launched, firefoxUserPrefs: preferences }, computer.platform)
  }
  if (engine === 'webkit') {
    const server = await webkit.launchServer({ ...launched, ...(hosts !== null && { proxy: nowhereBut(hosts) }) })
    return { browser: await webkit.connect(server.wsEndpoint()), process: server, cannot: [] }
  }
  const server = await chromium.launchServer({
    ...launched,
    args: [
      '--mute-audio',
      '--disable-gpu',
      '--font-render-hinting=none',
      '--disable-features=LocalNetworkAccessChecks',
      ...(hosts === null
        ? []
        : [`--host-resolver-rules=MAP * ~NOTFOUND${hosts.map((host) => `, EXCLUDE ${host}`).join('')}`]),
    ],
    // Chromium does not start its own sandbox as root, the usual user in a container.
    chromiumSandbox: process.getuid?.() !== 0,
  })
  return { browser: await chromium.connect(server.wsEndpoint()), process: server, cannot: [] }
}

/** Firefox and WebKit have no rules for names: whatever else is asked for goes to a proxy that is not there. */
function onlyTo(hosts: readonly string[]): NonNullable<LaunchOptions['firefoxUserPrefs']> {
  return {
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': 9,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': 9,
    'network.proxy.no_proxies_on': hosts.join(', '),
  }
}

function nowhereBut(hosts: readonly string[]): NonNullable<LaunchOptions['proxy']> {
  return { server: 'http://127.0.0.1:9', bypass: hosts.join(',') }
}

/** Returns the line of a long message that names the cause. */
function findCause(error: unknown): string {
  const lines = stripVTControlCharacters(readMessage(error))
    .split('\n')
    .map((line) => line.trim())
  const cause = lines.find((line) => /error while loading|No usable sandbox|EACCES|ENOEXEC|ENOENT|Timeout/.test(line))
  const text = (cause ?? lines[0] ?? '').replace(/^browserType\.launch\w*: /, '').replace(/^\[pid=\d+\]\[err\] /, '')
  if (/has been closed/.test(text)) return 'it ended before it could be driven.'
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Resolves with whether the work has ended, well or not, before the time is up. */
export async function endsWithin(most_ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), most_ms)
  })
  const isEnded = await Promise.race([Promise.allSettled([work]).then(() => true), late])
  clearTimeout(timer)
  return isEnded
}
