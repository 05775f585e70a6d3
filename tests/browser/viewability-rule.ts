/**
 * Decides from raw samples whether an ad was viewable. It shares no code with the renderer.
 *
 * The MRC asks for a continuous time with enough of the ad's pixels on a visible page. A sample is taken at one
 * time, so a span is known only within bounds. It surely holds between two samples that both surely hold; it
 * possibly holds from the last sample that surely does not to the next one.
 */

/** The measurements at one time. Times in milliseconds, areas in square CSS pixels. */
export interface Sample {
  t: number
  /** Share of the ad in view and its area, as the page's own IntersectionObserver last reported them. */
  observed: { ratio: number; area: number }
  /** The same from the rectangles at the time of the sample. */
  measured: { ratio: number; area: number }
  /** Whether no ancestor hides it by style. */
  is_shown: boolean
  is_page_visible: boolean
}

/** When a clip started or stopped playing. */
export interface PlayChange {
  t: number
  is_playing: boolean
}

export interface Recording {
  samples: readonly Sample[]
  /** The playback of a clip; null for other formats. */
  playback: readonly PlayChange[] | null
}

export interface LongestSpan {
  surely_ms: number
  possibly_ms: number
  /** Longest time between two samples within the sure span: how far the page's timers were late. */
  gap_ms: number
}

export type Verdict = 'counts' | 'counts not' | 'either'

export const sample_every_ms = 50

/** From this size, 30 % of the pixels are enough. */
const large_area = 242_500

/**
 * A renderer that measures every 100 ms sees the start and the end of a span at most one measurement late. Late timers
 * delay both further; that delay is in the samples.
 */
const look_every_ms = 100

/**
 * A renderer discards the time between two measurements more than 400 ms apart. Where samples are this far apart, its
 * measurements may be too, so the span is not certain.
 */
const longest_gap_ms = 400 - look_every_ms

/** How long a page may assume that a stopped clip still plays, until the frame reports it. */
const hearsay_ms = 100

function neededTime(recording: Recording): number {
  return recording.playback === null ? 1_000 : 2_000
}

export function verdict(recording: Recording): Verdict {
  const { surely_ms, possibly_ms, gap_ms } = longestSpan(recording)
  const needed_ms = neededTime(recording)
  if (surely_ms >= needed_ms + 2 * look_every_ms + gap_ms) return 'counts'
  return possibly_ms < needed_ms ? 'counts not' : 'either'
}

export function longestSpan(recording: Recording): LongestSpan {
  const moments = listMoments(recording)
  return { ...longestSure(moments), possibly_ms: longestPossible(moments) }
}

interface Moment {
  t: number
  surely: boolean
  possibly: boolean
}

function longestSure(moments: readonly Moment[]): { surely_ms: number; gap_ms: number } {
  let longest = { surely_ms: 0, gap_ms: 0 }
  let span = longest
  moments.forEach((moment, index) => {
    const before = moments[index - 1]
    const gap_ms = moment.t - (before?.t ?? moment.t)
    const isContinued = before?.surely && moment.surely && gap_ms <= longest_gap_ms
    span = isContinued
      ? { surely_ms: span.surely_ms + gap_ms, gap_ms: Math.max(span.gap_ms, gap_ms) }
      : { surely_ms: 0, gap_ms: 0 }
    if (span.surely_ms > longest.surely_ms) longest = span
  })
  return longest
}

function longestPossible(moments: readonly Moment[]): number {
  let longest_ms = 0
  let began = moments[0]?.t ?? 0
  let holds = false
  for (const { t, possibly } of moments) {
    if (holds || possibly) longest_ms = Math.max(longest_ms, t - began)
    holds = possibly
    if (!possibly) began = t
  }
  return longest_ms
}

/** Returns the samples and the changes of playback between them, each with the state at its time. */
function listMoments({ samples, playback }: Recording): Moment[] {
  const needsArea = playback === null
  const changes = playback ?? []
  const instants = [...samples, ...changes.flatMap((change) => sampleAt(samples, change.t))]
  return instants
    .toSorted((a, b) => a.t - b.t)
    .map(({ t, observed, measured, is_shown, is_page_visible }) => {
      const isOn = is_shown && is_page_visible
      const views = [isEnough(observed, needsArea), isEnough(measured, needsArea)]
      const last = changes.findLast((change) => change.t <= t)
      const isPlaying = playback === null || last?.is_playing === true
      const mayPlay = isPlaying || (last !== undefined && t - last.t <= hearsay_ms)
      return {
        t,
        surely: isOn && isPlaying && views.every(Boolean),
        possibly: isOn && mayPlay && views.some(Boolean),
      }
    })
}

/** Returns the last sample before a time, as if it had been taken then. */
function sampleAt(samples: readonly Sample[], t: number): Sample[] {
  const last = samples.findLast((sample) => sample.t <= t)
  return last === undefined ? [] : [{ ...last, t }]
}

function isEnough({ ratio, area }: { ratio: number; area: number }, hasLargeSizes: boolean): boolean {
  return ratio >= (hasLargeSizes && area >= large_area ? 0.3 : 0.5)
}
