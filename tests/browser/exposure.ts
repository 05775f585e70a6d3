/**
 * Exposures: how long, and how much of, an ad is in view, driven inside the page by its own timers.
 *
 * A busy host stretches any exposure. So the page also measures it, by code that shares nothing with the renderer: it
 * reads the geometry every few milliseconds. An attempt whose measured exposure differs from the planned one proves
 * nothing. It is void, and repeated with a new placement.
 */
import type { Page } from 'playwright-core'

/** One part of an exposure: what changes at its start, and how long it lasts. */
export interface Step {
  /** Part of the ad that is scrolled into view, 0 to 1, starting at its top. */
  share?: number
  /** The state that the Page Visibility API reports. */
  tab?: 'hidden' | 'visible'
  /** An event of the Page Lifecycle API. */
  event?: 'freeze' | 'resume'
  /** Style of an ancestor of the ad. */
  style?: Partial<Record<'visibility' | 'opacity' | 'display', string>>
  /** Blocks the main thread, from the start. */
  busy_ms?: number
  for_ms: number
  /** Starts counting once the clip reports that it plays. */
  once_playing?: true
  /** Lasts up to twice as long, until the clip reports that it has played to its end. */
  until_completed?: true
}

/** What the page measured during one step. Times in milliseconds. */
export interface MeasuredStep {
  /** From before its change to the frame after the next change: an upper bound. */
  at_most_ms: number
  /** From the frame after its change to before the next change: a lower bound. */
  at_least_ms: number
  /** Longest time between two measurements. */
  longest_gap_ms: number
  /** Part of the ad inside the viewport, as seen at the end of the step. */
  share: number
}

export interface Exposed {
  measured_steps: MeasuredStep[]
  /** Count of views by a naive timer: see `countByNaiveTimer`. */
  naive_views: number
}

/** A host page with room to scroll the ad out of view, below and above. */
export const scrollable = (slot = '<div id="slot"></div>'): string =>
  `<div style="height:2000px"></div><div id="around">${slot}</div><div style="height:2000px"></div>`

/**
 * Counts as many pages do instead of measuring a dwell: the observer's callback starts a timer, and when it fires, the
 * last ratio decides. Runs beside the renderer, on the same element.
 */
export async function countByNaiveTimer(page: Page, dwell_ms: number): Promise<void> {
  await page.evaluate((dwell_ms) => {
    let ratio = 0
    document.documentElement.dataset.naiveViews = '0'
    new IntersectionObserver(
      (entries) => {
        ratio = entries.at(-1)!.intersectionRatio
        if (ratio < 0.5) return
        setTimeout(() => {
          const { dataset } = document.documentElement
          if (ratio >= 0.5) dataset.naiveViews = `${Number(dataset.naiveViews) + 1}`
        }, dwell_ms)
      },
      { threshold: 0.5 },
    ).observe(window.findAll('iframe')[0]!)
  }, dwell_ms)
}

/** Plays an exposure to the page's only ad, which is mounted and out of view. */
export function expose(page: Page, steps: readonly Step[]): Promise<Exposed> {
  return page.evaluate(async (steps) => {
    const frame = window.findAll('iframe')[0]!
    const around = document.querySelector<HTMLElement>('#around')!
    let lastLook = performance.now()
    let longestGap = 0
    const look = (): void => {
      const now = performance.now()
      longestGap = Math.max(longestGap, now - lastLook)
      lastLook = now
    }
    const looking = setInterval(look, 10)
    const emitted = (type: 'play_started' | 'play_completed'): Promise<void> =>
      new Promise((resolve) => {
        window.SponsoredPlacement!.on(type, () => resolve())
      })
    const playing = emitted('play_started')
    const completed = emitted('play_completed')
    /** Resolves in the next frame, before observers are notified. */
    const nextFrame = (): Promise<number> =>
      new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))
    const shareInView = (): number => {
      const { top, bottom, height } = frame.getBoundingClientRect()
      return Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0)) / height
    }

    const measured_steps: MeasuredStep[] = []
    let left: ((at: number) => void) | undefined
    for (const { share, tab, event, style, busy_ms, for_ms, once_playing, until_completed } of steps) {
      let started_ms = performance.now()
      if (style) Object.assign(around.style, style)
      if (share === 0) scrollTo(0, 0)
      else if (share !== undefined) {
        const { top, height } = frame.getBoundingClientRect()
        scrollBy(0, top - (innerHeight - Math.round(share * height)))
      }
      if (event) document.dispatchEvent(new Event(event))
      if (tab) {
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => tab })
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => tab === 'hidden' })
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
      }
      let since = await nextFrame()
      left?.(since)
      if (once_playing) {
        await playing
        started_ms = since = performance.now()
      }
      longestGap = 0
      lastLook = performance.now()
      if (busy_ms) {
        const until = performance.now() + busy_ms
        while (performance.now() < until);
        lastLook = performance.now()
      }
      await new Promise((resolve) => setTimeout(resolve, for_ms - (performance.now() - started_ms)))
      if (until_completed) await Promise.race([completed, new Promise((resolve) => setTimeout(resolve, for_ms))])
      look()
      const record: MeasuredStep = {
        at_most_ms: 0,
        at_least_ms: performance.now() - since,
        longest_gap_ms: longestGap,
        share: frame.isConnected ? shareInView() : 0,
      }
      measured_steps.push(record)
      const from = started_ms
      left = (at) => {
        record.at_most_ms = at - from
      }
    }
    left?.(await nextFrame())
    clearInterval(looking)
    return { measured_steps, naive_views: Number(document.documentElement.dataset.naiveViews ?? 0) }
  }, steps)
}

/**
 * Makes attempts until one is not void, at most three. `make` resolves to the reason why its attempt is void, or to null
 * after it has checked the result.
 */
export async function attempts(make: () => Promise<string | null>): Promise<void> {
  const problems: string[] = []
  while (problems.length < 3) {
    const problem = await make()
    if (problem === null) return
    problems.push(problem)
  }
  throw new Error(`The host stalled, every attempt is void: ${problems.join('; ')}`)
}
