import type { Provenance } from './objects.ts'

/** A header of the API. `type` is its JSON Schema type. */
interface HeaderRow {
  type: 'string' | 'integer'
  provenance: Provenance
  decision: string
  description: string
}

/** A request header of one endpoint. */
export interface RequestHeader extends HeaderRow {
  required: boolean
}

/** Response headers. Those that exist in the sandbox only are named `x-sandbox-*`. */
export const responseHeaders = {
  'x-request-id': header('observed', 'A10', 'Support identifier, on every response; equal to request_id in the body.'),
  date: header(
    'assumed',
    'A90',
    'The time of the response, by the clock of the service. Readable in browsers, whose own clock may be wrong.',
  ),
  'retry-after': header('documented', 'A20', 'Seconds to wait before the next attempt, at least 1.', 'integer'),
  ratelimit: header('assumed', 'A20', 'The remaining quota of the key, and when it is full again.'),
  'ratelimit-policy': header('assumed', 'A20', 'The rate limit of the key: burst and window.'),
  allow: header('assumed', 'A11', 'The methods that the path supports, on 405.'),
  upgrade: header('observed', 'C04', 'websocket, on 426: what a request of the path must become.'),
  etag: header('assumed', 'A80', 'Changes with the content. A request with it as If-None-Match gets a 304.'),
  'accept-ranges': header('assumed', 'A91', 'bytes: a request with Range gets a part of the file.'),
  'content-range': header('assumed', 'A91', 'Which part of the file this is, and its length.'),
  'cache-control': header('assumed', 'A80', 'How long the response may be cached.'),
  'content-security-policy': header(
    'assumed',
    'A65',
    'Isolates the creative; frame-ancestors are the allowed origins of the project.',
  ),
  'access-control-allow-origin': header(
    'assumed',
    'A91',
    '* for render.js and assets; the allowed origin of the caller elsewhere.',
  ),
  'cross-origin-resource-policy': header('assumed', 'A91', 'cross-origin, so that any host page may embed it.'),
  deprecation: header('observed', 'C08', 'true on routes that are there for old clients.'),
  link: header('observed', 'C08', 'The route that replaces a deprecated one, with rel="successor-version".'),
  'x-sandbox-warning': header(
    'assumed',
    'A22',
    'Sandbox only. What the sandbox tolerated: wait_ms_clamped, wait_ms_conflict, prompt_text_discarded, consent_purposes_kept, fields_ignored, topic_cut, category_unknown, currency_without_rate, callback_ignored, client_id_from_key, secret_key_in_browser, asset_token_removed.',
  ),
  'x-sandbox-slot-ids': header(
    'assumed',
    'A37',
    'Sandbox only. Every slot of the job, when more than one was requested.',
  ),
  'x-sandbox-fault': header('assumed', 'A96', 'Sandbox only. The fault rule that applied to this request.'),
  'x-sandbox-would-bill': header('assumed', 'A78', 'Sandbox only. What production would have billed for this beacon.'),
} as const satisfies Record<string, HeaderRow>

function header(
  provenance: Provenance,
  decision: string,
  description: string,
  type: HeaderRow['type'] = 'string',
): HeaderRow {
  return { type, provenance, decision, description }
}

export type ResponseHeader = keyof typeof responseHeaders

/** Headers of a failure, beside x-request-id, by status. */
export const failureHeaders = {
  405: ['allow'],
  426: ['upgrade'],
  429: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  503: ['retry-after'],
} as const satisfies Record<number, readonly ResponseHeader[]>

/** Headers of a file, whole or in part, beside x-request-id, by status. */
export const fileHeaders = {
  200: ['accept-ranges'],
  206: ['accept-ranges', 'content-range'],
  416: ['accept-ranges', 'content-range', 'etag'],
} as const satisfies Record<number, readonly ResponseHeader[]>

/** Request headers of a file. */
export const fileRequestHeaders = {
  Range: {
    type: 'string',
    provenance: 'assumed',
    decision: 'A91',
    required: false,
    description: 'One part of the file: bytes=0-499.',
  },
  'If-None-Match': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A91',
    required: false,
    description: 'The ETag of the copy that the client has.',
  },
} as const satisfies Record<string, RequestHeader>

/**
 * Identifies the requests of `svc contract check`, which reports do not count as those of an integration: their
 * User-Agent, and the prefix of their session and beacon ids.
 */
export const contractCheckClient = { user_agent: 'svc-contract-check', session_prefix: 'svc_contract_check_' } as const

/** In the journal, among the response headers of a callback that got no response: why. */
export const problemHeader = 'x-sandbox-problem'

/** Requests with this header, whatever its value, come from an old client (C08). No WebSocket handshake has it. */
export const oldClientHeader = 'x-csl-wrapper-version'
