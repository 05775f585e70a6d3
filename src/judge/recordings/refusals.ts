/** Responses of the pass-through itself, for requests that do not reach the service. They are in no recording. */
import type { ServerResponse } from 'node:http'

const refusals = {
  live_key: {
    status: 403,
    error: 'forbidden',
    message: 'This request has a production key, and svc record passes on test traffic alone. It was not sent.',
    hint: 'Use a key that begins with sk_test_ or pk_test_, or start svc record with --allow-live.',
  },
  host: {
    status: 421,
    error: 'misdirected_request',
    message: 'The Host header names another host than this pass-through.',
    hint: 'Use the URL that svc record printed.',
  },
  other_site: {
    status: 403,
    error: 'forbidden',
    message: 'A page of another site sent this request without a credential. It was not sent.',
    hint: 'Serve the app on localhost. Other sites must not reach the service through this computer.',
  },
  target: {
    status: 400,
    error: 'invalid_request',
    message: 'This is a pass-through to one service, not a proxy: the request must name a path.',
    hint: 'Set the URL that svc record printed as the base URL of the app.',
  },
  opaque: {
    status: 403,
    error: 'forbidden',
    message:
      'svc record looks for production keys in what it passes on, and cannot look into this: it is compressed in a way that no header names or that svc cannot undo (bzip2, xz, LZMA, compress and others), very long, or no WebSocket. It was not sent.',
    hint: 'Send it uncompressed, or start svc record with --allow-live.',
  },
  headers: {
    status: 431,
    error: 'invalid_request',
    message: 'The headers of this request are longer than svc record accepts, 256 kB. It was not sent.',
    hint: 'Send fewer or shorter headers: cookies, for example.',
  },
  unreadable: {
    status: 502,
    error: 'service_unavailable',
    message: 'The service sent what is no valid HTTP response, or one with more than 256 kB of headers.',
    hint: 'svc record prints why.',
  },
  unreachable: {
    status: 502,
    error: 'service_unavailable',
    message: 'The service did not respond.',
    hint: 'svc record prints why.',
  },
} as const

export type Refusal = keyof typeof refusals

/** Responds with the error body of the API, and the header `x-svc-record`, which no service sends. */
export function refuse(response: ServerResponse, refusal: Refusal, origin: string | undefined): void {
  if (response.destroyed) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(refusals[refusal].status, {
    ...refusalHeaders(refusal),
    // A page that cannot read why would see a failure of the network.
    ...(origin === undefined ? {} : { 'access-control-allow-origin': origin, vary: 'Origin' }),
  })
  response.end(refusalBody(refusal))
}

/** Returns the bytes of such a response, for a socket on which no request could be read. */
export function refusalText(refusal: Refusal): string {
  const { status } = refusals[refusal]
  // The reason may be empty.
  const body = refusalBody(refusal)
  const headers = { ...refusalHeaders(refusal), 'content-length': String(Buffer.byteLength(body)) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} \r\n${lines.join('')}\r\n${body}`
}

function refusalHeaders(refusal: Refusal): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-svc-record': refusal,
    connection: 'close',
  }
}

function refusalBody(refusal: Refusal): string {
  const { error, message, hint } = refusals[refusal]
  return JSON.stringify({ error, message, request_id: '', reason_code: refusal, hint, fields: [], retryable: false })
}
