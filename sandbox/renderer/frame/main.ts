/** frame.js: runs inside the hosted frame, shows one creative and tells the host page about it over a port. */
import type { FrameMessage, FrameSettings, HostMessage } from '../messages.ts'
import { watchClick } from './click.ts'
import { openClip } from './clip.ts'
import { awaitHost } from './connection.ts'
import { painted } from './paint.ts'

const find = <T extends Element>(selector: string): T | null => document.querySelector<T>(selector)

function start(settings: FrameSettings): void {
  let send: (message: FrameMessage) => void = () => {}
  const tell = (message: FrameMessage): void => send(message)

  const link = find<HTMLAnchorElement>('a.surface')
  if (link) watchClick(link, (user_activated) => tell({ t: 'click', user_activated }))
  const icon = find<HTMLImageElement>('.icon')
  if (icon?.complete && icon.naturalWidth === 0) icon.remove()
  icon?.addEventListener('error', () => icon.remove())
  const video = find<HTMLVideoElement>('.video')
  const play = find<HTMLButtonElement>('.play')
  const mute = find<HTMLButtonElement>('.mute')
  const follow = video && play && mute ? openClip(video, play, mute, tell) : (_: HostMessage): void => {}
  const images = [...document.querySelectorAll<HTMLImageElement>('.image')]

  if (parent === window) {
    document.documentElement.classList.add('previewing')
    find<HTMLElement>('.preview')!.hidden = false
    follow({ t: 'visibility', ratio: 1, page_visible: true })
    return
  }

  const rendering = painted(images, video).then(
    (): FrameMessage => ({ t: 'rendered' }),
    (): FrameMessage => ({ t: 'error', code: 'creative_failed' }),
  )
  awaitHost(
    (connection, nonce) => {
      send = connection.send
      tell({ t: 'ready', nonce, ...settings, server_time_ms: serverTime(settings.server_time_ms) })
      rendering.then(tell)
      if (settings.media_type === 'native') watchHeight(tell)
    },
    (message) => rendering.then(() => follow(message)),
  )
}

/** The server wrote its time when it answered; since then the document has aged. */
function serverTime(written_ms: number): number {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return Math.round(written_ms + performance.now() - (navigation?.responseStart ?? 0))
}

/** Time between two reports of the height, milliseconds: a page that is being resized must not look like a flood. */
const measure_every_ms = 150

/**
 * Tells the height that the card wants; where the host has less room, the card is laid out short. It measures once by
 * itself, because a frame out of view gets no resize observations, and again when its width changes.
 */
function watchHeight(tell: (message: FrameMessage) => void): void {
  const creative = find<HTMLElement>('.creative')!
  const { classList } = document.documentElement
  let width = 0
  let height = 0
  const measure = (): void => {
    classList.remove('short')
    const wanted = creative.getBoundingClientRect()
    width = wanted.width
    if (Math.ceil(wanted.height) !== height) {
      height = Math.ceil(wanted.height)
      tell({ t: 'resize', height })
    }
    setTimeout(() => classList.toggle('short', innerHeight < height), measure_every_ms)
  }
  let isWaiting = false
  const measureSoon = (): void => {
    if (isWaiting || creative.getBoundingClientRect().width === width) return
    isWaiting = true
    setTimeout(() => {
      isWaiting = false
      measure()
    }, measure_every_ms)
  }
  measure()
  new ResizeObserver(measureSoon).observe(creative)
}

start(JSON.parse(find('#settings')!.textContent ?? '') as FrameSettings)
