/** Which part of an ad the screen shows, which need not be all that the viewport holds (A104). */
import type { Viewport } from '../renderer.ts'

export interface Part {
  left: number
  top: number
  right: number
  bottom: number
}

/** Windows may be a little larger than the screen, by their frames. */
const tolerance = 1.1

/**
 * Returns the part of the frame that shows, in CSS pixels of its viewport, and its share. Null where it cannot be known: a viewport
 * larger than the screen, as that of a WebView as tall as its page, of which the host has said nothing.
 * @param last the last entry of the frame's observer: what of it is in the viewport and not clipped
 */
export function findShownPart(
  frame: Element,
  { intersectionRect: part, boundingClientRect: whole, intersectionRatio }: IntersectionObserverEntry,
  host: Viewport | null,
): { part: Part; ratio: number } | null {
  const page = frame.ownerDocument.defaultView!
  const { x, y } = frame.getBoundingClientRect()
  const left = x + part.x - whole.x
  const top = y + part.y - whole.y
  let shown = { left, top, right: left + part.width, bottom: top + part.height }
  if (host) shown = intersect(shown, host.left - page.scrollX, host.top - page.scrollY, host)
  else if (isLargerThanScreen(page)) return null
  const { visualViewport: visual } = page
  if (visual) shown = intersect(shown, visual.offsetLeft - 1, visual.offsetTop - 1, growByTwo(visual))
  const area = Math.max(0, shown.right - shown.left) * Math.max(0, shown.bottom - shown.top)
  // Of the observer's own ratio, which is exact. An ad that is seen from its edge has no area at all.
  return { part: shown, ratio: Math.min(1, (intersectionRatio * area) / (part.width * part.height || 1)) }
}

function intersect(part: Part, left: number, top: number, { width, height }: { width: number; height: number }): Part {
  return {
    left: Math.max(part.left, left),
    top: Math.max(part.top, top),
    right: Math.min(part.right, left + width),
    bottom: Math.min(part.bottom, top + height),
  }
}

/** Half pixels of scrollbars and zoom cost nobody a view. */
function growByTwo({ width, height }: { width: number; height: number }) {
  return { width: width + 2, height: height + 2 }
}

function isLargerThanScreen(page: Window): boolean {
  let around = page
  try {
    if (page.top!.document) around = page.top!
  } catch {
    // What is around a frame of another origin is not known here; it has clipped the frame already.
    return false
  }
  const { visualViewport: visual, outerWidth, innerWidth, innerHeight, screen, navigator } = around
  // A page that is zoomed out has more CSS pixels than the screen.
  const zoom = Math.min(1, outerWidth / innerWidth || 1)
  const width = (visual ? visual.width * visual.scale : innerWidth) * zoom
  const height = (visual ? visual.height * visual.scale : innerHeight) * zoom
  return !fits(width, height, screen) && !(navigator.maxTouchPoints > 0 && fits(height, width, screen))
}

function fits(width: number, height: number, screen: Screen): boolean {
  return width <= screen.width * tolerance && height <= screen.height * tolerance
}
