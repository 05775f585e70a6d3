/** Followers of the event stream, which come back where they were when it breaks. */
import { readEventStream } from '#tests/histories/event-stream.ts'
import type { SeenEvent } from '#tests/histories/history.ts'
import { pause } from './traffic.ts'

export interface Follower {
  /** Every `type` and subject that came, in order. */
  readonly seen: Set<string>
  /** Events that came twice, out of order, or were dropped before they came. */
  readonly problems: string[]
  stop(): Promise<void>
}

/** Follows placements and beacons at the address that `url` returns when it connects. */
export function follow(url: () => string): Follower {
  const seen = new Set<string>()
  const problems: string[] = []
  const ended = new AbortController()
  let last = 0

  const take = ({ seq, type, slot_id, data: item }: SeenEvent) => {
    if (seq <= last) problems.push(`${type} ${seq} after ${last}`)
    last = Math.max(seq, last)
    if (type === 'events.dropped') problems.push(`dropped up to ${seq}`)
    if (type === 'placement.decided' && slot_id !== null) seen.add(slot_id)
    if (type === 'beacon.accepted' && item.beacon_id !== undefined) seen.add(item.beacon_id)
  }
  const read = async () => {
    const headers = { 'last-event-id': String(last) }
    const reply = await fetch(`${url()}/_sandbox/events`, { headers, signal: ended.signal })
    for await (const event of readEventStream(reply.body)) take(event)
  }
  const running = (async () => {
    while (!ended.signal.aborted) {
      // A stream that breaks is what the kills are about; the next one continues it.
      await read().catch(() => {})
      await pause(20)
    }
  })()
  return {
    seen,
    problems,
    stop() {
      ended.abort()
      return running
    },
  }
}
