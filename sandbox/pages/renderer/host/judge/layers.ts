/** What the styles of one box paint at a point: background, borders, shadows and outline. */

import { isInside } from './box.ts'
import { readAlpha } from './color.ts'
import { alphaOfImages, type BoxPoint, split } from './gradient.ts'
import { alphaOfPicture } from './pixels.ts'
import { exactly, none, over, perhaps, type Range, unknown } from './range.ts'

export function alphaOfColor(color: string): Range {
  const alpha = readAlpha(color)
  return alpha === null ? unknown : exactly(alpha)
}

/** Of a box with a style, at a point inside or outside of it. */
export function alphaOfBox(style: CSSStyleDeclaration, at: BoxPoint): Range {
  const isIn = isInside(at) && !isInCorner(style, at)
  const painted = isIn ? over(alphaOfGround(style, at), alphaOfBorder(style, at)) : none
  return over(over(painted, alphaOfShadows(style, at, isIn)), alphaOfOutline(style, at))
}

function alphaOfGround(style: CSSStyleDeclaration, at: BoxPoint): Range {
  const { backgroundColor, backgroundImage, backgroundClip } = style
  if (/text/.test(backgroundClip)) return none
  const images = split(backgroundImage).map((image) => alphaOfBackground(image, style, at))
  return images.reduce(over, alphaOfColor(backgroundColor))
}

function alphaOfBackground(image: string, style: CSSStyleDeclaration, at: BoxPoint): Range {
  const url = /^url\("?(.*?)"?\)$/s.exec(image)?.[1]
  const isWhole = style.backgroundSize === 'auto' && /^0(px|%) 0(px|%)/.test(style.backgroundPosition)
  const alpha = url === undefined ? alphaOfImages(image, isWhole ? at : null) : (alphaOfPicture(url) ?? unknown)
  // It may not fill the box.
  return /no-repeat/.test(style.backgroundRepeat) && url !== undefined ? perhaps(alpha) : alpha
}

function alphaOfBorder(style: CSSStyleDeclaration, { x, y, width, height }: BoxPoint): Range {
  const sides = [
    ['Top', y],
    ['Right', width - x],
    ['Bottom', height - y],
    ['Left', x],
  ] as const
  for (const [side, distance] of sides) {
    const isOn = distance < px(style[`border${side}Width`]) && !/none|hidden/.test(style[`border${side}Style`])
    if (isOn) return style.borderImageSource === 'none' ? alphaOfColor(style[`border${side}Color`]) : unknown
  }
  return none
}

/** Whether a round corner cuts the point off. */
function isInCorner(style: CSSStyleDeclaration, { x, y, width, height }: BoxPoint): boolean {
  const corners = [
    [style.borderTopLeftRadius, x, y],
    [style.borderTopRightRadius, width - x, y],
    [style.borderBottomRightRadius, width - x, height - y],
    [style.borderBottomLeftRadius, x, height - y],
  ] as const
  return corners.some(([radius, across, down]) => {
    const [right = '0', high = right] = radius.split(' ')
    const [rx, ry] = [length(right, width), length(high, height)]
    return across < rx && down < ry && Math.hypot((rx - across) / rx, (ry - down) / ry) > 1
  })
}

function length(value: string, whole: number): number {
  return value.endsWith('%') ? (px(value) * whole) / 100 : Math.min(px(value), whole / 2)
}

function alphaOfShadows({ boxShadow }: CSSStyleDeclaration, at: BoxPoint, isIn: boolean): Range {
  if (!boxShadow || boxShadow === 'none') return none
  return split(boxShadow)
    .map((shadow) => alphaOfShadow(shadow, at, isIn))
    .reduce(over)
}

function alphaOfShadow(shadow: string, at: BoxPoint, isIn: boolean): Range {
  const color = /[a-z-]+\([^()]*\)|#\w+|transparent/i.exec(shadow)?.[0] ?? ''
  const [right = 0, down = 0, blur = 0, spread = 0] = [...shadow.replace(color, '').matchAll(/-?[\d.]+px/g)].map(
    Number.parseFloat as never,
  ) as number[]
  const moved = { ...at, x: at.x - right, y: at.y - down }
  const isInset = /inset/.test(shadow)
  if (isInset !== isIn) return none
  const surely = isInset ? !isInside(moved, blur - spread) : isInside(moved, spread - blur)
  const maybe = isInset ? !isInside(moved, -blur - spread) : isInside(moved, spread + blur)
  const [least, most] = alphaOfColor(color)
  return [surely ? least : 0, maybe ? most : 0]
}

function alphaOfOutline(
  { outlineStyle, outlineWidth, outlineOffset, outlineColor }: CSSStyleDeclaration,
  at: BoxPoint,
) {
  const inner = px(outlineOffset)
  if (outlineStyle === 'none' || isInside(at, inner) || !isInside(at, inner + px(outlineWidth))) return none
  return alphaOfColor(outlineColor)
}

export function px(value: string): number {
  return Number.parseFloat(value) || 0
}
