/** Listening sockets: addresses, timeouts, TLS, and shutdown. */

import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { ServerOptions as TlsServerOptions } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { readErrorCode } from '#foundation/system-error.ts'

interface Listeners {
  /**
   * Resolves to the bound port; 0 picks a free one. Without a host it is 127.0.0.1, and ::1 where it exists: clients
   * resolve `localhost` to either. Rejects with EADDRINUSE when the port of one of them is taken.
   */
  listen(host: string | undefined, port: number): Promise<number>
  /** Runs work while requests may take longer to arrive. */
  withoutDeadline<Result>(work: () => Promise<Result>): Promise<Result>
  /** Stops accepting, calls `closeOthers`, and waits for what is under way, for at most five seconds. */
  close(closeOthers: () => Promise<void> | undefined): Promise<void>
}

interface ListenerOptions {
  /** Certificate and private key of https; undefined for http. */
  tls: { cert: string; key: string } | undefined
  handle: RequestListener
  /** Adds what else a server needs, before it listens. */
  attach(server: Server): void
  /** Called with input that is not HTTP or never fully arrived. */
  onBroken(error: Error & { code?: string }, socket: Socket): void
  report(error: unknown): void
}

export const defaultHost = '127.0.0.1'

/** How long a request may take to arrive, and a connection may be idle, milliseconds. */
const arrivalTimeoutMs = 10_000
const idleTimeoutMs = 30_000
/** How long a stop waits for what is under way, and how often it looks for idle connections, milliseconds. */
const stopTimeoutMs = 5_000
const idleCheckMs = 20

/** How often a free port is looked for. */
const maxBindAttempts = 10

const settings = {
  headersTimeout: arrivalTimeoutMs,
  requestTimeout: arrivalTimeoutMs,
  keepAliveTimeout: idleTimeoutMs,
  connectionsCheckingInterval: 1_000,
  // A missing Host is a 400 of the contract.
  requireHostHeader: false,
}

export function createListeners({ tls, handle, attach, onBroken, report }: ListenerOptions): Listeners {
  const servers: Server[] = []
  return { listen, withoutDeadline: sharedDeadline(servers), close }

  async function listen(host: string | undefined, port: number): Promise<number> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await bindAll(host, port)
      } catch (error) {
        await Promise.all(servers.splice(0).map(stop))
        // A free port of one address may be taken on the other.
        if (port !== 0 || attempts === maxBindAttempts || !isTaken(error)) throw error
      }
    }
  }

  /** Binds the host, and what else `localhost` means to a client. Returns the port. */
  async function bindAll(host: string | undefined, port: number): Promise<number> {
    const bound = (await bind(host ?? defaultHost, port)).address() as AddressInfo
    for (const address of await otherAddresses(host, bound.address)) {
      await bind(address, bound.port).catch((error) => {
        // Another program there would get the requests to `localhost`, with the key. An address that cannot be bound
        // is not there.
        if (isTaken(error)) throw error
      })
    }
    return bound.port
  }

  async function bind(host: string, port: number): Promise<Server> {
    const server =
      tls === undefined ? createHttpServer(settings, handle) : await createTlsServer({ ...settings, ...tls }, handle)
    // An expectation that is not 100-continue is ignored, which RFC 9110 allows.
    server.on('checkExpectation', handle)
    attach(server)
    server.on('clientError', (error, socket) => onBroken(error, socket as Socket))
    server.listen({ host, port })
    await once(server, 'listening')
    // A connection that cannot be accepted, as without descriptors, ends no sandbox.
    server.on('error', report)
    servers.push(server)
    return server
  }

  async function close(closeOthers: () => Promise<void> | undefined): Promise<void> {
    const force = setTimeout(() => {
      for (const server of servers) server.closeAllConnections()
    }, stopTimeoutMs)
    await Promise.all([closeOthers(), ...servers.map(stop)])
    clearTimeout(force)
  }
}

/** The deadline is per server, not per request: other requests have none either while a file is uploaded. */
function sharedDeadline(servers: readonly Server[]): Listeners['withoutDeadline'] {
  let uploads = 0
  return async (work) => {
    uploads++
    for (const server of servers) server.requestTimeout = 0
    try {
      return await work()
    } finally {
      uploads--
      if (uploads === 0) for (const server of servers) server.requestTimeout = arrivalTimeoutMs
    }
  }
}

function isTaken(error: unknown): boolean {
  return readErrorCode(error) === 'EADDRINUSE'
}

/** Returns the addresses besides the bound one that clients may try for `localhost`. */
async function otherAddresses(host: string | undefined, bound: string): Promise<string[]> {
  if (host === undefined || host === '0.0.0.0') return ['::1']
  if (host !== 'localhost') return []
  const addresses = await lookup('localhost', { all: true }).catch(() => [])
  return addresses.map(({ address }) => address).filter((address) => address !== bound)
}

/** Loads the module only where it is needed. */
async function createTlsServer(options: TlsServerOptions, handle: RequestListener): Promise<Server> {
  const { createServer } = await import('node:https')
  return createServer({ ...options, handshakeTimeout: arrivalTimeoutMs }, handle)
}

/** Resolves when the last connection has ended. One that is idle, now or once it has its response, is closed. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), idleCheckMs)
    server.close(() => {
      clearInterval(idle)
      resolve()
    })
  })
}
