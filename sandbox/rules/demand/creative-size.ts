/** The size in which a picture or clip of yours is shown: a standard one of its shape (A38). */
import { standardSizes } from '#domain/sizes.ts'
import type { OwnCreative } from './demand-file.ts'
import type { Media } from './media.ts'

interface SizeProblem {
  field: string
  message: string
  hint: string
}

/** How far the shape of a file may be from that of its size: 854x480 is a 640x360. */
const tolerance = 0.01

/** Returns the size of a creative, or what is wrong with what it declares. */
export function fitCreative(
  { file, size, duration_ms, poster }: Extract<OwnCreative, { file: string }>,
  media: Media,
  format: 'banner' | 'clip',
): { width: number; height: number } | SizeProblem {
  const sizes = standardSizes[format]
  const all = sizes.map(({ width, height }) => `${width}x${height}`)
  const real = `${media.width}x${media.height}`
  if (format === 'banner' && (duration_ms ?? poster) !== undefined) {
    const field = duration_ms === undefined ? 'poster' : 'duration_ms'
    return { field, message: `${file} is a picture, which has no ${field}.`, hint: 'Remove the line.' }
  }
  if (duration_ms !== undefined && Math.abs(duration_ms - media.duration_ms!) > 100) {
    const message = `${file} takes ${media.duration_ms} ms, not ${duration_ms}.`
    return { field: 'duration_ms', message, hint: 'Remove the line: the file says it.' }
  }
  if (size !== undefined && !all.includes(size))
    return { field: 'size', message: `${size} is no size of a ${format}.`, hint: `There are: ${all.join(', ')}.` }
  const candidates = size === undefined ? sizes : sizes.filter((_, index) => all[index] === size)
  const isVector = media.media_type === 'image/svg+xml'
  const fitting = candidates.filter(
    ({ width, height }) =>
      Math.abs(media.width / media.height / (width / height) - 1) <= tolerance && (isVector || media.width >= width),
  )
  // 336x280 has the shape of 300x250, of which 600x500 is twice the size.
  const fit = fitting.find(({ width }) => media.width % width === 0) ?? fitting.at(isVector ? -1 : 0)
  if (fit !== undefined) return { width: fit.width, height: fit.height }
  return size === undefined
    ? {
        field: 'file',
        message: `${file} is ${real}, no size of a ${format}.`,
        hint: `Export it as ${all.join(', ')}, or twice that.`,
      }
    : { field: 'size', message: `${file} is ${real}, not ${size}.`, hint: `Export it as ${size}, or twice that.` }
}
