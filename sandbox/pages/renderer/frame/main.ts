/** frame.js: runs inside the hosted frame, shows one creative and reports it to the host page over a port. */
import { nativeHeight } from '#contract/facts/native-size.ts'
import type { NativeTemplateId } from '#contract/fields.ts'
import type { FrameMessage, FrameSettings, Hello, HostMessage } from '../messages.ts'
import { openClip } from './clip.ts'

const find = <T extends Element>(selector: string): T | null => document.querySelector<T>(selector)

function start(settings: FrameSettings): void {
  /** Messages from before the port arrives: a click on a creative that is still loading. */
  const early: FrameMessage[] = []
  let post = (message: FrameMessage): void => {
    early.push(message)
  }
  const send = (message: FrameMessage): void => post(message)

  const creative = find<HTMLElement>('.creative')!
  const link = find<HTMLAnchorElement>('a.surface')
  if (link) onFirstClick(link, (user_activated) => send({ t: 'click', user_activated }))
  const icon = find<HTMLImageElement>('.icon')
  if (icon?.complete && icon.naturalWidth === 0) icon.remove()
  icon?.addEventListener('error', () => icon.remove())
  const video = find<HTMLVideoElement>('.video')
  const onClipMessage = video ? openClip(video, send, settings.view_needs[0]) : (_: HostMessage): void => {}

  if (parent === window) {
    document.documentElement.classList.add('previewing')
    post = () => {}
    creative.setAttribute('role', 'main')
    find<HTMLElement>('.preview')!.hidden = false
    onClipMessage({ t: 'visibility', ratio: 1, page_visible: true })
    return
  }

  const outcome = painted([...document.querySelectorAll<HTMLImageElement>('.image')], video).then(
    (): FrameMessage => ({ t: 'rendered' }),
    (): FrameMessage => ({ t: 'error', code: 'creative_failed' }),
  )
  let card: Card | undefined
  // A copy of the ad, by a carousel or a page cache, has a frame that nobody initialises: it shows nothing.
  // The inspector's preview, without a token for beacons, is shown as it is.
  const { classList, dataset } = document.documentElement
  classList.toggle('waiting', settings.beacon_token !== null)
  onInit((port, { nonce, scheme }) => {
    dataset.scheme = scheme
    classList.remove('waiting')
    post = (message) => port.postMessage(message)
    port.onmessage = ({ data: message }: MessageEvent<HostMessage | null>) => {
      if (!message || typeof message !== 'object') return
      if (message.t !== 'teardown') return outcome.then(() => onClipMessage(message))
      post = () => {}
      port.close()
      card?.close()
      onClipMessage(message)
    }
    // Something else is shown in the frame then, and has another document: no other event says so before that one has loaded.
    addEventListener('pagehide', () => send({ t: 'error', code: 'frame_reloaded' }))
    send({ t: 'ready', nonce, ...settings, server_time_ms: serverTime(settings.server_time_ms) })
    early.forEach(send)
    if (settings.media_type === 'native') card = fitCard(creative, settings, (height) => send({ t: 'resize', height }))
    Promise.all([outcome, card?.fitted]).then(([message]) => send(message))
  })
  parent.postMessage({ t: 'sp:hello' } satisfies Hello, '*')
}

/**
 * Calls `listener` on the host's first message, with its port and nonce. It comes from a window around this one: a page may show
 * an ad in a frame or a window of its own. Every origin around the frame is one that the project allows (frame-ancestors).
 */
function onInit(listener: (port: MessagePort, init: { nonce: string; scheme: string }) => void): void {
  const onMessage = ({ source, origin, ports: [port], data }: MessageEvent): void => {
    const { t, v, nonce, scheme }: Record<string, unknown> = data ?? {}
    if (!isAround(source, origin) || t !== 'sp:init' || v !== 1 || typeof nonce !== 'string' || !port) return
    removeEventListener('message', onMessage)
    listener(port, { nonce, scheme: String(scheme) })
  }
  addEventListener('message', onMessage)
}

function isAround(source: unknown, origin: string): boolean {
  let at: Window = window
  for (; at !== at.parent; at = at.parent) if (at.parent === source) return true
  // A page may show an ad in a window of its own, such as a chat that is popped out, or a picture-in-picture. What has its origin can
  // read the window; whatever else has opened it cannot.
  const { ancestorOrigins: origins } = location
  return origin !== 'null' && origin === origins?.[origins.length - 1]
}

/** Returns the server time now: the time written into the document plus the document's age. */
function serverTime(written_ms: number): number {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return Math.round(written_ms + performance.now() - (navigation?.responseStart ?? 0))
}

