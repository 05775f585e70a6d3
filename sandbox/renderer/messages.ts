/**
 * What the host page and the frame say to each other, version 1.
 *
 * The frame has the origin `null`, so the first message goes to `*` with nothing secret in it and hands over a port.
 * From then on only the port is heard. Messages are read by shape; unknown ones are ignored.
 */

import type { Placement } from '../../src/contract/v1/placements.ts'

export type MediaType = Placement['render']['media_type']

/** Host to frame, by window message, with the frame's port. */
export interface Init {
  t: 'sp:init'
  v: 1
  nonce: string
  instance_id: string
}

export type MediaState = 'playing' | 'paused' | 'stalled' | 'ended'

/** Frame to host. Times in milliseconds, sizes in CSS pixels. */
export type FrameMessage =
  | {
      t: 'ready'
      nonce: string
      media_type: MediaType
      width: number
      height: number
      beacon_token: string | null
      /** The server's time when this message is sent. */
      server_time_ms: number
    }
  | { t: 'rendered' }
  | { t: 'resize'; height: number }
  | { t: 'click'; user_activated: boolean }
  | { t: 'media'; state: MediaState; position_ms: number; duration_ms: number; muted: boolean }
  | { t: 'error'; code: string }

/** Host to frame. */
export type HostMessage =
  | { t: 'visibility'; ratio: number; page_visible: boolean }
  | { t: 'pause' }
  | { t: 'resume' }
  | { t: 'mute' }
  | { t: 'teardown' }

/** The settings that the server writes into the frame's document. */
export interface FrameSettings {
  media_type: MediaType
  width: number
  height: number
  beacon_token: string | null
  server_time_ms: number
}
