/**
 * Which requests become WebSockets. Node takes every request with an Upgrade header for one as soon as there is a listener
 * for upgrades, also those of clients that offer HTTP/2 with each request: such a request must get its normal response.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { contract } from '../../src/contract/index.ts'
import { withoutQuery } from '../../src/foundation/http.ts'
import type { Surface } from '../runtime/tickets.ts'
import type { DecisionSockets } from './decision-sockets.ts'
import type { Route } from './exchange.ts'

interface Upgrades {
  /** The paths of the sockets: 426 for a request that is no handshake. */
  routes: Route[]
  /** Has a server take handshakes, and nothing else, for upgrades. */
  attach(server: Server): void
  /** Ends every socket, and resolves when all have ended. */
  close(): Promise<void>
}

const surfaces = ['wrapper', 'browser'] as const satisfies readonly Surface[]

/** `load`: loads the sockets. It is called with the first request to one of their paths. */
export function createUpgrades(load: () => Promise<DecisionSockets>, report: (error: unknown) => void): Upgrades {
  let loaded: Promise<DecisionSockets> | undefined
  const sockets = () => (loaded ??= load())
  return {
    routes: surfaces.map((surface) => ({
      method: 'GET',
      path: contract[`${surface}.socket`].path,
      respond: async (exchange) => (await sockets()).respond(surface, exchange),
    })),
    attach(server) {
      // Of Node 24.9 and later; before, every upgrade is handed over, and others are given back.
      Object.assign(server, { shouldUpgradeCallback: isHandshake })
      server.on('upgrade', (incoming: IncomingMessage, stream: Duplex, head: Buffer) => {
        if (!isHandshake(incoming)) return giveBack(server, incoming, stream, head)
        sockets()
          .then(({ upgrade }) => upgrade(incoming, stream, head))
          .catch((error) => {
            report(error)
            stream.destroy()
          })
      })
    },
    close: async () => (await loaded)?.close(),
  }
}

/** Whether a request asks for a WebSocket where there are some. */
function isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return withoutQuery(url).endsWith('/decision/ws')
}

/** Has a server read a request once more, without its Upgrade header. */
function giveBack(server: Server, incoming: IncomingMessage, stream: Duplex, head: Buffer): void {
  const { method, url, httpVersion, rawHeaders } = incoming
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    if (!/^(upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  stream.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', stream)
}
