/** How much of the contrast of what an element shows its own style leaves: opacity, filters, blending. */
import { readShare } from './color.ts'
import { all, exactly, none, type Range, times, unknown } from './range.ts'

/** With more blur nothing can be read, CSS pixels. */
const maxBlurPx = 4
/** Brighter colours are all white, in the end. */
const maxBrightness = 2

export function leftByStyle({ opacity, filter, mixBlendMode }: CSSStyleDeclaration): Range {
  const left = times(exactly(Number(opacity)), leftByFilter(filter))
  return mixBlendMode && mixBlendMode !== 'normal' ? [0, left[1]] : left
}

/** Every function counts, however often it is there: `brightness(.3) brightness(.3)` leaves a tenth. */
export function leftByFilter(filter: string | undefined): Range {
  let left = all
  let blur = 0
  for (const [, name, value] of (filter ?? '').matchAll(/([a-z-]+)\(((?:[^()]|\([^()]*\))*)\)/gi)) {
    if (name === 'blur') blur = Math.hypot(blur, Number.parseFloat(value!) || 0)
    else left = times(left, leftByFunction(name!, value!))
  }
  return blur > maxBlurPx ? none : left
}

function leftByFunction(name: string, value: string): Range {
  const amount = value.trim() === '' ? 1 : readShare(value)
  switch (name) {
    case 'opacity':
    case 'contrast':
      return exactly(amount)
    case 'brightness':
      return amount > maxBrightness ? unknown : exactly(amount)
    case 'invert':
      return exactly(Math.abs(1 - 2 * Math.min(1, amount)))
    case 'grayscale':
    case 'sepia':
    case 'saturate':
    case 'hue-rotate':
    case 'drop-shadow':
      return all
    default:
      return unknown
  }
}
