/**
 * GET /_sandbox/events: server-sent events that start at any sequence number and never miss one. All followers are notified
 * together: the more there are, the longer new events are gathered, so that writing to sockets leaves time for requests.
 */
import type { ServerResponse } from 'node:http'
import type { Parsed } from '#contract/endpoint.ts'
import { decodeId, encodeId } from '#contract/ids.ts'
import { contract } from '#contract/index.ts'
import type { SandboxEvent } from '#contract/resources/events.ts'
import { acceptedItem, unacceptedItem, verdictsOf } from '#operations/beacon-items.ts'
import { callbackItem } from '#operations/callbacks.ts'
import { type Services, sinceOf } from '#operations/context.ts'
import { placementItem } from '#operations/placements.ts'
import { nextTurn } from '#runtime/pending-decisions.ts'
import type { EventRow, ProjectRow, SlotRow } from '#store/store.ts'
import { validate } from './body.ts'
import { type Exchange, headerOf, type Request, type Response, type Route } from './exchange.ts'

const streamEvents = contract['events.stream']
/** How much longer new events are gathered for each follower, milliseconds: one write takes a fiftieth of one. */
const gatheredPerFollower_ms = 0.2
const noSubject = { client_id: null, slot_id: null }
const keepAlive_ms = 15_000

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
    const gathered_ms = Math.floor(open.size * gatheredPerFollower_ms)
    if (gathered_ms === 0) deliver()
    else timer = setTimeout(deliver, gathered_ms)
  })
  const respond = async ({ context, request }: Exchange): Promise<Response> => {
    const query = validate(streamEvents.query, { ...request.query })
    const filter = await filterOf(services, query)
    const wanted = await startOf(services, context.now_ms, request, query)
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
        const follower = follow(services, batches, sink, isOfOtherStart ? 0 : wanted, filter)
        open.add(follower)
        sink.once('close', () => {
          follower.stop()
          open.delete(follower)
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

async function filterOf({ store }: Services, query: Query): Promise<EventFilter> {
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
 * The event for a follower of an earlier start, whose number lies ahead of this stream: what it knows is gone, and the stream
 * goes on from its first event. A database that nodes share counts on for ever, and a node may know less of it than the
 * follower of another.
 */
function startedOver(at_ms: number): string {
  return eventText({ ...noSubject, type: 'sandbox.reset', seq: 0, at_ms, data: {} })
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

interface Follower {
  /** Writes the events available now. */
  pump(): void
  stop(): void
}

/**
 * Writes the available events, then more on each `pump`. One at a time: a slow reader stops it, so nothing piles up.
 */
function follow(
  services: Services,
  batches: EventBatches,
  sink: ServerResponse,
  start: number,
  filter: EventFilter,
): Follower {
  const { store, platform } = services
  sink.write(': connected\n\n')
  let seq = start
  let generation = store.stateGeneration().count
  let isPumping = false
  let isNotified = false
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
    if (batch.isFull) await nextTurn()
    return batch.isFull
  }
  const pump = async () => {
    isNotified = true
    if (isPumping || isStopped) return
    isPumping = true
    try {
      while (isNotified) {
        isNotified = false
        while (await writeNext());
      }
    } catch (error) {
      // A store on a server may end while it is read for a follower that has gone.
      if (!isStopped) services.report(error)
      sink.end()
    } finally {
      isPumping = false
    }
  }
  const timer = setInterval(() => sink.write(': still here\n\n'), keepAlive_ms)
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

/** Which events a follower wants. Equal keys mean equal filters. */
interface EventFilter {
  key: string
  matches(event: EventRow): boolean
}

/** The next events of a follower. */
interface EventBatch {
  /** Empty when none of the events matches. */
  bytes: Buffer
  /** The last event that was read; the next batch begins after it. */
  last_seq: number
  /** Whether more events may be there already. */
  isFull: boolean
}

/**
 * Events as they are written to streams, made once for all followers: an event is read and serialized once, and
 * followers with the same filter at the same place share the bytes. Sharing is bounded in number and in time: the item
 * of an event changes, since a verdict depends on later beacons.
 */
interface EventBatches {
  /** Resolves to the events after a number, up to the next multiple of `batchSize`; null when the state was replaced. */
  next(filter: EventFilter, after: number): Promise<EventBatch | null>
}

/** Batches end at multiples of this: followers that fell behind by different amounts meet there. */
const batchSize = 100
/** How long a serialized event is shared, real milliseconds. */
const shared_ms = 500
const mostTexts = 2_000
const mostBatches = 200
const noBytes = Buffer.alloc(0)

function createEventBatches(services: Services): EventBatches {
  const { store, drainLock } = services
  const texts = new Map<number, { text: Promise<string | null>; at_ms: number }>()
  const batches = new Map<string, { batch: Promise<EventBatch | null>; at_ms: number; up_to: number }>()
  let generation = store.stateGeneration().count

  /** The text of an event; null when the state was replaced in the meantime. */
  const textOf = (row: EventRow): Promise<string | null> => {
    const known = texts.get(row.seq)
    const now_ms = performance.now()
    if (known !== undefined && now_ms - known.at_ms < shared_ms) return known.text
    const { count } = store.stateGeneration()
    const text = drainLock.run(async () => {
      if (count !== store.stateGeneration().count) return null
      return eventText(await toSandboxEvent(services, row, services.platform.clock.now()))
    })
    if (texts.size >= mostTexts) texts.clear()
    texts.set(row.seq, { text, at_ms: now_ms })
    return text
  }

  const read = async (filter: EventFilter, after: number): Promise<EventBatch | null> => {
    const { count } = store.stateGeneration()
    const limit = batchSize - (after % batchSize)
    const rows = await store.events(after, limit)
    const written: string[] = []
    for (const row of rows) {
      if (!filter.matches(row)) continue
      const text = await textOf(row)
      if (text === null) return null
      written.push(text)
    }
    if (count !== store.stateGeneration().count) return null
    return {
      bytes: written.length === 0 ? noBytes : Buffer.from(written.join(''), 'utf8'),
      last_seq: rows.at(-1)?.seq ?? after,
      isFull: rows.length === limit,
    }
  }

  return {
    next(filter, after) {
      const { count } = store.stateGeneration()
      if (count !== generation) {
        generation = count
        texts.clear()
        batches.clear()
      }
      const name = `${after} ${filter.key}`
      const known = batches.get(name)
      const now_ms = performance.now()
      const up_to = store.lastEventSeq()
      if (known !== undefined && known.up_to === up_to && now_ms - known.at_ms < shared_ms) return known.batch
      const batch = read(filter, after)
      // A failure is for the requests that wait for it now, not for later ones.
      batch.catch(() => batches.delete(name))
      if (batches.size >= mostBatches) batches.clear()
      batches.set(name, { batch, at_ms: now_ms, up_to })
      return batch
    },
  }
}

/** Returns an event in the form of `text/event-stream`. */
function eventText(event: SandboxEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

/**
 * Resolves to the wire form of an event: with the list item of its subject, never with a token or prompt text. `now_ms`
 * decides which placements are expired.
 */
async function toSandboxEvent(services: Services, row: EventRow, now_ms: number): Promise<SandboxEvent> {
  const { store } = services
  const project = row.project_id === null ? null : await store.projectById(row.project_id)
  const slot = row.slot_id === null ? null : await store.findSlot(row.slot_id)
  return {
    seq: row.seq,
    type: row.type,
    at_ms: row.at_ms,
    client_id: project?.client_id ?? null,
    slot_id: row.slot_id === null ? null : encodeId('slot', row.slot_id),
    data: await dataOf(services, row, project, slot, now_ms),
  }
}

async function dataOf(
  services: Services,
  row: EventRow,
  project: ProjectRow | null,
  slot: SlotRow | null,
  now_ms: number,
): Promise<SandboxEvent['data']> {
  const { store } = services
  switch (row.type) {
    case 'job.created':
    case 'placement.decided':
    case 'frame.loaded':
    case 'ticket.issued':
    case 'socket.opened':
    case 'socket.sent':
    case 'socket.closed':
      return slot === null ? {} : placementItem(slot, now_ms)
    case 'callback.delivered':
    case 'callback.retried':
    case 'callback.failed': {
      const callback = row.ref === null ? null : await store.findCallback(row.ref)
      return callback === null ? {} : callbackItem(services, callback)
    }
    case 'beacon.accepted': {
      const beacons = slot === null ? [] : await store.beaconsOf(slot.id)
      const beacon = beacons.find((candidate) => candidate.id === row.ref)
      if (slot === null || beacon === undefined) return {}
      return acceptedItem(slot, beacon, verdictsOf(slot, beacons).get(beacon.id))
    }
    case 'beacon.duplicate':
    case 'beacon.rejected': {
      const beacon = row.ref === null ? null : await store.unacceptedBeaconById(row.ref)
      return beacon === null || project === null ? {} : unacceptedItem(project.client_id, slot, beacon)
    }
    case 'consent.changed':
      return row.ref === null ? {} : { consent_id: encodeId('cns', row.ref) }
    case 'clock.changed':
      return { now_ms: row.at_ms, frozen: row.ref !== null }
    case 'events.dropped':
    case 'browser.activated':
    case 'sandbox.reset':
    case 'sandbox.restored':
      return {}
  }
}
