/**
 * Playback of a clip: muted, from half in view on, paused below.
 *
 * It starts by itself only while neither the viewer nor the host page holds it. A start that the browser refuses, or
 * that a viewer who wants less motion has not asked for, leaves the poster and the play button; nothing is reported as
 * playing until `playing` really fires.
 */
import type { FrameMessage, HostMessage, MediaState } from '../messages.ts'

/** Share of the clip in view from which it plays. */
const play_ratio = 0.5
/** Time between two reports of the position, milliseconds. */
const report_every_ms = 1_000
/** Reports come no closer than this, whatever key is held down: the host takes a flood for an attack. */
const closest_reports_ms = 100

const names = { idle: 'Play', paused: 'Play', playing: 'Pause', ended: 'Replay' } as const

export interface ClipElements {
  video: HTMLVideoElement
  play: HTMLButtonElement
  mute: HTMLButtonElement
  progress: HTMLElement
}

/** Returns what handles the host's messages. */
export function openClip(
  { video, play, mute, progress }: ClipElements,
  send: (message: FrameMessage) => void,
): (message: HostMessage) => void {
  let isInView = false
  let isHeld = false
  let isRefused = false
  let isPlaying = false
  let isStarted = false
  let position_ms = 0
  let reported_at = -report_every_ms
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
  /** At once, or as soon as another report may follow the last. */
  const reportSoon = (): void => {
    const wait = reported_at + closest_reports_ms - performance.now()
    if (wait <= 0) report()
    else pending ??= setTimeout(report, wait)
  }
  const show = (): void => {
    const shown = video.ended ? 'ended' : !video.paused ? 'playing' : isStarted ? 'paused' : 'idle'
    play.hidden = false
    play.dataset.state = shown
    play.ariaLabel = names[shown]
    mute.ariaLabel = video.muted ? 'Unmute' : 'Mute'
    mute.classList.toggle('on', !video.muted)
  }
  const follow = (): void => {
    // Where a jump began is what has been played: its target must not be told before it is reached.
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
  const steer = (): void => {
    if (!isInView || isHeld || document.hidden) video.pause()
    else if (video.paused && !video.ended && !isRefused) {
      if (!isStarted && matchMedia('(prefers-reduced-motion:reduce)').matches) refuse()
      else start()
    }
  }

  const on = (types: string, heard: () => void): void => {
    for (const type of types.split(' ')) video.addEventListener(type, heard)
  }
  on('playing seeked', () => {
    isPlaying = !video.paused && video.readyState >= HTMLMediaElement.HAVE_FUTURE_DATA
    isStarted ||= isPlaying
  })
  on('pause waiting seeking ended error', () => {
    isPlaying = false
  })
  on('timeupdate playing seeking seeked ended', follow)
  on('play playing pause ended volumechange', show)
  on('playing waiting seeked ended volumechange ratechange error', reportSoon)
  on('pause', () => {
    if (!video.ended) reportSoon()
  })
  on('seeking', report)
  on('timeupdate', () => {
    if (isPlaying && performance.now() - reported_at >= report_every_ms) report()
  })
  document.addEventListener('visibilitychange', steer)
  play.addEventListener('click', () => {
    isRefused = false
    isHeld = !video.paused
    if (isHeld) video.pause()
    else start()
  })
  mute.addEventListener('click', () => {
    video.muted = !video.muted
  })

  return (message) => {
    if (message.t === 'visibility') isInView = message.ratio >= play_ratio && message.page_visible
    else if (message.t === 'pause') isHeld = true
    else if (message.t === 'resume') isHeld = false
    else if (message.t === 'mute') video.muted = true
    else if (message.t === 'teardown') {
      document.removeEventListener('visibilitychange', steer)
      clearTimeout(pending)
      video.removeAttribute('src')
      video.load()
      return
    }
    steer()
  }
}
