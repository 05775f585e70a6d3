/**
 * The pass-through between an app and the service: an HTTP server on loopback, which sends every request on and reports each
 * exchange. It adds nothing: no key, no response, and it follows no redirect.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Duplex } from 'node:stream'
import { listeningPort } from '#foundation/http.ts'
import { createCaptures } from './capture.ts'
import { type OpenExchange, type Passage, passRequest } from './pass.ts'
import { refusalText } from './refusals.ts'
import { createRewriting } from './rewriting.ts'
import { passUpgrade } from './tunnel.ts'
import { createAgent, maxHeaderBytes } from './upstream.ts'

/** How long a client that was refused may go on sending, milliseconds. */
const lingeringTime_ms = 2_000
/** After how long without a byte a connection is probed, milliseconds. */
const probeDelay_ms = 15_000

export interface RecorderOptions extends Pick<Passage, 'allow_live' | 'now' | 'onExchange' | 'onRefusal'> {
  /** The base URL of the service. */
  upstream: URL
  /** 0 picks a free one. */
  port: number
}

export interface Recorder {
  /** The base URL for the app: the path of the service's is that of this one. */
  readonly url: string
  /** Ends every exchange as far as it came, and reports it. */
  close(): Promise<void>
}

/** Opens the pass-through. @throws SystemError, EADDRINUSE among them */
export async function openRecorder(options: RecorderOptions): Promise<Recorder> {
  const { upstream, port, ...others } = options
  const service = new URL(upstream.origin)
  const open = new Set<OpenExchange>()
  const sockets = new Set<Duplex>()
  // A request that takes long is one of the service to refuse.
  const server = createServer({
    ...{ requestTimeout: 0, keepAliveTimeout: 60_000, maxHeaderSize: maxHeaderBytes },
    // A client that has left, not only ended its side, is noticed by a probe.
    ...{ keepAlive: true, keepAliveInitialDelay: probeDelay_ms },
  })
  // A client may end its side after its request. Node has this setting of an HTTP server, and its types do not.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.listen({ host: '127.0.0.1', port })
  await once(server, 'listening')
  const own = `http://127.0.0.1:${listeningPort(server)}`
  const passage: Passage = {
    ...others,
    service,
    agent: createAgent(service),
    open,
    rewriting: createRewriting(service.origin, own),
    openCapture: createCaptures().open,
  }
  server.on('request', (incoming, response) => passRequest(passage, incoming, response))
  server.on('checkContinue', (incoming, response) => passRequest(passage, incoming, response))
  server.on('upgrade', (incoming, socket, head) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    passUpgrade(passage, incoming, socket, head)
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Each further part of what is refused comes here too. A client that still sends gets no response from a connection that is cut.
    if (!socket.writable) return
    const isTooLong = error.code === 'HPE_HEADER_OVERFLOW'
    if (isTooLong) passage.onRefusal('headers', 'request')
    socket.end(isTooLong ? refusalText('headers') : 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
    setTimeout(() => socket.destroy(), lingeringTime_ms).unref()
  })
  return {
    url: own + upstream.pathname.replace(/\/+$/, ''),
    async close() {
      for (const exchange of open) exchange.end('The recording ended.')
      for (const socket of sockets) socket.destroy()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
