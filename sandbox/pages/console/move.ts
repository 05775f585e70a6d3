/** Where the panel stands: dragged by its head, or moved with the keyboard. On a phone it is a sheet whose height changes. */
import { findEntry } from '#foundation/table-entry.ts'
import { type Box, sharedArea } from './geometry.ts'

const marginPx = 12
const stepPx = 16
const largeStepPx = 64
const minSheetPx = 120

/** Narrower pages have a sheet at their lower edge. The style sheet has the same limit. */
const narrow = matchMedia('(max-width: 560px)')

export interface Mover {
  /**
   * Moves the panel into the corner where it covers the least of these boxes, and then of what can be clicked, unless it was
   * moved before. `isChip`: it is to stay collapsed, and only its head needs a place.
   */
  settle(boxes: readonly Box[], findClickable: FindClickable, isChip: boolean): void
  /** Returns the place of the panel as it is when it is not collapsed. */
  findOpenBox(): Box
  /** Returns whether a key has moved it. */
  moveByKey(event: KeyboardEvent): boolean
  close(): void
}

/** A corner of the viewport, as the share of the free room to the left and above. */
type Corner = readonly [across: 0 | 1, down: 0 | 1]

/** Moves `panel` by its `[data-handle]`. `isCollapsed` says whether its head is all that is shown. */
export function openMover(panel: HTMLElement, isCollapsed: () => boolean): Mover {
  let corner: Corner | null = [1, 1]
  let open = { width: 0, height: 0 }
  const over = new AbortController()
  const { signal } = over

  function moveTo({ left, top }: { left: number; top: number }): void {
    const { offsetWidth, offsetHeight } = panel
    panel.style.setProperty('--x', `${clamp(left, innerWidth - offsetWidth)}px`)
    panel.style.setProperty('--y', `${clamp(top, innerHeight - offsetHeight)}px`)
  }
  function resizeTo(height: number): void {
    const limited = Math.min(Math.max(height, minSheetPx), innerHeight * 0.85)
    panel.style.setProperty('--sheet', `${limited}px`)
  }
  /** Moves a panel that was at a place, or changes the height of a sheet. */
  function moveBy({ left, top, height }: DOMRect, across: number, down: number): void {
    corner = null
    if (narrow.matches) resizeTo(height - down)
    else moveTo({ left: left + across, top: top + down })
  }
  function settle(boxes: readonly Box[], findClickable: FindClickable, isChip: boolean): void {
    const { offsetWidth: width, offsetHeight: height } = panel
    if (!isCollapsed()) open = { width, height }
    if (corner === null || narrow.matches) return
    const placed = corners.map((at) => {
      const box = placeIn(at, isChip ? { width, height } : open)
      return { at, box, covered: boxes.reduce((sum, each) => sum + sharedArea(box, each), 0) }
    })
    const least = Math.min(...placed.map(({ covered }) => covered))
    const best = placed.filter(({ covered }) => covered === least)
    // Looking at the page takes time: mostly the first place is free.
    const free = best.find(({ box }) => findClickable(box) === 0)
    corner = (free ?? best.sort((one, other) => findClickable(one.box) - findClickable(other.box))[0]!).at
    moveTo(placeIn(corner, { width, height }))
  }
  function findOpenBox(): Box {
    const { left, top, right, bottom } = panel.getBoundingClientRect()
    if (narrow.matches) return { left: 0, top: innerHeight - open.height, right: innerWidth, bottom: innerHeight }
    return corner === null ? { left, top, right, bottom } : placeIn(corner, open)
  }
  function moveByKey({ key, shiftKey }: KeyboardEvent): boolean {
    const direction = findEntry(directions, key)
    if (direction === undefined) return false
    const step = shiftKey ? largeStepPx : stepPx
    moveBy(panel.getBoundingClientRect(), direction[0] * step, direction[1] * step)
    return true
  }
  function drag(start: PointerEvent): void {
    const at = start.target
    const handle = at instanceof Element && !at.closest('button, a') ? at.closest('[data-handle]') : null
    if (handle === null || start.button !== 0) return
    const box = panel.getBoundingClientRect()
    handle.setPointerCapture(start.pointerId)
    followPointer(panel, ({ clientX, clientY }) => moveBy(box, clientX - start.clientX, clientY - start.clientY))
  }
  panel.addEventListener('pointerdown', drag, { signal })
  const keepInside = (): void => {
    if (!narrow.matches) moveTo(panel.getBoundingClientRect())
  }
  addEventListener('resize', keepInside, { signal })
  return { settle, findOpenBox, moveByKey, close: () => over.abort() }
}

/** Calls `onMove` until the pointer is up. */
function followPointer(panel: HTMLElement, onMove: (event: PointerEvent) => void): void {
  const ending = new AbortController()
  panel.addEventListener('pointermove', onMove, ending)
  for (const type of ['pointerup', 'pointercancel'] as const) {
    panel.addEventListener(type, () => ending.abort(), ending)
  }
}

/** The first is the best where several are as good. */
const corners: readonly Corner[] = [
  [1, 1],
  [1, 0],
  [0, 1],
  [0, 0],
]

const directions: Readonly<Record<string, readonly [across: number, down: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

function placeIn([across, down]: Corner, { width, height }: { width: number; height: number }): Box {
  const left = marginPx + across * (innerWidth - width - 2 * marginPx)
  const top = marginPx + down * (innerHeight - height - 2 * marginPx)
  return { left, top, right: left + width, bottom: top + height }
}

function clamp(value: number, max: number): number {
  return Math.round(Math.max(0, Math.min(value, max)))
}

/* What of the page lies below a box and can be clicked */

/** Between two points that are looked at, CSS pixels: about the height of a small button. */
const lookStepPx = 24
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
    const area = countPoints(box, host) * lookStepPx * lookStepPx
    if (known.size > 20) known.clear()
    known.set(key, { at_ms: now_ms, area })
    return area
  }
}

function countPoints({ left, top, right, bottom }: Box, host: Element): number {
  let count = 0
  for (let x = left + lookStepPx / 2; x < right; x += lookStepPx) {
    for (let y = top + lookStepPx / 2; y < bottom; y += lookStepPx) {
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
