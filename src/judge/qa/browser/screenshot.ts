/** Screenshots: taking them, describing them in figures, and comparing them with stored ones. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import pixelmatch from 'pixelmatch'
import type { Locator, Page } from 'playwright-core'
import { PNG } from 'pngjs'
import { createFolder } from '#foundation/file-system.ts'
import type { Json } from '#foundation/json.ts'
import { readMessage } from '#foundation/system-error.ts'
import { check as checkValue } from '../expect/expectations.ts'
import type { StepContext } from '../steps/step-kind.ts'
import type { HostPage } from './host-page.ts'
import type { Screenshot } from './schema.ts'

const areas = { slot: '#slot', ad: '#slot iframe', label: '#slot [data-sp-label]' } as const

export async function takeScreenshot(wanted: Screenshot, { page }: HostPage, context: StepContext): Promise<void> {
  const options: Exclude<Screenshot, string> = typeof wanted === 'string' ? { name: wanted } : wanted
  const { name, of = 'slot', matches, tolerance = 0.01, ...figures } = options
  const png = await takePng(page, of)
  if (png === null) {
    const subject = `pixels ${name}`
    const hint = `The page shows no ${of}, or it has no size.`
    context.check({ subject, passed: false, expected: `a screenshot of the ${of}`, actual: 'nothing', hint })
    return
  }
  const seen = measurePixels(png)
  context.screenshot({ name, png, width: seen.width, height: seen.height })
  for (const [figure, expected] of Object.entries(figures)) {
    if (expected === undefined) continue
    context.check(checkValue(`pixels ${name}.${figure}`, expected as Json, seen[figure as keyof typeof seen], {}))
  }
  if (matches !== undefined) compare(png, { name, file: matches, tolerance }, context)
}

/** Takes a screenshot of the window after a failed check. */
export async function screenshotOfFailure({ page }: HostPage, context: StepContext): Promise<void> {
  // A page that hangs or has crashed has no screenshot; its failure is reported already.
  const png = await page.screenshot({ timeout: 1_000 }).catch(() => null)
  if (png === null) return
  const { width, height } = measurePixels(png)
  context.screenshot({ name: 'the page when it failed', png, width, height })
}

async function takePng(page: Page, of: keyof typeof areas | 'page'): Promise<Uint8Array | null> {
  if (of === 'page') return page.screenshot({ animations: 'disabled' })
  const area: Locator = page.locator(areas[of]).first()
  const box = (await area.count()) === 0 ? null : await area.boundingBox()
  if (box === null || box.width < 1 || box.height < 1) return null
  return area.screenshot({ animations: 'disabled' })
}

function compare(
  png: Uint8Array,
  { name, file, tolerance }: { name: string; file: string; tolerance: number },
  context: StepContext,
): void {
  const subject = `pixels ${name} like ${file}`
  const compared = compareWithStored(png, context.folder, file, context.update_snapshots)
  if (compared.status !== 'compared') {
    const passed = compared.status === 'written'
    const [expected, actual] = passed ? ['stored now', 'stored now'] : ['a stored screenshot', 'none']
    context.check({
      subject,
      passed,
      expected,
      actual,
      ...(passed ? {} : { hint: 'Look at it, then store it: --update-snapshots.' }),
    })
    return
  }
  const { difference, difference_png, stored, seen } = compared
  if (difference_png !== null) context.screenshot({ name: `${name}, difference`, png: difference_png, ...seen })
  const isResized = stored.width !== seen.width || stored.height !== seen.height
  context.check({
    subject,
    passed: difference <= tolerance,
    expected: `at most ${tolerance} of the pixels differ`,
    actual: isResized
      ? `${seen.width}x${seen.height} instead of ${stored.width}x${stored.height}`
      : Math.round(difference * 1e4) / 1e4,
    ...(difference <= tolerance ? {} : { hint: 'If it should look like this, store it: --update-snapshots.' }),
  })
}

interface Size {
  width: number
  height: number
}

interface Pixels extends Size {
  /** Number of colours, each channel cut to 16 steps: a blank area has one, text a few, a photograph many. */
  colors: number
  /** Share of the commonest colour, 0 to 1. */
  commonest: number
  /** Mean luma, 0 (black) to 1 (white): a light card is above a half, a dark one below. */
  brightness: number
}

export function measurePixels(png: Uint8Array): Pixels {
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

interface PngComparison {
  difference: number
  /** Marks the pixels that differ; null without any, or with another size. */
  difference_png: Uint8Array | null
  stored: Size
  seen: Size
}

type Comparison = { status: 'written' | 'missing' } | ({ status: 'compared' } & PngComparison)

/** A stored screenshot cannot be used. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError'
}

/**
 * Compares a PNG with a stored one, or stores it. `difference` is the share of pixels that differ, 0 to 1; 1 when the
 * sizes differ. Throws SnapshotError when the stored file is no PNG, or outside of the suite's folder.
 */
export function compareWithStored(png: Uint8Array, folder: string, file: string, update: boolean): Comparison {
  const path = resolve(folder, file)
  if (relative(folder, path).startsWith('..')) throw new SnapshotError(`${file} is outside the folder of its suite.`)
  if (update) {
    createFolder(dirname(path))
    writeFileSync(path, png)
    return { status: 'written' }
  }
  if (!existsSync(path)) return { status: 'missing' }
  const before = read(path, file)
  const now = PNG.sync.read(Buffer.from(png))
  return { status: 'compared', ...comparePngs(before, now) }
}

/** Compares two pictures. `difference` is the share of pixels that differ, 0 to 1; 1 when the sizes differ. */
export function comparePngs(before: PNG, now: PNG): PngComparison {
  const size = ({ width, height }: Size): Size => ({ width, height })
  const [stored, seen] = [size(before), size(now)]
  if (stored.width !== seen.width || stored.height !== seen.height) {
    return { difference: 1, difference_png: null, stored, seen }
  }
  const marked = new PNG(seen)
  const count = pixelmatch(before.data, now.data, marked.data, seen.width, seen.height, { threshold: 0.1 })
  const difference = count / (seen.width * seen.height)
  return { difference, difference_png: count === 0 ? null : PNG.sync.write(marked), stored, seen }
}

function read(path: string, file: string): PNG {
  try {
    return PNG.sync.read(readFileSync(path))
  } catch (error) {
    throw new SnapshotError(`${file} cannot be read as PNG: ${readMessage(error)}. Store it: --update-snapshots.`)
  }
}
