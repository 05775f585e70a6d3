/** Measurement of a mounted ad: how long it was in view, and how much of a clip was played. */
import type { Measurements } from '#contract/resources/beacons.ts'
import { findRequirement, isTooSmall, type ViewNeeds } from '#contract/viewability.ts'
import type { FrameMessage } from '../../messages.ts'
import { isPageVisible } from '../dom.ts'
import type { Renderer } from '../renderer.ts'
import type { JudgePart } from './judge-part.ts'
import type { Label } from './label.ts'
import { type Judgement, type Outcome, watchSight } from './visibility.ts'

interface ViewabilityOptions {
  frame: HTMLElement
  label: Label
  renderer: Pick<Renderer, 'viewport'>
  judge: JudgePart
  /** Declared size of the ad, CSS pixels. */
  declared: { width: number; height: number }
  /** As the frame has them. */
  needs: () => ViewNeeds
  /** Whether time may count at all: rendered and, for a clip, playing. */
  isCounting: () => boolean
  onRatioChange: () => void
  onViewed: (measurements: Measurements) => void
  /** Called once, when as much time as a view needs could not be measured. It is measured further. */
  onUnmeasured: (measurements: Measurements) => void
}

const checkEveryMs = 100
/** After this long without being seen, it is checked a third as often. */
const idleAfterMs = 2_000

/**
 * Watches one frame until it has been viewed, by continuous dwell (A76): time counts only between two checks that both
 * found the ad seen. It is checked every 100 ms, and only while it is a candidate.
 *
 * A timer that merely fires a second after the ad came into view counts scrolled-away and hidden time. Here any check
 * that finds it not seen starts again from zero, and a gap between checks, as in a throttled tab, is not counted.
 */
export function watchViewability(options: ViewabilityOptions) {
  const { frame, declared, isCounting } = options
  const observer = observeRatio(check)
  const sight = watchSight(frame, options.judge)
  const time = addUpTime()
  const timer = openTimer(() => check())
  let ratio = 0
  let last: IntersectionObserverEntry
  let found = outOfView
  let isDone = false

  const needed = (): { ratio: number; ms: number } =>
    threshold(frame.getBoundingClientRect(), declared, options.needs())
  /** Checked repeatedly, since no event fires when a style hides or shows the frame, or its size changes. */
  const isCandidate = (): boolean => isCounting() && isPageVisible(frame) && ratio > 0
  const reportUnmeasured = (visible_ms: number): void => options.onUnmeasured({ ...measure(), visible_ms })
  observer?.observe(frame)
  return {
    isMeasurable: observer !== null,
    /** Whether any of it is in the viewport; true where that is not known. */
    isInView: () => observer === null || ratio > 0,
    measure,
    /** Returns what it finds now, also while no time counts. */
    inspect: () => ({ ...measure(), ...describeFound(found, ratio), needed: needed(), isCounting: isCounting() }),
    /** Checks again at once; call it when anything but the scroll position has changed. */
    check: () => check(),
    /** Starts over: the page was hidden, frozen or left. */
    reset: time.reset,
    close: () => {
      stop()
      observer?.disconnect()
    },
  }

  /** `entries` are those that nothing has read yet: a moment out of view between two checks ends the dwell. */
  function check(entries = observer?.takeRecords() ?? []): void {
    for (last of entries) {
      ratio = last.intersectionRatio
      if (ratio < needed().ratio) time.reset()
    }
    if (!isDone) {
      // Before it counts, so that the browser has looked at it by then.
      if (ratio > 0) sight.watch()
      else sight.rest()
      judge(entries.length > 0)
    }
    if (entries.length > 0) options.onRatioChange()
  }
  function judge(isNew: boolean): void {
    const isInView = isCandidate() && ratio >= needed().ratio
    found = isInView ? judgeNow(options, sight, last, needed().ratio) : outOfView
    if (isInView && found.outcome !== 'seen' && !isNew) {
      // It may have moved or changed its size since the last entry, whose part of it was tested. Observed again, it gets an
      // entry, which decides.
      observer!.unobserve(frame)
      observer!.observe(frame)
    } else if (time.add(found, needed().ms, reportUnmeasured)) {
      const measurements = measure()
      stop()
      options.onViewed(measurements)
    }
    if (isCandidate() && !isDone) timer.run(found.outcome === 'seen')
    else timer.pause()
  }
  /** The verdict is final: nothing looks at the page any more, but for where the ad is. */
  function stop(): void {
    isDone = true
    timer.pause()
    sight.rest()
  }
  function measure() {
    // What was judged is older than the ratio once the verdict is final.
    const inView = isDone ? ratio : (found.ratio ?? ratio)
    const visible_ratio = Math.min(1, Math.round(inView * found.share * 1e4) / 1e4)
    return { visible_ratio, visible_ms: time.seenMs(), ...measureFrame(frame), visibility_check: found.check }
  }
}

function describeFound({ outcome, reason, share: uncovered, ratio }: Judgement, inView: number) {
  return { ratio: ratio ?? inView, uncovered, outcome, reason }
}

