/**
 * Judges whether a person can see a mounted ad: a part of render.js that loads where the browser's own observer does not say so.
 *
 * Every share is known between two bounds. An ad is seen when enough of it is left by the lower ones, not seen when by the upper ones
 * too little is, and unmeasured in between: what cannot be judged is neither billed nor taken for hidden.
 */
import type { Measurements } from '#contract/resources/beacons.ts'
import { findShadowHost } from '../dom.ts'
import type { Viewport } from '../renderer.ts'
import { type Box, findBox, locate, pointIn } from './box.ts'
import { type Cover, leftBelow, type Point, type Sight } from './covers.ts'
import { leftByStyle } from './effects.ts'
import { alphaOfImages } from './gradient.ts'
import { chain, findLevel, isAbove, isInTopLayer } from './order.ts'
import { all, none, perhaps, type Range, rest, times } from './range.ts'
import { findShownPart, type Part } from './screen.ts'
import { type Survey, survey } from './survey.ts'

export type Outcome = 'seen' | 'not_seen' | 'unmeasured'

export interface Judgement {
  outcome: Outcome
  /** Why, as a code of docs/renderer.md. */
  reason: string
  /** Share of the part on the screen that surely shows, 0 to 1. */
  share: number
  check: NonNullable<Measurements['visibility_check']>
  /** Share of the ad that is on the screen; left out where that is what is in the viewport. */
  ratio?: number
}

export interface JudgedAd {
  frame: HTMLElement
  label: HTMLElement
  /** The last entry of the frame's observer. */
  last: IntersectionObserverEntry
  /** Share of the ad that a view needs. */
  needed: number
  /** What a native host says is shown of the page. */
  viewport: Viewport | null
  /** What IntersectionObserver v2 says of ad and label; undefined where there is none. */
  observed: boolean | undefined
}

/** Less contrast cannot be read: of an ad that is faded, or below a layer. One scale for both. */
const minContrast = 0.4
/** Points in each direction. */
const grid = 5
const labelGrid = 5

type Page = Sight & { elements: Survey; orders: Map<Element, boolean | null>; isBlind: boolean; isClear: boolean }

export function judge(ad: JudgedAd): Judgement {
  const shown = findShownPart(ad.frame, ad.last, ad.viewport)
  if (!shown) return { outcome: 'unmeasured', reason: 'screen_unknown', share: 1, check: 'none' }
  const { ratio, part } = shown
  if (ratio < ad.needed) return { outcome: 'not_seen', reason: 'off_screen', share: 1, check: 'none', ratio }
  const [outcome, reason, share] = judgePart(ad, part, ad.needed / ratio)
  return { outcome, reason, share, check: chooseCheck(outcome, reason), ratio }
}

function chooseCheck(outcome: Outcome, reason: string): Judgement['check'] {
  if (outcome === 'unmeasured') return 'none'
  return reason === 'observed' ? 'observer_v2' : 'hit_test'
}

/** `needed` is a share of the part. */
function judgePart({ frame, label, observed }: JudgedAd, part: Part, needed: number): [Outcome, string, number] {
  const own = readOwn(frame)
  if (own.left[1] < minContrast) return ['not_seen', own.isHidden ? 'hidden' : 'faded', 0]
  const page = openPage(frame, observed)
  const points = spreadPoints(findBox(frame), part)
  const { least, most } = tally(points.map((point) => times(own.left, leftAt(page, frame, point))))
  if (most < needed) return ['not_seen', 'covered', least]
  const words = judgeLabel(page, label)
  if (words.most < 0.5) return ['not_seen', 'label_covered', least]
  const doubt = observed ? null : findDoubt(page, frame)
  if (doubt) return ['unmeasured', doubt, least]
  if (least < needed) return ['unmeasured', own.left[0] < minContrast ? 'effect_unknown' : 'cover_unknown', least]
  if (words.least < 0.5) return ['unmeasured', 'label_unknown', least]
  if (observed !== false) return ['seen', observed ? 'observed' : 'clear', least]
  if (own.hasEffect) return ['seen', 'effect_leaves_enough', least]
  return isExplained(page, frame) ? ['seen', 'cover_leaves_enough', least] : ['unmeasured', 'observer_denies', least]
}

/** What is not known of the page, where the observer does not confirm the ad. */
function findDoubt({ elements }: Page, frame: Element): string | null {
  if (isAmongOthers()) return 'frame_unknown'
  if (!elements.isReady) return 'pending'
  const around = findFrameAround(frame)
  return around ? findDoubt(openPage(around), around) : null
}

