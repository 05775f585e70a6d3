/** What of the page can be clicked below a box: the console opens as a chip rather than over a button. */
import type { Box } from './geometry.ts'

/** Between two points that are looked at, CSS pixels: about the height of a small button. */
const stepPx = 24
/** The same box is looked at again after this time, milliseconds: pages change while they load. */
const maxAgeMs = 1_000
const clickable =
  'a[href], button, input, select, textarea, summary, label, iframe, video, [role=button], [role=link], [onclick], [contenteditable]'

/** Returns how much of a box lies over something that can be clicked, square pixels. */
export type FindClickable = (box: Box) => number

/** Opens a look at the page, which is taken at most once a second for each box. `host` is the console itself. */
export function openClickables(host: Element): FindClickable {
  const known = new Map<string, { at_ms: number; area: number }>()
  return (box) => {
    const key = Object.values(box).map(Math.round).join()
    const now_ms = performance.now()
    const last = known.get(key)
    if (last !== undefined && now_ms - last.at_ms < maxAgeMs) return last.area
    const area = countPoints(box, host) * stepPx * stepPx
    if (known.size > 20) known.clear()
    known.set(key, { at_ms: now_ms, area })
    return area
  }
}

function countPoints({ left, top, right, bottom }: Box, host: Element): number {
  let count = 0
  for (let x = left + stepPx / 2; x < right; x += stepPx) {
    for (let y = top + stepPx / 2; y < bottom; y += stepPx) {
      if (isClickable(findTopmost(x, y, host))) count += 1
    }
  }
  return count
}

/** Returns the topmost element of the page at a point, in open shadow roots too, or null. */
function findTopmost(x: number, y: number, host: Element): Element | null {
  const find = (root: DocumentOrShadowRoot): Element | null =>
    root.elementsFromPoint(x, y).find((element) => element !== host) ?? null
  let element = find(document)
  while (element?.shadowRoot) {
    const inner = find(element.shadowRoot)
    if (inner === null || inner === element) break
    element = inner
  }
  return element
}

/** An ad is none: what covers it is judged by its view. */
function isClickable(element: Element | null): boolean {
  if (element === null) return false
  const root = element.getRootNode()
  const isAd = root instanceof ShadowRoot && root.host.matches('[data-sp-placement]')
  if (isAd) return false
  return element.closest(clickable) !== null || getComputedStyle(element).cursor === 'pointer'
}
