/** A Chrome or Chromium for the steps that need one: found by the command line, driven by playwright-core. */
import { stripVTControlCharacters } from 'node:util'
import type { Browser, BrowserServer, LaunchOptions } from 'playwright-core'

/** Why there is no browser, and what to do about it. */
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
  /** The browser; another one when the last has ended. Throws BrowserMissing. */
  get(): Promise<Browser>
  /** Kills a browser that hangs; the next who asks gets another one. */
  giveUp(hung: Browser): Promise<void>
  /** Ends it. Never rejects, and never takes longer than a few seconds. */
  close(): Promise<void>
}

export interface BrowserOptions {
  /** Its program file. */
  path: string
  /** Host names that pages may reach beside this machine's own: that of the service. Any other has no address. */
  reachable: readonly string[] | 'anything'
  /** In a window that a person can use. */
  is_headed?: boolean
}

/** How long it may take to start, and to end, milliseconds. */
const startsWithin_ms = 30_000
const endsWithin_ms = 5_000

/** A browser and its process: the way to end one that hears nothing any more. */
interface Launched {
  browser: Browser
  process: Pick<BrowserServer, 'kill'>
}

/**
 * Starts the browser, without a window, and starts it again when it has crashed or hangs.
 * @throws BrowserMissing when the package that drives it is missing, or the browser does not start
 */
export async function openBrowserHost(options: BrowserOptions): Promise<BrowserHost> {
  let current: Promise<Launched> = launch(options)
  await current
  return {
    async get() {
      const known = current
      const { browser } = await known
      if (browser.isConnected()) return browser
      // Of all who find it ended, the first starts the next.
      if (current === known) current = launch(options)
      return (await current).browser
    },
    async giveUp(hung) {
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
      await within(endsWithin_ms, browser.close())
      await within(endsWithin_ms, process.kill())
    },
  }
}

/**
 * The host page stands at an address that nothing answers at, so the browser cannot tell that it is on this machine: its
 * check of local addresses would only ever see that.
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
    // Chromium refuses its own sandbox to root, which is who runs in a container.
    chromiumSandbox: process.getuid?.() !== 0,
    // The run ends by itself on an interrupt, teardown and all.
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

/** The line of a long message that tells the cause. */
function reasonOf(error: unknown): string {
  const lines = stripVTControlCharacters(String((error as Error).message))
    .split('\n')
    .map((line) => line.trim())
  const cause = lines.find((line) => /error while loading|No usable sandbox|EACCES|ENOEXEC|ENOENT|Timeout/.test(line))
  const text = (cause ?? lines[0] ?? '').replace(/^browserType\.launch\w*: /, '').replace(/^\[pid=\d+\]\[err\] /, '')
  if (/has been closed/.test(text)) return 'it ended before it could be driven.'
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Whether the work has ended, well or not, before the time is up: what hangs is left alone then. */
export async function within(most_ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), most_ms)
  })
  const isEnded = await Promise.race([Promise.allSettled([work]).then(() => true), late])
  clearTimeout(timer)
  return isEnded
}
