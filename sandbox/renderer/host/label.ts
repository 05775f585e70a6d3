/** The ad label: drawn on the host page, outside the frame, and restored when something removes or changes it. */
import { setStyles } from './renderer.ts'

/** A page that keeps removing the label loses the ad. */
const max_restored = 10

/** Draws the label into `wrapper` and keeps it there. Returns a function that stops watching. */
export function keepLabel(wrapper: HTMLElement, text: string, sponsor_name: string, onDefeat: () => void): () => void {
  let label = wrapper.insertBefore(draw(text, sponsor_name), wrapper.firstChild)
  const drawn = label.outerHTML
  let restored = 0
  const observer = new MutationObserver(() => {
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (wrapper.firstChild === label && label.outerHTML === drawn) return
    restored += 1
    if (restored > max_restored) return onDefeat()
    label.remove()
    label = wrapper.insertBefore(draw(text, sponsor_name), wrapper.firstChild)
  })
  observer.observe(wrapper, { childList: true, subtree: true, characterData: true, attributes: true })
  return () => observer.disconnect()
}

function draw(text: string, sponsor_name: string): HTMLElement {
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
    font: '12px/18px system-ui, sans-serif',
    'box-sizing': 'border-box',
    'overflow-wrap': 'anywhere',
  })
  // In browsers with light-dark(), the label follows the page's color-scheme.
  setStyles(label, {
    'color-scheme': 'inherit',
    background: 'light-dark(#f1f1f4, #2f2f35)',
    color: 'light-dark(#3f3f46, #e4e4e7)',
  })
  return label
}
