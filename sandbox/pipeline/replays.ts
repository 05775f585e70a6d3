/**
 * Replays: the sandbox sends a request of the journal to itself, over its own socket, so that nothing on the way treats
 * it as special. In place of a credential it carries a ticket, good once and only here, that stands for the identity.
 */
import { randomBytes } from 'node:crypto'
import { request as sendRequest } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../src/contract/errors.ts'
import type { Identity, RestoredRequest } from '../operations/context.ts'

/** On its way a ticket; in the journal the request that was sent again. */
export const replayHeader = 'x-sandbox-replay'

export interface Replay {
  replayed: string
  identity: Identity | null
  /** Of its own exchange, once it has arrived. */
  request_id: string | null
}

export interface Replays {
  /** Answers the request_id of the new exchange, whatever became of its answer. @throws ApiError when it did not arrive */
  send(base_url: string, request: RestoredRequest, signal: AbortSignal): Promise<string>
  /** The replay that a ticket stands for; null for anything else. */
  take(ticket: string): Replay | null
}

export function createReplays(): Replays {
  const open = new Map<string, Replay>()
  return {
    async send(base_url, { replayed, identity, method, path, headers, body }, signal) {
      const ticket = randomBytes(32).toString('base64url')
      const replay: Replay = { replayed, identity, request_id: null }
      open.set(ticket, replay)
      try {
        await exchange(base_url, { method, path, headers: { ...headers, [replayHeader]: ticket }, body }, signal)
      } finally {
        open.delete(ticket)
      }
      if (replay.request_id !== null) return replay.request_id
      throw new ApiError('internal_error', {
        message: 'The sandbox could not send the request to itself.',
        hint: 'It may be stopping. Try again.',
      })
    },
    take(ticket) {
      const replay = open.get(ticket) ?? null
      open.delete(ticket)
      return replay
    },
  }
}

/** Knows replays by their ticket, before anything looks at their credential. */
export function registerReplays(app: FastifyInstance, replays: Replays): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const ticket = request.headers[replayHeader]
    const replay = typeof ticket === 'string' ? replays.take(ticket) : null
    if (replay !== null) {
      request.replay = replay
      request.headers[replayHeader] = replay.replayed
    }
    done()
  })
}

/** Resolves when the connection is done with. A fault rule may break it: what became of it stands in the journal. */
function exchange(
  base_url: string,
  { method, path, headers, body }: Pick<RestoredRequest, 'method' | 'path' | 'headers' | 'body'>,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const outgoing = sendRequest(base_url, { method, path, headers, agent: false, signal }, (incoming) => {
      incoming.once('error', () => {}).resume()
    })
    outgoing.once('error', () => resolve()).once('close', () => resolve())
    outgoing.end(body ?? undefined)
  })
}
