/** The events of a sandbox from the beginning of a case on, from its event stream. */
import { EventEmitter, once } from 'node:events'
import { readEvents } from '#client/response.ts'
import { contract } from '#contract/index.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { type Json, valueAt } from '#foundation/json.ts'
import { matches } from '#qa/expect/operators.ts'
import type { Target } from './target.ts'

export type WantedEvent = string | { type: string; data?: Record<string, Json> | undefined }

export type EventStream = Awaited<ReturnType<typeof openEventStream>>

/** An event was not emitted in time. */
export class MissingEventsError extends Error {
  override readonly name = 'MissingEventsError'
  readonly seen: readonly string[]

  constructor(missing: WantedEvent, seen: readonly string[]) {
    super(`The event ${eventType(missing)} was not emitted. Seen: ${seen.length === 0 ? 'nothing' : seen.join(', ')}.`)
    this.seen = seen
  }
}

/** Opens the stream, which begins with the next event. Throws NoResponseError. */
export async function openEventStream({ http, base_url, control_headers }: Target, signal: AbortSignal) {
  const stop = new AbortController()
  const headers = { accept: 'text/event-stream', ...control_headers }
  const url = base_url + contract['events.stream'].path
  const reader = await http.open({ method: 'GET', url, headers, body: null }, AbortSignal.any([stop.signal, signal]))
  const events: SandboxEvent[] = []
  const changes = new EventEmitter().setMaxListeners(0)
  let isOpen = true
  const reading = (async () => {
    for await (const event of readEvents(reader)) {
      events.push(event)
      changes.emit('change')
    }
  })()
  reading
    .catch(() => {})
    .finally(() => {
      isOpen = false
      changes.emit('change')
    })
  return {
    /** Resolves with the wanted events, in order, others between them. Rejects with MissingEventsError on abort. */
    async waitFor(
      wanted: readonly WantedEvent[],
      isOwn: (event: SandboxEvent) => boolean,
      signal: AbortSignal,
    ): Promise<SandboxEvent[]> {
      for (;;) {
        const own = events.filter(isOwn)
        const found = inOrder(wanted, own)
        const missing = wanted[found.length]
        if (missing === undefined) return found
        if (signal.aborted || !isOpen) {
          const seen = own.map(({ type }) => type)
          throw new MissingEventsError(missing, seen)
        }
        // Rejects on abort, which the next round reports.
        await once(changes, 'change', { signal }).catch(() => {})
      }
    },
    close: () => stop.abort(),
  }
}

/** Returns as many of the wanted events as there are, each after the one before. */
function inOrder(wanted: readonly WantedEvent[], events: readonly SandboxEvent[]): SandboxEvent[] {
  const found: SandboxEvent[] = []
  let from = 0
  for (const want of wanted) {
    const at = events.findIndex((event, index) => index >= from && isMatch(want, event))
    if (at < 0) break
    found.push(events[at]!)
    from = at + 1
  }
  return found
}

function isMatch(wanted: WantedEvent, { type, data }: SandboxEvent): boolean {
  if (typeof wanted === 'string') return wanted === type
  const fields = Object.entries(wanted.data ?? {})
  return wanted.type === type && fields.every(([path, expected]) => matches(expected, valueAt(data as Json, path)))
}

function eventType(wanted: WantedEvent): string {
  return typeof wanted === 'string' ? wanted : wanted.type
}
