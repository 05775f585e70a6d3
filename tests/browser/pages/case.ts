/**
 * Pages as users and their software leave them, as data: what each does, and what must happen there in every engine. The
 * cases know no browser: everything in them runs inside the page, so that each driver can run the same table.
 */

export type Engine = 'chromium' | 'firefox' | 'webkit'

/** The engines in which a test runs this table: Chromium in tests/browser/pages.test.ts, the others in tests/engines. */
export const testedEngines: readonly Engine[] = ['chromium', 'firefox', 'webkit']

/** What the page, its backend and the service have seen of one case. Fields left out are not compared. */
export interface Outcome {
  /** Placements that the page's backend was asked for. */
  placements?: number
  /** Beacons that the service recorded, without heartbeats, in any order: `visible OK +viewable_impression`. */
  beacons?: readonly string[]
  /** Beacons that may be among them or not. */
  optional_beacons?: readonly string[]
  /** Frames of ads that have a box. */
  frames?: number
  /** Elements of render.js that carry a placement, copies too. */
  wrappers?: number
  /** Ad labels that can be read: displayed, with a text, of at most three lines, in a colour of their own. */
  labels?: number
  /** Events that have been emitted at least once, as `type` or `type code`. */
  events?: readonly string[]
  /** Events that have not been emitted, in the same form. */
  no_events?: readonly string[]
  /** Values of expressions in the page. `section` is the element of the case, `slot` that of its ad. */
  values?: Readonly<Record<string, unknown>>
}

/** A state that the page reaches, after `run`. */
export interface Phase extends Outcome {
  /** Statements that run in the page first. */
  run?: string
  /**
   * The state is still the same after the dwell of an ad: set where something must not happen, such as a second view. It is
   * implied where an ad is displayed and no view is expected.
   */
  stays?: true
}

export interface PageCase {
  /** Its anchor in the documentation, and the end of its session's id. */
  id: string
  /** What the page, or the software in it, does. A sentence of the documentation. */
  does: string
  /** What happens to the ad and the turn. A sentence of the documentation. */
  happens: string
  /**
   * The section of the page, with one element of class `slot`. Default: a slot alone. `{origin}` is the origin of the service.
   */
  html?: string
  /**
   * Statements that start the turn: `start(options)` calls startTurn with the slot, the backend and a body. `section`, `slot`,
   * `body` and `origin` are there too. Default: `start()`.
   */
  script?: string
  phases: readonly Phase[]
  /** The engines in which something else happens. */
  differs?: Partial<Record<Engine, Difference>>
}

/** What happens instead in an engine. */
interface Difference {
  /** Sentences of the documentation: what happens, and why. */
  happens: string
  phases: readonly Phase[]
}

/** Cases that share a page, because they do not disturb each other. */
export interface PageOfCases {
  /** Its address. */
  name: string
  /** Markup before the sections; default: the script element of render.js. `{origin}`, `{nonce}` and `{stub}` are replaced. */
  head?: string
  /** Response headers of the page. `{origin}` and `{nonce}` are replaced. */
  headers?: Readonly<Record<string, string>>
  cases: readonly PageCase[]
}

export interface Kind {
  /** A heading of the documentation. */
  title: string
  pages: readonly PageOfCases[]
}

/** A browser that opens pages: Playwright's, or one driven by WebDriver. */
export interface Driver {
  readonly engine: Engine
  /**
   * Opens a page in a window of 1380 × 920 CSS pixels, with a storage of its own. Resolves when its document is parsed: some
   * scripts of the table never load.
   */
  open(url: string): Promise<DrivenPage>
}

export interface DrivenPage {
  /**
   * Calls a function of the page's window, and resolves to its result as JSON; a promise is awaited. Some pages forbid eval.
   */
  call(name: string, given: readonly unknown[]): Promise<unknown>
  /** Lets some time pass in the page, at most so many milliseconds: that of a held page passes only while nothing else is waited for. */
  pass(ms: number): Promise<void>
  close(): Promise<void>
}

const seen = ['render OK', 'visible OK +viewable_impression'] as const

/** One ad, requested, rendered, seen and billed once. */
export const shownOnce = { placements: 1, beacons: seen, frames: 1, wrappers: 1, labels: 1 } as const satisfies Outcome
/** One ad that is in the page and has been seen by nobody. */
export const unseen = { placements: 1, beacons: ['render OK'], frames: 1 } as const satisfies Outcome
/** Nothing is in the page. */
export const empty = { frames: 0, wrappers: 0, labels: 0 } as const satisfies Outcome

/** Returns a page as an engine is expected to show it. */
export function selectEngine(page: PageOfCases, engine: Engine): PageOfCases {
  return { ...page, cases: page.cases.map((each) => ({ ...each, ...each.differs?.[engine] })) }
}
