/** The one place that holds a tail's state. Beacons are gathered and let in at most 15 times a second. */
import { connectionNote, gapNote } from './connect.ts'
import type { Arrival } from './counts.ts'
import type { FeedMessage } from './feed.ts'
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

/** What a message other than a beacon means to the person who watches. */
export function told(message: Exclude<FeedMessage, { kind: 'beacon' }>): TailAction {
  switch (message.kind) {
    case 'connected':
      return { type: 'connect', connection: { status: 'live' }, notice: connectionNote(message) }
    case 'lost':
      return {
        type: 'connect',
        connection: { status: 'lost', reason: message.reason },
        notice: `Connection lost: ${message.reason}`,
      }
    case 'reset':
      return { type: 'notice', text: 'The sandbox was reset.' }
    case 'gap':
      return { type: 'notice', text: gapNote }
  }
}
