/** The ad label: drawn by the host page, outside the frame, and put back when something removes or changes it. */
import { dress } from './style.ts'

/** A page that fights its label loses the ad, not the label. */
const most_restored = 10

export interface Label {
  close(): void
}

export function openLabel(wrapper: HTMLElement, text: string, sponsor_name: string, defeated: () => void): Label {
  let label = wrapper.insertBefore(draw(text, sponsor_name), wrapper.firstChild)
  const drawn = label.outerHTML
  let restored = 0
  const observer = new MutationObserver(() => {
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (wrapper.firstChild === label && label.outerHTML === drawn) return
    restored += 1
    if (restored > most_restored) return defeated()
    label.remove()
    label = wrapper.insertBefore(draw(text, sponsor_name), wrapper.firstChild)
  })
  observer.observe(wrapper, { childList: true, subtree: true, characterData: true, attributes: true })
  return { close: () => observer.disconnect() }
}

function draw(text: string, sponsor_name: string): HTMLElement {
  const label = document.createElement('div')
  label.dataset.spLabel = ''
  label.dir = 'auto'
  const kind = document.createElement('strong')
  kind.textContent = text
  dress(kind, { all: 'unset', 'font-weight': '650' })
  label.append(kind, ` · ${sponsor_name}`)
  dress(label, {
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
  // Where the browser knows light-dark() and the page says that it is dark, so is the label.
  dress(label, {
    'color-scheme': 'inherit',
    background: 'light-dark(#f1f1f4, #2f2f35)',
    color: 'light-dark(#3f3f46, #e4e4e7)',
  })
  return label
}
