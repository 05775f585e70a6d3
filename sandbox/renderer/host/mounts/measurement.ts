/** Measurement of a mounted ad: how long it was in view, and how much of a clip was played. */
import type { Measurements } from '#contract/resources/beacons.ts'
import type { FrameMessage } from '../../messages.ts'
import { isPageVisible } from '../dom.ts'
import { type Visibility, watchVisibility } from './visibility.ts'

interface ViewabilityOptions {
  frame: HTMLElement
  isClip: boolean
  /** Declared size of the ad, CSS pixels. */
  declared: { width: number; height: number }
  /** Whether time may count at all: rendered and, for a clip, playing. */
  isCounting: () => boolean
  onRatioChange: () => void
  onViewed: (measurements: Measurements) => void
}

/**
 * Watches one frame until it has been viewed, by continuous dwell (A76): time counts only between two checks that both
 * found the ad in view. It is checked every 100 ms, and only while it is a candidate.
 *
 * A timer that merely fires a second after the ad came into view counts scrolled-away and hidden time. Here any check
 * that fails starts again from zero, and a gap between checks, as in a throttled tab, is not counted.
 */
export function watchViewability({ frame, isClip, declared, isCounting, onRatioChange, onViewed }: ViewabilityOptions) {
  const observer = observeRatio((entries) => {
    read(entries)
    onRatioChange()
    check(entries)
  })
  const visibility = watchVisibility(frame)
  let ratio = 0
  let last: IntersectionObserverEntry
  let seen: Visibility = { share: 1, check: 'none' }
  let dwell = noDwell
  let timer: ReturnType<typeof setInterval> | undefined
  let isDone = false

  const needed = (): { ratio: number; ms: number } => threshold(isClip, frame.getBoundingClientRect(), declared)
  /** Checked repeatedly, since no event fires when a style hides or shows the frame, or its size changes. */
  const isCandidate = (): boolean => isCounting() && isPageVisible() && ratio > 0
  observer?.observe(frame)
  return {
    isMeasurable: observer !== null,
    measure,
    /** Returns what it finds now, also while no time counts. */
    inspect: () => ({ ...measure(), ratio, uncovered: seen.share, needed: needed(), isCounting: isCounting() }),
    /** Checks again at once; call it when anything but the scroll position has changed. */
    check: () => check(),
    /** Starts over: the page was hidden, frozen or left. */
    reset: () => {
      dwell = noDwell
    },
    close: () => {
      stop()
      observer?.disconnect()
      visibility.close()
    },
  }

  /** Reads every entry: a moment out of view between two checks ends the dwell. */
  function read(entries: readonly IntersectionObserverEntry[]): void {
    for (last of entries) {
      ratio = last.intersectionRatio
      if (ratio < needed().ratio) dwell = noDwell
    }
  }
  /** `entries` are those that nothing has read yet. */
  function check(entries = observer?.takeRecords() ?? []): void {
    if (isDone) return
    read(entries)
    const isInView = isCandidate() && ratio >= needed().ratio
    if (isInView) seen = visibility.read(last)
    const isSeen = isInView && ratio * seen.share >= needed().ratio
    if (isInView && !isSeen && entries.length === 0) {
      // It may have moved or changed its size since the last entry, whose part of it was tested. Observed again, it gets an
      // entry, which decides.
      observer!.unobserve(frame)
      observer!.observe(frame)
    } else dwell = advance(dwell, performance.now(), isSeen)
    if (dwell.ms >= needed().ms) {
      stop()
      onViewed(measure())
    } else if (isCandidate()) timer ??= setInterval(() => check(), 100)
    else pauseChecks()
  }
  function stop(): void {
    isDone = true
    pauseChecks()
  }
  function pauseChecks(): void {
    clearInterval(timer)
    timer = undefined
  }
  function measure() {
    return {
      visible_ratio: Math.min(1, Math.round(ratio * seen.share * 1e4) / 1e4),
      visible_ms: Math.round(dwell.ms),
      ...measureFrame(frame),
      visibility_check: seen.check,
    } satisfies Measurements
  }
}

function measureFrame(frame: HTMLElement) {
  const { width, height } = frame.getBoundingClientRect()
  return { width_px: Math.round(width), height_px: Math.round(height), page_visible: isPageVisible() }
}

/** Returns what calls back at every percent of a frame in view, or null where the browser has no such thing. */
function observeRatio(listener: (entries: IntersectionObserverEntry[]) => void): IntersectionObserver | null {
  if (typeof IntersectionObserver === 'undefined') return null
  return new IntersectionObserver(listener, { threshold: Array.from({ length: 101 }, (_, step) => step / 100) })
}

export interface Dwell {
  /** Continuous time so far, milliseconds. */
  ms: number
  /** When the ad was last found in view; null while it is not. */
  seen_at_ms: number | null
}

export const noDwell: Dwell = { ms: 0, seen_at_ms: null }

/** Longer gaps between two checks are not counted: the tab was throttled. */
const maxGapMs = 400

/** Returns the dwell after a check at `now_ms`. */
export function advance(dwell: Dwell, now_ms: number, isInView: boolean): Dwell {
  if (!isInView) return noDwell
  const gap = dwell.seen_at_ms === null ? 0 : now_ms - dwell.seen_at_ms
  return { ms: gap > maxGapMs ? dwell.ms : dwell.ms + gap, seen_at_ms: now_ms }
}

/** An ad that is shown smaller cannot be recognised, CSS pixels; half of a declared side where that is less. */
const minSidePx = 50

interface Size {
  width: number
  height: number
}

/** Returns what makes an impression viewable (A76): the share of the pixels and the continuous time. */
export function threshold(isClip: boolean, { width, height }: Size, declared: Size): { ratio: number; ms: number } {
  // IntersectionObserver reports a frame without pixels as wholly in view.
  const isTooSmall =
    width < Math.min(minSidePx, declared.width / 2) || height < Math.min(minSidePx, declared.height / 2)
  if (isTooSmall) return { ratio: Infinity, ms: Infinity }
  if (isClip) return { ratio: 0.5, ms: 2_000 }
  // In whole pixels, as beacons have them: engines lay out in fractions, 250 pixels as 249.98.
  return { ratio: Math.round(width) * Math.round(height) >= 242_500 ? 0.3 : 0.5, ms: 1_000 }
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
const completionShare = 0.9

/** Returns the clip after a `media` message that arrived at `now_ms`. */
export function updateClip(clip: Clip, { state, position_ms, duration_ms, muted }: MediaMessage, now_ms: number): Clip {
  const passed = now_ms - clip.updated_at_ms
  const step = clip.isPlaying ? Math.min(passed, Math.max(0, position_ms - clip.position_ms)) : 0
  const played_ms = step + (position_ms < clip.position_ms ? 0 : clip.played_ms)
  const isPlayedOut = state === 'ended' && duration_ms > 0 && played_ms >= completionShare * duration_ms
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
