/**
 * The contract's errors: one table from code to status and exit code, one from precise cause to code.
 *
 * `error` is one of five documented codes or an addition (A11); `reason_code` is the stable, precise cause (A12). Every
 * hint says what to do next. No secret, token or prompt text ever appears in any of them.
 *
 * Over 400 lines because the table of causes is one: each cause with its code, its message and its hint, in one voice.
 */
import { z } from 'zod'
import { assumed, assumedObject, documented, observed, type Provenance } from './provenance.ts'

/** An error code: its HTTP status, the exit code of the command line, whether the same request may be sent again. */
interface ErrorCodeRow {
  status: number
  exit_code: number
  retryable: boolean
  provenance: Provenance
  summary: string
}

export const errorCodes = {
  validation_error: {
    status: 400,
    exit_code: 3,
    retryable: false,
    provenance: 'documented',
    summary: 'The request fails validation.',
  },
  unauthorized: {
    status: 401,
    exit_code: 4,
    retryable: false,
    provenance: 'documented',
    summary: 'The credential is missing, unknown or expired.',
  },
  forbidden: {
    status: 403,
    exit_code: 4,
    retryable: false,
    provenance: 'documented',
    summary: 'The credential may not do this.',
  },
  not_found: {
    status: 404,
    exit_code: 3,
    retryable: false,
    provenance: 'assumed',
    summary: 'Unknown to this project: what belongs to another project looks the same.',
  },
  method_not_allowed: {
    status: 405,
    exit_code: 3,
    retryable: false,
    provenance: 'assumed',
    summary: 'The path exists, the method does not; see the Allow header.',
  },
  payload_too_large: {
    status: 413,
    exit_code: 3,
    retryable: false,
    provenance: 'assumed',
    summary: 'The body is over the limit of its endpoint.',
  },
  unsupported_media_type: {
    status: 415,
    exit_code: 3,
    retryable: false,
    provenance: 'documented',
    summary: 'A non-empty body without Content-Type: application/json.',
  },
  misdirected_request: {
    status: 421,
    exit_code: 3,
    retryable: false,
    provenance: 'assumed',
    summary: 'Sandbox only: the Host header names another host.',
  },
  rate_limited: {
    status: 429,
    exit_code: 3,
    retryable: true,
    provenance: 'documented',
    summary: 'Over the rate limit of the key; retry after Retry-After seconds.',
  },
  internal_error: { status: 500, exit_code: 3, retryable: true, provenance: 'assumed', summary: 'The service failed.' },
  unavailable: {
    status: 503,
    exit_code: 7,
    retryable: true,
    provenance: 'assumed',
    summary: 'Not now; retry after Retry-After seconds.',
  },
} as const satisfies Record<string, ErrorCodeRow>

export type ErrorCode = keyof typeof errorCodes

interface ReasonRow {
  error: ErrorCode
  message: string
  hint: string
}

