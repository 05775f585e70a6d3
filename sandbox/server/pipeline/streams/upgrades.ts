/** Handshakes of WebSockets. */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { contract } from '#contract/index.ts'
import { withoutQuery } from '#foundation/http.ts'
import type { ClientSide } from '#runtime/tickets.ts'
import type { Route } from '../exchange.ts'
import type { DecisionSockets } from './decision-sockets.ts'

/**
 * Which requests become WebSockets. Node takes every request with an Upgrade header for one as soon as there is a
 * listener for upgrades, including those of clients that offer HTTP/2 with each request: such a request must get its
 * normal response.
 */
interface Upgrades {
  /** The paths of the sockets: 426 for a request that is not a handshake. */
  routes: Route[]
  /** Makes a server treat handshakes, and nothing else, as upgrades. */
  attach(server: Server): void
  /** Ends every socket, and resolves when all have ended. */
  close(): Promise<void>
}

const sides = ['wrapper', 'browser'] as const satisfies readonly ClientSide[]

/** `load`: loads the sockets. It is called with the first request to one of their paths. */
export function createUpgrades(load: () => Promise<DecisionSockets>, report: (error: unknown) => void): Upgrades {
  let loaded: Promise<DecisionSockets> | undefined
  const sockets = () => (loaded ??= load())
  return {
    routes: sides.map((side) => ({
      method: 'GET',
      path: contract[`${side}.socket`].path,
      respond: async (exchange) => (await sockets()).respond(side, exchange),
    })),
    attach(server) {
      // Node 24.9 and later; before that, every upgrade is handed over, and the others are given back.
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

/** Whether a request asks for a WebSocket on a path that has them. */
function isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false
  return withoutQuery(url).endsWith('/decision/ws')
}

/** Makes a server read a request again, without its Upgrade header. */
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
