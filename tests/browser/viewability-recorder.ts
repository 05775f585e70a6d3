/**
 * Runs in the page: plays sequences on the boxes of the page and records raw samples of what is in view. It knows only
 * where the renderer's frame is, and decides nothing.
 */
import type { PlayChange, Sample } from './viewability-rule.ts'
import type { PageHide, Sequence, Step } from './viewability-sequences.ts'

export interface Take {
  samples: Sample[]
  /** When a naive timer, started when half is in view and never cancelled, would have counted. */
  naive_timer_at: number | null
}

declare global {
  interface Window {
    playback?: PlayChange[]
  }
}

/** Box of a sequence on the page: a slot in a scroll box in what can be hidden, none of which moves its neighbours. */
export function boxHtml({ seed, kind: { width, height } }: Sequence): string {
  const size = `width:${width + 4}px;height:${height + 60}px`
  const space = `<div style="height:${height + 120}px"></div>`
  const slot = `<div class="slot" style="width:${width}px"></div>`
  return `<section id="s${seed}" style="display:inline-block;vertical-align:top;${size}"><div class="veil"><div class="box" style="overflow:auto;scrollbar-width:none;${size}">${space}${slot}${space}</div></div></section>`
}

/** Runs in every document: records when a video plays and when it does not. */
export function recordPlayback(): void {
  const changes: PlayChange[] = []
  window.playback = changes
  const playing = { playing: true, pause: false, waiting: false, ended: false, emptied: false }
  for (const [event, is_playing] of Object.entries(playing)) {
    const note = (): void => void changes.push({ t: performance.timeOrigin + performance.now(), is_playing })
    document.addEventListener(event, note, { capture: true })
  }
}

/** Plays all sequences at once. Resolves to a take of each, in the same order. */
export async function playAndRecord(given: {
  sequences: Sequence[]
  hides: PageHide[]
  every_ms: number
}): Promise<Take[]> {
  const now = (): number => performance.timeOrigin + performance.now()
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

  async function hidePage({ at_ms, for_ms }: PageHide): Promise<void> {
    const become = (state: DocumentVisibilityState): void => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state })
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => state === 'hidden' })
      document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    }
    await sleep(at_ms)
    become('hidden')
    await sleep(for_ms)
    become('visible')
  }

  async function play({ seed, kind, steps }: Sequence): Promise<Take> {
    const section = document.querySelector<HTMLElement>(`#s${seed}`)!
    const veil = section.querySelector<HTMLElement>('.veil')!
    const box = section.querySelector<HTMLElement>('.box')!
    const slot = section.querySelector<HTMLElement>('.slot')!
    const frame = window.findAll('iframe', section)[0]!
    const full = { height: box.offsetHeight, width: box.offsetWidth, slot: slot.offsetWidth }
    const take: Take = { samples: [], naive_timer_at: null }
    let observed = { ratio: 0, area: 0 }

    const record = (entries: IntersectionObserverEntry[]): void => {
      for (const { intersectionRatio, isIntersecting, boundingClientRect } of entries) {
        const { width, height } = boundingClientRect
        observed = { ratio: isIntersecting ? intersectionRatio : 0, area: width * height }
        sample()
      }
    }
    const measure = (): Sample['measured'] => {
      const ad = frame.getBoundingClientRect()
      const clip = box.getBoundingClientRect()
      const overlap = (from: number, to: number, ...bounds: [number, number][]): number =>
        Math.max(0, Math.min(to, ...bounds.map(([, end]) => end)) - Math.max(from, ...bounds.map(([start]) => start)))
      const area = ad.width * ad.height
      const width = overlap(ad.left, ad.right, [clip.left, clip.right], [0, innerWidth])
      const height = overlap(ad.top, ad.bottom, [clip.top, clip.bottom], [0, innerHeight])
      return { ratio: area === 0 ? 0 : (width * height) / area, area }
    }
    const sample = (): void => {
      take.samples.push({
        t: now(),
        observed,
        measured: measure(),
        is_shown: frame.checkVisibility({ visibilityProperty: true, opacityProperty: true }),
        is_page_visible: document.visibilityState === 'visible',
      })
    }
    const look = (): void => {
      record(observer.takeRecords())
      sample()
    }
    /** Nothing happens to the ad that is not between two samples. */
    const change = (act: () => void): void => {
      look()
      act()
      look()
    }
    const scrollTo = (share: number, edge: 'top' | 'bottom'): void => {
      const ad = frame.getBoundingClientRect()
      const clip = box.getBoundingClientRect()
      const ahead = share * ad.height
      box.scrollTop += edge === 'bottom' ? ad.top - (clip.bottom - ahead) : ad.bottom - (clip.top + ahead)
    }

    async function perform(step: Step): Promise<void> {
      if (step.do === 'wait') {
        await sleep(step.ms)
      } else if (step.do === 'scroll') {
        const before = box.scrollTop
        const times = Math.ceil(step.over_ms / 20)
        for (let turn = 1; turn < times; turn++) {
          change(() => {
            scrollTo(step.share, step.edge)
            box.scrollTop = before + ((box.scrollTop - before) * turn) / times
          })
          await sleep(20)
        }
        change(() => scrollTo(step.share, step.edge))
      } else if (step.do === 'flick') {
        const before = box.scrollTop
        change(() => scrollTo(0, 'bottom'))
        await sleep(step.away_ms)
        change(() => {
          box.scrollTop = before
        })
      } else if (step.do === 'narrow') {
        change(() => {
          slot.style.width = `${Math.round(full.slot * step.share)}px`
        })
      } else if (step.do === 'cut') {
        change(() => {
          box.style[step.side] = `${Math.round(full[step.side] * step.share)}px`
        })
      } else {
        const hidden = { display: 'none', visibility: 'hidden', opacity: '0' }
        change(() => veil.style.setProperty(step.by, hidden[step.by]))
        await sleep(step.for_ms)
        change(() => veil.style.removeProperty(step.by))
      }
    }

    const observer = new IntersectionObserver(record, {
      threshold: Array.from({ length: 101 }, (_, step) => step / 100),
    })
    observer.observe(frame)
    const loneObserver = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ intersectionRatio }) => intersectionRatio >= 0.5)) return
        loneObserver.disconnect()
        setTimeout(
          () => {
            take.naive_timer_at = now()
          },
          kind.format === 'clip' ? 2_000 : 1_000,
        )
      },
      { threshold: 0.5 },
    )
    loneObserver.observe(frame)
    document.addEventListener('visibilitychange', look)
    const timer = setInterval(look, given.every_ms)

    look()
    for (const step of steps) await perform(step)
    change(() => scrollTo(0, 'bottom'))
    await sleep(500)
    look()

    clearInterval(timer)
    observer.disconnect()
    document.removeEventListener('visibilitychange', look)
    return take
  }

  const [takes] = await Promise.all([Promise.all(given.sequences.map(play)), Promise.all(given.hides.map(hidePage))])
  return takes
}