/** The element of the frame that an element is in; null in the document of the window, and in frames of other origins. */
function findFrameAround({ ownerDocument }: Element): Element | null | undefined {
  return ownerDocument.defaultView?.frameElement
}

/** What the styles of the ad and of everything around it leave, in this document and those of the origin around it. */
function readOwn(frame: Element) {
  let left: Range = all
  let hasEffect = false
  // Empty when it is not in the document.
  if (getComputedStyle(frame).visibility !== 'visible') return { left: none, isHidden: true, hasEffect }
  for (let at: Element | null | undefined = frame; at; at = at.ownerDocument.defaultView?.frameElement) {
    for (const element of chain(at)) {
      const style = getComputedStyle(element)
      if (style.display === 'none') return { left: none, isHidden: true, hasEffect }
      left = times(left, leftByStyle(style))
      const { filter, transform, scale, rotate, mixBlendMode, clipPath } = style
      const mask = style.maskImage || style.webkitMaskImage
      hasEffect ||= Number(style.opacity) < 1 || (mixBlendMode || 'normal') !== 'normal'
      hasEffect ||= [filter, transform, scale, rotate, mask, clipPath].some((value) => (value || 'none') !== 'none')
    }
  }
  return { left, isHidden: false, hasEffect }
}

const nothing: Survey = { isReady: true, shown: [], missed: [] }

/** `isClear`: the observer knows that nothing lies over the ad. It knows no masks and no clip paths. */
function openPage(frame: Element, isClear = false): Page {
  const around = new Set(chain(frame))
  const page = frame.ownerDocument
  // What is inert, as everything below a modal dialog, is met by no hit test.
  const isInert = [...around].some((element) => (element as HTMLElement).inert)
  const isBlind =
    isInert || [...page.querySelectorAll('dialog[open]')].some((each) => isInTopLayer(each) && !around.has(each))
  return { around, boxes: new Map(), elements: isClear ? nothing : survey(page), orders: new Map(), isBlind, isClear }
}

/** Returns points of the ad that are in a part of its viewport, spread evenly over it. */
function spreadPoints(box: Box, { left, top, right, bottom }: Part): Point[] {
  const shares = Array.from({ length: grid }, (_, step) => (step + 0.5) / grid)
  const spread = (place: (right: number, down: number) => Point): Point[] =>
    shares.flatMap((down) => shares.map((across) => place(across, down)))
  if (!box.isTurned) return spread((across, down) => [left + (right - left) * across, top + (bottom - top) * down])
  return spread((across, down) => pointIn(box, across, down)).filter(
    ([x, y]) => x >= left && x <= right && y >= top && y <= bottom,
  )
}

function tally(lefts: readonly Range[]): { least: number; most: number } {
  const share = (bound: 0 | 1): number =>
    lefts.filter((left) => left[bound] >= minContrast).length / (lefts.length || 1)
  return { least: share(0), most: share(1) }
}

/** Of the points of the label that are not scrolled away. A label that is scrolled away is as readable as the ad it belongs to. */
function judgeLabel(page: Page, label: HTMLElement): { least: number; most: number } {
  const box = findBox(label)
  const lefts: Range[] = []
  for (let step = 0; step < labelGrid; step += 1) {
    const point = pointIn(box, (step + 0.5) / labelGrid, 0.5)
    const place = findPlace(label, point)
    if (place !== 'scrolled away') lefts.push(place === 'out of reach' ? none : leftAt(page, label, point))
  }
  return lefts.length ? tally(lefts) : { least: 1, most: 1 }
}

/** Nobody can scroll to what is above the page, or before it. */
function findPlace(label: Element, [x, y]: Point): 'here' | 'scrolled away' | 'out of reach' {
  const isInScrollers = chain(label).every((element) => {
    if (!/auto|scroll/.test(getComputedStyle(element).overflow)) return true
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return x >= left && x < right && y >= top && y < bottom
  })
  const { scrollX, scrollY, innerWidth, innerHeight } = label.ownerDocument.defaultView!
  if (!isInScrollers) return 'scrolled away'
  if (x + scrollX < 0 || y + scrollY < 0) return 'out of reach'
  return x < 0 || y < 0 || x >= innerWidth || y >= innerHeight ? 'scrolled away' : 'here'
}

