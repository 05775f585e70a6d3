import { z } from 'zod'
import type { ReasonCode } from './errors.ts'
import { limits } from './limits.ts'
import { type Provenance, strictObject } from './objects.ts'
import './platform-types.ts'

/** The kinds of credential in `Authorization: Bearer`. */
export type Credential = 'secret_key' | 'activation_token' | 'beacon_token'

/** The token bucket an endpoint draws from (A20). */
export type RateClass = 'default' | 'beacons' | 'activate'

/** The roles of control plane tokens, from the least (A97). Each includes the ones before it. */
export const roles = ['read', 'write', 'admin'] as const
export type Role = (typeof roles)[number]

/** The stability of an endpoint's contract. `deprecated`: for old clients; `sandbox`: exists in the emulator only. */
export type Stability = 'stable' | 'advanced' | 'may_change' | 'deprecated' | 'sandbox'

/**
 * One endpoint as a value. Server validation, the typed client, command-line flags and help, the OpenAPI document and
 * the reference are computed from it.
 */
export interface Endpoint extends EndpointEntry {
  /** Group and verb: `placements.create`. Names the client's method, the operation and the command. */
  readonly id: string
}

/** An endpoint as a file declares it: its id is the key of the entry. */
export interface EndpointEntry {
  readonly method: 'GET' | 'POST' | 'DELETE' | 'PUT' | 'PATCH'
  /** The path with its parameters in braces: `/v1/decisions/{slot_id}`. */
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly stability: Stability
  /** The path that replaces a deprecated endpoint, with the parameters of the endpoint's own path. */
  readonly successor?: string
  readonly provenance: Provenance
  /** Empty: no Authorization header. */
  readonly credentials: readonly Credential[]
  readonly rate: RateClass | null
  readonly body_limit_bytes: number
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** The body of an old client (C08), where it may differ. */
  readonly old_client_body?: z.ZodType
  /**
   * Top-level fields of the body where a key or token belongs, or has its own error. In any other field, and in any
   * query, a secret key, an activation token or a beacon token is a 400 (A94). An asset token belongs in `asset_token`.
   */
  readonly credential_fields?: readonly string[]
  /** The media type of a body that is not JSON: a file. */
  readonly body_media_type?: string
  /** Returns the schema of the variant that a body was meant to be, so that errors are about that variant. */
  readonly branch?: (body: unknown) => z.ZodType
  /**
   * Returns the unknown fields of a body that belong somewhere else, with the right place, so that the error names it, and
   * whether other unknown fields are ignored with a warning (A14).
   */
  readonly misplaced?: (body: unknown) => { places: Readonly<Record<string, string>>; ignoresOthers: boolean }
  /** Request headers other than Authorization and Content-Type. */
  readonly request_headers?: Readonly<Record<string, RequestHeader>>
  /** 101: the request is the handshake of a WebSocket. */
  readonly status: 101 | 200 | 201
  /**
   * The JSON of a success, or the media type of a response that is not JSON, and whether a part of it can be requested.
   */
  readonly response: z.ZodType | { readonly media_type: string; readonly has_ranges?: boolean }
  /** Headers of a success, other than x-request-id. */
  readonly response_headers?: readonly ResponseHeader[]
  /** Its own causes of failure, in addition to those that follow from the rest of the declaration (`listFailures`). */
  readonly errors: readonly ReasonCode[]
  /** Control plane only: the role that its token must have. Default: read for GET, else write (`requiredRole`). */
  readonly role?: Role
  /** Whether the response needs no database, so that none can fail it. */
  readonly is_constant?: boolean
  /** Causes that respond with a page of the response's own media type instead of the error body, with their status. */
  readonly pages?: Readonly<Partial<Record<ReasonCode, number>>>
}

/** Entries with their keys as ids, and the exact type of each. */
type Declared<Entries> = { readonly [Id in keyof Entries]: Entries[Id] & { readonly id: Id } }

/** Declares the endpoints of a resource by their ids. */
export function declareEndpoints<const Entries extends Readonly<Record<string, EndpointEntry>>>(
  entries: Entries,
): Declared<Entries> {
  return Object.fromEntries(Object.entries(entries).map(([id, entry]) => [id, { ...entry, id }])) as Declared<Entries>
}

