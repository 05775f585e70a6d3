/**
 * The contract's errors as data: one table from code to status and exit code, one from precise cause to code.
 *
 * `error` is one of five documented codes or an addition (A11); `reason_code` is the stable, precise cause (A12). Every
 * hint says what to do next. No secret, token or prompt text ever appears in any of them. Only a type is imported, so that
 * the command line reads the tables without loading a schema.
 */
import { mapTable } from '#foundation/table-entry.ts'
import type { Provenance } from './objects.ts'

/** An error code: its HTTP status, the exit code of the command line, whether the same request may be sent again. */
interface ErrorCodeRow {
  status: number
  exit_code: number
  retryable: boolean
  provenance: Provenance
  summary: string
}

export const errorCodes = {
  validation_error: final(400, 3, 'documented', 'The request fails validation.'),
  unauthorized: final(401, 4, 'documented', 'The credential is missing, unknown or expired.'),
  forbidden: final(403, 4, 'documented', 'The credential may not do this.'),
  not_found: final(404, 3, 'assumed', 'Unknown to this project. Resources of other projects look the same.'),
  method_not_allowed: final(405, 3, 'assumed', 'The path does not support this method; see the Allow header.'),
  payload_too_large: final(413, 3, 'assumed', 'The body is over the limit of its endpoint.'),
  unsupported_media_type: final(415, 3, 'documented', 'A non-empty body without Content-Type: application/json.'),
  upgrade_required: final(426, 3, 'assumed', 'The path is a WebSocket: the request must be its handshake.'),
  misdirected_request: final(421, 3, 'assumed', 'Sandbox only: the Host header names another host.'),
  headers_too_large: final(431, 3, 'assumed', 'The request line and headers are over 16 KiB.'),
  rate_limited: retryable(
    429,
    3,
    'documented',
    'Over the rate limit of the key. Retry after the number of seconds in Retry-After.',
  ),
  internal_error: retryable(500, 3, 'assumed', 'The service failed.'),
  unavailable: retryable(
    503,
    7,
    'assumed',
    'Temporarily unavailable. Retry after the number of seconds in Retry-After.',
  ),
}

function final(status: number, exit_code: number, provenance: Provenance, summary: string): ErrorCodeRow {
  return { status, exit_code, retryable: false, provenance, summary }
}

function retryable(status: number, exit_code: number, provenance: Provenance, summary: string): ErrorCodeRow {
  return { status, exit_code, retryable: true, provenance, summary }
}

export type ErrorCode = keyof typeof errorCodes

/** A precise cause: its error code, and what an error body says unless the thrower is more specific. */
interface ReasonRow<Code extends ErrorCode = ErrorCode> {
  error: Code
  message: string
  hint: string
}

/** Returns the causes of one error code, each given as [message, hint]. */
function causes<Code extends ErrorCode, Name extends string>(
  error: Code,
  rows: Record<Name, readonly [message: string, hint: string]>,
): Record<Name, ReasonRow<Code>> {
  return mapTable(rows, ([message, hint]) => ({ error, message, hint }))
}

