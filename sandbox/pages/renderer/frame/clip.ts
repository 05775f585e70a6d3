/** A clip inside the frame: when it plays, its controls, and the reports of its playback to the host page. */
import type { FrameMessage, HostMessage, MediaState } from '../messages.ts'

const reportIntervalMs = 1_000
/** Holding a key down must not flood the host: it would take the ad down. */
const minReportIntervalMs = 100

/**
 * Starts following the playback of a clip, and returns the handler of host messages: muted, starts at the share in view
 * that a view needs (A76), pauses below.
 *
 * It starts automatically only while neither the viewer nor the host page has paused it. When the browser refuses
 * autoplay, or the viewer prefers reduced motion, the poster and the play button stay. Nothing is reported as playing
 * before the `playing` event.
 */
export function openClip(
  video: HTMLVideoElement,
  send: (message: FrameMessage) => void,
  playRatio: number,
): (message: HostMessage) => void {
  const play = document.querySelector<HTMLButtonElement>('.play')!
  const playback = reportPlayback(video, send)
  const show = showControls(video, play, playback)
  let isInView = false
  let isPausedByChoice = false
  let isRefused = false

  document.addEventListener('visibilitychange', startOrPause)
  play.addEventListener('click', () => {
    isRefused = false
    isPausedByChoice = !video.paused
    if (isPausedByChoice) video.pause()
    else start()
  })
  return (message) => {
    if (message.t === 'visibility') isInView = message.ratio >= playRatio && message.page_visible
    else if (message.t === 'pause') isPausedByChoice = true
    else if (message.t === 'resume') isPausedByChoice = false
    else if (message.t === 'mute') video.muted = true
    else if (message.t === 'teardown') {
      document.removeEventListener('visibilitychange', startOrPause)
      playback.close()
      video.removeAttribute('src')
      video.load()
      return
    }
    startOrPause()
  }

  function startOrPause(): void {
    if (!isInView || isPausedByChoice || document.hidden) video.pause()
    else if (video.paused && !video.ended && !isRefused) {
      if (!playback.isStarted && matchMedia('(prefers-reduced-motion:reduce)').matches) refuse()
      else start()
    }
  }
  function start(): void {
    video.play().catch((problem: unknown) => {
      if (problem instanceof DOMException && problem.name === 'NotAllowedError') refuse()
    })
  }
  function refuse(): void {
    if (isRefused) return
    isRefused = true
    show()
    send({ t: 'error', code: 'autoplay_blocked' })
  }
}

interface Playback {
  isStarted: boolean
  close(): void
}

/** Reports the playback at every change, and each second while it plays. */
function reportPlayback(video: HTMLVideoElement, send: (message: FrameMessage) => void): Playback {
  const playback: Playback = { isStarted: false, close: () => clearTimeout(pending) }
  let isPlaying = false
  let position_ms = 0
  let reported_at = -reportIntervalMs
  let pending: ReturnType<typeof setTimeout> | undefined

  on(video, 'playing seeked', () => {
    isPlaying = !video.paused && video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA
    playback.isStarted ||= isPlaying
  })
  on(video, 'pause waiting seeking ended error', () => {
    isPlaying = false
  })
  on(video, 'timeupdate playing seeking seeked ended', () => {
    // While seeking, currentTime is already the target: the position must not count as played before it is reached.
    if (!video.seeking) position_ms = Math.round(video.currentTime * 1_000)
  })
  on(video, 'playing waiting seeked ended volumechange ratechange error', reportSoon)
  on(video, 'pause', () => {
    if (!video.ended) reportSoon()
  })
  on(video, 'seeking', report)
  on(video, 'timeupdate', () => {
    if (isPlaying && performance.now() - reported_at >= reportIntervalMs) report()
  })
  return playback

  /** Reports at once, or as soon as the interval allows. */
  function reportSoon(): void {
    const wait = reported_at + minReportIntervalMs - performance.now()
    if (wait <= 0) report()
    else pending ??= setTimeout(report, wait)
  }
  function report(): void {
    clearTimeout(pending)
    pending = undefined
    reported_at = performance.now()
    send({
      t: 'media',
      state: readState(),
      position_ms,
      duration_ms: Number.isFinite(video.duration) ? Math.round(video.duration * 1_000) : 0,
      muted: video.muted,
    })
  }
  function readState(): MediaState {
    if (video.ended) return 'ended'
    if (video.paused) return 'paused'
    return isPlaying ? 'playing' : 'stalled'
  }
}

const labels = { idle: 'Play', paused: 'Play', playing: 'Pause', ended: 'Replay' } as const

/** Keeps the controls as the clip is. Returns a function that shows them where nothing has changed in it. */
function showControls(video: HTMLVideoElement, play: HTMLButtonElement, playback: Playback): () => void {
  const mute = document.querySelector<HTMLButtonElement>('.mute')!
  const progress = document.querySelector<HTMLElement>('.progress')!
  const show = (): void => {
    const shown = video.ended ? 'ended' : !video.paused ? 'playing' : playback.isStarted ? 'paused' : 'idle'
    play.hidden = false
    play.dataset.state = shown
    play.setAttribute('aria-label', labels[shown])
    mute.setAttribute('aria-label', video.muted ? 'Unmute' : 'Mute')
    mute.classList.toggle('on', !video.muted)
  }
  on(video, 'timeupdate playing seeking seeked ended', () => {
    const bar = progress.firstElementChild as HTMLElement
    progress.hidden = !playback.isStarted
    bar.style.transform = `scaleX(${video.currentTime / video.duration || 0})`
  })
  on(video, 'play playing pause ended volumechange', show)
  mute.addEventListener('click', () => {
    video.muted = !video.muted
  })
  return show
}

function on(video: HTMLVideoElement, types: string, listener: () => void): void {
  for (const type of types.split(' ')) video.addEventListener(type, listener)
}
