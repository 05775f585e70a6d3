/** The visible ad label: the pixels of its box, not what the page states about it. */
import type { Page } from 'playwright-core'

export interface LabelSight {
  text: string
  /** Contrast of the text to what is behind it, as painted; 1 when there is nothing to see. */
  contrast: number
  width: number
  height: number
}

/** Looks at the first label within an element; null when it has no box on the screen, or is under something. */
export async function readLabel(page: Page, within = 'body'): Promise<LabelSight | null> {
  const box = await page.evaluate((within) => {
    const around = document.querySelector(within)
    const label = around && window.findAll('[data-sp-label]', around)[0]
    if (!label) return null
    label.scrollIntoView({ block: 'nearest' })
    const { x, y, width, height } = label.getBoundingClientRect()
    const root = label.getRootNode() as ShadowRoot
    const [point_x, point_y] = [x + width / 2, y + height / 2]
    const isOnTop =
      document.elementFromPoint(point_x, point_y) === root.host &&
      label.contains(root.elementFromPoint(point_x, point_y))
    return isOnTop ? { text: label.innerText, x, y, width, height } : null
  }, within)
  if (!box || box.width < 1 || box.height < 1) return null
  const { text, ...clip } = box
  const picture = await page.screenshot({ clip, caret: 'initial' })
  return { text, contrast: await measureContrast(page, picture), width: clip.width, height: clip.height }
}

/** The commonest colour is the ground; the one that differs most from it is the text's. */
function measureContrast(page: Page, picture: Buffer): Promise<number> {
  return page.evaluate(async (base64) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${base64}`)).blob())
    const canvas = new OffscreenCanvas(image.width, image.height)
    const context = canvas.getContext('2d')!
    context.drawImage(image, 0, 0)
    // The outermost pixels are the corners' and the page's.
    const { data } = context.getImageData(8, 1, Math.max(1, image.width - 16), Math.max(1, image.height - 2))
    const counts = new Map<number, number>()
    for (let at = 0; at < data.length; at += 4) {
      const color = (data[at]! << 16) | (data[at + 1]! << 8) | data[at + 2]!
      counts.set(color, (counts.get(color) ?? 0) + 1)
    }
    const luminance = (color: number): number => {
      const [red, green, blue] = [color >> 16, (color >> 8) & 255, color & 255].map((value) => {
        const part = value / 255
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
    }
    const [ground] = [...counts].sort(([, a], [, b]) => b - a)[0]!
    const behind = luminance(ground)
    const ratios = [...counts.keys()].map(luminance).map((other) => {
      return (Math.max(other, behind) + 0.05) / (Math.min(other, behind) + 0.05)
    })
    return Math.max(...ratios)
  }, picture.toString('base64'))
}
