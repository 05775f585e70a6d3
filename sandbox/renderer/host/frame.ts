/**
 * The one iframe of a placement, with the port to its document.
 *
 * `load` fires even when a policy has blocked the document, so only messages with the nonce count: `ready` within 3 s
 * of loading, `rendered` within 5 s of mounting. After a second load the document is no longer ours.
 */
import type { Placement } from '../../../src/contract/resources/placements.ts'
import { createFloodCheck, type FrameMessage, type HostMessage, type Init, readFrameMessage } from '../messages.ts'
import { newId, setStyles, whenActivated } from './dom.ts'
import type { ErrorCode } from './events.ts'

type Timer = ReturnType<typeof setTimeout>

const ready_timeout_ms = 3_000
const rendered_timeout_ms = 5_000

/** Opens a frame that loads when it is put into the document, or when a prerendered page is shown. */
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
  let renderedTimer: Timer | undefined
  let isClosed = false
  const timeOut = (): void => onFailure('render_timeout')

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
  const onLoad = (): void => {
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
  whenActivated(() => {
    if (isClosed) return
    renderedTimer = setTimeout(timeOut, rendered_timeout_ms)
    element.onload = onLoad
    element.src = render.frame_url
  })

  return {
    element,
    post: (message: HostMessage): void => port?.postMessage(message),
    resize: (height: number): void => setStyles(element, { height: `${height}px`, 'aspect-ratio': 'auto' }),
    close: () => {
      isClosed = true
      clearTimeout(readyTimer)
      clearTimeout(renderedTimer)
      element.onload = null
      port?.postMessage({ t: 'teardown' } satisfies HostMessage)
      port?.close()
    },
  }
}

function drawFrame({ sponsor_name, width, height }: Placement['render']): HTMLIFrameElement {
  const element = Object.assign(document.createElement('iframe'), {
    title: `Sponsored: ${sponsor_name}`,
    sandbox: 'allow-scripts allow-popups allow-popups-to-escape-sandbox',
    referrerPolicy: 'no-referrer',
    allow: 'autoplay',
    loading: 'eager',
    width,
    height,
  })
  setStyles(element, {
    all: 'initial',
    display: 'block',
    width: `${width}px`,
    'max-width': '100%',
    'aspect-ratio': `${width} / ${height}`,
    visibility: 'inherit',
    'color-scheme': 'light dark',
  })
  return element
}
