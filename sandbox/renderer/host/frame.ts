/**
 * What is drawn for a placement: its one iframe, with the port to it, and the ad label outside of it.
 *
 * `load` fires even when a policy has blocked the document, so only messages with the nonce count: `ready` within 3 s
 * of loading, `rendered` within 5 s of mounting. After a second load the document is no longer ours.
 */
import type { Placement } from '../../../src/contract/v1/placements.ts'
import { createFloodCheck, type FrameMessage, type HostMessage, type Init, readFrameMessage } from '../messages.ts'
import { type ErrorCode, newId, setStyles } from './renderer.ts'

type Timer = ReturnType<typeof setTimeout>

const ready_timeout_ms = 3_000
const rendered_timeout_ms = 5_000

export function openFrame(
  render: Placement['render'],
  instance_id: string,
  onMessage: (message: FrameMessage) => void,
  onFailure: (code: ErrorCode) => void,
) {
  const element = drawFrame(render)
  const nonce = newId('')
  const isFlood = createFloodCheck()
  let port: MessagePort | undefined
  let readyTimer: Timer | undefined
  const timeOut = (): void => onFailure('render_timeout')
  const renderedTimer = setTimeout(timeOut, rendered_timeout_ms)

  const receive = ({ data }: MessageEvent): void => {
    if (isFlood(performance.now())) {
      onFailure('message_flood')
      return
    }
    const message = readFrameMessage(data, nonce)
    if (!message) return
    if (message.t === 'ready') clearTimeout(readyTimer)
    if (message.t === 'rendered') clearTimeout(renderedTimer)
    onMessage(message)
  }
  element.onload = () => {
    if (port) {
      onFailure('frame_reloaded')
      return
    }
    const channel = new MessageChannel()
    port = channel.port1
    port.onmessage = receive
    readyTimer = setTimeout(timeOut, ready_timeout_ms)
    const init: Init = { t: 'sp:init', v: 1, nonce, instance_id }
    element.contentWindow?.postMessage(init, '*', [channel.port2])
  }

  return {
    element,
    post: (message: HostMessage): void => port?.postMessage(message),
    resize: (height: number): void => setStyles(element, { height: `${height}px`, 'aspect-ratio': 'auto' }),
    close: () => {
      clearTimeout(readyTimer)
      clearTimeout(renderedTimer)
      element.onload = null
      port?.postMessage({ t: 'teardown' } satisfies HostMessage)
      port?.close()
    },
  }
}

function drawFrame({ frame_url, sponsor_name, width, height }: Placement['render']): HTMLIFrameElement {
  const element = Object.assign(document.createElement('iframe'), {
    title: `Sponsored: ${sponsor_name}`,
    sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
    referrerPolicy: 'no-referrer',
    allow: 'autoplay',
    loading: 'eager',
    width,
    height,
    src: frame_url,
  })
  setStyles(element, {
    display: 'block',
    width: `${width}px`,
    'max-width': '100%',
    height: 'auto',
    'aspect-ratio': `${width} / ${height}`,
    margin: '0',
    padding: '0',
    border: '0',
    'color-scheme': 'light dark',
  })
  return element
}

/** A page that keeps removing the label loses the ad. */
const max_restored = 10

/** Draws the label into `wrapper` and restores it when something removes or changes it. Returns a function that stops watching. */
export function keepLabel(wrapper: HTMLElement, text: string, sponsor_name: string, onDefeat: () => void): () => void {
  let label = wrapper.insertBefore(drawLabel(text, sponsor_name), wrapper.firstChild)
  const drawn = label.outerHTML
  let restored = 0
  const observer = new MutationObserver(() => {
    for (const name of ['aria-hidden', 'inert']) wrapper.removeAttribute(name)
    if (wrapper.firstChild === label && label.outerHTML === drawn) return
    restored += 1
    if (restored > max_restored) return onDefeat()
    label.remove()
    label = wrapper.insertBefore(drawLabel(text, sponsor_name), wrapper.firstChild)
  })
  observer.observe(wrapper, { childList: true, subtree: true, characterData: true, attributes: true })
  return () => observer.disconnect()
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