type InputOf<S> = S extends z.ZodType ? z.input<S> : unknown
type OutputOf<S> = S extends z.ZodType ? z.output<S> : unknown

/** The input of a call: parameters, query and body, one object each, absent where the endpoint has none. */
export type Input<E extends Endpoint> = (E extends { params: z.ZodObject }
  ? { params: InputOf<E['params']> }
  : { params?: never }) &
  (E extends { query: z.ZodObject } ? { query?: InputOf<E['query']> } : { query?: never }) &
  (E extends { body: z.ZodType }
    ? { body: InputOf<E['body']> }
    : E extends { body_media_type: string }
      ? { body: Blob }
      : { body?: never })

/** The input of an operation, after validation. */
export type Parsed<E extends Endpoint> = {
  params: E extends { params: z.ZodObject } ? OutputOf<E['params']> : Record<string, never>
  query: E extends { query: z.ZodObject } ? OutputOf<E['query']> : Record<string, never>
  body: E extends { body: z.ZodType } ? OutputOf<E['body']> : undefined
}

/** The output of an endpoint: its JSON, or text where the response is not JSON. */
export type Output<E extends Endpoint> = E['response'] extends z.ZodType ? z.output<E['response']> : string

/** Common to most endpoints of the public API. */
export const publicApi = {
  stability: 'stable',
  provenance: 'documented',
  credentials: ['secret_key', 'activation_token'],
  rate: 'default',
  body_limit_bytes: limits.body_bytes,
  status: 200,
  errors: [],
} as const satisfies Partial<EndpointEntry>

const controlPlane = {
  stability: 'sandbox',
  provenance: 'assumed',
  credentials: [],
  rate: null,
  body_limit_bytes: limits.body_bytes,
  status: 200,
  errors: [],
} as const

/** Common to the endpoints of the control plane that only read. */
export const reading = {
  ...controlPlane,
  method: 'GET',
  query: strictObject(() => ({})),
} as const satisfies Partial<EndpointEntry>

/** Common to the endpoints of the control plane that change something, or have a body. */
export const writing = { ...controlPlane, method: 'POST' } as const

/** Causes that follow from what an endpoint declares, in the order of the checks (A13). */
const impliedErrors: readonly [applies: (endpoint: Endpoint) => boolean, causes: readonly ReasonCode[]][] = [
  [() => true, ['http_malformed']],
  [isControlPlane, ['origin_refused']],
  [(endpoint) => isControlPlane(endpoint) && requiredRole(endpoint) !== 'read', ['role_missing']],
  [hasBody, ['payload_too_large', 'content_type_unsupported']],
  [
    ({ credentials }) => credentials.length > 0,
    ['credential_missing', 'key_unknown', 'key_revoked', 'token_in_wrong_place', 'key_class'],
  ],
  [
    ({ credentials }) => credentials.some((credential) => credential !== 'secret_key'),
    ['activation_token_invalid', 'activation_token_expired', 'origin_mismatch', 'origin_not_allowed'],
  ],
  [({ credentials }) => credentials.includes('secret_key'), ['secret_key_in_browser']],
  [({ rate }) => rate !== null, ['rate_limited']],
  [({ body }) => body !== undefined, ['json_malformed', 'secret_in_field', 'field_unknown', 'schema_invalid']],
  [(endpoint) => endpoint.body !== undefined && !isControlPlane(endpoint), ['body_empty']],
  [({ body, credentials }) => body !== undefined && credentials.length > 0, ['personal_data_in_field']],
  [(endpoint) => isQueryChecked(endpoint), ['secret_in_field', 'field_unknown']],
  [
    (endpoint) => endpoint.params !== undefined || (isQueryChecked(endpoint) && hasFields(endpoint.query)),
    ['schema_invalid'],
  ],
  [({ is_constant }) => is_constant !== true, ['storage_unavailable']],
  [(endpoint) => !isControlPlane(endpoint), ['injected_fault']],
  [isRecorded, ['not_recorded']],
  [() => true, ['internal_error']],
]

/**
 * Returns every cause of failure of an endpoint: those that follow from its declaration, then its own. A request for
 * another path or method, or a body where none belongs, can fail in further ways.
 */
export function listFailures(endpoint: Endpoint): ReasonCode[] {
  const implied = impliedErrors.flatMap(([applies, causes]) => (applies(endpoint) ? causes : []))
  return [...new Set([...implied, ...endpoint.errors])]
}

