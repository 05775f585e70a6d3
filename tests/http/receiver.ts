/** A plain HTTP server that callbacks are sent to. It keeps what it gets. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Received {
  method: string
  url: string
  headers: IncomingHttpHeaders
  body: string
}

export interface Receiver extends AsyncDisposable {
  url: string
  received: Received[]
}

/** Responds to each request with the next status; to later ones with 200. */
export async function receiver(
  statuses: readonly number[] = [],
  headers: Record<string, string> = {},
): Promise<Receiver> {
  const received: Received[] = []
  const server: Server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming.setEncoding('utf8')) body += chunk
    received.push({ method: incoming.method!, url: incoming.url!, headers: incoming.headers, body })
    outgoing.writeHead(statuses[received.length - 1] ?? 200, headers).end('thanks')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?app=1`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
