/** What one document shows, measured in it: its texts and its pictures. Judged elsewhere. */

/** A colour: red, green, blue, 0 to 255. */
export type Rgb = readonly [number, number, number]

export interface MeasuredText {
  /** The class or role of its element: `title`, `cta`, `label`. */
  part: string
  text: string
  size_px: number
  is_bold: boolean
  /** Whether it is shown at all. */
  is_shown: boolean
  /** Whether a part of it lies outside of what can be seen. */
  is_cut: boolean
  color: Rgb
  /** The plain colour behind it; null where a picture, a gradient or an effect is there. */
  background: Rgb | null
}

export interface MeasuredPicture {
  part: string
  /** Own size of the file, pixels; 0 before it has loaded. */
  natural: { width: number; height: number }
  /** The size of its box, CSS pixels. */
  box: { width: number; height: number }
  /** The value of object-fit. */
  fit: string
  /** Whether a screen reader gets a text for it, or a text beside it in the same link. */
  is_named: boolean
}

export interface Measured {
  texts: MeasuredText[]
  pictures: MeasuredPicture[]
  /** Parts that move although the reader asked for none: clips that play, endless animations. */
  moving: string[]
}

/** Measures the texts in `within`. Runs in the page, as the text of this function: it uses nothing outside of it. */
export function measureTexts(within: string, around: ParentNode = document): MeasuredText[] {
  const root = around.querySelector(within) ?? document.body
  const canvas = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
  const brush = canvas.getContext('2d', { willReadFrequently: true })!
  const rounding_px = 1.5
  const partName = (element: Element): string =>
    element.closest('[data-sp-label]') ? 'label' : element.classList[0] || (element.parentElement?.classList[0] ?? '')
  const readColor = (css: string): [number, number, number, number] => {
    brush.clearRect(0, 0, 1, 1)
    brush.fillStyle = css
    brush.fillRect(0, 0, 1, 1)
    const [red, green, blue, alpha] = brush.getImageData(0, 0, 1, 1).data
    return [red!, green!, blue!, alpha! / 255]
  }
  const over = (top: readonly number[], below: readonly number[]): [number, number, number] => {
    const mix = (at: number) => Math.round(top[at]! * top[3]! + below[at]! * (1 - top[3]!))
    return [mix(0), mix(1), mix(2)]
  }
  const media = [...root.querySelectorAll('img,video,canvas')].map((each) => each.getBoundingClientRect())
  const crosses = (a: DOMRect, b: DOMRect) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1
  /** Returns the plain colour behind an element, or null. */
  function findBackground(element: Element, box: DOMRect): [number, number, number] | null {
    if (media.some((each) => crosses(each, box))) return null
    const layers: number[][] = []
    for (let at: Element | null = element; at; at = at.parentElement) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(at)
      if ([backgroundImage, opacity, filter, mixBlendMode].join() !== 'none,1,none,normal') return null
      layers.push(readColor(backgroundColor))
      if (layers.at(-1)![3]! < 1) continue
      return layers.reduceRight<[number, number, number]>((below, top) => over(top, below), [0, 0, 0])
    }
    return null
  }
  const clips = (value: string) => value === 'hidden' || value === 'clip'
  /** Whether `inner` goes beyond an edge of `outer`, each from start to end. */
  const exceeds = (inner: readonly number[], outer: readonly number[]) =>
    inner[0]! < outer[0]! - rounding_px || inner[1]! > outer[1]! + rounding_px
  function isCut(element: Element, { left, right, top, bottom }: DOMRect): boolean {
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element
    for (let at: Element | null = element; at && at !== root.parentElement; at = at.parentElement) {
      const { overflowX, overflowY } = getComputedStyle(at)
      const edge = at.getBoundingClientRect()
      const isOwn = at === element && clientWidth > 0
      const isWide = isOwn
        ? exceeds([0, scrollWidth], [0, clientWidth])
        : exceeds([left, right], [edge.left, edge.right])
      const isHigh = isOwn
        ? exceeds([0, scrollHeight], [0, clientHeight])
        : exceeds([top, bottom], [edge.top, edge.bottom])
      if ((clips(overflowX) && isWide) || (clips(overflowY) && isHigh)) return true
    }
    // The stage may be higher than its window.
    return exceeds([left, right], [0, innerWidth]) || (window !== parent && bottom > innerHeight + rounding_px)
  }
  const texts = [root, ...root.querySelectorAll('*')].filter(
    (each) =>
      !each.closest('script,style,noscript,[hidden],.preview') &&
      [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue!.trim() !== ''),
  )
  return texts.map((element) => {
    const style = getComputedStyle(element)
    const range = document.createRange()
    range.selectNodeContents(element)
    const box = range.getBoundingClientRect()
    const is_shown = box.width > 0 && box.height > 0 && style.visibility === 'visible'
    const background = is_shown ? findBackground(element, box) : null
    const color = readColor(style.color)
    return {
      ...{ part: partName(element), text: element.textContent!.trim(), is_shown, background },
      size_px: Number.parseFloat(style.fontSize),
      is_bold: Number(style.fontWeight) >= 700,
      is_cut: is_shown && isCut(element, element.getBoundingClientRect()),
      color: over(color, background ?? color),
    }
  })
}

/** Measures the pictures and clips in `within`, and what moves. Runs in the page, as above. */
export function measurePictures(within: string): Omit<Measured, 'texts'> {
  const root = document.querySelector(within) ?? document.body
  const nameOf = (element: Element | null) =>
    `${element?.getAttribute('aria-label') ?? ''}${element?.getAttribute('alt') ?? ''}`.trim()
  const pictures = [...root.querySelectorAll<HTMLImageElement | HTMLVideoElement>('img,video')].map((each) => {
    const { width, height } = each.getBoundingClientRect()
    const natural =
      each instanceof HTMLImageElement ? [each.naturalWidth, each.naturalHeight] : [each.videoWidth, each.videoHeight]
    const around = each.closest('a,.surface')
    return {
      part: each.classList[0] ?? each.localName,
      natural: { width: natural[0]!, height: natural[1]! },
      box: { width, height },
      fit: getComputedStyle(each).objectFit,
      is_named: nameOf(each) !== '' || nameOf(around) !== '' || (around?.textContent ?? '').trim() !== '',
    }
  })
  const playing = [...root.querySelectorAll('video')].filter((each) => !each.paused && !each.ended)
  const endless = document
    .getAnimations()
    .filter((each) => each.effect?.getComputedTiming().endTime === Number.POSITIVE_INFINITY)
  return { pictures, moving: [...playing.map(() => 'video'), ...endless.map(() => 'animation')] }
}
