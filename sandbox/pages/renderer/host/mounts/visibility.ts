/**
 * Whether a person can see the ad where it is drawn: IntersectionObserver's ratio knows the viewport and clipping ancestors, but
 * neither effects that fade an ad nor what lies over it.
 *
 * IntersectionObserver v2, where there is one, confirms an ad and a label that nothing covers and no effect touches: that is enough,
 * and nothing more is loaded. It also denies ads that can be seen, below a transparent layer or at an opacity of 0.9. A denial, and
 * everything in other engines, is judged by the third part of the script.
 */
import { flatParent } from '../dom.ts'
import type { JudgedAd, Judgement } from '../judge/judge.ts'
import type { JudgePart } from './judge-part.ts'

export type { Judgement, Outcome } from '../judge/judge.ts'

interface Sight {
  /** From now on the browser looks at the ad several times a second. */
  watch(): void
  /** Returns what holds now. */
  read(ad: Omit<JudgedAd, 'observed' | 'frame'>): Judgement
  /** Until it is watched again: an ad that cannot count costs nothing. */
  rest(): void
}

/** Checks before the judgement is loaded, since the observer reports late. */
const maxWaits = 3

/** Watches a frame and the label beside it. */
export function watchSight(frame: HTMLElement, judge: JudgePart): Sight {
  /** Undefined until the observer has said something of an ad that is in view. */
  let isConfirmed: boolean | undefined
  let observer: IntersectionObserver | undefined
  let waits = 0
  const open = (): IntersectionObserver | undefined => {
    if (typeof IntersectionObserver === 'undefined' || !('isVisible' in IntersectionObserverEntry.prototype)) return
    const options = { trackVisibility: true, delay: 100, threshold: [0, 0.3, 0.5, 1] }
    observer = new IntersectionObserver((entries) => {
      const { isIntersecting, isVisible } = entries.at(-1) as IntersectionObserverEntry & { isVisible?: boolean }
      isConfirmed = isIntersecting ? isVisible : undefined
      waits = 0
    }, options)
    observer.observe((frame.getRootNode() as ShadowRoot).host)
    return observer
  }
  return {
    read: (ad) => {
      if (isConfirmed && isPlain(ad)) return { outcome: 'seen', reason: 'observed', share: 1, check: 'observer_v2' }
      const part = judge.get()
      if (part) return part.judge({ ...ad, frame, observed: isConfirmed })
      const isAwaited = observer && isConfirmed === undefined && ++waits <= maxWaits
      return { outcome: 'unmeasured', reason: isAwaited ? 'pending' : judge.load(), share: 1, check: 'none' }
    },
    watch: () => {
      observer ??= open()
    },
    rest: () => {
      observer?.disconnect()
      observer = isConfirmed = undefined
      waits = 0
    },
  }
}

/** Whether the observer's word is enough: it knows neither the screen nor masks, and says nothing of a label that is cut off. */
function isPlain({ label, viewport }: Pick<JudgedAd, 'label' | 'viewport'>): boolean {
  const { visualViewport: visual } = window
  const isWhole = !visual || (visual.scale === 1 && visual.height > innerHeight - 30)
  if (viewport || !isWhole || innerWidth > screen.width || innerHeight > screen.height) return false
  const { left, top, height } = label.getBoundingClientRect()
  const met = (label.getRootNode() as ShadowRoot).elementFromPoint(left + 12, top + height / 2)
  return label.contains(met) && !isMasked(label)
}

function isMasked(element: Element | null): boolean {
  if (!element) return false
  const { maskImage, webkitMaskImage } = getComputedStyle(element)
  return (maskImage || webkitMaskImage || 'none') !== 'none' || isMasked(flatParent(element))
}
