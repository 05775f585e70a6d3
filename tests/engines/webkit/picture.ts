/**
 * What a screen without viewers shows, as PNG. WebDriver's own pictures of WebKitGTK show the top of a document, wherever
 * it is scrolled to, and leave out frames of other origins.
 */
import { readFileSync } from 'node:fs'
import { PNG } from 'pngjs'

export interface Area {
  x: number
  y: number
  width: number
  height: number
}

/** The bytes of a header of the X Window Dump format that are used, each a big-endian number of four bytes. */
const header = { size: 0, width: 4, height: 5, byte_order: 7, bits_per_pixel: 11, bytes_per_line: 12, colors: 19 }

/** Returns an area of the screen, whose memory Xvfb keeps in the file in the X Window Dump format. */
export function cropScreen(file: string, area: Area): Buffer {
  const dump = readFileSync(file)
  const number = (index: number) => dump.readUInt32BE(index * 4)
  const start = number(header.size) + number(header.colors) * 12
  const line = number(header.bytes_per_line)
  const [left, top] = [Math.max(0, Math.round(area.x)), Math.max(0, Math.round(area.y))]
  const width = Math.min(Math.round(area.width), number(header.width) - left)
  const height = Math.min(Math.round(area.height), number(header.height) - top)
  if (number(header.bits_per_pixel) !== 32) throw new Error('The screen of WebKit has no 32 bits a pixel.')
  const isLittle = number(header.byte_order) === 0
  const png = new PNG({ width, height })
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = start + (top + y) * line + (left + x) * 4
      const pixel = isLittle ? dump.readUInt32LE(from) : dump.readUInt32BE(from)
      const to = (y * width + x) * 4
      png.data[to] = (pixel >> 16) & 255
      png.data[to + 1] = (pixel >> 8) & 255
      png.data[to + 2] = pixel & 255
      png.data[to + 3] = 255
    }
  }
  return PNG.sync.write(png)
}
