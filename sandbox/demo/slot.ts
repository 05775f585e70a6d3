/**
 * A place for an ad in a product: nothing while it is empty, and it opens and closes smoothly.
 *
 * While the frame loads, only a strip of it shows, because a native frame tells its height once it is laid out. It must
 * not be hidden altogether: browsers do not paint frames that nobody can see, and it would never report that it is.
 */
import type { Turn } from '../renderer/host/turn.ts'
import { el } from './elements.ts'

/** Height of the strip: the label, and a little of the frame. CSS pixels. */
const strip_px = 44

export interface Slot {
  readonly element: HTMLElement
  /** The empty element that the renderer fills. */
  readonly target: HTMLElement
  /** Follows a turn, to open when its ad has rendered. */
  follow(turn: Turn): void
  /** Room for a creative, CSS pixels. */
  readonly width: number
}

export function createSlot(name: string): Slot {
  const target = el('div', { class: 'slot-target' })
  const inner = el('div', { class: 'slot-inner' }, target)
  const element = el('aside', { class: 'slot', 'data-slot': name, 'aria-label': 'Sponsored' }, inner)
  let isOpen = false

  const settle = () => {
    const isEmpty = target.childElementCount === 0
    if (isEmpty) isOpen = false
    element.toggleAttribute('data-filled', !isEmpty)
    element.toggleAttribute('data-loading', !isEmpty && !isOpen)
    const height = isEmpty ? 0 : isOpen ? inner.offsetHeight : Math.min(strip_px, inner.offsetHeight)
    element.style.setProperty('height', `${height}px`)
  }
  new ResizeObserver(settle).observe(inner)
  new MutationObserver(settle).observe(target, { childList: true })

  return {
    element,
    target,
    follow(turn) {
      const off = turn.on('*', ({ type }) => {
        if (type === 'rendered') isOpen = true
        if (type === 'rendered' || type === 'cleared') settle()
        if (type === 'cleared') off()
      })
    },
    get width() {
      return Math.floor(element.parentElement === null ? 0 : element.getBoundingClientRect().width)
    },
  }
}
