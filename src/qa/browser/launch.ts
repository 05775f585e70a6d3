/** A Chrome or Chromium for the steps that need one: found by the command line, driven by playwright-core. */
import { stripVTControlCharacters } from 'node:util'
import type { Browser, BrowserServer, LaunchOptions } from 'playwright-core'

/** There is no browser; `hint` says what to do. */
export class BrowserMissing extends Error {
  override readonly name = 'BrowserMissing'
  readonly hint: string

  constructor(message: string, hint: string) {
    super(message)
    this.hint = hint
  }
}

/** The browser of a run. Pages of all cases share it, each in a context of its own. */
export interface BrowserHost {
  /** Resolves with the browser, or with a new one when the last has ended. Throws BrowserMissing. */
  get(): Promise<Browser>
  /** Kills a browser that hangs and starts another. */
  replace(hung: Browser): Promise<void>
  /** Ends the browser within seconds. Never rejects. */
  close(): Promise<void>
}

export interface BrowserOptions {
  /** Its program file. */
  path: string
  /** Host names that pages may reach beside loopback: that of the service. Any other does not resolve. */
  reachable: readonly string[] | 'anything'
  /** In a window that you can use. */
  is_headed?: boolean
}

/** How long it may take to start, and to end, milliseconds. */
const startsWithin_ms = 30_000
const endsWithin_ms = 5_000

/** A browser and its process, which can be killed when the browser no longer responds. */
interface Launched {
  browser: Browser
  process: Pick<BrowserServer, 'kill'>
}

/**
 * Starts the browser, without a window, and starts it again when it has crashed or hangs.
 * Throws BrowserMissing when playwright-core is not installed, or the browser does not start.
 */
export async function openBrowserHost(options: BrowserOptions): Promise<BrowserHost> {
  let current: Promise<Launched> = launch(options)
  await current
  return {
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
      await endsWithin(endsWithin_ms, browser.close())
      await endsWithin(endsWithin_ms, process.kill())
    },
  }
}

/**
 * The driver serves the host page at an origin that does not resolve, so the browser cannot know that it is local: its
 * check of requests to local addresses is off.
 */
async function launch({ path, reachable, is_headed = false }: BrowserOptions): Promise<Launched> {
  const { chromium } = await import('playwright-core').catch(() => {
    throw new BrowserMissing(
      'The package playwright-core, which drives the browser, is not installed.',
      'Install it: npm install -D playwright-core',
    )
  })
  const hosts = reachable === 'anything' ? null : ['127.0.0.1', '[::1]', 'localhost', ...reachable]
  const launched: LaunchOptions = {
    executablePath: path,
    headless: !is_headed,
    timeout: startsWithin_ms,
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
    // The run itself handles an interrupt, with teardown.
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  }
  try {
    const server = await chromium.launchServer(launched)
    return { browser: await chromium.connect(server.wsEndpoint()), process: server }
  } catch (error) {
    throw new BrowserMissing(
      `The browser ${path} does not start: ${reasonOf(error)}`,
      'Name a Chrome or Chromium that does: --browser-path FILE',
    )
  }
}

/** Returns the line of a long message that names the cause. */
function reasonOf(error: unknown): string {
  const lines = stripVTControlCharacters(String((error as Error).message))
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
