/** The engines that pages can be opened in, and what a started one is. */
import type { Browser, BrowserServer } from 'playwright-core'

export const engines = ['chromium', 'firefox', 'webkit'] as const
export type Engine = (typeof engines)[number]

/** What to install where an engine is missing. */
export const installHints: Readonly<Record<Engine, string>> = {
  chromium: 'Install one (npx playwright install chromium), or name it: --browser-path FILE.',
  firefox: 'Install it (apt-get install firefox-esr), or name it: --browser-path FILE.',
  webkit: 'Install it (npx playwright install webkit), or name it: --browser-path FILE.',
}

/** What a missing browser is called. */
export const engineNames: Readonly<Record<Engine, string>> = {
  chromium: 'Chrome or Chromium',
  firefox: 'Firefox',
  webkit: "Playwright's WebKit",
}

/** The computer that a browser runs on: the part of the command line's Host that concerns browsers. */
export interface BrowserComputer {
  platform: string
  env: Readonly<Record<string, string | undefined>>
  home: string
  /** A project whose packages may have one. */
  cwd: string
  /** `length` random characters of a-z and 0-9. */
  randomText(length: number): string
  /** Engines that are opened in another way than by playwright-core. */
  own_engines?: Readonly<Partial<Record<Engine, OwnEngine>>>
}

/** An engine of a computer for which Playwright has no build. */
export interface OwnEngine {
  /** What verdicts call it. */
  name: string
  findProgram(is_headed: boolean): Promise<string | null>
  launch(options: EngineOptions): Promise<Launched>
}

export interface EngineOptions {
  /** Its program file. */
  path: string
  computer: BrowserComputer
  /** Host names that pages may reach beside loopback: that of the service. Any other does not resolve. */
  reachable: readonly string[] | 'anything'
  /** In a window that you can use. */
  is_headed?: boolean
}

/** A preference of the user that a page may be opened with. */
export type Preference = 'dark' | 'reduced_motion'
/** `request_bodies`: it does not show what a page sends. */
export type Limit = Preference | 'request_bodies'

/** A browser and its process, which can be killed when the browser no longer responds. */
export interface Launched {
  browser: Browser
  process: Pick<BrowserServer, 'kill'>
  /** What the driver cannot do with it. */
  cannot: readonly Limit[]
}
