/**
 * The network between clients and a simulated process, without sockets: `node:http` of this process accepts and sends
 * through it. A request and its response travel for a while each, and either may be lost, or the request arrives twice.
 */
import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { Readable, Writable } from 'node:stream'
import { createSendOut } from './outgoing.ts'
import type { Scheduler } from './scheduler.ts'
import { type Connected, type Connection, ServerSocket, upgrade } from './upgrades.ts'

const require = createRequire(import.meta.url)

export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body: string | Buffer
}

export interface Received {
  status: number
  headers: Record<string, string>
  body: Buffer
  /** Whether the whole body is there. */
  isWhole: boolean
}

/** How a request travels. */
export interface Travel {
  there_ms: number
  back_ms: number
  /** Another copy arrives so much later. */
  again_ms: number | null
  loses: 'request' | 'response' | null
  /** The client closes the connection after this time; null: it waits. */
  leaves_ms: number | null
}

export const atOnce: Travel = { there_ms: 0, back_ms: 0, again_ms: null, loses: null, leaves_ms: null }

/** What clients hear of a connection that ends without a response. */
export type Outcome = Received | 'lost'

/** The side of the process: its listener, and the exchanges that are open. */
export interface Network {
  /** The process is gone: nothing that it still does is seen, and its connections end. */
  cut(): void
  readonly isListening: boolean
  /** Requests under way, other copies of them too, without streams. */
  readonly busy: number
  /** Sends a request. */
  send(sent: Sent, travel: Travel, watch?: Watch): Promise<Outcome>
  /** Opens a stream: its text arrives in pieces. Returns what closes it. */
  open(sent: Sent, onText: (text: string) => void, onEnd: () => void): () => void
  /** Sends a handshake. Returns the connection; null when nothing listens. */
  connect(path: string, headers: Record<string, string>, connected: Connected): Connection | null
  /** Called with each request that the process sends, to answer it. */
  onOutgoing: (sent: Sent & { host: string; port: number }) => { status: number } | 'refused'
}

/**
 * Called when the process gets a request. What it returns is called when the process has written the whole response,
 * whatever becomes of it on the way; with null when it ended without one.
 */
export type Watch = () => (received: Received | null) => void

let current: { scheduler: Scheduler; network: OpenNetwork }

type OpenNetwork = Network & {
  listener: RequestListener | null
  server: EventEmitter | null
  exchanges: Set<Response>
  sockets: Set<ServerSocket>
}

/** Replaces the servers and the requests of `node:http`. Called once, before the product is loaded. */
export function replaceSockets(): void {
  Object.assign(require('node:http'), { createServer, request: createSendOut(() => current) })
  syncBuiltinESMExports()
}

export function createNetwork(scheduler: Scheduler): Network {
  let busy = 0
  const network: OpenNetwork = {
    listener: null,
    server: null,
    exchanges: new Set(),
    sockets: new Set(),
    onOutgoing: () => 'refused',
    get isListening() {
      return network.listener !== null
    },
    get busy() {
      return busy
    },
    cut() {
      network.listener = null
      for (const exchange of [...network.exchanges]) exchange.cut()
      network.exchanges.clear()
      for (const socket of network.sockets) socket.cut()
      network.sockets.clear()
    },
    send,
    open,
    connect(path, headers, connected) {
      if (network.listener === null || network.server === null) return null
      const socket = new ServerSocket(scheduler, connected)
      network.sockets.add(socket)
      socket.once('close', () => network.sockets.delete(socket))
      return upgrade(network.server, { path, headers }, socket)
    },
  }
  current = { scheduler, network }
  return network

  function send(sent: Sent, travel: Travel, watch: Watch = () => () => {}): Promise<Outcome> {
    return new Promise((resolve) => {
      const lost = () => void scheduler.add('network', travel.back_ms, () => resolve('lost'))
      const arrive = (isFirst: boolean) => {
        if (network.listener === null) {
          busy--
          return isFirst ? lost() : undefined
        }
        const onResponse = watch()
        const response = deliver(sent, (received) => {
          busy--
          onResponse(received)
          if (!isFirst) return
          if (received === null || travel.loses === 'response') lost()
          else scheduler.add('network', travel.back_ms, () => resolve(received))
        })
        if (travel.leaves_ms === null || !isFirst) return
        scheduler.add('network', travel.leaves_ms, () => {
          if (!response.destroyed && !response.writableFinished) response.destroy()
        })
      }
      if (travel.loses === 'request') return lost()
      const { again_ms } = travel
      busy += again_ms === null ? 1 : 2
      scheduler.add('network', travel.there_ms, () => arrive(true))
      if (again_ms !== null) scheduler.add('network', travel.there_ms + again_ms, () => arrive(false))
    })
  }

  function open(sent: Sent, onText: (text: string) => void, onEnd: () => void): () => void {
    if (network.listener === null) {
      onEnd()
      return () => {}
    }
    const response = deliver(sent, onEnd, onText)
    return () => response.destroy()
  }

  function deliver(sent: Sent, onEnd: (received: Received | null) => void, onText?: (text: string) => void): Response {
    const response = new Response(onEnd, onText)
    network.exchanges.add(response)
    response.once('close', () => network.exchanges.delete(response))
    network.listener!(
      createIncoming(sent, response),
      response as unknown as InstanceType<typeof ServerResponse> & { req: IncomingMessage },
    )
    return response
  }
}

