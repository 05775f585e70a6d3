/** GET /_sandbox/events: server-sent events that start at any sequence number and never miss one. */
import type { ServerResponse } from 'node:http'
import type { SandboxEvent } from '../../src/contract/control/events.ts'
import type { Parsed } from '../../src/contract/endpoint.ts'
import { decodeId } from '../../src/contract/ids.ts'
import { contract } from '../../src/contract/index.ts'
import { type Services, sinceOf } from '../operations/context.ts'
import { toSandboxEvent } from '../operations/events.ts'
import { nextTurn } from '../runtime/waiters.ts'
import type { EventRow } from '../store/store.ts'
import { validate } from './body.ts'
import { type Exchange, headerOf, type Request, type Response, type Route } from './exchange.ts'

const streamEvents = contract['events.stream']
const rowsAtOnce = 200
const noSubject = { client_id: null, slot_id: null }
const keepAlive_ms = 15_000

export interface EventStreams {
  route: Route
  /** Ends every stream, when the sandbox stops. */
  close(): void
}

export function createEventStreams(services: Services): EventStreams {
  const open = new Set<() => void>()
  const respond = async ({ context, request }: Exchange): Promise<Response> => {
    const query = validate(streamEvents.query, { ...request.query })
    const filter = await filterOf(services, query)
    const start = await startOf(services, context.now_ms, request, query)
    return {
      status: 200,
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-request-id': context.request_id,
      },
      body(sink) {
        if (sink.destroyed) return
        const stop = stream(services, sink, start, filter)
        open.add(stop)
        sink.once('close', () => {
          stop()
          open.delete(stop)
        })
      },
    }
  }
  return {
    route: { method: 'GET', path: streamEvents.path, respond },
    close() {
      for (const stop of open) stop()
      open.clear()
    },
  }
}

type Filter = (event: EventRow) => boolean

type Query = Parsed<typeof streamEvents>['query']

async function filterOf({ store }: Services, query: Query): Promise<Filter> {
  const types = query.type?.split(',').map((type) => type.trim()) ?? null
  const project_id = query.client_id === undefined ? null : ((await store.findProject(query.client_id))?.id ?? -1)
  const slot_id = query.slot_id === undefined ? null : (decodeId('slot', query.slot_id) ?? -1)
  return (event) =>
    (types === null || types.some((type) => matches(event.type, type))) &&
    (project_id === null || event.project_id === project_id) &&
    (slot_id === null || event.slot_id === slot_id)
}

function matches(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

/** The sequence number that the stream starts after. */
async function startOf(
  { store }: Services,
  now_ms: number,
  request: Request,
  { since_seq, since }: Query,
): Promise<number> {
  const last = headerOf(request, 'last-event-id')
  if (last !== undefined && /^\d{1,15}$/.test(last)) return Number(last)
  if (since_seq !== undefined) return since_seq
  const since_ms = sinceOf(since, now_ms)
  return since_ms === undefined ? store.lastEventSeq() : store.eventSeqBefore(since_ms)
}

/** Writes the events there are, then waits for more. One pump at a time: a slow reader stops it, nothing piles up. */
function stream(services: Services, sink: ServerResponse, start: number, filter: Filter): () => void {
  sink.write(': connected\n\n')
  let seq = start
  let generation = services.store.stateGeneration().count
  let isPumping = false
  let isStopped = false
  /** After the state was replaced, continues with the event that reports it: earlier ones belong to another state. */
  const skipToGeneration = () => {
    const { count, event_seq } = services.store.stateGeneration()
    if (count === generation) return
    generation = count
    seq = Math.max(seq, event_seq - 1)
  }
  const write = async (event: SandboxEvent) => {
    const isFlowing = sink.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    if (!isFlowing) await flowing(sink)
  }
  const pump = async () => {
    if (isPumping || isStopped) return
    isPumping = true
    try {
      while (!isStopped && services.store.lastEventSeq() > seq) {
        skipToGeneration()
        const { last_dropped_seq } = services.store.eventLog()
        if (seq < last_dropped_seq) {
          const gone = { ...noSubject, type: 'events.dropped', seq: last_dropped_seq } as const
          const at_ms = services.platform.clock.now()
          await write({ ...gone, at_ms, data: { after_seq: seq } })
          seq = last_dropped_seq
        }
        const rows = await services.store.events(seq, rowsAtOnce)
        if (rows.length === 0) break
        for (const row of rows) {
          if (generation !== services.store.stateGeneration().count) break
          seq = row.seq
          if (!filter(row)) continue
          const event = await services.drainLock.run(async () =>
            generation === services.store.stateGeneration().count
              ? toSandboxEvent(services, row, services.platform.clock.now())
              : null,
          )
          if (event === null) break
          await write(event)
          if (isStopped) break
        }
        // A long history must not hold up other requests: a reader that keeps up would never make it wait.
        if (rows.length === rowsAtOnce) await nextTurn()
      }
    } catch (error) {
      services.report(error)
      sink.end()
    } finally {
      isPumping = false
    }
  }
  const off = services.store.onEvents(() => void pump())
  const timer = setInterval(() => sink.write(': still here\n\n'), keepAlive_ms)
  void pump()
  return () => {
    if (isStopped) return
    isStopped = true
    clearInterval(timer)
    off()
    sink.end()
  }
}

/** Resolves when the reader has caught up or has gone, and leaves no listener behind. */
function flowing(sink: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      sink.off('drain', done).off('close', done)
      resolve()
    }
    sink.on('drain', done).on('close', done)
  })
}
