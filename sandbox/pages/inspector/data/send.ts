/**
 * API requests over the wire: as a server, through the sandbox's own backend that names a key by its id, or as a page,
 * from here, with an activation token.
 */
import { isObject, type JsonObject, parseJson } from '#foundation/json.ts'
import { refusal, request } from './api.ts'

/** One exchange as the playground shows it. */
export interface Sent {
  method: string
  path: string
  status: number
  headers: Readonly<Record<string, string>>
  /** The body as sent by the sandbox. */
  text: string
  duration_ms: number
  request_id: string | null
  /** How a fault rule broke the connection. */
  broken: string | null
}

export type Send = (call: { method: string; path: string; body?: string }, signal?: AbortSignal) => Promise<Sent>

/** Returns the sender that acts as a server with a secret key; null: without a credential. */
export function serverSender(key_id: string | null): Send {
  return async ({ method, path, body }, signal) => {
    const response = await request(
      'POST',
      '/_sandbox/inspector/send',
      { key_id, method, path, body: body ?? null },
      signal,
    )
    const text = await response.text()
    const sent = parseJson(text)
    if (!response.ok || !isObject(sent)) throw refusal(response.status, text)
    const headers = sent.headers as Record<string, string>
    return {
      method,
      path,
      status: Number(sent.status),
      headers,
      text: String(sent.body),
      duration_ms: Number(sent.duration_ms),
      request_id: headers['x-request-id'] ?? null,
      broken: sent.broken === null ? null : String(sent.broken),
    }
  }
}

/** Returns the sender of this page. @param token an activation token; null: without one */
export function pageSender(token: string | null): Send {
  return async ({ method, path, body }, signal) => {
    const started = performance.now()
    const init: RequestInit = {
      method,
      cache: 'no-store',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    }
    try {
      const response = await fetch(path, init)
      const text = await response.text()
      return {
        method,
        path,
        status: response.status,
        headers: Object.fromEntries(response.headers),
        text,
        duration_ms: performance.now() - started,
        request_id: response.headers.get('x-request-id'),
        broken: null,
      }
    } catch (error) {
      if (signal?.aborted) throw error
      return {
        method,
        path,
        status: 0,
        headers: {},
        text: '',
        duration_ms: performance.now() - started,
        request_id: null,
        broken: 'connection lost',
      }
    }
  }
}

export function parseBody({ text }: Sent): JsonObject | null {
  const body = parseJson(text)
  return isObject(body) ? body : null
}

/** How long to poll for a pending decision, and how long each poll waits, milliseconds. */
const maxPollMs = 60_000

const waitMs = 5000
const pauseMs = 250

/** Polls the decision of a slot until it is not pending; `onPoll` is called with every response. */
export async function pollDecision(
  send: Send,
  slot_id: string,
  signal: AbortSignal,
  onPoll: (sent: Sent) => void,
): Promise<Sent | null> {
  const started = performance.now()
  while (!signal.aborted && performance.now() - started < maxPollMs) {
    const sent = await send({ method: 'GET', path: `/v1/decisions/${slot_id}?wait_ms=${waitMs}` }, signal)
    onPoll(sent)
    if (sent.status !== 200) return sent
    if (parseBody(sent)?.status !== 'pending') return sent
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return null
}
