/**
 * The one iframe of a placement, with the port to its document.
 *
 * `load` fires even when a policy has blocked the document, so only messages with the nonce count: `ready` within 3 s
 * of loading and 5 s of mounting; then the creative may take 15 s, on a slow link. After a second load the document is no longer
 * ours.
 */
import type { Placement } from '#contract/resources/placements.ts'
import { createFloodCheck, type FrameMessage, type HostMessage, type Init, readFrameMessage } from '../../messages.ts'
import { setStyles } from '../dom.ts'
import type { ErrorCode } from '../events.ts'
import type { Renderer } from '../renderer.ts'

type Timer = ReturnType<typeof setTimeout>

const readyTimeoutMs = 3_000
const mountedTimeoutMs = 5_000
const creativeTimeoutMs = 15_000

interface FrameListeners {
  onMessage: (message: FrameMessage) => void
  onFailure: (code: ErrorCode, details?: { message: string }) => void
}

/** Opens a frame that loads when it is put into the document, or when a prerendered page is shown. */
export function openFrame(
  { newId, whenActivated }: Renderer,
  render: Placement['render'],
  instance_id: string,
  { onMessage, onFailure }: FrameListeners,
) {
  const element = drawFrame(render)
  const nonce = newId('')
  const isFlood = createFloodCheck()
  let port: MessagePort | undefined
  let readyTimer: Timer | undefined
  let renderedTimer: Timer | undefined
  let isLoaded = false
  let isReady = false
  let isClosed = false
  const timeOut = (): void => onFailure('render_timeout', { message: 'the frame has not started' })

  const receive = ({ data }: MessageEvent): void => {
    if (isFlood(performance.now())) {
      onFailure('message_flood')
      return
    }
    const message = readFrameMessage(data, nonce)
    if (!message) return
    if (message.t === 'ready') {
      isReady = true
      clearTimeout(readyTimer)
      clearTimeout(renderedTimer)
      const onSlow = (): void => onFailure('render_timeout', { message: 'the creative has not loaded' })
      renderedTimer = setTimeout(onSlow, creativeTimeoutMs)
    }
    if (message.t === 'rendered') clearTimeout(renderedTimer)
    onMessage(message)
  }
  const initialise = (): void => {
    if (port) return
    const channel = new MessageChannel()
    port = channel.port1
    port.onmessage = receive
    const scheme = getComputedStyle(element).colorScheme
    const init: Init = { t: 'sp:init', v: 1, nonce, instance_id, scheme }
    element.contentWindow?.postMessage(init, '*', [channel.port2])
  }
  // Its script runs before its media have loaded, which `load` waits for.
  const onHello = ({ source, data }: MessageEvent): void => {
    if (source && source === element.contentWindow && data?.t === 'sp:hello') initialise()
  }
  const onLoad = (): void => {
    if (isLoaded) {
      onFailure('frame_reloaded')
      return
    }
    isLoaded = true
    initialise()
    if (!isReady) readyTimer = setTimeout(timeOut, readyTimeoutMs)
  }
  whenActivated(() => {
    if (isClosed) return
    renderedTimer = setTimeout(timeOut, mountedTimeoutMs)
    element.onload = onLoad
    addEventListener('message', onHello)
    element.src = render.frame_url
  })

  return {
    element,
    post: (message: HostMessage): void => port?.postMessage(message),
    resize: (height: number): void => setStyles(element, { height: `${height}px` }),
    close: () => {
      isClosed = true
      clearTimeout(readyTimer)
      clearTimeout(renderedTimer)
      element.onload = null
      removeEventListener('message', onHello)
      port?.postMessage({ t: 'teardown' } satisfies HostMessage)
      port?.close()
    },
  }
}

function drawFrame({ sponsor_name, width, height, media_type }: Placement['render']): HTMLIFrameElement {
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
    // A card that is narrower than declared is not lower: its frame asks for the height that it takes then.
    ...(media_type === 'native' ? { height: `${height}px` } : { 'aspect-ratio': `${width} / ${height}` }),
    visibility: 'inherit',
    'color-scheme': 'light dark',
  })
  return element
}
