/**
 * GET /_sandbox/events: server-sent events that start at any sequence number and never miss one. All followers are notified
 * together: the more there are, the longer new events are gathered, so that writing to sockets leaves time for requests.
 */
import type { ServerResponse } from 'node:http'
import type { Parsed } from '#contract/endpoint.ts'
import { decodeId } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import { parseSinceFilter, type Services } from '#operations/context.ts'
import { yieldToEventLoop } from '#runtime/event-loop.ts'
import { validate } from '../body/validation.ts'
import { type OpenExchange, type PipelineResponse, type Request, type Route, readHeader } from '../exchange.ts'
import { createEventBatches, type EventBatches, type EventFilter } from './event-batches.ts'
import { eventText } from './event-data.ts'

const streamEvents = contract['events.stream']
/** How much longer new events are gathered for each follower, milliseconds: one write takes a fiftieth of one. */
const gatherPerFollowerMs = 0.2
const noSubject = { client_id: null, slot_id: null }
const keepAliveMs = 15_000

interface EventStreams {
  route: Route
  /** Ends every stream, when the sandbox stops. */
  close(): void
}

export function createEventStreams(services: Services): EventStreams {
  const { store } = services
  const open = new Set<Follower>()
  const batches = createEventBatches(services)
  let timer: NodeJS.Timeout | undefined
  const deliver = () => {
    timer = undefined
    for (const follower of open) follower.pump()
  }
  store.onEvents(() => {
    if (open.size === 0 || timer !== undefined) return
    const gathered_ms = Math.floor(open.size * gatherPerFollowerMs)
    if (gathered_ms === 0) deliver()
    else timer = setTimeout(deliver, gathered_ms)
  })
  const respond = async ({ context, request }: OpenExchange): Promise<PipelineResponse> => {
    const query = validate(streamEvents.query, { ...request.query })
    const filter = await createFilter(services, query)
    const wanted = await findStart(services, context.now_ms, request, query)
    const isOfOtherStart = store.shared === null && wanted > store.lastEventSeq()
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
        if (isOfOtherStart) sink.write(startedOver(context.now_ms))
        const follower = follow(services, { batches, sink, start: isOfOtherStart ? 0 : wanted, filter })
        open.add(follower)
        services.metrics.open_streams.event_stream++
        sink.once('close', () => {
          follower.stop()
          open.delete(follower)
          services.metrics.open_streams.event_stream--
        })
      },
    }
  }
  return {
    route: { method: 'GET', path: streamEvents.path, respond },
    close() {
      clearTimeout(timer)
      for (const follower of open) follower.stop()
      open.clear()
    },
  }
}

type Query = Parsed<typeof streamEvents>['query']

async function createFilter({ store }: Services, query: Query): Promise<EventFilter> {
  const types = query.type?.split(',').map((type) => type.trim()) ?? null
  const project_id = query.client_id === undefined ? null : ((await store.findProject(query.client_id))?.id ?? -1)
  const slot_id = query.slot_id === undefined ? null : (decodeId('slot', query.slot_id) ?? -1)
  return {
    key: JSON.stringify([types, project_id, slot_id]),
    matches: (event) =>
      (types === null || types.some((type) => matches(event.type, type))) &&
      (project_id === null || event.project_id === project_id) &&
      (slot_id === null || event.slot_id === slot_id),
  }
}

function matches(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

/**
 * The event for a follower of an earlier start, whose number lies ahead of this stream: the state that it knows is gone,
 * and the stream continues from its first event. A shared database keeps counting, and a node may know less of it than a
 * follower of another node.
 */
function startedOver(at_ms: number): string {
  return eventText({ ...noSubject, type: 'sandbox.reset', seq: 0, at_ms, data: {} })
}

/** The sequence number that the stream starts after. */
async function findStart(
  { store }: Services,
  now_ms: number,
  request: Request,
  { since_seq, since }: Query,
): Promise<number> {
  const last = readHeader(request, 'last-event-id')
  if (last !== undefined && /^\d{1,15}$/.test(last)) return Number(last)
  if (since_seq !== undefined) return since_seq
  const since_ms = parseSinceFilter(since, now_ms)
  return since_ms === undefined ? store.lastEventSeq() : store.eventSeqBefore(since_ms)
}

interface Subscription {
  batches: EventBatches
  sink: ServerResponse
  /** The sequence number that it starts after. */
  start: number
  filter: EventFilter
}

interface Follower {
  /** Writes the events available now. */
  pump(): void
  stop(): void
}

/**
 * Writes the available events, then more on each `pump`. One at a time: a slow reader stops it, so nothing piles up.
 */
function follow(services: Services, { batches, sink, start, filter }: Subscription): Follower {
  const { store, platform } = services
  sink.write(': connected\n\n')
  let seq = start
  let generation = store.stateGeneration().count
  let isStopped = false
  /** After the state was replaced, continues with the event that reports it: earlier ones belong to another state. */
  const skipToGeneration = () => {
    const { count, event_seq } = store.stateGeneration()
    if (count === generation) return
    generation = count
    seq = Math.max(seq, event_seq - 1)
  }
  const write = async (bytes: string | Buffer) => {
    if (bytes.length > 0 && !sink.write(bytes)) await flowing(sink)
  }
  /** Returns false when there is nothing more to write now. */
  const writeNext = async (): Promise<boolean> => {
    if (isStopped || store.lastEventSeq() <= seq) return false
    skipToGeneration()
    const { last_dropped_seq } = store.eventLog()
    if (seq < last_dropped_seq) {
      const gone = { ...noSubject, type: 'events.dropped', seq: last_dropped_seq } as const
      await write(eventText({ ...gone, at_ms: platform.clock.now(), data: { after_seq: seq } }))
      seq = last_dropped_seq
    }
    const batch = await batches.next(filter, seq)
    if (isStopped) return false
    if (batch === null || generation !== store.stateGeneration().count) return true
    seq = batch.last_seq
    await write(batch.bytes)
    // A long history must not hold up other requests: a reader that keeps up would never make it wait.
    if (batch.isFull) await yieldToEventLoop()
    return batch.isFull
  }
  const pump = createPump(writeNext, (error) => {
    // A store on a server may end while it is read for a follower that has gone.
    if (!isStopped) services.report(error)
    sink.end()
  })
  const timer = setInterval(() => sink.write(': still here\n\n'), keepAliveMs)
  void pump()
  return {
    pump: () => void pump(),
    stop() {
      if (isStopped) return
      isStopped = true
      clearInterval(timer)
      sink.end()
    },
  }
}

/** Returns a function that calls `work` until it resolves to false, and again when it was called in the meantime. */
function createPump(work: () => Promise<boolean>, onError: (error: unknown) => void): () => Promise<void> {
  let isRunning = false
  let isNotified = false
  return async () => {
    isNotified = true
    if (isRunning) return
    isRunning = true
    try {
      while (isNotified) {
        isNotified = false
        while (await work());
      }
    } catch (error) {
      onError(error)
    } finally {
      isRunning = false
    }
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
