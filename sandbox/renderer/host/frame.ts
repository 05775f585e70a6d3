/**
 * The one iframe of a placement, and the port to it.
 *
 * `load` fires even when a policy has blocked the document, so nothing is believed before the frame answers over the
 * port with the nonce: `ready` within 3 s of loading, `rendered` within 5 s of mounting. A second load is not ours.
 */
import type { Placement } from '../../../src/contract/v1/placements.ts'
import type { FrameMessage, HostMessage, Init } from '../messages.ts'
import type { ErrorCode } from './events.ts'
import { newId } from './id.ts'
import { openFloodGate, readFrameMessage } from './inbox.ts'
import { dress } from './style.ts'

type Timer = ReturnType<typeof setTimeout>

const ready_within_ms = 3_000
const rendered_within_ms = 5_000

export interface Frame {
  readonly element: HTMLIFrameElement
  post(message: HostMessage): void
  resize(height: number): void
  close(): void
}

export function openFrame(
  render: Placement['render'],
  instance_id: string,
  heard: (message: FrameMessage) => void,
  failed: (code: ErrorCode) => void,
): Frame {
  const element = draw(render)
  const nonce = newId('')
  const isFlood = openFloodGate()
  let port: MessagePort | undefined
  let readyTimer: Timer | undefined
  const timeOut = (): void => failed('render_timeout')
  const renderedTimer = setTimeout(timeOut, rendered_within_ms)

  const onMessage = ({ data }: MessageEvent): void => {
    if (isFlood(performance.now())) {
      failed('message_flood')
      return
    }
    const message = readFrameMessage(data, nonce)
    if (!message) return
    if (message.t === 'ready') clearTimeout(readyTimer)
    if (message.t === 'rendered') clearTimeout(renderedTimer)
    heard(message)
  }
  element.onload = () => {
    if (port) {
      failed('frame_reloaded')
      return
    }
    const channel = new MessageChannel()
    port = channel.port1
    port.onmessage = onMessage
    readyTimer = setTimeout(timeOut, ready_within_ms)
    const init: Init = { t: 'sp:init', v: 1, nonce, instance_id }
    element.contentWindow?.postMessage(init, '*', [channel.port2])
  }

  return {
    element,
    post: (message) => port?.postMessage(message),
    resize: (height) => dress(element, { height: `${height}px`, 'aspect-ratio': 'auto' }),
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
  const element = document.createElement('iframe')
  const attributes = {
    title: `Sponsored: ${sponsor_name}`,
    sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
    referrerpolicy: 'no-referrer',
    allow: 'autoplay',
    loading: 'eager',
    width,
    height,
    src: frame_url,
  }
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, `${value}`)
  dress(element, {
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
