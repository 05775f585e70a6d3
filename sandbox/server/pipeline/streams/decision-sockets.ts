/**
 * Decisions that are pushed over WebSocket (C04): a socket is opened with a ticket, gets one text frame when its slot
 * is decided (immediately if it already is), and is left for the client to close. This file and the library behind it
 * are loaded with the first handshake.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError } from '#contract/errors.ts'
import { decodeId } from '#contract/ids.ts'
import type { EventType } from '#contract/resources/events.ts'
import type { Caller, Services } from '#operations/context.ts'
import type { ClientSide } from '#runtime/tickets.ts'
import { type OpenExchange, type PipelineResponse, type Request, receivedRequest, writeResponse } from '../exchange.ts'
import { closed, createSlotGroups, type SlotMessage } from './slot-groups.ts'

export interface DecisionSockets {
  /** Responds to the request of a handshake: 101 when its ticket is good. @throws ApiError 401, 426, 503 */
  respond(side: ClientSide, exchange: OpenExchange): Promise<PipelineResponse>
  /** Takes a handshake through the pipeline, and opens the socket or refuses it. */
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>
  /** Ends every socket, and resolves when all have ended. */
  close(): Promise<void>
}

interface DecisionSocketOptions {
  services: Services
  readMessage(slot_id: number): Promise<SlotMessage>
  respondTo(request: Request): Promise<{ exchange: OpenExchange; response: PipelineResponse }>
}

const maxSockets = 1_000
/** Clients send nothing: a longer message ends the socket. */
const maxPayloadBytes = 1_024
/** How often sockets are pinged, and how long one stays open after its frame, real milliseconds. */
const heartbeatMs = 20_000
const lingerMs = 60_000
/** How long a stop waits for closing handshakes, real milliseconds. */
const stopTimeoutMs = 500

interface OpenSocket {
  slot_id: number
  project_id: number
  /** Whether it has responded since the last ping. */
  isAlive: boolean
  /** `performance.now()` when its frame was sent; null until then. */
  sent_at: number | null
}

export function createDecisionSockets(options: DecisionSocketOptions): DecisionSockets {
  const { services } = options
  /** Requests that arrived as handshakes, with what their tickets were good for after they are redeemed. */
  const handshakes = new WeakMap<Request, { slot_id: number; caller: Caller } | null>()
  /** The request ids of handshakes that were accepted. */
  const accepted = new WeakMap<IncomingMessage, string>()
  const server = createSocketServer(accepted)
  const sockets = createOpenSockets(options)
  let isClosing = false

  return {
    async respond(side, { context, request }) {
      if (!handshakes.has(request)) throw notAnUpgrade()
      checkHandshake(request)
      if (sockets.count() >= maxSockets) throw new ApiError('too_many_sockets', { retry_after_s: 1 })
      const slot_id = decodeId('slot', request.params.slot_id ?? '')
      const { ticket } = request.query
      const subject = { slot_id: slot_id ?? -1, side, origin: context.origin }
      const caller = typeof ticket === 'string' ? await services.tickets.redeem(ticket, subject, context.now_ms) : null
      if (slot_id === null || caller === null) throw new ApiError('ticket_invalid')
      handshakes.set(request, { slot_id, caller })
      context.caller = caller
      context.subject.slot_id = slot_id
      return { status: 101, headers: { 'x-request-id': context.request_id }, body: '' }
    },
    async upgrade(incoming, stream, head) {
      // Node passes another stream when the handshake has a body, which it never has in RFC 6455.
      const { socket } = incoming
      if (isClosing || stream !== socket) return void stream.destroy()
      const onError = () => socket.destroy()
      socket.on('error', onError)
      const outgoing = new ServerResponse(incoming)
      outgoing.shouldKeepAlive = false
      outgoing.assignSocket(socket)
      const request = receivedRequest(incoming, outgoing)
      handshakes.set(request, null)
      const { exchange, response } = await options.respondTo(request)
      const redeemed = handshakes.get(request) ?? null
      if (response.status !== 101 || response.broken !== undefined || redeemed === null) {
        outgoing.once('finish', () => socket.end())
        return writeResponse(outgoing, request, response)
      }
      outgoing.detachSocket(socket)
      if (isClosing || socket.destroyed) return void socket.destroy()
      accepted.set(incoming, exchange.context.request_id)
      server.handleUpgrade(incoming, socket, head, (opened) => {
        socket.off('error', onError)
        sockets.add(opened, redeemed.slot_id, redeemed.caller)
      })
    },
    async close() {
      isClosing = true
      await sockets.close()
    },
  }
}

