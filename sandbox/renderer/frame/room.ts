/**
 * How much room a native card has. It tells the host the height it wants, and where it gets less, it gives up parts
 * until what is left fits.
 *
 * What it wants never depends on what it has got, so that the two cannot chase each other.
 */

/** Time between two measurements, milliseconds: a page that is being resized must not look like a flood. */
const measure_every_ms = 150

/** From the least that is given up to the most; each adds to those before. */
const steps = ['short', 'shorter', 'shortest', 'tiny']

export interface Room {
  /** Resolves when the host has answered to the first height, or has had time to. */
  settled: Promise<void>
  close(): void
}

export function watchRoom(creative: HTMLElement, tell: (height: number) => void): Room {
  const { classList } = document.documentElement
  const closing = new AbortController()
  let wanted = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })

  /** Whether the height it wants is another than before. */
  const measure = (): boolean => {
    classList.remove(...steps)
    const height = Math.ceil(creative.getBoundingClientRect().height)
    if (height === wanted) return false
    wanted = height
    tell(wanted)
    return true
  }
  const fitIn = (): void => {
    settle()
    classList.remove(...steps)
    if (innerHeight >= wanted) return
    for (const step of steps) {
      classList.add(step)
      if (fits(creative)) return
    }
  }
  /** The host has until the next time to answer to a new height. A frame out of view hears of it in no other way. */
  const measureSoon = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined
      if (measure()) measureSoon()
      else fitIn()
    }, measure_every_ms)
  }
  const observer = new ResizeObserver(measureSoon)
  for (const box of [creative, ...creative.querySelectorAll('.words')]) observer.observe(box)
  addEventListener('resize', fitIn, { signal: closing.signal })
  measure()
  measureSoon()

  return {
    settled,
    close: () => {
      clearTimeout(timer)
      closing.abort()
      observer.disconnect()
    },
  }
}

/** Titles reach out of their lines by the height of an accent, which is no overflow. */
const accent_px = 2

function fits(creative: HTMLElement): boolean {
  return [...creative.querySelectorAll('.surface,.words')].every(
    (box) => box.scrollHeight <= box.clientHeight + accent_px,
  )
}
