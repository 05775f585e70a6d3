import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PNG } from 'pngjs'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { compareWithStored, measurePixels, SnapshotError } from './screenshot.ts'

const folder = temporaryDirectory()

type Color = readonly [number, number, number]

/** Returns a PNG with these pixels, row by row; the last one fills the rest. */
function encodePng(width: number, height: number, ...colors: Color[]): Buffer {
  const png = new PNG({ width, height })
  for (let at = 0; at < width * height; at++) png.data.set([...(colors[at] ?? colors.at(-1)!), 255], at * 4)
  return PNG.sync.write(png)
}
const white: Color = [255, 255, 255]
const black: Color = [0, 0, 0]
const red: Color = [255, 0, 0]

test.each([
  ['blank', encodePng(10, 5, white), { width: 10, height: 5, colors: 1, commonest: 1, brightness: 1 }],
  ['black', encodePng(2, 2, black), { colors: 1, commonest: 1, brightness: 0 }],
  ['one pixel of four', encodePng(2, 2, black, white), { colors: 2, commonest: 0.75, brightness: 0.75 }],
  ['red, by its luma', encodePng(1, 1, red), { brightness: 0.2126 }],
  ['shades too close to tell apart', encodePng(2, 1, [240, 240, 240], [250, 250, 250]), { colors: 1 }],
])('the figures of a screenshot: %s', (_, png, figures) => {
  expect(measurePixels(png)).toMatchObject(figures)
})

test('a screenshot is stored with --update-snapshots, with its folder, and compared after that', () => {
  const stored = encodePng(10, 10, black)
  expect(compareWithStored(stored, folder, 'deep/a.png', false).status).toBe('missing')
  expect(compareWithStored(stored, folder, 'deep/a.png', true).status).toBe('written')
  expect(readFileSync(join(folder, 'deep/a.png'))).toEqual(stored)
  expect(compareWithStored(stored, folder, 'deep/a.png', false)).toMatchObject({ difference: 0, difference_png: null })
})

test('the difference is the share of pixels, with a PNG that marks them', () => {
  compareWithStored(encodePng(10, 10, black), folder, 'b.png', true)
  const [one] = [compareWithStored(encodePng(10, 10, red, red, red, black), folder, 'b.png', false)]
  expect(one).toMatchObject({ status: 'compared', difference: 0.03 })
  const marked = (one as { difference_png: Uint8Array }).difference_png
  expect(measurePixels(marked)).toMatchObject({ width: 10, height: 10 })
})

test('another size differs altogether', () => {
  compareWithStored(encodePng(10, 10, black), folder, 'c.png', true)
  expect(compareWithStored(encodePng(10, 11, black), folder, 'c.png', false)).toMatchObject({
    difference: 1,
    stored: { width: 10, height: 10 },
    seen: { width: 10, height: 11 },
  })
})

test('a stored file that is no PNG is an error with a hint, and nothing outside of the folder is touched', () => {
  writeFileSync(join(folder, 'd.png'), 'text')
  const compare = (file: string, update = false) => compareWithStored(encodePng(1, 1, black), folder, file, update)
  expect(() => compare('d.png')).toThrow(SnapshotError)
  expect(() => compare('d.png')).toThrow(/d\.png cannot be read as PNG: .*--update-snapshots/)
  expect(() => compare('../e.png', true)).toThrow('../e.png is outside the folder of its suite.')
})
