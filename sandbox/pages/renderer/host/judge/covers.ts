/** How much of what is below it an element leaves at a point: what it paints, its ::before, ::after and ::backdrop, its text. */
import { flatParent } from '../dom.ts'
import { type Box, findBox, isInside, locate } from './box.ts'
import { leftByFilter } from './effects.ts'
import { alphaOfImages, type BoxPoint } from './gradient.ts'
import { alphaOfBox, alphaOfColor, px } from './layers.ts'
import { isInTopLayer } from './order.ts'
import { alphaOfContent } from './pixels.ts'
import { all, exactly, none, perhaps, type Range, rest, times, unknown } from './range.ts'

export type Point = readonly [x: number, y: number]

export interface Cover {
  element: Element
  /** Whether a hit test met it at this point: it is there and not clipped. */
  isHit: boolean
  /**
   * Of what is around the ad, the level at which the ad is painted in it: only its ::before and ::after can be above the ad, or all
   * of it, if it was hit.
   */
  level: number | null
}

/** Letters of this size may cover an ad. Smaller ones cover a part of the line. */
const largeTextPx = 48
const shareOfText = 0.35

/** What one check of an ad has read of the page: nothing is read twice. */
export interface Sight {
  /** The ad and everything around it. */
  around: ReadonlySet<Element>
  boxes: Map<Element, Box>
}

export function leftBelow(sight: Sight, cover: Cover, point: Point): Range {
  const { element, isHit, level } = cover
  const isAround = level !== null
  const shown = shareShown(sight, cover, point)
  if (shown[1] === 0) return all
  const style = getComputedStyle(element)
  const at = locate(readBox(sight, element), point)
  const marks = times(leftByMark(sight, cover, '::before', point), leftByMark(sight, cover, '::after', point))
  let own = all
  if (isHit || !isAround) own = times(own, leftByOwn(cover, style, at, point))
  if (isInTopLayer(element)) own = times(own, leftByLayer(getComputedStyle(element, '::backdrop'), null))
  // Hit outside of its box, by something of it that no style shows.
  const isUnexplained =
    isHit && marks[0] === 1 && own[0] === 1 && !(at && isInside(at, 1)) && !hasText(element) && !isBlankRoot(element)
  const left = isAround && marks[0] < 1 ? marks : times(own, marks)
  return isUnexplained ? unknown : rest(times(rest(left), shown))
}

/** A root is hit wherever its document is, which shows its background or that of the body. */
function isBlankRoot({ localName, ownerDocument }: Element): boolean {
  if (localName !== 'html') return false
  return [ownerDocument.documentElement, ownerDocument.body].every((each) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(each)
    return alphaOfColor(backgroundColor)[1] === 0 && backgroundImage === 'none'
  })
}

function readBox({ boxes }: Sight, element: Element): Box {
  const box = boxes.get(element) ?? findBox(element)
  boxes.set(element, box)
  return box
}

function leftByOwn({ element, isHit }: Cover, style: CSSStyleDeclaration, at: BoxPoint | null, point: Point) {
  if (style.visibility !== 'visible' || !at) return all
  if ('ownerSVGElement' in element && element.ownerSVGElement)
    return rest(alphaOfShape(element as SVGElement, style, isHit, point))
  const isIn = isInside(at)
  let left = leftByLayer(style, at)
  if (isIn) left = times(left, rest(alphaOfContent(element, at)))
  if (isIn && element.localName === 'iframe') left = times(left, leftByFrame(element as HTMLIFrameElement, at))
  return times(left, rest(alphaOfText(element, style, point)))
}

/** Of one box: what it paints, and what it does to what is behind it. Without a place, everywhere: a ::backdrop. */
function leftByLayer(style: CSSStyleDeclaration, at: BoxPoint | null): Range {
  const place = at ?? { x: 1, y: 1, width: 2, height: 2 }
  const painted = rest(alphaOfBox(style, place))
  const { backdropFilter } = style
  return backdropFilter && isInside(place) ? times(painted, leftByFilter(backdropFilter)) : painted
}

/** Share of what an element paints that shows: opacities, masks and clipping of it and of what is around it, up to the ad's own. */
function shareShown(sight: Sight, { element, isHit }: Cover, point: Point): Range {
  let shown: Range = all
  let isFixed = false
  for (let at: Element | null = element; at && !sight.around.has(at); at = flatParent(at)) {
    const style = getComputedStyle(at)
    shown = times(shown, shownBy(style, locate(readBox(sight, at), point)))
    // A hit test has met it within these.
    if (isHit) continue
    if (style.clipPath !== 'none') shown = perhaps(shown)
    const isClipping = !isFixed && at !== element && style.overflow !== 'visible'
    if (isClipping && !isInside(locate(readBox(sight, at), point) ?? nowhere)) return none
    isFixed ||= style.position === 'fixed'
  }
  return shown
}