/** Returns the contrast that what is above an element, and masks around it, leave at a point of its viewport. */
function leftAt(page: Page, element: Element, point: Point): Range {
  const hit = hitAbove(page, element, point)
  if (!hit) return none
  let left = masksAt(page, element, point)
  if (page.isClear) return left
  const met = new Set(hit.above)
  for (const above of met) left = times(left, leftBelow(page, readCover(page, above, true), point))
  for (const other of page.isBlind ? page.elements.shown : page.elements.missed) {
    if (met.has(other) || (hit.below.has(other) && !page.around.has(other))) continue
    const isOver = page.around.has(other) || findOrder(page, other)
    if (isOver === false) continue
    const below = leftBelow(page, readCover(page, other, false), point)
    left = times(left, isOver === null ? rest(perhaps(rest(below))) : below)
  }
  const around = findFrameAround(element)
  if (!around || left[1] < minContrast) return left
  const [x, y] = findStart(around)
  return times(left, leftAt(openPage(around), around, [x + point[0], y + point[1]]))
}

function readCover({ around }: Page, element: Element, isHit: boolean): Cover {
  const inside = [...around]
  const place = inside.indexOf(element)
  return { element, isHit, level: place < 0 ? null : findLevel(inside.slice(0, place)) }
}

function findOrder({ around, orders }: Page, element: Element): boolean | null {
  const [frame] = around
  if (!orders.has(element)) orders.set(element, isAbove(element, frame!))
  return orders.get(element)!
}

/** What hit tests meet above an element, and below it. Null where they do not meet the element: it is clipped there. */
function hitAbove({ around, isBlind }: Page, element: Element, [x, y]: Point) {
  const above: Element[] = []
  const below = new Set<Element>()
  for (let at: Element | null = element; at; at = findShadowHost(at)) {
    const root = at.getRootNode() as Document | ShadowRoot
    const stack = hits(root, x, y)
    const place = stack.findIndex((each) => at!.contains(each))
    if (place < 0 && !isBlind) return null
    const over = place < 0 ? stack.filter((each) => !around.has(each)) : stack.slice(0, place)
    above.push(...over.flatMap((each) => withInside(each, x, y)))
    if (place >= 0) for (const each of stack.slice(place)) below.add(each)
  }
  return { above, below }
}

/** Some engines list what is around the shadow root too. */
function hits(root: Document | ShadowRoot, x: number, y: number): Element[] {
  return root.elementsFromPoint(x, y).filter((each) => each.getRootNode() === root)
}

/** A component's element, after what is in its open shadow root. */
function withInside(element: Element, x: number, y: number): Element[] {
  const root = element.shadowRoot
  return root ? [...hits(root, x, y).flatMap((each) => withInside(each, x, y)), element] : [element]
}

function masksAt({ boxes }: Page, element: Element, point: Point): Range {
  let left: Range = all
  for (const at of chain(element)) {
    const style = getComputedStyle(at)
    const mask = style.maskImage || style.webkitMaskImage || 'none'
    if (mask === 'none') continue
    const box = boxes.get(at) ?? findBox(at)
    boxes.set(at, box)
    const isPlain = /^(auto|)$/.test(style.maskSize ?? '') && /^(add|)$/.test(style.maskComposite ?? '')
    left = times(left, alphaOfImages(mask, isPlain ? locate(box, point) : null))
  }
  return left
}

/** Whether anything lies over the ad or its label, which the observer denies then whatever it paints. */
function isExplained(page: Page, frame: Element, ad: Part = findShadowHost(frame)!.getBoundingClientRect()): boolean {
  const isOver = (element: Element): boolean => {
    if (page.around.has(element)) return false
    const { left, right, top, bottom } = element.getBoundingClientRect()
    const isOverlapping = left < ad.right && right > ad.left && top < ad.bottom && bottom > ad.top
    return isOverlapping && findOrder(page, element) !== false
  }
  if (page.elements.shown.some(isOver)) return true
  const around = findFrameAround(frame)
  if (!around) return false
  const [x, y] = findStart(around)
  const { left, top, right, bottom } = ad
  return isExplained(openPage(around), around, { left: left + x, top: top + y, right: right + x, bottom: bottom + y })
}

/** Where the document of a frame begins in the viewport around it. */
function findStart(frame: Element): Point {
  const { left, top } = frame.getBoundingClientRect()
  return [left + frame.clientLeft, top + frame.clientTop]
}

/** What lies over a frame of another origin around this one is known to the observer alone. */
function isAmongOthers(): boolean {
  try {
    return !top!.document
  } catch {
    return true
  }
}
