/** WebSockets: the handshake passes like any request, and is recorded; then bytes pass both ways. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { closeFrame, guardFrames, KeyError } from './key-guard.ts'
import { answer, findRefusal, openExchange, type Passage } from './pass.ts'
import { type Refusal, refuse } from './refusals.ts'
import {
  describeFailure,
  findResponseError,
  isUnreadable,
  requestHeaders,
  sendRequest,
  withoutHops,
} from './upstream.ts'

/** Takes a handshake to the service. The sockets of both sides end together. */
export function passUpgrade(passage: Passage, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  socket.on('error', () => socket.destroy())
  const respondWith = (refusal: Refusal) => refuse(openResponse(incoming, socket), refusal, incoming.headers.origin)
  const { allow_live } = passage
  const protocol = incoming.headers.upgrade ?? ''
  const isOpaque = !allow_live && protocol.toLowerCase() !== 'websocket'
  const refusal = findRefusal(passage, incoming) ?? (isOpaque ? 'opaque' : null)
  if (refusal !== null) {
    passage.onRefusal(refusal, `${incoming.method} request`)
    respondWith(refusal)
    return
  }
  // Frames are looked into, so they are not compressed.
  const asked = requestHeaders(passage, incoming)
  const kept = allow_live ? asked : withoutHops(asked, undefined, /^sec-websocket-extensions$/i)
  const headers = [...kept, 'Connection', 'Upgrade', 'Upgrade', protocol]
  const exchange = openExchange(passage, incoming, headers)
  const sent = sendRequest(passage, incoming, headers)
  socket.on('close', () => sent.destroy())
  const fail = (error: Error) => {
    if (!exchange.hasResponse()) respondWith(isUnreadable(error) ? 'unreadable' : 'unreachable')
    exchange.end(socket.destroyed ? 'The client left.' : describeFailure(error))
  }
  sent.on('error', fail)
  sent.on('response', (received) => {
    const problem = findResponseError(received)
    if (problem !== null) {
      fail(problem)
      sent.destroy()
      return
    }
    exchange.respond(received)
    received.on('error', () => undefined)
    received.on('close', () => {
      exchange.end(received.complete ? null : 'The service closed the connection before the end of its response.')
      if (!received.complete) socket.destroy()
    })
    answer(passage, received, openResponse(incoming, socket), exchange).catch(() => socket.destroy())
  })
  sent.on('upgrade', (received, upstream, first) => {
    exchange.respond(received)
    exchange.end(null)
    socket.write(handshakeText(received, passage.rewriting.toClient(received.rawHeaders)))
    if (first.length > 0) socket.write(first)
    const outgoing = allow_live ? upstream : guard(passage, socket, upstream)
    if (head.length > 0) outgoing.write(head)
    join(socket, outgoing, upstream)
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

function handshakeText({ statusCode, statusMessage }: IncomingMessage, headers: readonly string[]): string {
  const lines = headers.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${headers[index + 1]}\r\n`] : []))
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join('')}\r\n`
}

/** Returns a stream to the service for what the client sends. By a production key it ends both sides. */
function guard(passage: Passage, client: Duplex, service: Duplex): Duplex {
  const guarded = guardFrames()
  guarded.on('error', (error) => {
    if (error instanceof KeyError) passage.onRefusal(error.reason, 'WebSocket message')
    client.unpipe(guarded)
    client.end(closeFrame('svc record passes on no production keys without --allow-live'), () => service.destroy())
  })
  guarded.pipe(service)
  return guarded
}

/** @param outgoing what the client sends, on its way to the service */
function join(client: Duplex, outgoing: Duplex, service: Duplex): void {
  client.pipe(outgoing)
  service.pipe(client)
  service.on('error', () => client.destroy())
  client.on('error', () => service.destroy())
  client.on('close', () => service.destroy())
  service.on('close', () => client.destroy())
}