export const reasonCodes = {
  schema_invalid: {
    error: 'validation_error',
    message: 'The request does not match the schema.',
    hint: 'Correct the fields listed in fields.',
  },
  json_malformed: {
    error: 'validation_error',
    message: 'The body is not JSON.',
    hint: 'Send one UTF-8 JSON object. A trailing comma, a single quote or a cut-off body is the usual cause.',
  },
  body_empty: {
    error: 'validation_error',
    message: 'The body is empty.',
    hint: 'Send a JSON object with Content-Type: application/json.',
  },
  field_unknown: {
    error: 'validation_error',
    message: 'The request has a field that the contract does not define.',
    hint: 'Remove the fields listed in fields, or correct their spelling.',
  },
  formats_empty: {
    error: 'validation_error',
    message: 'overrides.allowed_formats is empty.',
    hint: 'Name at least one of banner, clip, native, or leave the field out to allow all.',
  },
  format_unsupported: {
    error: 'validation_error',
    message: 'overrides.allowed_formats names an unsupported format.',
    hint: 'The formats are banner, clip and native.',
  },
  format_combination_unsupported: {
    error: 'validation_error',
    message: 'native_template_id needs the native format.',
    hint: 'Add native to allowed_formats, or remove native_template_id.',
  },
  slots_requested_out_of_range: {
    error: 'validation_error',
    message: 'slots_requested is out of range.',
    hint: 'Ask for 1 to 4 slots.',
  },
  contract_version_unsupported: {
    error: 'validation_error',
    message: 'This contract_version is not supported.',
    hint: 'Send <name>/v1, for example csl_wrapper_ingress_create/v1.',
  },
  consent_required: {
    error: 'validation_error',
    message: 'This project requires consent, and none is sent, or stored and unexpired.',
    hint: 'Send consent in the request, or store it with POST /v1/consent for this client_id and session_id.',
  },
  consent_revision_conflict: {
    error: 'validation_error',
    message: 'The consent of this session is at another revision.',
    hint: 'Read the current revision and send it as expected_revision, or leave that field out.',
  },
  expires_at_in_seconds: {
    error: 'validation_error',
    message: 'expires_at_ms holds seconds.',
    hint: 'Send milliseconds: multiply by 1000, or leave it out for the lifetime of the project.',
  },
  expires_at_past: {
    error: 'validation_error',
    message: 'expires_at_ms has passed.',
    hint: 'Send a later time; to end consent send decision: withdrawn.',
  },
  origin_missing: {
    error: 'validation_error',
    message: 'The Origin header is absent.',
    hint: 'Activate from a browser page; its fetch sends Origin by itself. From a script, send Origin: http://localhost:3000.',
  },
  publishable_key_malformed: {
    error: 'validation_error',
    message: 'publishable_key is missing or not a publishable key.',
    hint: 'Send the key that begins with pk_test_ or pk_live_. Never send a secret key from a browser.',
  },
  beacon_stale: {
    error: 'validation_error',
    message: 'The beacon is older than the service accepts.',
    hint: 'Send beacons when they happen, stamped with the time of the event; see beacons.max_age_ms in the project config.',
  },
  beacon_in_future: {
    error: 'validation_error',
    message: 'The beacon is stamped in the future.',
    hint: "Stamp it with the server's time; the client's clock is ahead.",
  },
  beacon_before_decision: {
    error: 'validation_error',
    message: 'The beacon is stamped before its decision.',
    hint: "Stamp it with the server's time; the client's clock is behind.",
  },
  occurred_at_in_seconds: {
    error: 'validation_error',
    message: 'occurred_at_ms holds seconds.',
    hint: 'Send milliseconds: Date.now(), not Date.now() / 1000.',
  },
  occurred_at_conflict: {
    error: 'validation_error',
    message: 'occurred_at and occurred_at_ms are different times.',
    hint: 'Send one of them: the time of the event.',
  },
  consent_revision_mismatch: {
    error: 'validation_error',
    message: 'consent_revision is not the revision that the decision has bound.',
    hint: 'Send authoritative_consent.revision of the same placement response, or leave it out.',
  },
  asset_token_invalid: {
    error: 'validation_error',
    message: 'The asset token is not one of this project and mode.',
    hint: 'Send decision.asset_token of this placement, unchanged, with a key of the same project and mode.',
  },
  asset_token_expired: {
    error: 'validation_error',
    message: 'The asset token has expired.',
    hint: 'Request a new placement for the next turn; do not store fills.',
  },
  slot_mismatch: {
    error: 'validation_error',
    message: 'slot_id is not the slot of this asset token.',
    hint: 'Send the slot_id of the same placement response, or leave it out.',
  },
  event_not_supported_for_format: {
    error: 'validation_error',
    message: 'This event does not exist for the format of the creative.',
    hint: 'play_started, play_completed and completion are for clip.',
  },
  beacon_id_conflict: {
    error: 'validation_error',
    message: 'This beacon_id was used with another body.',
    hint: 'Use a new beacon_id for each event; repeat one only to retry the same beacon.',
  },
  batch_not_supported: {
    error: 'validation_error',
    message: 'The body is an array; one request carries one beacon.',
    hint: 'Send each beacon in its own request.',
  },
  snapshot_exists: {
    error: 'validation_error',
    message: 'A snapshot with this name exists.',
    hint: 'Send replace: true (svc sandbox snapshot save NAME --replace), or choose another name.',
  },
  replay_incomplete: {
    error: 'validation_error',
    message: 'Nothing was sent: the journal does not hold all of this request.',
    hint: 'Give the fields listed in fields with set (svc requests replay --set path=value), another credential with key_id.',
  },
  archive_invalid: {
    error: 'validation_error',
    message: 'This is not a complete, unchanged state of a sandbox.',
    hint: 'Export it again with svc sandbox export. Nothing here was changed.',
  },
  archive_newer: {
    error: 'validation_error',
    message: 'This state was made by a newer version.',
    hint: 'Update svc. Nothing here was changed.',
  },
  http_malformed: {
    error: 'validation_error',
    message: 'The request is not well-formed HTTP, or its head is too large.',
    hint: 'Check the request line, the headers (at most 16 KiB together) and the encoding of the path.',
  },
  credential_missing: {
    error: 'unauthorized',
    message: 'No credential was sent.',
    hint: 'Send Authorization: Bearer <secret key or activation token>.',
  },
  key_unknown: {
    error: 'unauthorized',
    message: 'The key is unknown.',
    hint: 'Use a key of this sandbox: svc start prints them, svc keys list shows them.',
  },
  key_revoked: { error: 'unauthorized', message: 'The key has been revoked.', hint: 'Create a new one.' },
  activation_token_invalid: {
    error: 'unauthorized',
    message: 'The activation token is not valid.',
    hint: 'Activate again with POST /v1/browser/activate.',
  },
  activation_token_expired: {
    error: 'unauthorized',
    message: 'The activation token has expired.',
    hint: 'Activate again before expires_at_ms; render.js does so by itself.',
  },
  token_in_wrong_place: {
    error: 'unauthorized',
    message: 'An asset token was sent as a credential.',
    hint: 'The asset token belongs in the body or the path. The Authorization header carries a secret key or an activation token.',
  },
  key_class: {
    error: 'forbidden',
    message: 'This kind of key may not be used here.',
    hint: 'Servers send a secret key (sk_) as bearer; browsers exchange a publishable key (pk_) at POST /v1/browser/activate and send the activation token.',
  },
  project_mismatch: {
    error: 'forbidden',
    message: 'client_id is not the project of this credential.',
    hint: 'Send the client_id that belongs to the key.',
  },
  origin_not_allowed: {
    error: 'forbidden',
    message: 'The origin is not allowed for this project.',
    hint: "Add it to the project's allowed origins, scheme and port included.",
  },
  origin_mismatch: {
    error: 'forbidden',
    message: 'The token was issued to another origin.',
    hint: 'Use the token on the origin that activated it.',
  },
  secret_key_in_browser: {
    error: 'forbidden',
    message: 'A secret key came from a browser page.',
    hint: 'Revoke it, keep secret keys on the server, and let pages use a publishable key.',
  },
  test_outcome_requires_test_key: {
    error: 'forbidden',
    message: 'test_outcome needs a Server Test Key.',
    hint: 'Use a key that begins with sk_test_, and never send test_outcome in production.',
  },
  consent_not_granted: {
    error: 'forbidden',
    message: 'Consent is not granted.',
    hint: 'Render nothing and send nothing; ask for a placement again when consent is granted.',
  },
  consent_superseded: {
    error: 'forbidden',
    message: 'Consent has changed since the decision.',
    hint: 'Clear this placement and request a new one.',
  },
  consent_expired: {
    error: 'forbidden',
    message: 'The consent of the decision has expired.',
    hint: 'Ask for consent again, then request a new placement.',
  },
  not_found: {
    error: 'not_found',
    message: 'There is nothing here for this project.',
    hint: 'Check the path and the identifier. What belongs to another project looks the same.',
  },
  method_not_allowed: {
    error: 'method_not_allowed',
    message: 'This path does not support this method.',
    hint: 'See the Allow header.',
  },
  payload_too_large: {
    error: 'payload_too_large',
    message: 'The body is too large.',
    hint: 'Send fewer bytes; the limits are in svc contract show.',
  },
  content_type_unsupported: {
    error: 'unsupported_media_type',
    message: 'The Content-Type is not application/json.',
    hint: 'Send Content-Type: application/json. navigator.sendBeacon with a string sends text/plain: use fetch with keepalive.',
  },
  host_not_allowed: {
    error: 'misdirected_request',
    message: 'The Host header does not name this sandbox.',
    hint: 'Use localhost, 127.0.0.1 or [::1]; start with --host to serve another name.',
  },
  origin_refused: {
    error: 'forbidden',
    message: 'The control plane refuses cross-origin requests.',
    hint: 'Call it from a program, or from the inspector on its own origin.',
  },
  rate_limited: {
    error: 'rate_limited',
    message: 'Over the rate limit of this key.',
    hint: 'Wait for Retry-After seconds, then try again. Do not retry at once.',
  },
  internal_error: {
    error: 'internal_error',
    message: 'The sandbox failed.',
    hint: 'This is a bug of the sandbox. Its log has the details under this request_id.',
  },
  injected_fault: {
    error: 'unavailable',
    message: 'The service is not available.',
    hint: 'Retry after Retry-After seconds.',
  },
  storage_unavailable: {
    error: 'unavailable',
    message: 'The sandbox cannot write its database.',
    hint: 'Free disk space or make the database file writable, then try again.',
  },
} as const satisfies Record<string, ReasonRow>

