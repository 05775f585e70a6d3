/** What render.js hands to the console of the page, a module of its own (`sandbox/pages/console`) that loads when it is asked for. */
import type { AuthoritativeConsent } from '#contract/fields.ts'
import type { Placement } from '#contract/resources/placements.ts'
import type { RendererEvent } from './events.ts'
import type { TurnState } from './turn-state.ts'

export interface ConsolePage {
  /** Of render.js. */
  version: string
  /** Where render.js came from, without a slash at its end: `http://127.0.0.1:4010`. */
  base_url: string
  turns(): ConsoleTurn[]
  /** The placements that were delivered to this page, oldest first: the last 500. */
  ads(): ConsoleAd[]
  /** The last 200 events. */
  events(): RendererEvent[]
  /** Calls `listener` on every event. Returns a function that removes it. */
  on(listener: (event: RendererEvent) => void): () => void
  /** The service's time as far as the page knows it, Unix epoch milliseconds. */
  now(): number
}

export interface ConsoleTurn {
  id: string
  state: TurnState
  /** The element that it was started on last, while the page holds it. */
  target: Element | null
  /** The `slot_hint` of its request: what the page passed. */
  asked: unknown
  /** Why it has ended, in the words of `cleared`; undefined where that is not known. */
  ended: unknown
}

/** One placement, however often it was mounted. */
export interface ConsoleAd {
  asset_token: string
  slot_id: string | undefined
  turn_id: string | undefined
  instance_id: string
  session_id: string
  placement: Placement
  consent: AuthoritativeConsent
  /** The frame that shows it now; null while nothing does. */
  element: HTMLElement | null
  isViewed: boolean
  /** Returns what its measurement finds now; null while it is not mounted. */
  measure(): AdMeter | null
}

/** The measurement of a mounted ad at one moment. Sizes in CSS pixels, times in milliseconds. */
export interface AdMeter {
  /** Share of its pixels on the screen, 0 to 1, whatever lies over them. */
  ratio: number
  /** Share of those that nothing covers or hides, as last checked: 0 to 1. */
  uncovered: number
  /** What the last check found, and why, as a code of docs/renderer.md. */
  outcome?: 'seen' | 'not_seen' | 'unmeasured'
  reason?: string
  /** Continuous time in view so far. */
  visible_ms: number
  width_px: number
  height_px: number
  page_visible: boolean
  /** What a view needs. Infinite for an ad that is shown too small. */
  needed: { ratio: number; ms: number }
  /** Whether time may count at all: it is rendered and, as a clip, playing. */
  isCounting: boolean
}

export interface ConsoleOptions {
  /** Shows nothing: for a report of `text()`. */
  hidden?: boolean
  /** Shows the outlines and chips, without the panel: for pictures. */
  marksOnly?: boolean
  focus?: boolean
}

export interface Console {
  /** Returns the state of every slot as plain text, a few lines each, without any token. */
  text(): string
  close(): void
}
