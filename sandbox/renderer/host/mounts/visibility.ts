/**
 * Whether a person can see the ad where it is drawn: IntersectionObserver's ratio knows the viewport and clipping ancestors, but
 * neither effects that fade an ad nor what lies over it.
 *
 * IntersectionObserver v2, where there is one, confirms an ad that nothing covers and no effect touches. It also denies ads that
 * can be seen: below a transparent layer of notifications, at an opacity of 0.9, with one corner covered. So a denial is checked by
 * computed styles and by hit tests, which are all that other engines have.
 */
import type { Measurements } from '#contract/resources/beacons.ts'
import { findShadowHost, flatParent } from '../dom.ts'

/** How it was checked: as a measurement of beacons (A76). */
type VisibilityCheck = NonNullable<Measurements['visibility_check']>

export interface Visibility {
  /** Part of the ad that can be seen, of the part that is in view: 0 to 1. 1 where it cannot be known. */
  share: number
  check: VisibilityCheck
}

/** Fainter things are invisible: an ad that is faded, or a layer over it. */
const minOpacity = 0.1
/** With more blur nothing can be read, CSS pixels. */
const maxBlurPx = 4
/** Points of the hit test in each direction. */
const grid = 5

interface VisibilityWatch {
  /** Returns what holds now for the part of the ad that is in view, by the last entry of its observer. */
  read(last: IntersectionObserverEntry): Visibility
  close(): void
}

export function watchVisibility(frame: HTMLElement): VisibilityWatch {
  let isConfirmed: boolean | undefined
  let observer: IntersectionObserver | undefined
  if (typeof IntersectionObserver !== 'undefined' && 'isVisible' in IntersectionObserverEntry.prototype) {
    const options = { trackVisibility: true, delay: 100, threshold: [0, 0.3, 0.5, 1] }
    observer = new IntersectionObserver((entries) => {
      isConfirmed = (entries.at(-1) as { isVisible?: boolean }).isVisible
    }, options)
    observer.observe(frame)
  }
  return {
    read: (last) => {
      const faded = readEffects(frame)
      if (faded === 'hidden') return { share: 0, check: 'hit_test' }
      if (faded === 'unknown') return { share: 1, check: 'none' }
      if (isConfirmed) return { share: 1, check: 'observer_v2' }
      // What lies over a frame of another origin around this one is known to the observer alone.
      if (window !== top && !canReadTop()) return { share: 1, check: 'none' }
      const share = uncoveredShare(frame, last)
      const isDenied = isConfirmed === false && faded === 'none' && share === 1
      return { share: isDenied && isPaintedOver(frame) ? 0 : share, check: 'hit_test' }
    },
    close: () => observer?.disconnect(),
  }
}

function canReadTop(): boolean {
  try {
    return !!top!.document
  } catch {
    return false
  }
}

/**
 * Reads the styles of the element and its ancestors, in this document and those of the origin around it: `hidden` when they
 * hide it, `unknown` when it depends on pixels, `some` when an effect explains why the observer does not confirm it.
 */
function readEffects(element: Element): 'none' | 'some' | 'hidden' | 'unknown' {
  let found: 'none' | 'some' | 'unknown' = 'none'
  let opacity = 1
  // Empty when it is not in the document.
  if (getComputedStyle(element).visibility !== 'visible') return 'hidden'
  for (
    let at: Element | null | undefined = element;
    at;
    at = flatParent(at) ?? at.ownerDocument.defaultView?.frameElement
  ) {
    const style = getComputedStyle(at)
    const { filter, transform, scale, rotate } = style
    opacity *= Number(style.opacity) * filterAmount(filter, 'opacity')
    if (opacity < minOpacity || isHiddenBy(style)) return 'hidden'
    const hasEffect = opacity < 1 || [filter, transform, scale, rotate].some((value) => value && value !== 'none')
    if ((style.maskImage || style.webkitMaskImage || 'none') !== 'none') found = 'unknown'
    else if (found === 'none' && hasEffect) found = 'some'
  }
  return found
}

function isHiddenBy({ display, filter }: CSSStyleDeclaration): boolean {
  return (
    display === 'none' ||
    filterAmount(filter, 'blur', 0) > maxBlurPx ||
    filterAmount(filter, 'brightness') < minOpacity ||
    filterAmount(filter, 'contrast') < minOpacity
  )
}

function filterAmount(filter: string, name: string, otherwise = 1): number {
  return Number(filter.match(`${name}\\(([\\d.]+)`)?.[1] ?? otherwise)
}

/** Returns the share of points of the ad's part in view on which nothing is drawn above it. */
function uncoveredShare(
  frame: Element,
  { intersectionRect: part, boundingClientRect: whole }: IntersectionObserverEntry,
): number {
  const { x, y } = frame.getBoundingClientRect()
  let seen = 0
  for (let n = 0; n < grid * grid; n += 1) {
    const right = part.x - whole.x + (part.width * ((n % grid) + 0.5)) / grid
    const down = part.y - whole.y + (part.height * (Math.floor(n / grid) + 0.5)) / grid
    if (isUncovered(frame, x + right, y + down)) seen += 1
  }
  return seen / grid ** 2
}

/** Whether nothing is drawn above the element at a point of its viewport, nor above the frames of the origin around it. */
function isUncovered(element: Element, x: number, y: number): boolean {
  for (let at: Element | null = element; at; at = findShadowHost(at)) {
    const stack = (at.getRootNode() as Document | ShadowRoot).elementsFromPoint(x, y)
    const place = stack.indexOf(at)
    if (place < 0 || stack.slice(0, place).some(paints)) return false
  }
  const around = element.ownerDocument.defaultView?.frameElement
  if (!around) return true
  const { left, top } = around.getBoundingClientRect()
  return isUncovered(around, x + left, y + top)
}

/** Whether the pixels of a frame are below something painted that hit tests do not meet. Rare, so every element is read. */
function isPaintedOver(frame: Element): boolean {
  const ad = frame.getBoundingClientRect()
  const [x, y] = [(ad.left + ad.right) / 2, (ad.top + ad.bottom) / 2]
  return [...document.body.querySelectorAll('*')].some((element) => {
    if (getComputedStyle(element).pointerEvents !== 'none') return false
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return left < x && right > x && top < y && bottom > y && paints(element)
  })
}

/** Whether an element covers what is below it: a layer without a background of its own does not. */
function paints(element: Element): boolean {
  const { opacity, backgroundColor, backgroundImage, backdropFilter } = getComputedStyle(element)
  if (Number(opacity) < minOpacity) return false
  const alpha = Number(backgroundColor.match(/[,/] *([\d.]+)\)$/)?.[1] ?? 1)
  return (
    /^(img|video|canvas|iframe|embed|object|svg)$/i.test(element.tagName) ||
    backgroundImage !== 'none' ||
    (backdropFilter || 'none') !== 'none' ||
    (alpha >= minOpacity && backgroundColor !== 'transparent')
  )
}