function shownBy(style: CSSStyleDeclaration, at: BoxPoint | null): Range {
  const opacities = [...style.filter.matchAll(/opacity\(([\d.]+)/g)].map(([, amount]) => Number(amount))
  const shown = exactly(opacities.reduce((one, other) => one * other, Number(style.opacity)))
  const mask = style.maskImage || style.webkitMaskImage || 'none'
  const left = mask === 'none' ? shown : times(shown, alphaOfImages(mask, at))
  return (style.mixBlendMode || 'normal') === 'normal' ? left : perhaps(left)
}

const nowhere: BoxPoint = { x: -1, y: -1, width: 0, height: 0 }

function leftByMark(sight: Sight, cover: Cover, name: '::before' | '::after', point: Point): Range {
  const { element, isHit, level } = cover
  const style = getComputedStyle(element, name)
  const isAbove = level === null || isHit || isMarkAbove(style, name, level)
  if (!isMark(style) || !isAbove) return all
  const at = locatePoint(sight, element, style, point)
  const isHere = at !== null || isInside(locate(readBox(sight, element), point) ?? nowhere)
  if (!isHere) return all
  const isInk = !/^["']{2}$/.test(style.content) && (at === null || isInside(at))
  const ink = isInk ? perhaps(times(alphaOfColor(style.color), exactly(shareOfText))) : none
  const painted = times(rest(times(leftByLayer(style, at), rest(ink))), exactly(Number(style.opacity)))
  const isExact = at !== null && style.transform === 'none' && style.clipPath === 'none'
  return rest(isExact ? painted : perhaps(painted))
}

function isMark({ content, display, visibility }: CSSStyleDeclaration): boolean {
  return !/^(none|normal|)$/.test(content) && display !== 'none' && visibility === 'visible'
}

/** Whether a mark of something around the ad is painted above it. */
function isMarkAbove({ position, zIndex }: CSSStyleDeclaration, name: string, level: number): boolean {
  const own = Number(zIndex) || 0
  return position !== 'static' && (own > level || (own === level && name === '::after'))
}

/** Returns the point in the box of a positioned ::before or ::after; null where its place is not known. */
function locatePoint(sight: Sight, element: Element, style: CSSStyleDeclaration, point: Point): BoxPoint | null {
  const [left, top] = [style.left, style.top].map(Number.parseFloat) as [number, number]
  const isContent = style.boxSizing === 'content-box'
  const sum = (...values: string[]): number => (isContent ? values.reduce((all, value) => all + px(value), 0) : 0)
  const width =
    px(style.width) + sum(style.paddingLeft, style.paddingRight, style.borderLeftWidth, style.borderRightWidth)
  const height =
    px(style.height) + sum(style.paddingTop, style.paddingBottom, style.borderTopWidth, style.borderBottomWidth)
  if (Number.isNaN(left) || Number.isNaN(top)) return null
  if (style.position === 'fixed') return { x: point[0] - left, y: point[1] - top, width, height }
  if (style.position !== 'absolute') return null
  let around: Element | null = element
  while (around && getComputedStyle(around).position === 'static') around = flatParent(around)
  const page = element.ownerDocument.defaultView!
  if (!around) return { x: point[0] + page.scrollX - left, y: point[1] + page.scrollY - top, width, height }
  const at = locate(readBox(sight, around), point)
  return at && { x: at.x - around.clientLeft - left, y: at.y - around.clientTop - top, width, height }
}

function hasText({ childNodes }: Element): boolean {
  return [...childNodes].some(({ nodeType, nodeValue }) => nodeType === Node.TEXT_NODE && nodeValue!.trim() !== '')
}

function alphaOfText(element: Element, style: CSSStyleDeclaration, [x, y]: Point): Range {
  if (!hasText(element)) return none
  const range = document.createRange()
  range.selectNodeContents(element)
  const isHere = [...range.getClientRects()].some(
    ({ left, right, top, bottom }) => x >= left && x <= right && y >= top && y <= bottom,
  )
  if (!isHere) return none
  const ink = alphaOfColor(style.webkitTextFillColor || style.color)
  return perhaps(px(style.fontSize) > largeTextPx ? ink : times(ink, exactly(shareOfText)))
}

/** A shape of an SVG, which has no box. */
function alphaOfShape(shape: SVGElement, style: CSSStyleDeclaration, isHit: boolean, [x, y]: Point): Range {
  if (!('isPointInFill' in shape)) return isHit ? alphaOfContent(shape, nowhere) : none
  const { fill, fillOpacity, stroke, strokeOpacity } = style
  const ink = (color: string, opacity: string): Range =>
    color === 'none' ? none : times(/url/.test(color) ? unknown : alphaOfColor(color), exactly(Number(opacity)))
  const geometry = shape as SVGGeometryElement
  const matrix = geometry.getScreenCTM()
  const point = matrix && new DOMPoint(x, y).matrixTransform(matrix.inverse())
  const isIn = point ? geometry.isPointInFill(point) : isHit
  return isIn ? ink(fill, fillOpacity) : isHit ? ink(stroke, strokeOpacity) : none
}

/** Of a frame of the page's own origin, what is in it at the point. */
function leftByFrame(frame: HTMLIFrameElement, { x, y }: BoxPoint): Range {
  const inner = frame.contentDocument
  if (!inner?.documentElement) return unknown
  const sight: Sight = { around: new Set(), boxes: new Map() }
  const point: Point = [x - frame.clientLeft, y - frame.clientTop]
  return inner
    .elementsFromPoint(...point)
    .map((element) => leftBelow(sight, { element, isHit: true, level: null }, point))
    .reduce(times, all)
}