/** The label first: an ad whose label cannot be read is not seen as one. */
function judgeNow(
  { label, renderer: { viewport } }: ViewabilityOptions,
  sight: ReturnType<typeof watchSight>,
  last: IntersectionObserverEntry,
  needed: number,
): Judgement {
  const words = label.check()
  if (words === 'readable') return sight.read({ label: label.element, last, needed, viewport })
  return { ...outOfView, outcome: words === 'unreadable' ? 'not_seen' : 'unmeasured', reason: `label_${words}` }
}

/** Adds up the time that an ad was seen, and the time that could not be measured, which is reported once. */
function addUpTime() {
  let dwell = noDwell
  let blind = noDwell
  let isReported = false
  return {
    seenMs: () => Math.round(dwell.ms),
    reset: () => {
      dwell = noDwell
    },
    /** Returns whether the ad has been seen for as long as a view needs. */
    add: ({ outcome, reason }: Judgement, needed_ms: number, reportUnmeasured: (ms: number) => void): boolean => {
      const now = performance.now()
      const isPending = reason.endsWith('pending')
      dwell = advance(dwell, now, isPending ? 'pending' : outcome)
      // What judges is still on its way: that is no time that could not be measured.
      blind = advance(blind, now, outcome === 'unmeasured' && !isPending ? 'seen' : 'not_seen')
      if (dwell.ms < needed_ms && blind.ms >= needed_ms && !isReported) {
        isReported = true
        reportUnmeasured(Math.round(blind.ms))
      }
      return dwell.ms >= needed_ms
    },
  }
}

/** Checks every 100 ms, and what was not seen for long a third as often. */
function openTimer(check: () => void) {
  let timer: ReturnType<typeof setInterval> | undefined
  let seen_at_ms = 0
  let ticks = 0
  return {
    run: (isSeen: boolean): void => {
      if (isSeen || timer === undefined) seen_at_ms = performance.now()
      timer ??= setInterval(() => {
        ticks += 1
        if (performance.now() - seen_at_ms < idleAfterMs || ticks % 3 === 0) check()
      }, checkEveryMs)
    },
    pause: (): void => {
      clearInterval(timer)
      timer = undefined
    },
  }
}

const outOfView: Judgement = { outcome: 'not_seen', reason: 'out_of_view', share: 1, check: 'none' }

function measureFrame(frame: HTMLElement) {
  const { width, height } = frame.getBoundingClientRect()
  return { width_px: Math.round(width), height_px: Math.round(height), page_visible: isPageVisible(frame) }
}

/** Returns what calls back at every percent of a frame in view, or null where the browser has no such thing. */
function observeRatio(listener: (entries: IntersectionObserverEntry[]) => void): IntersectionObserver | null {
  if (typeof IntersectionObserver === 'undefined') return null
  return new IntersectionObserver(listener, { threshold: Array.from({ length: 101 }, (_, step) => step / 100) })
}

export interface Dwell {
  /** Continuous time so far, milliseconds. */
  ms: number
  /** When the ad was last found seen; null while it is not. */
  seen_at_ms: number | null
  /** Whether it could not be measured since. */
  isInterrupted?: boolean
  /** Since when it is not known yet; its time counts if it turns out to be seen. */
  pending_at_ms?: number
}

export const noDwell: Dwell = { ms: 0, seen_at_ms: null }

/** Longer gaps between two checks are not counted: the tab was throttled. A longer time that is not measured ends a dwell (A106). */
const maxGapMs = 400

/** Returns the dwell after a check at `now_ms`. Only time between two checks that found the ad seen counts. */
export function advance(dwell: Dwell, now_ms: number, outcome: Outcome | 'pending'): Dwell {
  const { seen_at_ms, pending_at_ms = now_ms } = dwell
  const gap = seen_at_ms === null ? 0 : now_ms - seen_at_ms
  if (outcome === 'seen') {
    const isCounted = gap <= maxGapMs && !dwell.isInterrupted
    return { ms: dwell.ms + (isCounted ? gap : 0), seen_at_ms: now_ms }
  }
  if (outcome === 'pending' && now_ms - pending_at_ms < maxGapMs)
    return { ...dwell, seen_at_ms: seen_at_ms ?? now_ms, pending_at_ms }
  const isBrief = outcome !== 'not_seen' && seen_at_ms !== null && gap < maxGapMs
  return isBrief ? { ...dwell, isInterrupted: true } : noDwell
}

interface Size {
  width: number
  height: number
}

/** Returns what makes an impression viewable (A76): the share of the pixels and the continuous time. */
export function threshold(shown: Size, declared: Size, needs: ViewNeeds): { ratio: number; ms: number } {
  // IntersectionObserver reports a frame without pixels as wholly in view.
  if (isTooSmall(shown, declared)) return { ratio: Infinity, ms: Infinity }
  // In whole pixels, as beacons have them: engines lay out in fractions, 250 pixels as 249.98.
  return findRequirement(needs, Math.round(shown.width) * Math.round(shown.height))
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
