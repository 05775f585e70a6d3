/**
 * The event stream of the sandbox, once for the whole page: read by fetch, so that the token is in a header and a
 * silent stream is noticed. It resumes where it was; after another start of the sandbox it begins again. Views get
 * events in batches, at most ten a second.
 */
import { useEffect, useRef } from 'react'
import type { SandboxEvent } from '../../../src/contract/resources/events.ts'
import { parseJson } from '../../../src/foundation/json.ts'
import { addressOf, currentSession, openSession, request } from './api.ts'
import { createCell } from './cell.ts'

export type { SandboxEvent }

type LiveStatus = 'connecting' | 'live' | 'lost' | 'recovered'
type EventHandler = (events: readonly SandboxEvent[]) => unknown

/** The stream sends a sign of life every 15 s. */
const silence_ms = 40_000
const batch_ms = 100
const longestRetry_ms = 3_000
/** How long the page shows that the connection is back. */
const recovered_ms = 4_000

const status = createCell<LiveStatus>('connecting')
const handlers = new Set<EventHandler>()
const recoveryListeners = new Set<() => void>()

/** The newest events that this page has received, newest last. */
const recent = createCell<readonly SandboxEvent[]>([])
const mostRecent = 1_000
/** Earlier events that the page begins with, to show the latest activity. */
const history = 500
let first_new_seq = 0

let batch: SandboxEvent[] = []

function emit(event: SandboxEvent): void {
  // The first event of a batch starts its timer.
  if (batch.push(event) > 1) return
  setTimeout(() => {
    const events = batch
    batch = []
    recent.set(sinceReplaced([...recent.get(), ...events]).slice(-mostRecent))
    const added = events.filter(({ seq }) => seq > first_new_seq)
    if (added.length > 0) for (const handler of handlers) handler(added)
  }, batch_ms)
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
  first_new_seq = currentSession()?.last_event_seq ?? 0
  let seq = Math.max(0, first_new_seq - history)
  for (let attempt = 0; ; attempt++) {
    let wasLive = false
    try {
      for await (const event of readEvents(seq, () => {
        wasLive = true
        attempt = 0
        connected()
      })) {
        seq = event.seq
        emit(event)
      }
    } catch {
      // From here on, a failed stream and an ended one are treated alike.
    }
    if (wasLive || status.get() === 'connecting') status.set('lost')
    await new Promise((resolve) => setTimeout(resolve, Math.min(longestRetry_ms, 250 * 2 ** attempt)))
    if ((await openSession()) !== 'open') continue
    const session = currentSession()
    if (session !== null && (session.token !== token || session.last_event_seq < seq)) {
      token = session.token
      first_new_seq = session.last_event_seq
      seq = Math.max(0, first_new_seq - history)
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
  }, recovered_ms)
}

async function* readEvents(since_seq: number, onOpen: () => void): AsyncGenerator<SandboxEvent> {
  const controller = new AbortController()
  let silence: ReturnType<typeof setTimeout> | undefined
  const heard = () => {
    clearTimeout(silence)
    silence = setTimeout(() => controller.abort(), silence_ms)
  }
  heard()
  try {
    const address = addressOf('events.stream', { query: { since_seq } })
    const response = await request('GET', address, undefined, controller.signal)
    if (!response.ok || response.body === null) throw new Error(`the stream responded ${response.status}`)
    onOpen()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      heard()
      const parts = (rest + value).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const data = part.split('\n').find((line) => line.startsWith('data: '))
        const event = data === undefined ? undefined : parseJson(data.slice(6))
        if (event !== undefined && event !== null) yield event as unknown as SandboxEvent
      }
    }
  } finally {
    clearTimeout(silence)
    controller.abort()
  }
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