export const reasonCodes = {
  ...causes('validation_error', {
    schema_invalid: ['The request does not match the schema.', 'Correct the listed fields.'],
    json_malformed: [
      'The body is not JSON.',
      'Send one UTF-8 JSON object. A trailing comma, a single quote or a cut-off body is the usual cause.',
    ],
    body_empty: ['The body is empty.', 'Send a JSON object with Content-Type: application/json.'],
    field_unknown: [
      'The request has a field that the contract does not define.',
      'Remove the listed fields, or correct their spelling.',
    ],
    secret_in_field: [
      'A field holds a secret key or a token that does not belong there.',
      'Nothing was stored. Find out why it was sent there, and replace it: create another key and revoke this one (svc sandbox keys create, svc sandbox keys revoke); a page activates again.',
    ],
    personal_data_in_field: [
      'A field seems to contain personal data, which this project does not accept.',
      'Nothing was stored. Remove the data from the listed fields, or accept it with a warning: svc sandbox projects update --personal-data warn.',
    ],
    formats_empty: [
      'allowed_formats is empty.',
      'Name at least one of banner, clip, native, or leave the field out to allow all.',
    ],
    format_unsupported: ['allowed_formats names an unsupported format.', 'The formats are banner, clip and native.'],
    format_combination_unsupported: [
      'native_template_id needs the native format.',
      'Add native to allowed_formats, or remove native_template_id.',
    ],
    slots_requested_out_of_range: ['slots_requested is out of range.', 'Ask for 1 to 4 slots.'],
    contract_version_unsupported: [
      'This contract_version is not supported.',
      'Send <name>/v1: csl_wrapper_ingress_create/v1 with a job, csl_wrapper_beacon/v1 with a beacon.',
    ],
    consent_required: [
      'This project requires consent. The request has none, and no valid consent is stored.',
      'Send consent in the request, or store it with POST /v1/consent for this client_id and session_id.',
    ],
    consent_revision_conflict: [
      'The consent of this session is at another revision.',
      'Read the current revision and send it as expected_revision, or leave that field out.',
    ],
    expires_at_in_seconds: [
      'expires_at_ms holds seconds.',
      'Send milliseconds: multiply by 1000, or leave it out for the lifetime of the project.',
    ],
    expires_at_past: ['expires_at_ms has passed.', 'Send a later time; to end consent send decision: withdrawn.'],
    origin_missing: [
      'The Origin header is absent.',
      'Activate from a browser page; its fetch sends Origin automatically. From a script, send Origin: http://localhost:3000.',
    ],
    publishable_key_malformed: [
      'publishable_key is missing or not a publishable key.',
      'Send the key that begins with pk_test_ or pk_live_. Never send a secret key from a browser.',
    ],
    beacon_stale: [
      'The beacon is older than the service accepts.',
      'Send beacons when they happen, stamped with the time of the event; see beacons.max_age_ms in the project config.',
    ],
    beacon_in_future: [
      'The beacon is stamped in the future.',
      "Stamp it with the server's time; the client's clock is ahead.",
    ],
    beacon_before_decision: [
      'The beacon is stamped before its decision.',
      "Stamp it with the server's time; the client's clock is behind.",
    ],
    occurred_at_in_seconds: ['occurred_at_ms holds seconds.', 'Send milliseconds: Date.now(), not Date.now() / 1000.'],
    occurred_at_conflict: [
      'occurred_at and occurred_at_ms are different times.',
      'Send one of them: the time of the event.',
    ],
    consent_revision_mismatch: [
      'consent_revision is not the revision that the decision was made with.',
      'Send authoritative_consent.revision of the same placement response, or leave it out.',
    ],
    asset_token_invalid: [
      'The asset token does not belong to this project and mode.',
      'Send decision.asset_token of this placement, unchanged, with a key of the same project and mode.',
    ],
    asset_token_expired: [
      'The asset token has expired.',
      'Request a new placement for the next turn; do not store fills.',
    ],
    slot_mismatch: [
      'slot_id is not the slot of this asset token.',
      'Send the slot_id of the same placement response, or leave it out.',
    ],
    event_not_supported_for_format: [
      'This event does not exist for the format of the creative.',
      'play_started, play_completed and completion are for clip.',
    ],
    beacon_id_conflict: [
      'This beacon_id was used with another body.',
      'Use a new beacon_id for each event; repeat one only to retry the same beacon.',
    ],
    batch_not_supported: [
      'The body is an array; one request carries one beacon.',
      'Send each beacon in its own request.',
    ],
    snapshot_exists: [
      'A snapshot with this name exists.',
      'Send replace: true (svc sandbox snapshot save NAME --replace), or choose another name.',
    ],
    token_exists: [
      'A token with this name exists.',
      'Choose another name: the audit list identifies tokens by name, so a revoked token keeps its name.',
    ],
    namespace_in_use: [
      'A node serves this namespace.',
      'Stop its nodes first: svc sandbox status at one of them lists all. A namespace that serves this request cannot be deleted from here.',
    ],
    replay_incomplete: [
      'Nothing was sent: the journal does not have all of this request.',
      'Give the listed fields with set (svc requests replay --set path=value), and another credential with key_id.',
    ],
    archive_invalid: [
      'This is not a complete, unchanged export of a sandbox.',
      'Export it again with svc sandbox export. Nothing here was changed.',
    ],
    bundle_invalid: [
      'This is not a bundle of svc.',
      'Send the page that svc bundle create wrote, or its JSON, as text. Nothing was imported.',
    ],
    evidence_broken: [
      'The evidence chain is broken, so it is not signed.',
      'See where: svc evidence verify. Begin a new chain: svc sandbox reset, or restore a snapshot that verifies.',
    ],
    archive_newer: ['This export was made by a newer version.', 'Update svc. Nothing here was changed.'],
    callback_url_refused: [
      'Callbacks may not be sent to this URL.',
      'Send an https URL of a public host, or an http URL of this host: http://localhost:4020. svc sandbox callbacks listen receives them there.',
    ],
    callback_key_missing: [
      'A callback is signed with the secret key that creates the job, and this request has another credential.',
      'Create the job on your server, with its secret key; in a page, poll the decision or wait for its push.',
    ],
    callback_undecided: [
      'The slot is not decided yet, so there is nothing to send.',
      'Wait: the callback is sent when the slot is decided.',
    ],
    callback_key_lost: [
      'The text of the key that created the job is not in memory, so nothing can be signed.',
      'Send it as secret_key: svc sandbox callbacks resend SLOT_ID --secret-key KEY.',
    ],
    http_malformed: [
      'The request is not well-formed HTTP.',
      'Check the request line, the headers and the encoding of the path.',
    ],
  }),
  ...causes('unauthorized', {
    credential_missing: ['No credential was sent.', 'Send Authorization: Bearer <secret key or activation token>.'],
    key_unknown: ['The key is unknown.', 'Use a key that svc start printed, or create one: svc sandbox keys create.'],
    key_revoked: ['The key has been revoked.', 'Create a new one.'],
    activation_token_invalid: ['The activation token is not valid.', 'Activate again with POST /v1/browser/activate.'],
    activation_token_expired: [
      'The activation token has expired.',
      'Activate again before expires_at_ms; render.js does this automatically.',
    ],
    grant_invalid: [
      'The grant of this page is unknown, has expired or was revoked.',
      'Ask again in the console on the page, and confirm it in the inspector: svc sandbox console list.',
    ],
    ticket_invalid: [
      'The ticket is missing, used, expired, or for another slot, surface or origin.',
      'Get a new one with POST .../decision-ticket, from the same origin, and open one socket with it within 60 seconds.',
    ],
    token_in_wrong_place: [
      'An activation token is in the query, the body or another header.',
      'Send it in the Authorization header: Bearer, a space and the token.',
    ],
  }),
  ...causes('forbidden', {
    key_class: [
      'This kind of key may not be used here.',
      'Servers send a secret key (sk_) as bearer; browsers exchange a publishable key (pk_) at POST /v1/browser/activate and send the activation token.',
    ],
    project_mismatch: [
      'client_id is not the project of this credential.',
      'Send the client_id that belongs to the key.',
    ],
    origin_not_allowed: [
      'The origin is not allowed for this project.',
      "Add it to the project's allowed origins, scheme and port included, such as http://localhost:5173 or capacitor://localhost. null, of a sandboxed iframe or a file, is never allowed: serve the page over http or https.",
    ],
    origin_mismatch: ['The token was issued to another origin.', 'Use the token on the origin that activated it.'],
    secret_key_in_browser: [
      'A secret key came from a browser page.',
      'Revoke it, keep secret keys on the server, and let pages use a publishable key.',
    ],
    test_outcome_requires_test_key: [
      'test_outcome needs a Server Test Key.',
      'Use a key that begins with sk_test_, and never send test_outcome in production.',
    ],
    consent_not_granted: [
      'Consent is not granted.',
      'Render nothing and send nothing; ask for a placement again when consent is granted.',
    ],
    consent_superseded: ['Consent has changed since the decision.', 'Clear this placement and request a new one.'],
    consent_expired: [
      'The consent of the decision has expired.',
      'Ask for consent again, then request a new placement.',
    ],
  }),
  ...causes('not_found', {
    not_found: [
      'Not found for this project.',
      'Check the path and the identifier. Resources of other projects look the same.',
    ],
    not_recorded: [
      'The recording that is played has no response to this request.',
      'To let the emulator respond to what was not recorded, start with --fallback.',
    ],
  }),
  ...causes('method_not_allowed', {
    method_not_allowed: ['This path does not support this method.', 'See the Allow header.'],
  }),
  ...causes('payload_too_large', {
    payload_too_large: ['The body is too large.', 'Send fewer bytes; the limits are in svc contract show.'],
  }),
  ...causes('unsupported_media_type', {
    content_type_unsupported: [
      'The Content-Type is not application/json.',
      'Send Content-Type: application/json. navigator.sendBeacon with a string sends text/plain: use fetch with keepalive.',
    ],
  }),
  ...causes('upgrade_required', {
    upgrade_required: [
      'This path is a WebSocket.',
      'Open it with a WebSocket client, version 13: new WebSocket(url + "?ticket=" + ticket).',
    ],
  }),
  ...causes('headers_too_large', {
    headers_too_large: [
      'The request line and headers are too large.',
      'Send at most 16 KiB of them. Cookies of other apps on localhost are sent too: remove them, or use 127.0.0.1.',
    ],
  }),
  ...causes('misdirected_request', {
    host_not_allowed: [
      'The Host header does not name this sandbox.',
      'Use localhost, 127.0.0.1 or [::1]; to serve another name, start with --allowed-host NAME or --public-url URL.',
    ],
  }),
  ...causes('forbidden', {
    origin_refused: [
      'The control plane refuses requests from another origin, and requests without a token where it needs one.',
      'Call it from a program, or from the inspector on its own origin. Where a token is needed, send it as x-sandbox-token.',
    ],
    role_missing: [
      'The role of this token does not include this.',
      'Send a token with the required role. Create one: svc team tokens create --name NAME --role ROLE.',
    ],
  }),
  ...causes('rate_limited', {
    rate_limited: [
      'Over the rate limit of this key.',
      'Wait for the number of seconds in the Retry-After header, then try again. Do not retry immediately.',
    ],
  }),
  ...causes('internal_error', {
    internal_error: [
      'The sandbox failed.',
      'This is a bug in the sandbox. Its log has the details under this request_id.',
    ],
  }),
  ...causes('unavailable', {
    draining: [
      'This node is about to stop.',
      'Send requests to another node, or wait until this one has been started again.',
    ],
    too_many_sockets: [
      'Too many sockets are open.',
      'Close sockets that have received their decision, or poll instead.',
    ],
    injected_fault: ['The service is not available.', 'Retry after the number of seconds in the Retry-After header.'],
    storage_unavailable: [
      'The sandbox cannot write its database.',
      'Free disk space or make the database file writable, then try again.',
    ],
  }),
}