/** What the listener reads. */
function createIncoming({ method, path, headers, body }: Sent, response: Response) {
  const bytes = Buffer.from(body)
  const all: IncomingHttpHeaders = { host: '127.0.0.1:4010', ...headers }
  if (bytes.length > 0) all['content-length'] = String(bytes.length)
  const incoming = new Readable({ read() {} })
  incoming.push(bytes.length === 0 ? null : bytes)
  if (bytes.length > 0) incoming.push(null)
  const rawHeaders = Object.entries(all).flatMap(([name, value]) => [name, String(value)])
  const facts = {
    method,
    url: path,
    headers: all,
    rawHeaders,
    socket: response.socket,
    complete: true,
    httpVersion: '1.1',
  }
  return Object.assign(incoming, facts) as unknown as IncomingMessage
}

/** What the listener writes to. It is seen as a whole when it has ended, and as text while it goes on. */
class Response extends Writable {
  statusCode = 200
  headersSent = false
  shouldKeepAlive = true
  readonly socket = {
    remoteAddress: '127.0.0.1',
    destroy: () => this.destroy(),
    resetAndDestroy: () => this.destroy(),
    on() {},
  }
  #headers: Record<string, string> = {}
  #chunks: Buffer[] = []
  #isCut = false
  readonly #onEnd: (received: Received | null) => void
  readonly #onText: ((text: string) => void) | undefined

  constructor(onEnd: (received: Received | null) => void, onText?: (text: string) => void) {
    super({ decodeStrings: false })
    this.#onEnd = onEnd
    this.#onText = onText
    this.once('close', () => this.#finish(null))
  }

  writeHead(status: number, headers: Record<string, string> = {}): this {
    this.statusCode = status
    this.headersSent = true
    this.#headers = headers
    return this
  }

  override _write(chunk: string | Buffer, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
    this.#chunks.push(bytes)
    if (!this.#isCut) this.#onText?.(bytes.toString('utf8'))
    done()
  }

  override _final(done: () => void): void {
    this.#finish({ status: this.statusCode, headers: this.#headers, body: Buffer.concat(this.#chunks), isWhole: true })
    done()
  }

  /** The process is gone: what it writes now is not seen. */
  cut(): void {
    this.#finish(null)
    this.#isCut = true
  }

  #finish(received: Received | null): void {
    if (this.#isCut) return
    this.#isCut = true
    this.#onEnd(received)
  }
}

/** A server of `node:http` that listens to the network instead. */
function createServer(_settings: object, listener: RequestListener) {
  const { network } = current
  let port = 0
  let host = ''
  const server = Object.assign(new EventEmitter(), {
    requestTimeout: 0,
    listen(options: { host: string; port: number }) {
      host = options.host
      port = options.port || 4010
      network.listener = listener
      network.server = server
      queueMicrotask(() => server.emit('listening'))
    },
    address: () => ({ address: host, port }),
    close(done: () => void) {
      network.listener = null
      const check = () => {
        if (network.exchanges.size === 0) return void current.scheduler.add('turn', 0, done)
        current.scheduler.add('timer', 5, check)
      }
      check()
    },
    closeIdleConnections() {},
    closeAllConnections() {
      for (const exchange of network.exchanges) exchange.destroy()
    },
  })
  return server
}
