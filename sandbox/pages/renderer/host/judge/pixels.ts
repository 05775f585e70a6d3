/** The alpha of what pictures, canvases and clips show, where the page may read it. */
import type { BoxPoint } from './gradient.ts'
import { all, exactly, none, type Range, unknown } from './range.ts'

/** Pixels of a picture in each direction: each is the mean of a part of it. */
const size = 16

type Picture = HTMLImageElement | HTMLCanvasElement

/** Alphas of the current check by picture: reading pixels takes long. */
const cached = new WeakMap<Picture, { at_ms: number; alphas: Uint8ClampedArray | null }>()
const maxAgeMs = 300

export function alphaOfContent(element: Element, { x, y, width, height }: BoxPoint): Range {
  switch (element.localName) {
    case 'img': {
      const image = element as HTMLImageElement
      return image.complete && image.naturalWidth ? alphaOfPixel(image, x / width, y / height) : none
    }
    case 'canvas': {
      const canvas = element as HTMLCanvasElement
      return canvas.width && canvas.height ? alphaOfPixel(canvas, x / width, y / height) : none
    }
    case 'video': {
      const { readyState, poster } = element as HTMLVideoElement
      return poster || readyState >= HTMLMediaElement.HAVE_CURRENT_DATA ? all : none
    }
    case 'embed':
    case 'object':
    case 'image':
    case 'foreignObject':
      return unknown
    default:
      return none
  }
}

function alphaOfPixel(picture: Picture, right: number, down: number): Range {
  const alphas = readAlphas(picture)
  const index = (share: number): number => Math.max(0, Math.min(size - 1, Math.floor(share * size)))
  return alphas ? exactly(alphas[(index(down) * size + index(right)) * 4 + 3]! / 255) : unknown
}

/** Returns the least and the most alpha of a picture that is a background, or null while it is not known. */
export function alphaOfPicture(url: string): Range | null {
  const image = pictures.get(url) ?? loadPicture(url)
  if (image === 'unreadable') return unknown
  if (!image.complete) return null
  const alphas = image.naturalWidth ? readAlphas(image) : null
  if (!alphas) return unknown
  const values = [...alphas].filter((_, index) => index % 4 === 3).map((alpha) => alpha / 255)
  return [Math.min(...values), Math.max(...values)]
}

const pictures = new Map<string, HTMLImageElement | 'unreadable'>()

/** Pictures of the page itself, which it has loaded anyway. Those of others cannot be read. */
function loadPicture(url: string): HTMLImageElement | 'unreadable' {
  const isReadable = /^(data|blob):/.test(url) || new URL(url, location.href).origin === location.origin
  const image = isReadable ? Object.assign(new Image(), { src: url }) : 'unreadable'
  if (pictures.size > 50) pictures.clear()
  pictures.set(url, image)
  return image
}

/** Null where the picture is of another origin. */
function readAlphas(picture: Picture): Uint8ClampedArray | null {
  const now = performance.now()
  const before = cached.get(picture)
  if (before && now - before.at_ms < maxAgeMs) return before.alphas
  let alphas: Uint8ClampedArray | null = null
  try {
    const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size })
    const context = canvas.getContext('2d', { willReadFrequently: true })!
    context.drawImage(picture, 0, 0, size, size)
    alphas = context.getImageData(0, 0, size, size).data
  } catch {
    // Tainted: what it shows is not for this page to read, so it stays unknown.
  }
  cached.set(picture, { at_ms: now, alphas })
  return alphas
}
