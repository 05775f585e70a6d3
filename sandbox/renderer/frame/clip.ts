/**
 * Playback of a clip in its frame: muted, starts at 50 % in view, pauses below.
 *
 * It starts by itself only while neither the viewer nor the host page has paused it. When the browser refuses autoplay,
 * or the viewer prefers reduced motion, the poster and the play button stay. Nothing is reported as playing before the
 * `playing` event.
 */
import type { FrameMessage, HostMessage, MediaState } from '../messages.ts'

/** Share of the clip that must be in view for it to play. */
const play_ratio = 0.5
const report_interval_ms = 1_000
/** Holding a key down must not flood the host: it would take the ad down. */
const min_report_interval_ms = 100

const labels = { idle: 'Play', paused: 'Play', playing: 'Pause', ended: 'Replay' } as const

/** Starts following the clip; returns the handler of host messages. */
export function openClip(
  video: HTMLVideoElement,
  send: (message: FrameMessage) => void,
): (message: HostMessage) => void {
  const play = document.querySelector<HTMLButtonElement>('.play')!
  const mute = document.querySelector<HTMLButtonElement>('.mute')!
  const progress = document.querySelector<HTMLElement>('.progress')!
  let isInView = false
  let isPausedByChoice = false
  let isRefused = false
  let isPlaying = false
  let isStarted = false
  let position_ms = 0
  let reported_at = -report_interval_ms
  let pending: ReturnType<typeof setTimeout> | undefined

  const state = (): MediaState => {
    if (video.ended) return 'ended'
    if (video.paused) return 'paused'
    return isPlaying ? 'playing' : 'stalled'
  }
  const report = (): void => {
    clearTimeout(pending)
    pending = undefined
    reported_at = performance.now()
    send({
      t: 'media',
      state: state(),
      position_ms,
      duration_ms: Number.isFinite(video.duration) ? Math.round(video.duration * 1_000) : 0,
      muted: video.muted,
    })
  }
  /** Reports at once, or as soon as the interval allows. */
  const reportSoon = (): void => {
    const wait = reported_at + min_report_interval_ms - performance.now()
    if (wait <= 0) report()
    else pending ??= setTimeout(report, wait)
  }
  const show = (): void => {
    const shown = video.ended ? 'ended' : !video.paused ? 'playing' : isStarted ? 'paused' : 'idle'
    play.hidden = false
    play.dataset.state = shown
    play.ariaLabel = labels[shown]
    mute.ariaLabel = video.muted ? 'Unmute' : 'Mute'
    mute.classList.toggle('on', !video.muted)
  }
  const update = (): void => {
    // While seeking, currentTime is already the target: the position must not count as played before it is reached.
    if (!video.seeking) position_ms = Math.round(video.currentTime * 1_000)
    const bar = progress.firstElementChild as HTMLElement
    progress.hidden = !isStarted
    bar.style.transform = `scaleX(${video.currentTime / video.duration || 0})`
  }

  const refuse = (): void => {
    if (isRefused) return
    isRefused = true
    show()
    send({ t: 'error', code: 'autoplay_blocked' })
  }
  const start = (): void => {
    video.play().catch((problem: unknown) => {
      if (problem instanceof DOMException && problem.name === 'NotAllowedError') refuse()
    })
  }
  const startOrPause = (): void => {
    if (!isInView || isPausedByChoice || document.hidden) video.pause()
    else if (video.paused && !video.ended && !isRefused) {
      if (!isStarted && matchMedia('(prefers-reduced-motion:reduce)').matches) refuse()
      else start()
    }
  }

  const on = (types: string, listener: () => void): void => {
    for (const type of types.split(' ')) video.addEventListener(type, listener)
  }
  on('playing seeked', () => {
    isPlaying = !video.paused && video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA
    isStarted ||= isPlaying
  })
  on('pause waiting seeking ended error', () => {
    isPlaying = false
  })
  on('timeupdate playing seeking seeked ended', update)
  on('play playing pause ended volumechange', show)
  on('playing waiting seeked ended volumechange ratechange error', reportSoon)
  on('pause', () => {
    if (!video.ended) reportSoon()
  })
  on('seeking', report)
  on('timeupdate', () => {
    if (isPlaying && performance.now() - reported_at >= report_interval_ms) report()
  })
  document.addEventListener('visibilitychange', startOrPause)
  play.addEventListener('click', () => {
    isRefused = false
    isPausedByChoice = !video.paused
    if (isPausedByChoice) video.pause()
    else start()
  })
  mute.addEventListener('click', () => {
    video.muted = !video.muted
  })

  return (message) => {
    if (message.t === 'visibility') isInView = message.ratio >= play_ratio && message.page_visible
    else if (message.t === 'pause') isPausedByChoice = true
    else if (message.t === 'resume') isPausedByChoice = false
    else if (message.t === 'mute') video.muted = true
    else if (message.t === 'teardown') {
      document.removeEventListener('visibilitychange', startOrPause)
      clearTimeout(pending)
      video.removeAttribute('src')
      video.load()
      return
    }
    startOrPause()
  }
}
