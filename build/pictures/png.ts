/**
 * A screenshot as a smaller PNG. Browsers compress for speed, and anti-aliasing makes colours that nobody can tell apart:
 * six bits a channel and the best compression make half of it.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'

/** Writes docs/images/<name>.png. */
export async function keep(name: string, page: Page, screenshot: Buffer): Promise<void> {
  // A page of its own: that which was photographed may forbid what decoding needs.
  const blank = await page.context().browser()!.newPage()
  writeFileSync(join(import.meta.dirname, `../../docs/images/${name}.png`), await smallPng(blank, screenshot))
  await blank.close()
  process.stdout.write(`docs/images/${name}.png\n`)
}

async function smallPng(page: Page, screenshot: Buffer): Promise<Buffer> {
  const { width, height, base64 } = await page.evaluate(decode, screenshot.toString('base64'))
  const pixels = Buffer.from(base64, 'base64')
  const rows = Buffer.alloc(height * (1 + width * 3))
  let at = 0
  for (let y = 0; y < height; y += 1) {
    // Each row begins with its filter: none, which suits flat areas and text best.
    rows[at++] = 0
    for (let i = y * width * 4; i < (y + 1) * width * 4; i += 4) {
      for (const channel of [0, 1, 2]) rows[at++] = coarse(pixels[i + channel]!)
    }
  }
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Runs in the page: the RGBA pixels of a PNG. */
async function decode(png: string): Promise<{ width: number; height: number; base64: string }> {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob())
  const { width, height } = image
  const context = new OffscreenCanvas(width, height).getContext('2d')!
  context.drawImage(image, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  let text = ''
  for (let i = 0; i < data.length; i += 32_768) text += String.fromCharCode(...data.subarray(i, i + 32_768))
  return { width, height, base64: btoa(text) }
}

/** The six upper bits, repeated below, so that white stays white. */
function coarse(value: number): number {
  return (value & 0xfc) | (value >> 6)
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
