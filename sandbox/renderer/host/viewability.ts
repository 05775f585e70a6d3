/** Watches one frame until it has been viewed. Looks every 100 ms, and only while it is a candidate. */
import type { Measurements } from '../../../src/contract/v1/beacons.ts'
import { look, noDwell, threshold } from './dwell.ts'

export interface Viewability {
  readonly isMeasurable: boolean
  measure(): Measurements
  /** Looks again at once; call it when something but the scroll position has changed. */
  check(): void
  /** Starts over: the page was hidden, frozen or left. */
  reset(): void
  close(): void
}

export function watchViewability(
  element: HTMLElement,
  isClip: boolean,
  /** Whether it may count at all: rendered and, for a clip, playing. */
  isCounting: () => boolean,
  moved: () => void,
  viewed: (measurements: Measurements) => void,
): Viewability {
  let ratio = 0
  let dwell = noDwell
  let timer: ReturnType<typeof setInterval> | undefined
  let isDone = false

  /** Each of them counts: a moment out of view between two looks ends the dwell. */
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
            moved()
            check()
          },
          { threshold: Array.from({ length: 101 }, (_, step) => step / 100) },
        )

  const measure = (): Measurements => {
    const { width, height } = element.getBoundingClientRect()
    return {
      visible_ratio: Math.min(1, Math.round(ratio * 1e4) / 1e4),
      visible_ms: Math.round(dwell.ms),
      width_px: Math.round(width),
      height_px: Math.round(height),
      page_visible: isPageVisible(),
    }
  }
  const needed = (): { ratio: number; ms: number } => {
    const { width, height } = element.getBoundingClientRect()
    return threshold(isClip, width * height)
  }
  /** Looked at again and again, since nothing tells when a style hides it or shows it, or its size asks for less. */
  const isCandidate = (): boolean => isCounting() && isPageVisible() && ratio > 0
  const isInView = (): boolean => isCandidate() && ratio >= needed().ratio && isShown(element)

  function check(): void {
    if (isDone) return
    read(observer?.takeRecords() ?? [])
    dwell = look(dwell, performance.now(), isInView())
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
    viewed(measure())
  }

  observer?.observe(element)
  return {
    isMeasurable: observer !== null,
    measure,
    check,
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

/** Whether neither the element nor an ancestor hides it. */
function isShown(element: HTMLElement): boolean {
  if (!element.isConnected || getComputedStyle(element).visibility !== 'visible') return false
  for (let at: Element | null = element; at; at = at.parentElement ?? shadowHost(at)) {
    const { display, opacity } = getComputedStyle(at)
    if (display === 'none' || Number(opacity) < 0.1) return false
  }
  return true
}

function shadowHost(element: Element): Element | null {
  const root = element.getRootNode()
  return root instanceof ShadowRoot ? root.host : null
}
