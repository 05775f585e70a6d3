/** The event stream of the sandbox over one connection, and the messages between a page and the worker that shares one. */
import type { SandboxEvent } from '#contract/resources/events.ts'
import { isObject } from '#foundation/json.ts'
import { parseEventData, splitEventBlocks } from '#foundation/server-sent-events.ts'

/** From a page to the worker. Only a page that follows is sent events. */
export type PageMessage =
  | { type: 'follow'; token: string; since_seq: number }
  /** A sign of life, which the worker returns. */
  | { type: 'alive' }
  | { type: 'leave' }

/** From the worker to a page. */
export type WorkerMessage =
  | { type: 'open' }
  | { type: 'events'; events: readonly SandboxEvent[] }
  | { type: 'alive' }
  /** The stream has ended, or this page is not known as a follower. */
  | { type: 'lost' }

/**
 * Returns the events after a number: all of them once the sandbox has started over, which an event with the number 0 says.
 */
export function eventsAfter(events: readonly SandboxEvent[], after: number): readonly SandboxEvent[] {
  const restart = events.findLastIndex(({ seq }) => seq === 0)
  return restart === -1 ? events.filter(({ seq }) => seq > after) : events.slice(restart)
}

interface StreamOptions {
  /** Sent in a header; '' for none. */
  token: string
  since_seq: number
  signal: AbortSignal
  /** Called when the sandbox has accepted the connection. */
  onOpen?(): void
}

/** The stream sends a sign of life every 15 s. */
const silenceMs = 40_000

/**
 * Yields the events after a sequence number, those that arrive together in one array. It is read by fetch, so that the
 * token is in a header and a silent stream is noticed.
 * @throws Error when the sandbox refuses, the connection breaks or `signal` is aborted
 */
export async function* readEvents({ token, since_seq, signal, onOpen }: StreamOptions): AsyncGenerator<SandboxEvent[]> {
  const controller = new AbortController()
  const abort = () => controller.abort()
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  let silence: ReturnType<typeof setTimeout> | undefined
  const restartSilence = () => {
    clearTimeout(silence)
    silence = setTimeout(abort, silenceMs)
  }
  restartSilence()
  try {
    const response = await fetch(`/_sandbox/events?since_seq=${since_seq}`, {
      headers: token === '' ? {} : { 'x-sandbox-token': token },
      cache: 'no-store',
      signal: controller.signal,
    })
    if (!response.ok || response.body === null) throw new Error(`the stream responded ${response.status}`)
    onOpen?.()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      restartSilence()
      const split = splitEventBlocks(rest + value)
      rest = split.rest
      const events = split.blocks.map(parseEventData).filter(isEvent)
      if (events.length > 0) yield events
    }
  } finally {
    clearTimeout(silence)
    signal.removeEventListener('abort', abort)
    abort()
  }
}

function isEvent(data: unknown): data is SandboxEvent {
  return isObject(data)
}
