/**
 * The one iframe of a placement, and the port to it.
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
  const element = draw(render)
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

function draw({ frame_url, sponsor_name, width, height }: Placement['render']): HTMLIFrameElement {
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