export type ReasonCode = keyof typeof reasonCodes

export const reasonCode = z.enum(Object.keys(reasonCodes) as [ReasonCode, ...ReasonCode[]])
export const errorCode = z.enum(Object.keys(errorCodes) as [ErrorCode, ...ErrorCode[]])

/** The error body (A10). */
export const ErrorBody = assumedObject('A10', {
  error: documented(errorCode, 'The error code. Five are documented; the others are additions (A11).', 'A10'),
  message: observed(z.string(), 'A10', 'One sentence for readers. May change; do not match on it.'),
  request_id: observed(z.string(), 'A10', 'Support identifier, equal to the x-request-id header.'),
  reason_code: assumed(reasonCode, 'A12', 'The precise, stable cause.'),
  hint: z.string().describe('What to do next.'),
  fields: z
    .array(
      assumedObject('A10', {
        path: z.string().describe('The dotted path of the field: overrides.allowed_formats.0.'),
        message: z.string().describe('What is wrong there.'),
        expected: z.string().describe('What is expected there.'),
      }),
    )
    .describe('The invalid fields; empty when the cause is not a field.'),
  retryable: z.boolean().describe('Whether the same request may succeed later.'),
  docs_url: z.string().describe('The page that explains the cause.'),
})
export type ErrorBody = z.infer<typeof ErrorBody>
export type FieldError = ErrorBody['fields'][number]

