/** The follower of all events: it gets each one once, numbered without a gap, also over a crash. */

import { splitEvents } from '#tests/histories/event-stream.ts'
import type { SeenEvent } from '#tests/histories/history.ts'

export interface Follower {
  /** The number of the last event. */
  readonly seq: number
  readonly count: number
  /** When the frame of a slot was first loaded, in any state. */
  readonly frames: ReadonlyMap<string, number>
  /** The events of the present state so far. */
  events(): readonly SeenEvent[]
  /** Another connection begins. */
  connect(): void
  /** The process has lost everything, and says so when the next connection has a number that it does not know. */
  mayStartOver(): void
  /** Everything is read again, from the first event. */
  startOver(): void
  /** Reads the text of a stream. Returns what is wrong with it. */
  read(text: string): string[]
}

export function createFollower(): Follower {
  const frames = new Map<string, number>()
  let seq = 0
  let count = 0
  let rest = ''
  let mayBeGone = false
  /** Those of the present state: since it replaced another one. */
  let events: SeenEvent[] = []

  return {
    get seq() {
      return seq
    },
    get count() {
      return count
    },
    frames,
    events: () => events,
    connect() {
      rest = ''
    },
    mayStartOver() {
      mayBeGone = true
    },
    startOver() {
      events = []
      seq = 0
    },
    read(text) {
      const read = splitEvents(rest + text)
      rest = read.rest
      return read.events.flatMap(take)
    },
  }

  function take(event: SeenEvent): string[] {
    count++
    const last = seq
    const replaces = event.type === 'sandbox.reset' || event.type === 'sandbox.restored'
    if (replaces) events = []
    events.push(event)
    if (event.type === 'frame.loaded' && event.slot_id !== null && !frames.has(event.slot_id)) {
      frames.set(event.slot_id, event.at_ms!)
    }
    if (event.seq === 0 && !mayBeGone) return [`events up to ${last} were sent, and are gone`]
    seq = event.seq
    mayBeGone = false
    if (event.seq === 0) return []
    if (event.seq === last + 1 || (replaces && event.seq > last)) return []
    return [`event ${event.seq}, ${event.type}, comes after event ${last}`]
  }
}
