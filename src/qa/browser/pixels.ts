/** What a screenshot shows, in figures, and how far it differs from a stored one. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'

export interface Pixels {
  width: number
  height: number
  /** Different colours, each channel cut to 16 steps: a blank area has one, text a few, a photograph many. */
  colors: number
  /** Share of the commonest colour, 0 to 1. */
  commonest: number
}

export function pixelsOf(png: Uint8Array): Pixels {
  const { width, height, data } = PNG.sync.read(Buffer.from(png))
  const counts = new Map<number, number>()
  for (let at = 0; at < data.length; at += 4) {
    const color = ((data[at]! >> 4) << 8) | ((data[at + 1]! >> 4) << 4) | (data[at + 2]! >> 4)
    counts.set(color, (counts.get(color) ?? 0) + 1)
  }
  const most = Math.max(...counts.values())
  return { width, height, colors: counts.size, commonest: Math.round((most / (width * height)) * 1e4) / 1e4 }
}

export type Comparison =
  | { status: 'written'; path: string }
  | { status: 'missing'; path: string }
  | { status: 'compared'; path: string; difference: number; difference_png: Uint8Array | null }

/**
 * Compares with a stored picture, or stores it. `difference` is the share of pixels that differ, 0 to 1; 1 when the sizes
 * do.
 */
export function compareWithStored(png: Uint8Array, folder: string, file: string, update: boolean): Comparison {
  const path = resolve(folder, file)
  if (update) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, png)
    return { status: 'written', path }
  }
  if (!existsSync(path)) return { status: 'missing', path }
  const stored = PNG.sync.read(readFileSync(path))
  const seen = PNG.sync.read(Buffer.from(png))
  const { width, height } = stored
  if (seen.width !== width || seen.height !== height) {
    return { status: 'compared', path, difference: 1, difference_png: null }
  }
  const marked = new PNG({ width, height })
  const count = pixelmatch(stored.data, seen.data, marked.data, width, height, { threshold: 0.1 })
  const difference = count / (width * height)
  return { status: 'compared', path, difference, difference_png: count === 0 ? null : PNG.sync.write(marked) }
}