/** A mistake of the caller, thrown by operations and by the request pipeline, which responds with its error body. */
export class ApiError extends Error {
  readonly reason_code: ReasonCode
  readonly hint: string
  readonly fields: FieldError[]
  readonly retry_after_s: number | undefined
  readonly headers: Record<string, string>

  constructor(
    reason_code: ReasonCode,
    details: {
      message?: string
      hint?: string
      fields?: FieldError[]
      retry_after_s?: number
      headers?: Record<string, string>
    } = {},
  ) {
    super(details.message ?? reasonCodes[reason_code].message)
    this.name = 'ApiError'
    this.reason_code = reason_code
    this.hint = details.hint ?? reasonCodes[reason_code].hint
    this.fields = details.fields ?? []
    this.retry_after_s = details.retry_after_s
    this.headers = details.headers ?? {}
  }

  get status(): number {
    return errorCodes[reasonCodes[this.reason_code].error].status
  }

  /** Returns the error body of the response (A10). */
  toBody(request_id: string, base_url: string): ErrorBody {
    const error = reasonCodes[this.reason_code].error
    return {
      error,
      message: this.message,
      request_id,
      reason_code: this.reason_code,
      hint: this.hint,
      fields: this.fields,
      retryable: errorCodes[error].retryable,
      docs_url: `${base_url}/_sandbox/errors#${this.reason_code}`,
    }
  }
}
