/**
 * The shared worker of the sandbox's own pages: it holds the one event stream of a browser, whatever number of tabs
 * shows the inspector and the demo. HTTP/1.1 allows six connections to an origin; with a stream for each tab, six tabs
 * would keep every other page of the sandbox from loading.
 *
 * A worker belongs to no tab, so the stream survives a tab that is closed or frozen. If it ends with the process of a
 * tab, the others notice and start it again. Each page says where it is, and gets what it missed.
 */
import type { SandboxEvent } from '#contract/resources/events.ts'
import { eventsAfter, type PageMessage, readEvents, type WorkerMessage } from './stream.ts'

/** Events that are kept for pages that join, newest last. */
const maxRecentEvents = 2_000
/** How long a page may be silent. A hidden one may only speak once a minute; a frozen one is sent nothing more. */
const silenceMs = 150_000
/** How long older events may take to arrive before a page that missed them continues with the newest. */
const catchUpMs = 5_000

interface Follower {
  port: MessagePort
  /** The newest event that it was sent. */
  seq: number
  /** Whether it waits for events that are no longer kept here. */
  isCatchingUp: boolean
  last_sign_ms: number
}

/** One connection. Pages with the same token share it. */
interface Stream {
  token: string
  isOpen: boolean
  /** Every event after this number, up to the newest, is in `recent`. */
  start_seq: number
  recent: SandboxEvent[]
  followers: Map<MessagePort, Follower>
  controller: AbortController
}

const streams = new Map<string, Stream>()

function send(port: MessagePort, message: WorkerMessage): void {
  port.postMessage(message)
}

function findNewestSeq({ recent, start_seq }: Stream): number {
  return recent.at(-1)?.seq ?? start_seq
}

function follow(port: MessagePort, token: string, since_seq: number): void {
  leave(port)
  const stream = streams.get(token) ?? openStream(token, since_seq)
  const follower = { port, seq: since_seq, isCatchingUp: false, last_sign_ms: performance.now() }
  stream.followers.set(port, follower)
  if (stream.isOpen) send(port, { type: 'open' })
  void catchUp(stream, follower)
}

function openStream(token: string, since_seq: number): Stream {
  const stream: Stream = {
    token,
    isOpen: false,
    start_seq: since_seq,
    recent: [],
    followers: new Map(),
    controller: new AbortController(),
  }
  streams.set(token, stream)
  void run(stream)
  return stream
}

/** Reads a stream until it ends or has no follower. Its followers come back where they were. */
async function run(stream: Stream): Promise<void> {
  const { token, start_seq: since_seq, followers, controller } = stream
  const onOpen = () => {
    stream.isOpen = true
    for (const port of followers.keys()) send(port, { type: 'open' })
  }
  try {
    for await (const events of readEvents({ token, since_seq, signal: controller.signal, onOpen })) {
      if (events.some(({ seq }) => seq === 0)) stream.start_seq = 0
      stream.recent.push(...events.filter(({ seq }) => seq > 0))
      for (const follower of followers.values()) if (!follower.isCatchingUp) sendLater(follower, events)
      const excess = stream.recent.length - maxRecentEvents
      if (excess > 0) stream.start_seq = stream.recent.splice(0, excess).at(-1)!.seq
    }
  } catch {
    // A stream that failed and one that ended are treated alike.
  }
  if (streams.get(token) === stream) streams.delete(token)
  for (const port of followers.keys()) send(port, { type: 'lost' })
}

/** Sends the events that a follower does not have yet. */
function sendLater(follower: Follower, all: readonly SandboxEvent[]): void {
  const events = eventsAfter(all, follower.seq)
  const last = events.at(-1)
  if (last === undefined) return
  follower.seq = last.seq
  send(follower.port, { type: 'events', events })
}

/** Sends what a follower has missed: from here, or, where that is too old, read by a connection that ends. */
async function catchUp(stream: Stream, follower: Follower): Promise<void> {
  follower.isCatchingUp = true
  while (follower.seq < stream.start_seq && stream.followers.get(follower.port) === follower) {
    const [since_seq, end_seq] = [follower.seq, findNewestSeq(stream)]
    const signal = AbortSignal.any([stream.controller.signal, AbortSignal.timeout(catchUpMs)])
    try {
      for await (const events of readEvents({ token: stream.token, since_seq, signal })) {
        sendLater(follower, events)
        if (follower.seq >= end_seq) break
      }
    } catch {
      // What it could not read within this time is no longer in the sandbox, or the stream ends too.
    }
    if (follower.seq === since_seq) break
  }
  sendLater(follower, stream.recent)
  follower.isCatchingUp = false
}

function leave(port: MessagePort): void {
  for (const stream of streams.values()) {
    stream.followers.delete(port)
    if (stream.followers.size > 0) continue
    streams.delete(stream.token)
    stream.controller.abort()
  }
}

function alive(port: MessagePort): void {
  const follower = [...streams.values()].flatMap(({ followers }) => followers.get(port) ?? [])[0]
  if (follower !== undefined) follower.last_sign_ms = performance.now()
  send(port, { type: follower === undefined ? 'lost' : 'alive' })
}

setInterval(() => {
  const oldest_ms = performance.now() - silenceMs
  for (const { followers } of streams.values()) {
    for (const { port, last_sign_ms } of followers.values()) if (last_sign_ms < oldest_ms) leave(port)
  }
}, silenceMs / 5)

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports
  if (port === undefined) return
  port.addEventListener('message', ({ data }: MessageEvent<PageMessage>) => {
    if (data.type === 'follow') follow(port, data.token, data.since_seq)
    else if (data.type === 'leave') leave(port)
    else alive(port)
  })
  port.addEventListener('close', () => leave(port))
  port.start()
})
