/**
 * Whether the ad label can be read, by its own text, styles and place inside the ad. Where the page has put, turned or
 * covered the ad as a whole does not matter here: boxes on the screen say nothing about a label that is tilted with its ad.
 */

import { flatParent } from '../dom.ts'
import { readAlpha } from './color.ts'

export interface LabelParts {
  label: HTMLElement
  frame: HTMLElement
  text: string
  /** The language of the page and some of its texts, when the ad was mounted. */
  lang: string
  texts: ReadonlyMap<Node, string>
}

/** `reworded`: other words, and nothing shows that they are a translation. */
export type LabelState = 'readable' | 'reworded' | 'unreadable'

const minFontPx = 8
const minWidthPx = 24
const minContrast = 3
/** How far the label may be from the frame, CSS pixels: fonts and spacings of reading aids move it a little. */
const maxDistancePx = 60

/** Attributes that take the label from screen readers, or give it another meaning. */
const forbidden = ['hidden', 'inert', 'role', 'aria-hidden', 'aria-label']

/** A label that is hidden together with its ad is readable: the ad does not count then either. */
export function inspectLabel(parts: LabelParts): LabelState {
  const { label, frame, text } = parts
  if (forbidden.some((name) => label.hasAttribute(name))) return 'unreadable'
  if (frame.offsetWidth * frame.offsetHeight > 0 && !isLegible(label, frame)) return 'unreadable'
  if (label.textContent!.trim() === text) return 'readable'
  if (!label.innerText.trim()) return 'unreadable'
  return label.querySelector('font') || isTranslated(parts) ? 'readable' : 'reworded'
}

function isLegible(label: HTMLElement, frame: HTMLElement): boolean {
  const style = getComputedStyle(label)
  return (
    isInPlace(label, frame) &&
    [style.transform, style.scale, style.rotate, style.translate, style.clipPath, style.filter].every(
      (value) => (value || 'none') === 'none',
    ) &&
    (style.maskImage || style.webkitMaskImage || 'none') === 'none' &&
    Number.parseFloat(style.fontSize) >= minFontPx &&
    Number.parseFloat(style.textIndent) >= -1 &&
    style.visibility === getComputedStyle(frame).visibility &&
    Number(style.opacity) > 0.5 &&
    contrast(style.webkitTextFillColor || style.color, findGround(label)) >= minContrast
  )
}

/**
 * Whether the page was translated since: its language has changed, or most texts at its beginning have. Not every translator leaves a
 * mark.
 */
function isTranslated({ lang, texts }: LabelParts): boolean {
  const { documentElement: page } = document
  const changed = [...texts].filter(([text, before]) => text.nodeValue !== before || !text.isConnected)
  return page.lang !== lang || page.className.includes('translated-') || changed.length * 2 > texts.size
}

/** By offsets: transforms change none of them. Between two columns of a page they cannot be compared. */
function isInPlace(label: HTMLElement, frame: HTMLElement): boolean {
  if (label.offsetWidth < Math.min(minWidthPx, frame.offsetWidth) || label.offsetHeight < minFontPx) return false
  const { host } = frame.getRootNode() as ShadowRoot
  if (host.getClientRects().length > 1) return true
  const above = frame.offsetTop - label.offsetTop - label.offsetHeight
  const indent = label.offsetLeft - frame.offsetLeft
  return above >= -1 && above <= maxDistancePx && indent >= -maxDistancePx && indent < frame.offsetWidth
}

/** Returns the colour below the words: of the label, or of what is around it where it has none. */
function findGround(label: HTMLElement): string {
  for (let at: Element | null = label; at; at = flatParent(at)) {
    const { backgroundColor } = getComputedStyle(at)
    if (!(readAlpha(backgroundColor)! < 0.5)) return backgroundColor
  }
  return 'rgb(255, 255, 255)'
}

/** Returns the contrast of two colours by WCAG, 1 to 21; of notations other than rgb() 21. */
function contrast(...colors: [string, string]): number {
  const shares = colors.map(luminance)
  return ((Math.max(...shares) + 0.05) / (Math.min(...shares) + 0.05) || 21) * (readAlpha(colors[0]) ?? 1)
}

function luminance(color: string): number {
  const [r, g, b] = (color.match(/^rgba?\((\d+), (\d+), (\d+)/) ?? []).slice(1).map((value) => {
    const share = Number(value) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
