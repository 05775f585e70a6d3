/** The events of a sandbox from the beginning of a case on, over its stream. */
import { readEvents } from '../../client/transport.ts'
import type { SandboxEvent } from '../../contract/control/events.ts'
import { contract } from '../../contract/index.ts'
import type { Json } from '../../foundation/json.ts'
import { valueAt } from '../../foundation/json-path.ts'
import { matches } from '../expect/matchers.ts'
import type { Target } from './target.ts'

export type WantedEvent = string | { type: string; data?: Record<string, Json> | undefined }

export interface EventTap {
  /** The events that were wanted, in order, with others between them. Rejects with what was there when time is up. */
  waitFor(
    wanted: readonly WantedEvent[],
    isOwn: (event: SandboxEvent) => boolean,
    signal: AbortSignal,
  ): Promise<SandboxEvent[]>
  close(): void
}

/** Events that were not seen in time. */
export class EventsMissing extends Error {
  override readonly name = 'EventsMissing'
  readonly seen: readonly string[]

  constructor(wanted: readonly WantedEvent[], found: number, seen: readonly string[]) {
    super(`The event ${typeOf(wanted[found]!)} did not come. Seen: ${seen.length === 0 ? 'nothing' : seen.join(', ')}.`)
    this.seen = seen
  }
}

/** Opens the stream; it begins with the next event. Throws NoAnswer. */
export async function openEventTap(
  { wire, base_url, control_headers }: Target,
  signal: AbortSignal,
): Promise<EventTap> {
  const stop = new AbortController()
  const headers = { accept: 'text/event-stream', ...control_headers }
  const url = base_url + contract['events.stream'].path
  const reader = await wire.open({ method: 'GET', url, headers, body: null }, AbortSignal.any([stop.signal, signal]))
  const events: SandboxEvent[] = []
  let wake = () => {}
  let isOpen = true
  const reading = (async () => {
    for await (const event of readEvents(reader)) {
      events.push(event)
      wake()
    }
  })()
  reading
    .catch(() => {})
    .finally(() => {
      isOpen = false
      wake()
    })
  return {
    async waitFor(wanted, isOwn, signal) {
      const onAbort = () => wake()
      signal.addEventListener('abort', onAbort)
      try {
        for (;;) {
          const own = events.filter(isOwn)
          const found = inOrder(wanted, own)
          if (found.length === wanted.length) return found
          if (signal.aborted || !isOpen) {
            throw new EventsMissing(
              wanted,
              found.length,
              own.map((event) => event.type),
            )
          }
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        }
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
    },
    close: () => stop.abort(),
  }
}

/** As many of the wanted events as are there, each after the one before. */
function inOrder(wanted: readonly WantedEvent[], events: readonly SandboxEvent[]): SandboxEvent[] {
  const found: SandboxEvent[] = []
  let from = 0
  for (const want of wanted) {
    const at = events.findIndex((event, index) => index >= from && fits(want, event))
    if (at < 0) break
    found.push(events[at]!)
    from = at + 1
  }
  return found
}

function fits(wanted: WantedEvent, event: SandboxEvent): boolean {
  if (typeof wanted === 'string') return wanted === event.type
  const data = event.data as Json
  return (
    wanted.type === event.type &&
    Object.entries(wanted.data ?? {}).every(([path, expected]) => matches(expected, valueAt(data, path)))
  )
}

function typeOf(wanted: WantedEvent): string {
  return typeof wanted === 'string' ? wanted : wanted.type
}
