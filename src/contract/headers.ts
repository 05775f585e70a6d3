import type { Provenance } from './provenance.ts'

/** A header of the API. `type` is its JSON Schema type. */
interface HeaderRow {
  type: 'string' | 'integer'
  provenance: Provenance
  decision: string | null
  description: string
}

/** A request header of one endpoint. */
export interface RequestHeader extends HeaderRow {
  required: boolean
}

/** Response headers. Those that exist in the sandbox only are named `x-sandbox-*`. */
export const responseHeaders = {
  'x-request-id': {
    type: 'string',
    provenance: 'observed',
    decision: 'A10',
    description: 'Support identifier, on every response; equal to request_id in the body.',
  },
  date: {
    type: 'string',
    provenance: 'assumed',
    decision: 'A90',
    description:
      'The time of the response, by the clock of the service. Readable in browsers, whose own clock may be wrong.',
  },
  'retry-after': {
    type: 'integer',
    provenance: 'documented',
    decision: 'A20',
    description: 'Seconds to wait before the next attempt, at least 1.',
  },
  ratelimit: {
    type: 'string',
    provenance: 'assumed',
    decision: 'A20',
    description: 'The remaining quota of the key, and when it is full again.',
  },
  'ratelimit-policy': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A20',
    description: 'The rate limit of the key: burst and window.',
  },
  allow: {
    type: 'string',
    provenance: 'assumed',
    decision: 'A11',
    description: 'The methods that the path supports, on 405.',
  },
  etag: {
    type: 'string',
    provenance: 'assumed',
    decision: 'A80',
    description: 'Changes with the content. A request with it as If-None-Match gets a 304.',
  },
  'cache-control': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A80',
    description: 'How long the response may be cached.',
  },
  'content-security-policy': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A65',
    description: 'Isolates the creative; frame-ancestors are the allowed origins of the project.',
  },
  'access-control-allow-origin': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A91',
    description: '* for render.js and assets; the allowed origin of the caller elsewhere.',
  },
  'cross-origin-resource-policy': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A91',
    description: 'cross-origin, so that any host page may embed it.',
  },
  'x-sandbox-warning': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A22',
    description:
      'Sandbox only. What the sandbox tolerated: wait_ms_clamped, wait_ms_conflict, prompt_text_discarded, client_id_from_key, secret_key_in_browser.',
  },
  'x-sandbox-slot-ids': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A37',
    description: 'Sandbox only. Every slot of the job, when more than one was requested.',
  },
  'x-sandbox-fault': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A94',
    description: 'Sandbox only. The fault rule that applied to this request.',
  },
  'x-sandbox-would-bill': {
    type: 'string',
    provenance: 'assumed',
    decision: 'A78',
    description: 'Sandbox only. What production would have billed for this beacon.',
  },
} as const satisfies Record<string, HeaderRow>

export type ResponseHeader = keyof typeof responseHeaders

/** Headers of a failure, beside x-request-id, by status. */
export const failureHeaders = {
  405: ['allow'],
  429: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  503: ['retry-after'],
} as const satisfies Record<number, readonly ResponseHeader[]>

/**
 * What the requests of `svc contract check` carry, so that no report takes them for those of an integration: their
 * User-Agent, and the beginning of their session and beacon ids.
 */
export const contractCheckClient = { user_agent: 'svc-contract-check', session_prefix: 'svc_contract_check_' } as const
