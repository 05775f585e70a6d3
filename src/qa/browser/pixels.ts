/** What a screenshot shows, in figures, and how far it differs from a stored one. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import pixelmatch from 'pixelmatch'
import { PNG } from 'pngjs'

export interface Size {
  width: number
  height: number
}

export interface Pixels extends Size {
  /** Different colours, each channel cut to 16 steps: a blank area has one, text a few, a photograph many. */
  colors: number
  /** Share of the commonest colour, 0 to 1. */
  commonest: number
  /** Mean luma, 0 (black) to 1 (white): a light card is above a half, a dark one below. */
  brightness: number
}

export function pixelsOf(png: Uint8Array): Pixels {
  const { width, height, data } = PNG.sync.read(Buffer.from(png))
  const counts = new Map<number, number>()
  let luma = 0
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue] = [data[at]!, data[at + 1]!, data[at + 2]!]
    const color = ((red >> 4) << 8) | ((green >> 4) << 4) | (blue >> 4)
    counts.set(color, (counts.get(color) ?? 0) + 1)
    luma += 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const area = width * height
  const share = (value: number) => Math.round(value * 1e4) / 1e4
  return {
    width,
    height,
    colors: counts.size,
    commonest: share(Math.max(...counts.values()) / area),
    brightness: share(luma / 255 / area),
  }
}

export type Comparison =
  | { status: 'written'; path: string }
  | { status: 'missing'; path: string }
  | {
      status: 'compared'
      path: string
      difference: number
      difference_png: Uint8Array | null
      stored: Size
      seen: Size
    }

/** A stored picture that cannot be used. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/**
 * Compares with a stored picture, or stores it. `difference` is the share of pixels that differ, 0 to 1; 1 when the sizes
 * do. @throws SnapshotError when it is no PNG, or stands outside of the suite's folder
 */
export function compareWithStored(png: Uint8Array, folder: string, file: string, update: boolean): Comparison {
  const path = resolve(folder, file)
  if (relative(folder, path).startsWith('..')) throw new SnapshotError(`${file} is not beside its suite.`)
  if (update) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, png)
    return { status: 'written', path }
  }
  if (!existsSync(path)) return { status: 'missing', path }
  const before = read(path, file)
  const now = PNG.sync.read(Buffer.from(png))
  const stored = { width: before.width, height: before.height }
  const seen = { width: now.width, height: now.height }
  if (stored.width !== seen.width || stored.height !== seen.height) {
    return { status: 'compared', path, difference: 1, difference_png: null, stored, seen }
  }
  const marked = new PNG(seen)
  const count = pixelmatch(before.data, now.data, marked.data, seen.width, seen.height, { threshold: 0.1 })
  const difference = count / (seen.width * seen.height)
  const difference_png = count === 0 ? null : PNG.sync.write(marked)
  return { status: 'compared', path, difference, difference_png, stored, seen }
}

function read(path: string, file: string): PNG {
  try {
    return PNG.sync.read(readFileSync(path))
  } catch (error) {
    throw new SnapshotError(`${file} cannot be read as PNG: ${(error as Error).message}. Store it: --update-snapshots.`)
  }
}
