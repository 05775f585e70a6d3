/** Measurement of a mounted ad: how long it was in view, and how much of a clip was played. */
import type { Measurements } from '../../../src/contract/resources/beacons.ts'
import type { FrameMessage } from '../messages.ts'

/**
 * Watches one frame until it has been viewed, by continuous dwell (A76): time counts only between two checks that both
 * found the ad in view. It is checked every 100 ms, and only while it is a candidate.
 *
 * A timer that merely fires a second after the ad came into view counts scrolled-away and hidden time. Here any check
 * that fails starts again from zero, and a gap between checks, as in a throttled tab, is not counted.
 */
export function watchViewability(
  element: HTMLElement,
  isClip: boolean,
  /** Whether time may count at all: rendered and, for a clip, playing. */
  isCounting: () => boolean,
  onRatioChange: () => void,
  onViewed: (measurements: Measurements) => void,
) {
  let ratio = 0
  let dwell = noDwell
  let timer: ReturnType<typeof setInterval> | undefined
  let isDone = false

  /** Reads every entry: a moment out of view between two checks ends the dwell. */
  const read = (entries: readonly IntersectionObserverEntry[]): void => {
    for (const { intersectionRatio } of entries) {
      ratio = intersectionRatio
      if (ratio < needed().ratio) dwell = noDwell
    }
  }
  const observer =
    typeof IntersectionObserver === 'undefined'
      ? null
      : new IntersectionObserver(
          (entries) => {
            read(entries)
            onRatioChange()
            check()
          },
          { threshold: Array.from({ length: 101 }, (_, step) => step / 100) },
        )

  const measure = () => {
    const { width, height } = element.getBoundingClientRect()
    return {
      visible_ratio: Math.min(1, Math.round(ratio * 1e4) / 1e4),
      visible_ms: Math.round(dwell.ms),
      width_px: Math.round(width),
      height_px: Math.round(height),
      page_visible: isPageVisible(),
    } satisfies Measurements
  }
  const needed = (): { ratio: number; ms: number } => {
    const { width, height } = element.getBoundingClientRect()
    return threshold(isClip, width * height)
  }
  /** Checked repeatedly, since no event fires when a style hides or shows the frame, or its size changes. */
  const isCandidate = (): boolean => isCounting() && isPageVisible() && ratio > 0
  const isInView = (): boolean => isCandidate() && ratio >= needed().ratio && isShown(element)

  function check(): void {
    if (isDone) return
    read(observer?.takeRecords() ?? [])
    dwell = advance(dwell, performance.now(), isInView())
    if (dwell.ms >= needed().ms) finish()
    else if (isCandidate()) timer ??= setInterval(check, 100)
    else stop()
  }
  const stop = (): void => {
    clearInterval(timer)
    timer = undefined
  }
  const finish = (): void => {
    isDone = true
    stop()
    onViewed(measure())
  }

  observer?.observe(element)
  return {
    isMeasurable: observer !== null,
    measure,
    /** Checks again at once; call it when anything but the scroll position has changed. */
    check,
    /** Starts over: the page was hidden, frozen or left. */
    reset: () => {
      dwell = noDwell
    },
    close: () => {
      isDone = true
      stop()
      observer?.disconnect()
    },
  }
}

export function isPageVisible(): boolean {
  return document.visibilityState === 'visible'
}

/** Whether neither the element nor an ancestor is hidden by a style, in this document and in those of the origin around it. */
function isShown(element: Element): boolean {
  // Empty when it is not in the document.
  if (getComputedStyle(element).visibility !== 'visible') return false
  for (let at: Element | null = element; at; at = at.assignedSlot ?? at.parentElement ?? hostOf(at)) {
    const { display, opacity } = getComputedStyle(at)
    if (display === 'none' || Number(opacity) < 0.1) return false
  }
  const around = element.ownerDocument.defaultView?.frameElement
  return !around || isShown(around)
}

function hostOf(element: Element): Element | null {
  return (element.getRootNode() as Partial<ShadowRoot>).host ?? null
}

export interface Dwell {
  /** Continuous time so far, milliseconds. */
  ms: number
  /** When the ad was last found in view; null while it is not. */
  seen_at_ms: number | null
}

export const noDwell: Dwell = { ms: 0, seen_at_ms: null }

/** Longer gaps between two checks are not counted: the tab was throttled. */
const max_gap_ms = 400

/** Returns the dwell after a check at `now_ms`. */
export function advance(dwell: Dwell, now_ms: number, isInView: boolean): Dwell {
  if (!isInView) return noDwell
  const gap = dwell.seen_at_ms === null ? 0 : now_ms - dwell.seen_at_ms
  return { ms: gap > max_gap_ms ? dwell.ms : dwell.ms + gap, seen_at_ms: now_ms }
}

/** Returns what makes an impression viewable (A76): the share of the pixels and the continuous time. */
export function threshold(isClip: boolean, area_px2: number): { ratio: number; ms: number } {
  // IntersectionObserver reports a frame without pixels as wholly in view.
  if (!area_px2) return { ratio: Infinity, ms: Infinity }
  if (isClip) return { ratio: 0.5, ms: 2_000 }
  return { ratio: area_px2 >= 242_500 ? 0.3 : 0.5, ms: 1_000 }
}

type MediaMessage = Extract<FrameMessage, { t: 'media' }>

/** A clip's playback as the host page knows it, from the frame's messages and its own clock. Times in milliseconds. */
export interface Clip {
  isPlaying: boolean
  isStarted: boolean
  isCompleted: boolean
  position_ms: number
  duration_ms: number
  muted: boolean
  /** Time really played: a jump adds no more than the time passed, and a jump back starts again from zero. */
  played_ms: number
  updated_at_ms: number
}

export const unplayed: Clip = {
  isPlaying: false,
  isStarted: false,
  isCompleted: false,
  position_ms: 0,
  duration_ms: 0,
  muted: true,
  played_ms: 0,
  updated_at_ms: 0,
}

/** Share of the duration that must have been played for a completion. */
const completion_share = 0.9

/** Returns the clip after a `media` message that arrived at `now_ms`. */
export function updateClip(clip: Clip, { state, position_ms, duration_ms, muted }: MediaMessage, now_ms: number): Clip {
  const passed = now_ms - clip.updated_at_ms
  const step = clip.isPlaying ? Math.min(passed, Math.max(0, position_ms - clip.position_ms)) : 0
  const played_ms = step + (position_ms < clip.position_ms ? 0 : clip.played_ms)
  const isPlayedOut = state === 'ended' && duration_ms > 0 && played_ms >= completion_share * duration_ms
  return {
    isPlaying: state === 'playing',
    isStarted: clip.isStarted || state === 'playing',
    isCompleted: clip.isCompleted || (clip.isStarted && isPlayedOut),
    position_ms,
    duration_ms,
    muted,
    played_ms,
    updated_at_ms: now_ms,
  }
}
