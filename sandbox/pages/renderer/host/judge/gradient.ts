/** The alpha of images that styles describe: gradients, of backgrounds and masks. */
import { readAlpha, readShare } from './color.ts'
import { exactly, none, over, type Range, unknown } from './range.ts'

/** A point in a box: from its left and top edge, CSS pixels. */
export interface BoxPoint {
  x: number
  y: number
  width: number
  height: number
}

/**
 * Returns the alpha of a computed `background-image` or `mask-image` at a point of its box. A linear gradient is known there, of
 * others its colours give the bounds, and nothing is known of pictures.
 */
export function alphaOfImages(images: string, at: BoxPoint | null): Range {
  if (!images || images === 'none') return none
  return split(images)
    .map((image) => alphaOfImage(image, at))
    .reduce(over)
}

function alphaOfImage(image: string, at: BoxPoint | null): Range {
  const [, repeating, kind, inside] = /^(repeating-)?([a-z]+)-gradient\((.*)\)$/s.exec(image.trim()) ?? []
  if (inside === undefined) return image.trim() === 'none' ? none : unknown
  const parts = split(inside)
  const direction = kind === 'linear' && at ? readDirection(parts[0]!, at) : null
  const stops = parts.map(readStop).filter((stop) => stop !== null)
  const alphas = stops.map(({ alpha }) => alpha)
  const bounds: Range = alphas.length ? [Math.min(...alphas), Math.max(...alphas)] : unknown
  if (!at || !direction || bounds[0] === bounds[1]) return bounds
  const [right, down] = direction
  const length = Math.abs(at.width * right) + Math.abs(at.height * down)
  const place = ((at.x - at.width / 2) * right + (at.y - at.height / 2) * down) / length + 0.5
  const alpha = alphaAt(stops, place, length, repeating !== undefined)
  return alpha === null ? bounds : exactly(alpha)
}

/** Splits at the commas that are in no brackets. */
export function split(list: string): string[] {
  const parts = ['']
  let depth = 0
  for (const sign of list) {
    depth += Number(sign === '(') - Number(sign === ')')
    if (sign === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += sign
  }
  return parts.map((part) => part.trim())
}

/** Returns the direction of a gradient's line as a vector of length 1, right and down. */
function readDirection(first: string, { width, height }: BoxPoint): readonly [right: number, down: number] | null {
  const [, amount, unit] = /^\s*(-?[\d.]+)(deg|turn|rad|grad)\s*$/.exec(first) ?? []
  if (amount !== undefined) {
    const turns = Number(amount) / { deg: 360, turn: 1, rad: 2 * Math.PI, grad: 400 }[unit as 'deg']
    return [Math.sin(turns * 2 * Math.PI), -Math.cos(turns * 2 * Math.PI)]
  }
  if (!/^\s*to /.test(first)) return /^\s*in /.test(first) ? null : [0, 1]
  const right = Number(first.includes('right')) - Number(first.includes('left'))
  const down = Number(first.includes('bottom')) - Number(first.includes('top'))
  if (!right || !down) return [right, down]
  const length = Math.hypot(width, height)
  return [(right * height) / length, (down * width) / length]
}

interface Stop {
  alpha: number
  /** Positions as written: percentages and pixels. */
  places: string[]
}

const stopPattern = /^\s*((?:[a-z-]+\((?:[^()]|\([^()]*\))*\))|[#\w]+)((?:\s+-?[\d.]+(?:%|px))*)\s*$/i

function readStop(part: string): Stop | null {
  const [, color, places] = stopPattern.exec(part) ?? []
  if (color === undefined || /^(to|in|-?[\d.]+\w*)$/i.test(color)) return null
  const alpha = readAlpha(color)
  return alpha === null ? null : { alpha, places: places!.trim() ? places!.trim().split(/\s+/) : [] }
}

function alphaAt(stops: readonly Stop[], place: number, length: number, isRepeating: boolean): number | null {
  const known = placeStops(stops, length)
  const [first, last] = [known[0], known.at(-1)]
  if (!first || !last) return null
  const span = last.at - first.at
  const at = isRepeating && span > 0 ? first.at + ((((place - first.at) % span) + span) % span) : place
  if (at <= first.at) return first.alpha
  const after = known.findIndex((stop) => stop.at >= at)
  if (after < 0) return last.alpha
  const [one, other] = [known[after - 1]!, known[after]!]
  return one.alpha + ((other.alpha - one.alpha) * (at - one.at)) / (other.at - one.at || 1)
}

/** Returns every stop with its place on the line, 0 to 1. Those without one are spread evenly between the others. */
function placeStops(stops: readonly Stop[], length: number): { alpha: number; at: number }[] {
  const known = stops.flatMap(({ alpha, places }) =>
    (places.length ? places : [null]).map((place) => ({
      alpha,
      at: place === null ? null : place.endsWith('%') ? readShare(place) : Number.parseFloat(place) / length,
    })),
  )
  if (known.length) {
    known[0]!.at ??= 0
    known.at(-1)!.at ??= 1
  }
  let before = 0
  return known.map(({ alpha, at }, index) => {
    if (at === null) {
      const next = known.findIndex((stop, other) => other > index && stop.at !== null)
      at = before + (known[next]!.at! - before) / (next - index + 1)
    }
    before = Math.max(before, at)
    return { alpha, at: before }
  })
}
