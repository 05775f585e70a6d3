/** Reads what the frame says: by shape, never by trust. */
import type { FrameMessage } from '../messages.ts'
import { isObject } from './decision.ts'

/** Messages of one second, at most. */
const most_a_second = 20

/** The message, or null for anything unknown. `ready` must carry the nonce of this mount. */
export function readFrameMessage(data: unknown, nonce: string): FrameMessage | null {
  if (!isObject(data) || typeof data.t !== 'string' || !Object.hasOwn(shapes, data.t)) return null
  const shape = shapes[data.t as FrameMessage['t']]
  return Object.entries(shape).every(([name, fits]) => fits(data[name])) && (data.t !== 'ready' || data.nonce === nonce)
    ? (data as unknown as FrameMessage)
    : null
}

type Check = (value: unknown) => boolean
const text: Check = (value) => typeof value === 'string' && value.length <= 256
const flag: Check = (value) => typeof value === 'boolean'
const amount: Check = (value) => Number.isFinite(value) && (value as number) >= 0
const oneOf =
  (...values: string[]): Check =>
  (value) =>
    values.includes(value as string)

const shapes: Record<FrameMessage['t'], Record<string, Check>> = {
  ready: {
    nonce: text,
    media_type: oneOf('image', 'video', 'native'),
    width: amount,
    height: amount,
    beacon_token: (value) => value === null || text(value),
    server_time_ms: amount,
  },
  rendered: {},
  resize: { height: amount },
  click: { user_activated: flag },
  media: {
    state: oneOf('playing', 'paused', 'stalled', 'ended'),
    position_ms: amount,
    duration_ms: amount,
    muted: flag,
  },
  error: { code: text },
}

/** Returns what tells, message by message, whether there have been too many within a second. */
export function openFloodGate(): (now_ms: number) => boolean {
  let times: number[] = []
  return (now_ms) => {
    times = [...times.filter((time) => now_ms - time < 1_000), now_ms]
    return times.length > most_a_second
  }
}
