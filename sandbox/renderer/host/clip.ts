/** A clip's playback as the host page knows it, from the frame's messages and its own clock. Times in milliseconds. */
import type { FrameMessage } from '../messages.ts'

type MediaMessage = Extract<FrameMessage, { t: 'media' }>

export interface Clip {
  isPlaying: boolean
  isStarted: boolean
  isCompleted: boolean
  position_ms: number
  duration_ms: number
  muted: boolean
  /** Time really played: a jump adds no more than the time passed, and a jump back starts again from zero. */
  played_ms: number
  updated_at_ms: number
}

export const unplayed: Clip = {
  isPlaying: false,
  isStarted: false,
  isCompleted: false,
  position_ms: 0,
  duration_ms: 0,
  muted: true,
  played_ms: 0,
  updated_at_ms: 0,
}

/** Share of the duration that must have been played for a completion. */
const completion_share = 0.9

/** Returns the clip after a `media` message that arrived at `now_ms`. */
export function updateClip(clip: Clip, { state, position_ms, duration_ms, muted }: MediaMessage, now_ms: number): Clip {
  const passed = now_ms - clip.updated_at_ms
  const step = clip.isPlaying ? Math.min(passed, Math.max(0, position_ms - clip.position_ms)) : 0
  const played_ms = step + (position_ms < clip.position_ms ? 0 : clip.played_ms)
  const isPlayedOut = state === 'ended' && duration_ms > 0 && played_ms >= completion_share * duration_ms
  return {
    isPlaying: state === 'playing',
    isStarted: clip.isStarted || state === 'playing',
    isCompleted: clip.isCompleted || (clip.isStarted && isPlayedOut),
    position_ms,
    duration_ms,
    muted,
    played_ms,
    updated_at_ms: now_ms,
  }
}
