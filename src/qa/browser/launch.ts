/** A Chrome or Chromium for what needs one: finding it, starting it, starting it again. Driven by playwright-core. */
import { globSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Browser, BrowserServer, LaunchOptions } from 'playwright-core'
import { QaError } from '../result.ts'

/** The browser of a run. Pages of all cases share it, each in a context of its own. */
export interface BrowserHost {
  /** Resolves with the browser, or with a new one when the last has ended. Throws QaError. */
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
 * Throws QaError when playwright-core is not installed, or the browser does not start.
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
    throw new QaError(
      'browser_missing',
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

/** The computer that a browser is looked for on. */
export interface BrowserPlaces {
  platform: string
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** A project whose packages may have one. */
  cwd: string
}

interface FoundBrowser {
  /** Its program file, or the package that contains it. */
  path: string
  /** Resolves with its program file, which a package unpacks first. */
  program(): Promise<string>
}

/**
 * Returns the first browser of: the PATH, the usual places of the platform, the browsers that Playwright has installed,
 * the package @sparticuz/chromium. `is_headed` leaves out those that have no window. Null when there is none.
 */
export async function findBrowser(places: BrowserPlaces, is_headed = false): Promise<FoundBrowser | null> {
  const paths = [...installedBrowsers(places), ...playwrightBrowsers(places, is_headed)]
  for (const path of paths) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return { path, program: async () => path }
  }
  return is_headed || places.platform !== 'linux' ? null : packagedBrowser(places.cwd)
}

const names = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'chrome', 'microsoft-edge']
const windowsNames = ['Google/Chrome/Application/chrome.exe', 'Microsoft/Edge/Application/msedge.exe']
const macNames = ['Google Chrome', 'Chromium', 'Microsoft Edge']
const linuxFolders = ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome']

function installedBrowsers({ platform, env }: BrowserPlaces): string[] {
  if (platform === 'win32') {
    const roots = [env.ProgramFiles, env['ProgramFiles(x86)'], env.LOCALAPPDATA].filter((root) => root !== undefined)
    return roots.flatMap((root) => windowsNames.map((name) => join(root, name)))
  }
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const folders = platform === 'linux' ? [...onPath, ...linuxFolders] : onPath
  const found = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  return platform === 'darwin'
    ? [...found, ...macNames.map((name) => `/Applications/${name}.app/Contents/MacOS/${name}`)]
    : found
}

const headedPrograms = ['chromium-*/chrome-*/chrome{,.exe}', 'chromium-*/chrome-*/*.app/Contents/MacOS/*']
const headlessPrograms = ['chromium_headless_shell-*/chrome-*/{headless_shell,chrome-headless-shell}{,.exe}']

/** Returns the browsers in Playwright's cache, the newest first; one with a window before those without. */
function playwrightBrowsers({ platform, env, home }: BrowserPlaces, is_headed: boolean): string[] {
  const caches: Readonly<Record<string, string>> = {
    win32: env.LOCALAPPDATA ?? join(home, 'AppData/Local'),
    darwin: join(home, 'Library/Caches'),
  }
  const own = caches[platform] ?? env.XDG_CACHE_HOME ?? join(home, '.cache')
  const cwd = env.PLAYWRIGHT_BROWSERS_PATH ?? join(own, 'ms-playwright')
  const revision = (path: string) => Number(/-(\d+)/.exec(path)?.[1] ?? 0)
  return [headedPrograms, ...(is_headed ? [] : [headlessPrograms])].flatMap((patterns) =>
    globSync(patterns, { cwd })
      .toSorted((a, b) => revision(b) - revision(a))
      .map((path) => join(cwd, path)),
  )
}

/** Returns the browser of the package @sparticuz/chromium, of this checkout or of the project; null without it. */
function packagedBrowser(cwd: string): FoundBrowser | null {
  for (const source of [import.meta.url, join(cwd, 'package.json')]) {
    try {
      const require = createRequire(source)
      const entry = require.resolve('@sparticuz/chromium')
      const load = () => require(entry) as { default: { executablePath(): Promise<string> } }
      return { path: dirname(dirname(entry)), program: async () => load().default.executablePath() }
    } catch {
      // The package is not there.
    }
  }
  return null
}
