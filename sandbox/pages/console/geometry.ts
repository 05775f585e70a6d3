/** Where things are in the viewport of the console's document, CSS pixels. */

export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

/** Returns the part of an element that its scrolling ancestors and the viewport leave, or null when that is nothing. */
export function findVisibleBox(element: Element): Box | null {
  let box: Box | null = readBox(element)
  let style = getComputedStyle(element)
  if (style.display === 'none' || style.visibility !== 'visible') return null
  for (let at = flatParent(element); at && box; at = flatParent(at)) {
    // A fixed element is clipped by none of its ancestors.
    if (style.position === 'fixed') break
    style = getComputedStyle(at)
    const isRoot = at === at.ownerDocument.documentElement || at === at.ownerDocument.body
    if (!isRoot && style.overflow !== 'visible') box = intersect(box, readBox(at))
  }
  const view = element.ownerDocument.defaultView
  if (!box || !view) return null
  const inside = intersect(box, { left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight })
  return inside && view !== window ? placeInFrame(inside, view) : inside
}

/**
 * Returns the element that leaves less than `share` of an element in the viewport, 0 to 1; null where none is known to. A list
 * that only has to be scrolled is none.
 */
export function findCutter(element: Element, share: number): Element | null {
  const whole = readBox(element)
  const isCutBy = (box: Box) => sharedArea(whole, box) < share * sharedArea(whole, whole)
  const view = element.ownerDocument.defaultView
  if (!view || isCutBy({ left: 0, top: 0, right: view.innerWidth, bottom: view.innerHeight })) return null
  let { position } = getComputedStyle(element)
  for (let at = flatParent(element); at && at !== at.ownerDocument.body; at = flatParent(at)) {
    if (position === 'fixed') return null
    const style = getComputedStyle(at)
    // An element that is not positioned cuts off none that is absolute.
    if (position === 'absolute' && style.position === 'static') continue
    position = style.position
    const box = readBox(at)
    const { left, top } = whole
    const isScrolled = /auto|scroll/.test(style.overflow)
    const room = { left, top, right: left + box.right - box.left, bottom: top + box.bottom - box.top }
    if (style.overflow !== 'visible' && isCutBy(isScrolled ? room : box)) return at
  }
  return null
}

/** Returns the area that two boxes share, square pixels. */
export function sharedArea(one: Box, other: Box): number {
  const shared = intersect(one, other)
  return shared === null ? 0 : (shared.right - shared.left) * (shared.bottom - shared.top)
}

export function readBox(element: Element): Box {
  const { left, top, right, bottom } = element.getBoundingClientRect()
  return { left, top, right, bottom }
}

/** Returns null when the boxes share no point. A box without a height, such as that of an empty slot, is shared too. */
function intersect(one: Box, other: Box): Box | null {
  const left = Math.max(one.left, other.left)
  const top = Math.max(one.top, other.top)
  const right = Math.min(one.right, other.right)
  const bottom = Math.min(one.bottom, other.bottom)
  return right >= left && bottom >= top ? { left, top, right, bottom } : null
}

/** The box of another document of this origin, as the document around it sees it. */
function placeInFrame(box: Box, view: Window): Box | null {
  const frame = view.frameElement
  if (frame === null) return null
  const { left, top } = frame.getBoundingClientRect()
  return {
    left: box.left + left,
    top: box.top + top,
    right: box.right + left,
    bottom: box.bottom + top,
  }
}

function flatParent(element: Element): Element | null {
  const root = element.getRootNode()
  return element.assignedSlot ?? element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
}
