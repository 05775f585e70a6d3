/** The store of a tail: it applies items at most 15 times a second. */
import { describeInterruption, type Interruption } from './feed.ts'
import { reduce, type TailAction, type TailState } from './model.ts'
import type { Arrival } from './source.ts'

/** The events of a feed: items, and changes of the connection. */
export type TailMessage = Interruption | ({ kind: 'item' } & Arrival)

export const framesPerSecond = 15

export interface TailStore {
  state(): TailState
  dispatch(action: TailAction): void
  /** Applies a message of the feed. */
  receive(message: TailMessage): void
  subscribe(listener: () => void): () => void
  close(): void
}

export function createTailStore(initial: TailState, now: () => number): TailStore {
  let state = initial
  let pending: Arrival[] = []
  const listeners = new Set<() => void>()
  const dispatch = (action: TailAction) => {
    state = reduce(state, action)
    for (const listener of listeners) listener()
  }
  const flush = () => {
    const isNextSecond = Math.floor(now() / 1000) !== Math.floor(state.now_ms / 1000)
    if (pending.length === 0 && !isNextSecond) return
    const arrivals = pending
    pending = []
    dispatch({ type: 'arrive', arrivals, now_ms: now() })
  }
  const timer = setInterval(flush, 1000 / framesPerSecond)
  return {
    state: () => state,
    dispatch,
    receive(message) {
      if (message.kind === 'item') {
        pending.push(message)
        return
      }
      flush()
      dispatch(toAction(message))
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => clearInterval(timer),
  }
}

function toAction(message: Interruption): TailAction {
  if (message.kind === 'connected')
    return { type: 'connect', connection: { status: 'live' }, notice: describeInterruption(message) }
  if (message.kind !== 'lost') return { type: 'notice', text: describeInterruption(message) }
  return {
    type: 'connect',
    connection: { status: 'lost', reason: message.reason },
    notice: describeInterruption(message),
  }
}
