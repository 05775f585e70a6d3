/**
 * Follows the events of the sandbox from one of its own pages. All tabs of a browser share one connection, which a
 * shared worker holds. Where there is none, a page has its own, closed while the tab is hidden.
 */
import type { SandboxEvent } from '#contract/resources/events.ts'
import { eventsAfter, type PageMessage, readEvents, type WorkerMessage } from './stream.ts'

interface FeedOptions {
  /** Sent with the request; '' for none. */
  token: string
  /** The last event that the page has. */
  since_seq: number
  /** Called when the connection is there. */
  onOpen(): void
  onEvents(events: readonly SandboxEvent[]): void
}

const script = '/_sandbox/inspector/events.js'
/** A worker of an earlier start lives for as long as one of its tabs: it must understand the same messages. */
const name = 'svc events 1'

/** How often a page and the worker exchange a sign of life, and after how many without a reply the worker is gone. */
const signMs = 2_000
const maxUnansweredSigns = 3

let isSharable = typeof SharedWorker === 'function'

/** Follows events until the connection is lost, then resolves: call it again with the last event. Each event comes once. */
export function followEvents(options: FeedOptions): Promise<void> {
  return isSharable ? followShared(options) : followAlone(options)
}

function followShared({ token, since_seq, onOpen, onEvents }: FeedOptions): Promise<void> {
  let worker: SharedWorker
  try {
    worker = new SharedWorker(script, { name })
  } catch {
    // The browser has shared workers, but its settings forbid them.
    isSharable = false
    return Promise.resolve()
  }
  const { port } = worker
  const send = (message: PageMessage) => port.postMessage(message)
  return new Promise((resolve) => {
    const listeners = new AbortController()
    const { signal } = listeners
    let seq = since_seq
    let unanswered = 0
    const end = () => {
      clearInterval(signs)
      listeners.abort()
      send({ type: 'leave' })
      port.close()
      resolve()
    }
    const signs = setInterval(() => {
      if (unanswered++ >= maxUnansweredSigns) end()
      else send({ type: 'alive' })
    }, signMs)
    const follow = () => send({ type: 'follow', token, since_seq: seq })
    const onMessage = ({ data }: MessageEvent<WorkerMessage>) => {
      unanswered = 0
      if (data.type === 'lost') end()
      else if (data.type === 'open') onOpen()
      else if (data.type === 'events') {
        const events = eventsAfter(data.events, seq)
        seq = events.at(-1)?.seq ?? seq
        if (events.length > 0) onEvents(events)
      }
    }
    port.addEventListener('message', onMessage, { signal })
    // The process of the worker has ended. Browsers without this event notice that it does not reply.
    port.addEventListener('close', end, { signal })
    worker.addEventListener(
      'error',
      () => {
        void isServed().then((isServed) => {
          if (isServed) isSharable = false
          end()
        })
      },
      { signal },
    )
    // A page that is left may come back as it was.
    addEventListener('pagehide', () => send({ type: 'leave' }), { signal })
    addEventListener('pageshow', ({ persisted }) => persisted && follow(), { signal })
    port.start()
    follow()
  })
}

/** Whether the script of the worker can be read: a worker that fails all the same is one that this browser refuses. */
function isServed(): Promise<boolean> {
  return fetch(script).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** Follows by a connection of this tab, which it has only while it is visible. */
async function followAlone({ token, since_seq, onOpen, onEvents }: FeedOptions): Promise<void> {
  for (let seq = since_seq; ; ) {
    await visible()
    const controller = new AbortController()
    const { signal } = controller
    const onChange = () => document.visibilityState === 'hidden' && controller.abort()
    document.addEventListener('visibilitychange', onChange)
    try {
      for await (const events of readEvents({ token, since_seq: seq, signal, onOpen })) {
        seq = events.at(-1)?.seq ?? seq
        onEvents(events)
      }
    } catch {
      // A stream that failed and one that ended are treated alike.
    } finally {
      document.removeEventListener('visibilitychange', onChange)
    }
    if (!signal.aborted) return
  }
}

async function visible(): Promise<void> {
  while (document.visibilityState === 'hidden') {
    await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }))
  }
}
