/**
 * The messages between the host page and the frame, protocol version 1.
 *
 * The frame has the origin `null`, so the first message goes to `*`: it carries no secret and transfers a port. After
 * that only the port is used. Messages are checked by shape; unknown ones are ignored.
 */
import type { Placement } from '#contract/resources/placements.ts'
import type { ViewNeeds } from '#contract/viewability.ts'
import { isObject } from '#foundation/json.ts'

type MediaType = Placement['render']['media_type']

/** Frame to host, by window message, when its script runs: the host may initialise it. */
export interface Hello {
  t: 'sp:hello'
}

/** Host to frame, by window message, with the frame's port. */
export interface Init {
  t: 'sp:init'
  v: 1
  nonce: string
  instance_id: string
  /** The `color-scheme` of the page at the ad, as computed: WebKit tells no frame of another origin. */
  scheme: string
}

export type MediaState = 'playing' | 'paused' | 'stalled' | 'ended'

/** The settings that the server writes into the frame's document. Sizes in CSS pixels. */
export interface FrameSettings {
  media_type: MediaType
  width: number
  height: number
  /** By the thresholds of its project. */
  view_needs: ViewNeeds
  beacon_token: string | null
  /** Server time, Unix epoch milliseconds. */
  server_time_ms: number
}

/** Frame to host. Times in milliseconds, sizes in CSS pixels. */
export type FrameMessage =
  /** `server_time_ms` is the server time when the message is sent. */
  | ({ t: 'ready'; nonce: string } & FrameSettings)
  | { t: 'rendered' }
  | { t: 'resize'; height: number }
  | { t: 'click'; user_activated: boolean }
  | { t: 'media'; state: MediaState; position_ms: number; duration_ms: number; muted: boolean }
  | { t: 'error'; code: string }

export type HostMessage =
  | { t: 'visibility'; ratio: number; page_visible: boolean }
  | { t: 'pause' }
  | { t: 'resume' }
  | { t: 'mute' }
  | { t: 'teardown' }

/** Returns the message of a frame, or null for anything unknown. `ready` must carry the nonce of this mount. */
export function readFrameMessage(data: unknown, nonce: string): FrameMessage | null {
  if (!isObject(data) || typeof data.t !== 'string') return null
  const shape = shapes.get(data.t)
  return shape && hasShape(data, shape) && (data.t !== 'ready' || data.nonce === nonce) ? data : null
}

function hasShape(data: Record<string, unknown>, shape: Shape): data is Record<string, unknown> & FrameMessage {
  return Object.entries(shape).every(([name, fits]) => fits(data[name]))
}

type Check = (value: unknown) => boolean
type Shape = Readonly<Record<string, Check>>
const text: Check = (value) => typeof value === 'string' && value.length <= 256
const flag: Check = (value) => typeof value === 'boolean'
const amount: Check = (value) => Number.isFinite(value) && Number(value) >= 0
const isAmong =
  (...values: unknown[]): Check =>
  (value) =>
    values.includes(value)

const shapesByType: Record<FrameMessage['t'], Shape> = {
  ready: {
    nonce: text,
    media_type: isAmong('image', 'video', 'native'),
    width: amount,
    height: amount,
    view_needs: (value) => Array.isArray(value),
    beacon_token: (value) => value === null || text(value),
    server_time_ms: amount,
  },
  rendered: {},
  resize: { height: amount },
  click: { user_activated: flag },
  media: {
    state: isAmong('playing', 'paused', 'stalled', 'ended'),
    position_ms: amount,
    duration_ms: amount,
    muted: flag,
  },
  error: { code: text },
}

const shapes = new Map(Object.entries(shapesByType))

const maxMessagesPerSecond = 20

/** Returns a check to call with each message's time: whether there have been too many within a second. */
export function createFloodCheck(): (now_ms: number) => boolean {
  let times: number[] = []
  return (now_ms) => {
    times = [...times.filter((time) => now_ms - time < 1_000), now_ms]
    return times.length > maxMessagesPerSecond
  }
}
