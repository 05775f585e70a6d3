/** Followers of the event stream, which come back where they were when it breaks, at any node. */
import { setTimeout as pause } from 'node:timers/promises'
import { readEventStream } from '#tests/histories/event-stream.ts'
import type { Followed } from '#tests/histories/history.ts'
import type { Dice } from '#tests/reliability/dice.ts'

export interface Follower {
  readonly followed: Followed
  readonly last: number
  /** Leaves no more streams but those that are silent. */
  settle(): void
  stop(): Promise<void>
}

/**
 * A stream that is silent for as long is left for another node: a paused node does not end it. On a busy computer the next
 * hundred events may take seconds.
 */
const silentMs = 8_000
/** And now and then one that is not. */
const longestMs = 10_000

export function follow(number: number, urls: readonly string[], token: string, dice: Dice): Follower {
  const followed: Followed = { follower: number, events: [], connections: 0 }
  const ended = new AbortController()
  let isSettled = false
  const running = (async () => {
    while (!ended.signal.aborted) {
      await read(dice.pick(urls)).catch(() => {})
      await pause(dice.below(100))
    }
  })()
  return {
    followed,
    get last() {
      return last()
    },
    settle() {
      isSettled = true
    },
    stop() {
      ended.abort()
      return running
    },
  }

  function last(): number {
    return followed.events.at(-1)?.seq ?? 0
  }

  async function read(url: string): Promise<void> {
    followed.connections++
    const left = new AbortController()
    const timer = setTimeout(() => {
      if (!isSettled) left.abort()
    }, 2_000 + dice.below(longestMs))
    let silence = setTimeout(() => left.abort(), silentMs)
    try {
      const response = await fetch(`${url}/_sandbox/events?since_seq=0`, {
        headers: { 'x-sandbox-token': token, 'last-event-id': String(last()) },
        signal: AbortSignal.any([ended.signal, left.signal]),
      })
      if (!response.ok) return
      for await (const event of readEventStream(response.body)) {
        clearTimeout(silence)
        silence = setTimeout(() => left.abort(), silentMs)
        followed.events.push(event)
      }
    } finally {
      clearTimeout(timer)
      clearTimeout(silence)
    }
  }
}
