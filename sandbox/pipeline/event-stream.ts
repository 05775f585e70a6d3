/** GET /_sandbox/events: server-sent events that begin at any sequence number and never miss one. */
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SandboxEvent } from '../../src/contract/control/events.ts'
import type { Parsed } from '../../src/contract/endpoint.ts'
import { decodeId } from '../../src/contract/ids.ts'
import { contract } from '../../src/contract/index.ts'
import { sinceOf } from '../operations/context.ts'
import { toSandboxEvent } from '../operations/events.ts'
import type { EventRow } from '../store/store.ts'
import { type Door, errorAnswer, header, openExchange, send, toApiError } from './pipeline.ts'
import { validate } from './body.ts'

const streamEvents = contract['events.stream']

const piece = 200
const noSubject = { client_id: null, slot_id: null }
const keepAlive_ms = 15_000
const streamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
}

export interface EventStreams {
  /** Ends every stream, when the sandbox stops. */
  close(): void
}

export function registerEventStream(app: FastifyInstance, door: Door): EventStreams {
  const open = new Set<() => void>()
  app.get(streamEvents.path, async (request, reply) => {
    const exchange = openExchange(door, request, reply)
    try {
      const query = validate(streamEvents.query, { ...(request.query as object) })
      const filter = await filterOf(door, query)
      const headers = { ...streamHeaders, 'x-request-id': exchange.context.request_id }
      if (request.method === 'HEAD') return reply.headers(headers).send()
      const stop = stream(door, reply, headers, await startOf(door, exchange.context.now_ms, request, query), filter)
      open.add(stop)
      reply.raw.once('close', () => {
        stop()
        open.delete(stop)
      })
    } catch (thrown) {
      return send(reply, errorAnswer(exchange.context, toApiError(door.services, thrown, exchange.context.request_id)))
    }
  })
  return {
    close() {
      for (const stop of open) stop()
      open.clear()
    },
  }
}

type Filter = (event: EventRow) => boolean

type Query = Parsed<typeof streamEvents>['query']

async function filterOf({ services }: Door, query: Query): Promise<Filter> {
  const types = query.type?.split(',').map((type) => type.trim()) ?? null
  const project_id =
    query.client_id === undefined ? null : ((await services.store.findProject(query.client_id))?.id ?? -1)
  const slot_id = query.slot_id === undefined ? null : (decodeId('slot', query.slot_id) ?? -1)
  return (event) =>
    (types === null || types.some((type) => matches(event.type, type))) &&
    (project_id === null || event.project_id === project_id) &&
    (slot_id === null || event.slot_id === slot_id)
}

function matches(type: string, pattern: string): boolean {
  return pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern
}

async function startOf(
  { services }: Door,
  now_ms: number,
  request: FastifyRequest,
  { since_seq, since }: Query,
): Promise<number> {
  const last = header(request, 'last-event-id')
  if (last !== undefined && /^\d{1,15}$/.test(last)) return Number(last)
  if (since_seq !== undefined) return since_seq
  const since_ms = sinceOf(since, now_ms)
  return since_ms === undefined ? services.store.lastEventSeq() : services.store.eventSeqBefore(since_ms)
}

/** Writes what is there, then waits for more. One pump at a time; a slow reader stops it, nothing piles up. */
function stream(
  { services }: Door,
  reply: FastifyReply,
  headers: Record<string, string>,
  start: number,
  filter: Filter,
): () => void {
  const { raw } = reply.hijack()
  raw.writeHead(200, headers)
  raw.write(': connected\n\n')
  let seq = start
  let generation = services.store.stateGeneration().count
  let isPumping = false
  let isStopped = false
  /** When everything was replaced, what came before is not of this state: goes on with the event that says so. */
  const skipToGeneration = () => {
    const { count, event_seq } = services.store.stateGeneration()
    if (count === generation) return
    generation = count
    seq = Math.max(seq, event_seq - 1)
  }
  const write = async (event: SandboxEvent) => {
    const isFlowing = raw.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    if (!isFlowing) await flowing(raw)
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
        const rows = await services.store.events(seq, piece)
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
        // A long history would hold up everybody else: a reader that keeps up never makes it wait.
        if (rows.length === piece) await nextTurn()
      }
    } catch (error) {
      services.report(error)
      raw.end()
    } finally {
      isPumping = false
    }
  }
  const off = services.store.onEvents(() => void pump())
  const timer = setInterval(() => raw.write(': still here\n\n'), keepAlive_ms)
  void pump()
  return () => {
    if (isStopped) return
    isStopped = true
    clearInterval(timer)
    off()
    raw.end()
  }
}

/** Resolves when the reader has caught up or has gone, and leaves no listener behind. */
function flowing(raw: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done).off('close', done)
      resolve()
    }
    raw.on('drain', done).on('close', done)
  })
}
