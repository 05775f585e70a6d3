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
  const { status, error, message, hint } = refusals[refusal]
  if (response.destroyed) return
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-svc-record': refusal,
    connection: 'close',
    // A page that cannot read why would see a failure of the network.
    ...(origin === undefined ? {} : { 'access-control-allow-origin': origin, vary: 'Origin' }),
  })
  response.end(
    JSON.stringify({ error, message, request_id: '', reason_code: refusal, hint, fields: [], retryable: false }),
  )
}