/** Returns the role that a token of the control plane must have for an endpoint (A97). */
export function requiredRole({ role, method }: Pick<Endpoint, 'role' | 'method'>): Role {
  return role ?? (method === 'GET' ? 'read' : 'write')
}

/** Whether a role includes another. */
export function includesRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** Whether an endpoint is one of the sandbox's own. In the control plane an empty body means `{}`. */
export function isControlPlane({ path }: Pick<Endpoint, 'path'>): boolean {
  return path.startsWith('/_sandbox/')
}

/** Whether a recording can be played in place of the endpoint: its response is JSON. */
function isRecorded(endpoint: Endpoint): boolean {
  return !isControlPlane(endpoint) && endpoint.status !== 101 && endpoint.response instanceof z.ZodType
}

/** The query of a handshake is its credential, and is checked as one. */
function isQueryChecked({ query, response, status }: Endpoint): boolean {
  return status !== 101 && (query !== undefined || response instanceof z.ZodType)
}

function hasBody({ body, body_media_type }: Endpoint): boolean {
  return body !== undefined || body_media_type !== undefined
}

/** A query field can be sent twice, which no endpoint allows. */
function hasFields(query: z.ZodObject | undefined): boolean {
  return Object.keys(query?.shape ?? {}).length > 0
}

/** A header of the API. `type` is its JSON Schema type. */
interface HeaderRow {
  type: 'string' | 'integer'
  provenance: Provenance
  decision: string
  description: string
}

/** A request header of one endpoint. */
interface RequestHeader extends HeaderRow {
  required: boolean
}

/** Response headers. Sandbox-only headers are named `x-sandbox-*`. */
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
  'www-authenticate': header('assumed', 'A101', 'Bearer, on 401: the scheme of the Authorization header.'),
  allow: header('assumed', 'A11', 'The methods that the path supports, on 405.'),
  upgrade: header('observed', 'C04', 'websocket, on 426: the protocol that requests for this path must upgrade to.'),
  etag: header('assumed', 'A80', 'Changes with the content. A request with it as If-None-Match gets a 304.'),
  'content-encoding': header('assumed', 'A91', 'br or gzip, as Accept-Encoding permits; the ETag differs by encoding.'),
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
  deprecation: header('observed', 'C08', 'true on routes kept for old clients.'),
  link: header('observed', 'C08', 'The route that replaces a deprecated one, with rel="successor-version".'),
  'x-sandbox-warning': header(
    'assumed',
    'A22',
    // Those of warnings.ts, which is not loaded for this.
    'Sandbox only. What the sandbox tolerated: wait_ms_clamped, wait_ms_conflict, prompt_text_discarded, consent_purposes_kept, consent_overturned, rate_limit_overridden, fields_ignored, topic_cut, category_unknown, currency_without_rate, campaign_forced, callback_ignored, client_id_from_key, secret_key_in_browser, asset_token_removed, null_as_absent, session_id_personal, personal_data.',
  ),
  'x-sandbox-slot-ids': header(
    'assumed',
    'A37',
    'Sandbox only. Every slot of the job, when more than one was requested.',
  ),
  'x-sandbox-fault': header('assumed', 'A96', 'Sandbox only. The fault rule that applied to this request.'),
  'x-sandbox-source': header(
    'assumed',
    'A115',
    'Sandbox only, with --playback. recording, or emulator for what it responds by itself.',
  ),
  'x-sandbox-trace': header(
    'assumed',
    'A112',
    'Sandbox only. The id of the trace that the request is in: that of its traceparent, or of the placement that it is about.',
  ),
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

/** Headers of a failure, other than x-request-id, by status. */
export const failureHeaders = {
  401: ['www-authenticate'],
  405: ['allow'],
  426: ['upgrade'],
  429: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  503: ['retry-after'],
} as const satisfies Record<number, readonly ResponseHeader[]>

/** Headers of a file, whole or in part, other than x-request-id, by status. */
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

/** Says why a callback got no response, or a client did not; in the journal, among the response headers. */
export const problemHeader = 'x-sandbox-problem'

/** Requests with this header, whatever its value, come from an old client (C08). No WebSocket handshake has it. */
export const oldClientHeader = 'x-csl-wrapper-version'
