/**
 * The events of the sandbox, from the stream that all tabs of this browser share. The page resumes where it was; after
 * another start of the sandbox it begins again. Views get events in batches, at most ten a second.
 */
import { useEffect, useRef } from 'react'
import { followEvents as follow } from '#browser/feed.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { createCell } from './cell.ts'
import { currentSession, openSession } from './session.ts'

export type { SandboxEvent }

type LiveStatus = 'connecting' | 'live' | 'lost' | 'recovered'
type EventHandler = (events: readonly SandboxEvent[]) => unknown

const batchMs = 100
const maxRetryMs = 3_000
/** How long the page shows that the connection is back. */
const recoveredMs = 4_000

const status = createCell<LiveStatus>('connecting')
const handlers = new Set<EventHandler>()
const recoveryListeners = new Set<() => void>()

/** The newest events that this page has received, newest last. */
const recent = createCell<readonly SandboxEvent[]>([])
const maxRecentEvents = 1_000
/** Earlier events that the page begins with, to show the latest activity. */
const history = 500
let firstNewSeq = 0

let batch: SandboxEvent[] = []

function emit(event: SandboxEvent): void {
  // The first event of a batch starts its timer.
  if (batch.push(event) > 1) return
  setTimeout(() => {
    const events = batch
    batch = []
    recent.set(sinceReplaced([...recent.get(), ...events]).slice(-maxRecentEvents))
    const added = events.filter(({ seq }) => seq > firstNewSeq)
    if (added.length > 0) for (const handler of handlers) handler(added)
  }, batchMs)
}

/** Whether the whole state of the sandbox was replaced. */
export function isReplaced({ type }: SandboxEvent): boolean {
  return type === 'sandbox.reset' || type === 'sandbox.restored'
}

/** Returns the events of the current state: nothing else shown on a page is older than a reset. */
function sinceReplaced(events: readonly SandboxEvent[]): readonly SandboxEvent[] {
  return events.slice(Math.max(0, events.findLastIndex(isReplaced)))
}

let isStarted = false

/** Follows the events of this sandbox for as long as the page lives. */
export async function followEvents(): Promise<void> {
  if (isStarted) return
  isStarted = true
  let token = currentSession()?.token
  firstNewSeq = currentSession()?.last_event_seq ?? 0
  let seq = Math.max(0, firstNewSeq - history)
  for (let attempt = 0; ; attempt++) {
    let wasLive = false
    await follow({
      token: currentSession()?.token ?? '',
      since_seq: seq,
      onOpen() {
        wasLive = true
        attempt = 0
        connected()
      },
      onEvents(events) {
        seq = events.at(-1)?.seq ?? seq
        for (const event of events) emit(event)
      },
    })
    if (wasLive || status.get() === 'connecting') status.set('lost')
    await new Promise((resolve) => setTimeout(resolve, Math.min(maxRetryMs, 250 * 2 ** attempt)))
    if ((await openSession()) !== 'open') continue
    const session = currentSession()
    if (session !== null && (session.token !== token || session.last_event_seq < seq)) {
      token = session.token
      firstNewSeq = session.last_event_seq
      seq = Math.max(0, firstNewSeq - history)
      recent.set([])
    }
  }
}

function connected(): void {
  if (status.get() !== 'lost') {
    status.set('live')
    return
  }
  status.set('recovered')
  for (const listener of recoveryListeners) listener()
  setTimeout(() => {
    if (status.get() === 'recovered') status.set('live')
  }, recoveredMs)
}

export const useLiveStatus = status.use

/** Returns the newest events, newest last: the events since the page was opened, and a few before. */
export const useRecentEvents = recent.use

/** Calls `handler` with every batch of events for as long as the component is shown. */
export function useLiveEvents(handler: EventHandler): void {
  useHandler(handlers, handler)
}

/** Calls `handler` when the connection is back: events may have been missed, so the data shown must be read again. */
export function useRecovery(handler: () => void): void {
  useHandler(recoveryListeners, handler)
}

function useHandler<Args extends unknown[]>(all: Set<(...args: Args) => void>, handler: (...args: Args) => void): void {
  const current = useRef(handler)
  current.current = handler
  useEffect(() => {
    const own = (...args: Args) => current.current(...args)
    all.add(own)
    return () => {
      all.delete(own)
    }
  }, [all])
}
