/**
 * Playback of a clip: muted, from half in view on, paused below.
 *
 * It starts by itself only while neither the viewer nor the host page holds it. A refused start leaves the poster and
 * the play button; nothing is reported as playing until `playing` really fires.
 */
import type { FrameMessage, HostMessage } from '../messages.ts'

/** Share of the clip in view from which it plays. */
const play_ratio = 0.5
/** Time between two reports of the position, milliseconds. */
const report_every_ms = 1_000

/** Returns what handles the host's messages. */
export function openClip(
  video: HTMLVideoElement,
  playButton: HTMLButtonElement,
  muteButton: HTMLButtonElement,
  send: (message: FrameMessage) => void,
): (message: HostMessage) => void {
  let isInView = false
  let isHeld = false
  let isRefused = false
  let reportedAt = 0

  const report = (state: 'playing' | 'paused' | 'stalled' | 'ended'): void => {
    reportedAt = performance.now()
    send({
      t: 'media',
      state,
      position_ms: Math.round(video.currentTime * 1_000),
      duration_ms: Number.isFinite(video.duration) ? Math.round(video.duration * 1_000) : 0,
      muted: video.muted,
    })
  }
  const play = (): void => {
    video.play().catch((problem: unknown) => {
      if (!(problem instanceof DOMException) || problem.name !== 'NotAllowedError' || isRefused) return
      isRefused = true
      show()
      send({ t: 'error', code: 'autoplay_blocked' })
    })
  }
  const follow = (): void => {
    if (!isInView || isHeld) video.pause()
    else if (video.paused && !video.ended && !isRefused) play()
  }
  const mute = (muted: boolean): void => {
    video.muted = muted
  }

  const show = (): void => {
    playButton.hidden = false
    playButton.ariaLabel = video.paused ? 'Play' : 'Pause'
    playButton.classList.toggle('on', !video.paused)
  }

  video.addEventListener('play', show)
  video.addEventListener('pause', show)
  video.addEventListener('playing', () => report('playing'))
  video.addEventListener('pause', () => {
    if (!video.ended) report('paused')
  })
  video.addEventListener('waiting', () => report('stalled'))
  video.addEventListener('ended', () => report('ended'))
  video.addEventListener('timeupdate', () => {
    if (!video.paused && performance.now() - reportedAt >= report_every_ms) report('playing')
  })
  video.addEventListener('volumechange', () => {
    muteButton.ariaLabel = video.muted ? 'Unmute' : 'Mute'
    muteButton.classList.toggle('on', !video.muted)
    report(video.paused ? 'paused' : 'playing')
  })
  playButton.addEventListener('click', () => {
    isRefused = false
    isHeld = !video.paused
    if (isHeld) video.pause()
    else play()
  })
  muteButton.addEventListener('click', () => mute(!video.muted))

  return (message) => {
    if (message.t === 'visibility') {
      isInView = message.ratio >= play_ratio && message.page_visible
      follow()
    } else if (message.t === 'pause' || message.t === 'teardown') {
      isHeld = true
      follow()
    } else if (message.t === 'resume') {
      isHeld = false
      follow()
    } else if (message.t === 'mute') {
      mute(true)
    }
  }
}
