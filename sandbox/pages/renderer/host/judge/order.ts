/**
 * Which of two elements is painted above the other, from their styles: by stacking contexts, z-index and the order of the page
 * (CSS 2.1, appendix E). Needed for what hit tests do not meet.
 */
import { flatParent } from '../dom.ts'

/** Of content without a position: above what has a negative z-index, below what has another. */
const inFlow = -0.5

/** Null when it cannot be known. */
export function isAbove(one: Element, other: Element): boolean | null {
  const around = new Set(chain(other))
  const above = chain(one)
  const common = above.find((at) => around.has(at)) ?? null
  const ours = above.slice(0, common ? above.indexOf(common) : above.length)
  const theirs = [...around].slice(0, common ? [...around].indexOf(common) : around.size)
  const isOurTop = ours.some(isInTopLayer)
  const isTheirTop = theirs.some(isInTopLayer)
  if (isOurTop || isTheirTop) return isOurTop && isTheirTop ? null : isOurTop
  const [level, base] = [findLevel(ours), findLevel(theirs)]
  if (level !== base) return level > base
  const [branch, otherBranch] = [ours.at(-1), theirs.at(-1)]
  if (!branch || !otherBranch) return ours.length === 0 ? false : null
  // Backgrounds of plain blocks are painted below every content.
  if (level === inFlow && !ours.some(isAtomic)) return false
  return Boolean(otherBranch.compareDocumentPosition(branch) & Node.DOCUMENT_POSITION_FOLLOWING)
}

export function isInTopLayer(element: Element): boolean {
  return topSelectors.some((selector) => matches(element, selector))
}

const topSelectors = [':modal', ':popover-open', ':fullscreen']

/** Older engines do not know every selector. */
function matches(element: Element, selector: string): boolean {
  try {
    return element.matches(selector)
  } catch {
    return false
  }
}

/** The element and what is around it, innermost first. */
export function chain(element: Element): Element[] {
  const found: Element[] = []
  for (let at: Element | null = element; at; at = flatParent(at)) found.push(at)
  return found
}

/** The outermost stacking context decides; without one, whether anything is positioned. */
export function findLevel(elements: readonly Element[]): number {
  let level = inFlow
  for (const element of elements) {
    const style = getComputedStyle(element)
    const parent = flatParent(element)
    if (isStackingContext(style, parent && getComputedStyle(parent).display)) level = Number(style.zIndex) || 0
    else if (level === inFlow && style.position !== 'static') level = 0
  }
  return level
}

const isSet = (value: string | undefined, initial = 'none'): boolean => (value || initial) !== initial

function isStackingContext(style: CSSStyleDeclaration, around: string | null): boolean {
  const hasIndex = style.zIndex !== 'auto'
  return (
    /^(fixed|sticky)$/.test(style.position) ||
    (hasIndex && (style.position !== 'static' || /flex|grid/.test(around ?? ''))) ||
    Number(style.opacity) < 1 ||
    isSet(style.mixBlendMode, 'normal') ||
    style.isolation === 'isolate' ||
    /transform|opacity|filter|perspective|contents|isolation/.test(style.willChange ?? '') ||
    /paint|layout|strict|content/.test(style.contain ?? '') ||
    [style.transform, style.scale, style.rotate, style.translate, style.filter, style.perspective].some(hasEffect) ||
    [style.clipPath, style.maskImage || style.webkitMaskImage, style.backdropFilter].some(hasEffect)
  )
}

const hasEffect = (value: string | undefined): boolean => isSet(value)

function isAtomic(element: Element): boolean {
  const { display, float } = getComputedStyle(element)
  const parent = flatParent(element)
  return (
    /^inline/.test(display) ||
    float !== 'none' ||
    (parent !== null && /flex|grid/.test(getComputedStyle(parent).display))
  )
}
