/** Responses to input that is not HTTP, never fully arrived, or came in plain text on a port of https. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { Services } from '#operations/context.ts'

/** The last requests of a connection: a client may send the next one before it has the response. */
interface Connection {
  incoming: IncomingMessage
  outgoing: ServerResponse
  /** The response before `outgoing`. */
  before: ServerResponse | null
  /** Set once nothing more can be read. A request that is incomplete then gets the error in the place of its response. */
  isBroken: boolean
}

const connections = new WeakMap<Socket, Connection>()

export function trackConnection(incoming: IncomingMessage, outgoing: ServerResponse): Connection {
  const known = connections.get(incoming.socket)
  if (known !== undefined) {
    known.before = known.outgoing
    known.incoming = incoming
    known.outgoing = outgoing
    return known
  }
  const connection = { incoming, outgoing, before: null, isBroken: false }
  connections.set(incoming.socket, connection)
  return connection
}

/** How long a connection stays half open after its last response, for the client to read it, milliseconds. */
const lingerMs = 1_000

/**
 * Responds to input that is not HTTP or never fully arrived, then closes the connection. Bytes on a connection are
 * responses in the order of their requests, one each: the error waits for responses under way, and is left out for a
 * request that has its response already, such as one whose body is too large and then stalls.
 */
export function respondToBroken(services: Services, error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ERR_SSL_HTTP_REQUEST') {
    respondInPlain(services, socket)
    return
  }
  // After a failed handshake, nobody can read a response.
  const isHandshake = /^(ERR_SSL|ERR_TLS|EPROTO)/.test(error.code ?? '')
  // A browser opens connections in advance: a response before the request would be taken for its own.
  const isUnused = socket.bytesRead === 0
  if (error.code === 'ECONNRESET' || isHandshake || isUnused || !socket.writable) {
    socket.destroy()
    return
  }
  const connection = connections.get(socket)
  if (connection === undefined) {
    endWith(socket, brokenResponse(services, error))
    return
  }
  const { incoming, outgoing, before, isBroken } = connection
  if (isBroken) return
  connection.isBroken = true
  if (incoming.complete) after(outgoing, () => endWith(socket, brokenResponse(services, error)))
  else if (outgoing.headersSent) after(outgoing, () => endWith(socket, ''))
  else after(before, () => endWith(socket, brokenResponse(services, error)))
}

/**
 * Responds to plain HTTP on a port of https, below TLS, as other servers do: a client would only see a connection that
 * was closed. Node has no public way to the socket below.
 */
function respondInPlain(services: Services, socket: Socket & { _parent?: Socket | null }): void {
  const { _parent: below } = socket
  const own = services.base_url.startsWith('https:') ? services.base_url : services.url
  const problem = new ApiError('http_malformed', {
    message: 'This sandbox speaks https, and the request came as plain http.',
    hint: `Use ${own}`,
  })
  if (below == null || below.destroyed) {
    socket.destroy()
    return
  }
  below.write(rawResponse(services, problem), () => {
    socket.destroy()
    below.destroy()
  })
}

/** Calls back once a response has been handed to the socket, or has been given up. */
function after(outgoing: ServerResponse | null, then: () => void): void {
  if (outgoing === null || outgoing.writableFinished) then()
  else outgoing.once('close', then)
}

function endWith(socket: Socket, bytes: string): void {
  if (!socket.writable) return
  socket.end(bytes)
  socket.setTimeout(lingerMs, () => socket.destroy())
}

function brokenResponse(services: Services, { code }: { code?: string }): string {
  if (code === 'HPE_HEADER_OVERFLOW') return rawResponse(services, new ApiError('headers_too_large'))
  const isLate = code === 'ERR_HTTP_REQUEST_TIMEOUT'
  const problem = new ApiError('http_malformed', isLate ? { message: 'The request did not arrive in time.' } : {})
  return rawResponse(services, problem)
}

function rawResponse({ platform, base_url }: Services, problem: ApiError): string {
  const request_id = encodeId('req', platform.newId())
  const body = JSON.stringify(problem.toBody(request_id, base_url))
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    'content-type: application/json; charset=utf-8',
    `x-request-id: ${request_id}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
