/** Finds the programs of browsers on a computer: Chromium, Firefox and WebKit. */
import { globSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import type { BrowserComputer, Engine } from './engines.ts'

/** The computer that a browser is looked for on. */
export type BrowserPlaces = Omit<BrowserComputer, 'randomText'>

interface FoundBrowser {
  /** Its program file, or the package that contains it. */
  path: string
  /** Resolves with its program file, which a package unpacks first. */
  program(): Promise<string>
}

/** Returns the first program of an engine, as `findBrowser` does for Chromium. Null when there is none. */
export async function findEngine(
  engine: Engine,
  places: BrowserPlaces,
  is_headed = false,
): Promise<FoundBrowser | null> {
  if (engine === 'chromium') return findBrowser(places, is_headed)
  const own = places.own_engines?.[engine]
  const path = await (own?.findProgram(is_headed) ??
    firstExecutable(engine === 'firefox' ? installedFirefoxes(places) : await playwrightWebKit()))
  return path === null ? null : { path, program: async () => path }
}

/** Returns where playwright-core looks for its WebKit; nothing where it is not installed, or has none for this system. */
async function playwrightWebKit(): Promise<string[]> {
  try {
    return [(await import('playwright-core')).webkit.executablePath()]
  } catch {
    return []
  }
}

const firefoxNames = ['firefox', 'firefox-esr']

function installedFirefoxes(places: BrowserPlaces): string[] {
  const { platform, env } = places
  if (platform === 'win32') {
    return [env.ProgramFiles, env['ProgramFiles(x86)']]
      .filter((root) => root !== undefined)
      .map((root) => join(root, 'Mozilla Firefox/firefox.exe'))
  }
  const found = inFolders(places, firefoxNames)
  return platform === 'darwin' ? [...found, '/Applications/Firefox.app/Contents/MacOS/firefox'] : found
}

function inFolders({ platform, env }: BrowserPlaces, programs: readonly string[]): string[] {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  const folders = platform === 'linux' ? [...onPath, ...linuxFolders] : onPath
  return folders.flatMap((folder) => programs.map((program) => join(folder, program)))
}

async function firstExecutable(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) {
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isExecutable) return path
  }
  return null
}

/**
 * Returns the first browser of: the PATH, the usual places of the platform, the browsers that Playwright has installed,
 * the package @sparticuz/chromium. `is_headed` leaves out those that have no window. Null when there is none.
 */
export async function findBrowser(places: BrowserPlaces, is_headed = false): Promise<FoundBrowser | null> {
  const path = await firstExecutable([...installedBrowsers(places), ...playwrightBrowsers(places, is_headed)])
  if (path !== null) return { path, program: async () => path }
  return is_headed || places.platform !== 'linux' ? null : packagedBrowser(places.cwd)
}

const names = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'chrome', 'microsoft-edge']
const windowsNames = ['Google/Chrome/Application/chrome.exe', 'Microsoft/Edge/Application/msedge.exe']
const macNames = ['Google Chrome', 'Chromium', 'Microsoft Edge']
const linuxFolders = ['/usr/bin', '/usr/local/bin', '/snap/bin', '/opt/google/chrome']

function installedBrowsers(places: BrowserPlaces): string[] {
  const { platform, env } = places
  if (platform === 'win32') {
    const roots = [env.ProgramFiles, env['ProgramFiles(x86)'], env.LOCALAPPDATA].filter((root) => root !== undefined)
    return roots.flatMap((root) => windowsNames.map((name) => join(root, name)))
  }
  const found = inFolders(places, names)
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