/** @param requestIds by handshake */
function createSocketServer(requestIds: WeakMap<IncomingMessage, string>): WebSocketServer {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxPayloadBytes,
    handleProtocols: () => false,
  })
  server.on('headers', (headers, incoming) => headers.push(`x-request-id: ${requestIds.get(incoming)}`))
  return server
}

/** The sockets that are open: each gets the decision of its slot, and is pinged. */
function createOpenSockets({ services, readMessage }: DecisionSocketOptions) {
  const open = new Map<WebSocket, OpenSocket>()
  const events = createRecorder(services)
  const groups = createSlotGroups({ services, readMessage, send })
  let heartbeat: NodeJS.Timeout | undefined

  return {
    count: () => open.size,
    add(socket: WebSocket, slot_id: number, { project }: Caller): void {
      const state = { slot_id, project_id: project.id, isAlive: true, sent_at: null }
      open.set(socket, state)
      services.metrics.open_streams.decision_socket++
      socket.on('error', () => {})
      socket.on('pong', () => {
        state.isAlive = true
      })
      socket.once('close', () => leave(socket, state))
      heartbeat ??= setInterval(() => ping(open), heartbeatMs).unref()
      events.record('socket.opened', state)
      groups.add(slot_id, socket)
    },
    /** Closes every socket, and resolves when all have ended and their events are written. */
    async close(): Promise<void> {
      const ended = [...open.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve)))
      for (const socket of open.keys()) socket.close(closed.goingAway)
      const force = setTimeout(() => {
        for (const socket of open.keys()) socket.terminate()
      }, stopTimeoutMs)
      await Promise.all(ended)
      clearTimeout(force)
      await events.finish()
    },
  }

  function leave(socket: WebSocket, state: OpenSocket): void {
    open.delete(socket)
    services.metrics.open_streams.decision_socket--
    events.record('socket.closed', state)
    groups.remove(state.slot_id, socket)
    if (open.size > 0) return
    clearInterval(heartbeat)
    heartbeat = undefined
  }

  function send(socket: WebSocket, message: string): void {
    const state = open.get(socket)
    if (state === undefined || socket.readyState !== socket.OPEN) return
    socket.send(message)
    state.sent_at = performance.now()
    events.record('socket.sent', state)
  }
}

/** Pings every socket. Ends the ones that have not responded since the last ping, or have had their frame for long. */
function ping(open: ReadonlyMap<WebSocket, OpenSocket>): void {
  const now = performance.now()
  for (const [socket, state] of open) {
    if (state.sent_at !== null && now - state.sent_at > lingerMs) socket.close(closed.normal)
    if (!state.isAlive) {
      socket.terminate()
      continue
    }
    state.isAlive = false
    socket.ping()
  }
}

/** Appends the events of sockets, unless the state was replaced in the meantime. */
function createRecorder({ platform, store, drainLock, report }: Services) {
  const records = new Set<Promise<void>>()
  return {
    record(type: EventType, { slot_id, project_id }: OpenSocket): void {
      const at_ms = platform.clock.now()
      const generation = store.stateGeneration().count
      const written = drainLock
        .run(async () => {
          if (generation !== store.stateGeneration().count) return
          await store.appendEvent({ type, at_ms, project_id, slot_id, ref: slot_id })
        })
        .catch(report)
        .finally(() => records.delete(written))
      records.add(written)
    },
    finish: () => Promise.all(records),
  }
}

function checkHandshake({ headers }: Request): void {
  if (headers['sec-websocket-version'] !== '13') throw notAnUpgrade('Only version 13 is supported.')
  if (!/^[A-Za-z0-9+/]{22}==$/.test(String(headers['sec-websocket-key']))) {
    throw new ApiError('http_malformed', { message: 'The handshake has no valid Sec-WebSocket-Key.' })
  }
}

function notAnUpgrade(message?: string): ApiError {
  return new ApiError('upgrade_required', {
    ...(message === undefined ? {} : { message }),
    headers: { upgrade: 'websocket', connection: 'Upgrade', 'sec-websocket-version': '13' },
  })
}
