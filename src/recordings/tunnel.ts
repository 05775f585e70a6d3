/** WebSockets: the handshake passes like any request, and is recorded; then bytes pass both ways. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isHopHeader } from '#foundation/http.ts'
import { describeFailure, findRefusal, openExchange, type Passage, requestHeaders, sendRequest } from './pass.ts'
import { type Refusal, refuse } from './refusals.ts'

/** Takes a handshake to the service. The sockets of both sides end together. */
export function passUpgrade(passage: Passage, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  socket.on('error', () => socket.destroy())
  const respondWith = (refusal: Refusal) => refuse(openResponse(incoming, socket), refusal, incoming.headers.origin)
  const refusal = findRefusal(passage, incoming)
  if (refusal !== null) {
    passage.onRefusal(refusal, incoming.method ?? 'GET')
    respondWith(refusal)
    return
  }
  const upgrade = ['Connection', 'Upgrade', 'Upgrade', incoming.headers.upgrade ?? '']
  const headers = [...requestHeaders(passage, incoming), ...upgrade]
  const exchange = openExchange(passage, incoming, headers)
  const sent = sendRequest(passage, incoming, headers)
  socket.on('close', () => sent.destroy())
  sent.on('error', (error) => {
    if (!exchange.hasResponse()) respondWith('unreachable')
    exchange.end(socket.destroyed ? 'The client left.' : describeFailure(error))
  })
  sent.on('response', (received) => {
    exchange.respond(received)
    const response = openResponse(incoming, socket)
    response.writeHead(received.statusCode ?? 502, [...listHeaders(received), 'Connection', 'close'])
    received.on('data', exchange.add).pipe(response)
    received.on('error', () => undefined)
    received.on('close', () => {
      exchange.end(received.complete ? null : 'The service closed the connection before the end of its response.')
      if (!received.complete) socket.destroy()
    })
  })
  sent.on('upgrade', (received, upstream, first) => {
    exchange.respond(received)
    exchange.end(null)
    socket.write(handshakeText(received, passage.rewriting.toClient(received.rawHeaders)))
    join(socket, head, upstream, first)
  })
  sent.end()
}

/** A response on a socket that Node has given up. */
function openResponse(incoming: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(incoming)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  response.on('finish', () => socket.end())
  return response
}

function listHeaders({ rawHeaders, headers }: IncomingMessage): string[] {
  return rawHeaders.filter((_, index) => !isHopHeader(rawHeaders[index - (index % 2)]!, headers.connection))
}

function handshakeText({ statusCode, statusMessage }: IncomingMessage, headers: readonly string[]): string {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}\r\n`] : []))
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`
}

function join(client: Duplex, sent: Buffer, service: Duplex, received: Buffer): void {
  if (received.length > 0) client.write(received)
  if (sent.length > 0) service.write(sent)
  client.pipe(service).pipe(client)
  service.on('error', () => client.destroy())
  client.on('error', () => service.destroy())
  client.on('close', () => service.destroy())
  service.on('close', () => client.destroy())
}
