/** A Chrome or Chromium for the steps that need one: found by the command line, driven by playwright-core. */
import { stripVTControlCharacters } from 'node:util'
import type { Browser, LaunchOptions } from 'playwright-core'

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

/**
 * Starts the browser, without a window, and starts it again when it has crashed.
 * @throws BrowserMissing when the package that drives it is missing, or the browser does not start
 */
export async function openBrowserHost(options: BrowserOptions): Promise<BrowserHost> {
  let current: Promise<Browser> = launch(options)
  await current
  return {
    async get() {
      const known = current
      const browser = await known
      if (browser.isConnected()) return browser
      // Of all who find it ended, the first starts the next.
      if (current === known) current = launch(options)
      return current
    },
    close: () =>
      within(
        endsWithin_ms,
        current.then((browser) => browser.close()),
      ),
  }
}

/**
 * The host page stands at an address that nothing answers at, so the browser cannot tell that it is on this machine: its
 * check of local addresses would only ever see that.
 */
async function launch({ path, reachable, is_headed = false }: BrowserOptions): Promise<Browser> {
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
  return chromium.launch(launched).catch((error: unknown) => {
    throw new BrowserMissing(
      `The browser ${path} does not start: ${reasonOf(error)}`,
      'Name a Chrome or Chromium that does: --browser-path FILE',
    )
  })
}

/** The line of a long message that tells the cause. */
function reasonOf(error: unknown): string {
  const lines = stripVTControlCharacters(String((error as Error).message))
    .split('\n')
    .map((line) => line.trim())
  const cause = lines.find((line) => /error while loading|No usable sandbox|EACCES|ENOEXEC|ENOENT|Timeout/.test(line))
  const text = (cause ?? lines[0] ?? '').replace(/^browserType\.launch: /, '').replace(/^\[pid=\d+\]\[err\] /, '')
  if (/has been closed/.test(text)) return 'it ended before it could be driven.'
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Resolves when the work has ended, well or not, or the time is up: what hangs is left alone then. */
export async function within(most_ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, most_ms)
  })
  await Promise.race([Promise.allSettled([work]), late])
  clearTimeout(timer)
}