export type ReasonCode = keyof typeof reasonCodes

/** Whether an accepted beacon counts, or why not, as a clause (A72, A75). */
export const acceptMeanings = {
  OK: 'it counts',
  DUPLICATE: 'this beacon_id was received before',
  ALREADY_COUNTED: 'an earlier beacon of the placement was counted for the same metric',
  AWAITING_RENDER: 'no render beacon has arrived yet',
  AWAITING_PLAY: 'the clip had not played for 2000 ms',
  TOO_SMALL: 'the ad was shown less than 50 px wide or high',
  BELOW_THRESHOLD: 'the view is below the viewability threshold',
  COMPLETED_TOO_FAST: 'the clip completed sooner than it can play',
  PAGE_HIDDEN: 'the page was hidden',
  VISIBILITY_UNMEASURED:
    'the visible beacon has no measurements.visible_ratio or visible_ms, or its visibility_check is none',
  MEASUREMENT_IMPLAUSIBLE: 'the claimed visible_ms is longer than the time since render',
} as const

/** The fix for an accepted beacon that does not count, by its reason. The thresholds are the defaults of `limits`. */
export const acceptHints: Readonly<Record<Exclude<keyof typeof acceptMeanings, 'OK'>, string>> = {
  DUPLICATE: 'Repeat a beacon only to retry it; it counts once.',
  ALREADY_COUNTED: 'Send it once per placement; nothing more is billed.',
  AWAITING_RENDER: 'Send a render beacon when the creative is drawn, before this.',
  AWAITING_PLAY:
    'Count time in view of a clip only while it plays: send play_started when it begins, and visible once it has played for 2000 ms.',
  TOO_SMALL:
    'Give the slot room: the ad must be at least 50 px wide and high, or half of its declared side where that is less.',
  BELOW_THRESHOLD:
    'Send visible once 50 % has been in view for 1000 ms without interruption (30 % of an ad of 242 500 px2 or more; a clip 50 % for 2000 ms).',
  COMPLETED_TOO_FAST: 'Stamp play_started and play_completed when they happen.',
  PAGE_HIDDEN: 'Count time in view only while document.visibilityState is visible.',
  VISIBILITY_UNMEASURED:
    'Send measurements.visible_ratio and measurements.visible_ms with visible. With visibility_check none, this browser cannot tell whether something covers the ad.',
  MEASUREMENT_IMPLAUSIBLE: 'Count time in view from the render, and stamp visible when that time has passed.',
}