/** Reports the first click, before the browser follows the link. Keyboard and middle clicks count too. */
function onFirstClick(link: HTMLElement, listener: (user_activated: boolean) => void): void {
  let isReported = false
  const report = (event: Event): void => {
    if (isReported) return
    isReported = true
    listener(navigator.userActivation?.isActive ?? event.isTrusted)
  }
  link.addEventListener('click', report)
  link.addEventListener('auxclick', (event) => {
    if (event.button === 1) report(event)
  })
}

/**
 * Browsers give a frame no animation frames while it is out of view, and may hold back decode() as well. Whether a
 * creative is painted must not depend on scrolling, so neither is waited for longer than this.
 */
const paintTimeoutMs = 500

/** Resolves when the media has loaded and two animation frames have passed. Rejects when the media cannot be shown. */
async function painted(images: readonly HTMLImageElement[], video: HTMLVideoElement | null): Promise<void> {
  await Promise.all(images.map(loadImage))
  if (video) await loadVideo(video)
  await Promise.race([twoFrames(), paintTimeout()])
}

async function loadImage(image: HTMLImageElement): Promise<void> {
  if (!image.complete) {
    await new Promise((resolve) => {
      image.onload = image.onerror = resolve
    })
  }
  if (image.naturalWidth === 0) throw new Error('creative_failed')
  await Promise.race([image.decode(), paintTimeout()])
}

function loadVideo(video: HTMLVideoElement): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (video.error) reject(new Error('creative_failed'))
      else if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve()
    }
    video.addEventListener('loadeddata', check)
    video.addEventListener('error', check)
    video.addEventListener('loadedmetadata', () => {
      video.preload = 'auto'
    })
    check()
  })
}

async function twoFrames(): Promise<void> {
  await new Promise(requestAnimationFrame)
  await new Promise(requestAnimationFrame)
}

function paintTimeout(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, paintTimeoutMs))
}

interface Card {
  /** Resolves when the host has had time to resize the frame to the first height. */
  fitted: Promise<void>
  close(): void
}

/** A page that is being resized must not look like a flood of messages. */
const fitIntervalMs = 150
/** Classes that hide parts of a card, from the least important on; each one adds to those before. */
const shortenings = ['short', 'shorter', 'shortest', 'tiny']
/** Heights are rounded: this much is not an overflow. */
const roundingPx = 1

/**
 * Fits a native card into its frame. It has the declared height unless the frame is narrower than declared, or the reader's text is
 * larger: then the host is asked for the height that the template has so. Where the frame is lower than that, parts are hidden until
 * the rest fits. The requested height never depends on the frame's height, so the two cannot chase each other.
 */
function fitCard(creative: HTMLElement, declared: FrameSettings, onHeight: (height: number) => void): Card {
  const { classList } = document.documentElement
  const closing = new AbortController()
  const template = creative.dataset.template as NativeTemplateId
  // Declared lower than the template is: that is all the room there is.
  const max_height = declared.height < nativeHeight(template, declared.width) ? declared.height : Infinity
  let requested = declared.height
  let resolve = (): void => {}
  const fitted = new Promise<void>((resolver) => {
    resolve = resolver
  })
  let timer: ReturnType<typeof setTimeout> | undefined

  const shorten = (): void => {
    classList.remove(...shortenings)
    const scale = readTextScale()
    if (innerHeight >= nativeHeight(template, innerWidth, scale) && fits(creative)) return
    for (const shortening of shortenings) {
      classList.add(shortening)
      if (fits(creative)) return
    }
  }
  /** The host has until the next time to resize. A frame out of view gets no resize event. */
  const adapt = (): void => {
    timer = undefined
    const scale = readTextScale()
    const isAsDeclared = scale === 1 && innerWidth >= declared.width
    const height = isAsDeclared ? declared.height : Math.min(nativeHeight(template, innerWidth, scale), max_height)
    if (innerWidth === 0 || height === requested) resolve()
    else {
      requested = height
      onHeight(height)
      adaptSoon()
    }
    shorten()
  }
  const adaptSoon = (): void => {
    timer ??= setTimeout(adapt, fitIntervalMs)
  }
  const observer = new ResizeObserver(adaptSoon)
  for (const box of [creative, ...creative.querySelectorAll('.words,.cta')]) observer.observe(box)
  addEventListener('resize', shorten, { signal: closing.signal })
  adapt()

  return {
    fitted,
    close: () => {
      clearTimeout(timer)
      closing.abort()
      observer.disconnect()
    },
  }
}

/** Returns the reader's size of text, by that of the declared size. */
function readTextScale(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16
}

function fits(creative: HTMLElement): boolean {
  return [...creative.querySelectorAll('.surface,.words')].every(
    (box) => box.scrollHeight <= box.clientHeight + roundingPx,
  )
}

start(JSON.parse(find('#settings')!.textContent ?? ''))
