/** The one place that holds a tail's state. Beacons are gathered and let in at most 15 times a second. */

import type { Arrival } from './counts.ts'
import type { FeedMessage } from './feed.ts'
import { type Interruption, noteOf } from './follow.ts'
import { reduce, type TailAction, type TailState } from './model.ts'

export const framesPerSecond = 15

export interface TailStore {
  state(): TailState
  dispatch(action: TailAction): void
  /** Takes what the feed tells. */
  take(message: FeedMessage): void
  subscribe(listener: () => void): () => void
  close(): void
}

export function createTailStore(initial: TailState, now: () => number): TailStore {
  let state = initial
  let waiting: Arrival[] = []
  const listeners = new Set<() => void>()
  const dispatch = (action: TailAction) => {
    state = reduce(state, action)
    for (const listener of listeners) listener()
  }
  const letIn = () => {
    const isNextSecond = Math.floor(now() / 1000) !== Math.floor(state.now_ms / 1000)
    if (waiting.length === 0 && !isNextSecond) return
    const arrivals = waiting
    waiting = []
    dispatch({ type: 'arrive', arrivals, now_ms: now() })
  }
  const timer = setInterval(letIn, 1000 / framesPerSecond)
  return {
    state: () => state,
    dispatch,
    take(message) {
      if (message.kind === 'beacon') {
        waiting.push(message)
        return
      }
      letIn()
      dispatch(told(message))
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => clearInterval(timer),
  }
}

/** What a message other than a beacon does to what is on the screen. */
export function told(message: Interruption): TailAction {
  if (message.kind === 'connected') return { type: 'connect', connection: { status: 'live' }, notice: noteOf(message) }
  if (message.kind !== 'lost') return { type: 'notice', text: noteOf(message) }
  return { type: 'connect', connection: { status: 'lost', reason: message.reason }, notice: noteOf(message) }
}
