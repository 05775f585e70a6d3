/** frame.js: runs inside the hosted frame, shows one creative and tells the host page about it over a port. */
import type { FrameMessage, FrameSettings, HostMessage } from '../messages.ts'
import { watchClick } from './click.ts'
import { openClip } from './clip.ts'
import { awaitHost } from './connection.ts'
import { painted } from './paint.ts'
import { type Room, watchRoom } from './room.ts'

const find = <T extends Element>(selector: string): T | null => document.querySelector<T>(selector)

function start(settings: FrameSettings): void {
  /** What happens before the host has handed over a port: a click on a creative that is still loading. */
  const early: FrameMessage[] = []
  let send = (message: FrameMessage): void => {
    early.push(message)
  }
  const tell = (message: FrameMessage): void => send(message)

  const creative = find<HTMLElement>('.creative')!
  const link = find<HTMLAnchorElement>('a.surface')
  if (link) watchClick(link, (user_activated) => tell({ t: 'click', user_activated }))
  const icon = find<HTMLImageElement>('.icon')
  if (icon?.complete && icon.naturalWidth === 0) icon.remove()
  icon?.addEventListener('error', () => icon.remove())
  const video = find<HTMLVideoElement>('.video')
  const follow = video
    ? openClip({ video, play: find('.play')!, mute: find('.mute')!, progress: find('.progress')! }, tell)
    : (_: HostMessage): void => {}

  if (parent === window) {
    document.documentElement.classList.add('previewing')
    send = () => {}
    creative.role = 'main'
    find<HTMLElement>('.preview')!.hidden = false
    follow({ t: 'visibility', ratio: 1, page_visible: true })
    return
  }

  const rendering = painted([...document.querySelectorAll<HTMLImageElement>('.image')], video).then(
    (): FrameMessage => ({ t: 'rendered' }),
    (): FrameMessage => ({ t: 'error', code: 'creative_failed' }),
  )
  let room: Room | undefined
  let close = (): void => {}
  awaitHost(
    (connection, nonce) => {
      send = connection.send
      close = connection.close
      tell({ t: 'ready', nonce, ...settings, server_time_ms: serverTime(settings.server_time_ms) })
      early.forEach(tell)
      if (settings.media_type === 'native') room = watchRoom(creative, (height) => tell({ t: 'resize', height }))
      Promise.all([rendering, room?.settled]).then(([message]) => tell(message))
    },
    (message) => {
      if (message.t !== 'teardown') return rendering.then(() => follow(message))
      send = () => {}
      close()
      room?.close()
      follow(message)
    },
  )
}

/** The server wrote its time when it answered; since then the document has aged. */
function serverTime(written_ms: number): number {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return Math.round(written_ms + performance.now() - (navigation?.responseStart ?? 0))
}

start(JSON.parse(find('#settings')!.textContent ?? '') as FrameSettings)
