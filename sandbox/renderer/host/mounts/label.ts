/**
 * The ad label above the frame, kept readable. What counts is what a person sees, not the markup: extensions stamp attributes,
 * translation wraps words, a toolbar enlarges text, and the ad stays. A label that is gone, hidden, empty or unreadable is drawn
 * again, and one that does not stay readable costs the page the ad.
 */
import { setStyles } from '../dom.ts'
import { isReadable, type LabelParts } from './readability.ts'

/** A page that removes the label more often within a second loses the ad. */
const maxRestoredPerSecond = 10

export interface Label {
  /** Draws the label again if it cannot be read. Returns whether it can be now. */
  check(): boolean
  close(): void
}

/** Draws the label into the shadow root of the frame, before it, and keeps it there. `onDefeat` is called when that fails. */
export function keepLabel(
  frame: HTMLElement,
  [kind, sponsor_name]: readonly [string, string],
  onDefeat: () => void,
): Label {
  const root = frame.getRootNode() as ShadowRoot
  const wrapper = root.host
  const draw = (): LabelParts => {
    const label = drawLabel(kind, sponsor_name)
    root.insertBefore(label, frame)
    return { label, frame, text: label.textContent! }
  }
  let parts = draw()
  let restored: number[] = []
  const isKept = (): boolean => parts.label.parentNode === root && isReadable(parts)
  const check = (): boolean => {
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (isKept()) return true
    const now = performance.now()
    restored = [...restored.filter((at) => now - at < 1_000), now]
    parts.label.remove()
    parts = draw()
    const isRestored = restored.length <= maxRestoredPerSecond && isKept()
    if (!isRestored) onDefeat()
    return isRestored
  }
  const observer = new MutationObserver(check)
  observer.observe(root, { childList: true, subtree: true, characterData: true, attributes: true })
  observer.observe(wrapper, { attributes: true })
  return { check, close: () => observer.disconnect() }
}

function drawLabel(text: string, sponsor_name: string): HTMLElement {
  const label = document.createElement('div')
  label.dataset.spLabel = ''
  label.dir = 'auto'
  const kind = document.createElement('strong')
  kind.textContent = text
  setStyles(kind, { all: 'unset', 'font-weight': '650' })
  label.append(kind, ` · ${sponsor_name}`)
  setStyles(label, {
    all: 'initial',
    display: 'block',
    width: 'fit-content',
    'max-width': '100%',
    margin: '0 0 6px',
    padding: '1px 8px',
    'border-radius': '6px',
    background: '#f1f1f4',
    color: '#3f3f46',
    // The size of the wrapper, which a person's own tools may enlarge.
    font: 'inherit',
    'box-sizing': 'border-box',
    'overflow-wrap': 'anywhere',
    visibility: 'inherit',
  })
  // In browsers with light-dark(), the label follows the page's color-scheme.
  setStyles(label, {
    'color-scheme': 'inherit',
    background: 'light-dark(#f1f1f4, #2f2f35)',
    color: 'light-dark(#3f3f46, #e4e4e7)',
  })
  return label
}
