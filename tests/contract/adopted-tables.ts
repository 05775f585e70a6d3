/** The tables that the decisions adopt where the API document shows nothing, written down by hand. */

/** Error codes beside the documented five (A11), and those that only the sandbox responds with. */
export const additionalErrors: Readonly<Record<string, number>> = {
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  upgrade_required: 426,
  misdirected_request: 421,
  internal_error: 500,
  unavailable: 503,
}

/** Reason codes by status (A12). */
export const adoptedReasonCodes: Readonly<Record<number, readonly string[]>> = {
  400: [
    'schema_invalid',
    'json_malformed',
    'body_empty',
    'field_unknown',
    'formats_empty',
    'format_unsupported',
    'format_combination_unsupported',
    'slots_requested_out_of_range',
    'contract_version_unsupported',
    'consent_required',
    'consent_revision_conflict',
    'expires_at_in_seconds',
    'expires_at_past',
    'origin_missing',
    'publishable_key_malformed',
    'beacon_stale',
    'beacon_in_future',
    'beacon_before_decision',
    'occurred_at_in_seconds',
    'occurred_at_conflict',
    'secret_in_field',
    'consent_revision_mismatch',
    'asset_token_invalid',
    'asset_token_expired',
    'slot_mismatch',
    'event_not_supported_for_format',
    'beacon_id_conflict',
    'batch_not_supported',
  ],
  401: [
    'credential_missing',
    'key_unknown',
    'key_revoked',
    'activation_token_invalid',
    'activation_token_expired',
    'token_in_wrong_place',
  ],
  403: [
    'key_class',
    'project_mismatch',
    'origin_not_allowed',
    'origin_mismatch',
    'secret_key_in_browser',
    'test_outcome_requires_test_key',
    'consent_not_granted',
    'consent_superseded',
    'consent_expired',
  ],
  404: ['not_found'],
  405: ['method_not_allowed'],
  413: ['payload_too_large'],
  415: ['content_type_unsupported'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['injected_fault'],
}

/** Reason codes that only a sandbox has, and those of push and callbacks (C04, C07). */
export const sandboxReasonCodes: Readonly<Record<number, readonly string[]>> = {
  400: [
    'snapshot_exists',
    'token_exists',
    'namespace_in_use',
    'replay_incomplete',
    'archive_invalid',
    'evidence_broken',
    'archive_newer',
    'http_malformed',
    'callback_url_refused',
    'callback_key_missing',
    'callback_undecided',
    'callback_key_lost',
    'personal_data_in_field',
  ],
  401: ['grant_invalid', 'ticket_invalid'],
  403: ['origin_refused', 'role_missing'],
  404: ['not_recorded'],
  421: ['host_not_allowed'],
  426: ['upgrade_required'],
  503: ['draining', 'storage_unavailable', 'too_many_sockets'],
}

/** No-fill reasons (A31): origin, OpenRTB no-bid reason, when to request again. */
export const adoptedNoFillReasons: Readonly<Record<string, readonly [origin: string, nbr: number, retry: string]>> = {
  no_demand: ['partner', 0, 'next turn'],
  timeout: ['transport', 15, 'next turn'],
  partner_error: ['transport', 1, 'next turn'],
  below_floor: ['partner', 501, 'after change'],
  format_mismatch: ['core_policy', 502, 'after change'],
  size_mismatch: ['core_policy', 503, 'after change'],
  category_blocked: ['core_policy', 504, 'after change'],
  advertiser_blocked: ['core_policy', 505, 'after change'],
  policy_block: ['core_policy', 7, 'no'],
  unsupported_surface: ['core_policy', 6, 'no'],
  content_safety: ['core_policy', 506, 'next topic'],
  consent_not_granted: ['core_policy', 507, 'after consent'],
  frequency_cap_exceeded: ['core_policy', 9, 'later'],
  risk_suppressed: ['core_policy', 4, 'no'],
  test_forced: ['test', 500, 'yes'],
  slot_expired: ['core_policy', 0, 'next turn'],
  internal_error: ['core_policy', 1, 'next turn'],
}

/** Accepted spellings of beacon events (A71), and what they are stored as. */
export const adoptedSpellings: Readonly<Record<string, string>> = {
  rendered: 'render',
  clicked: 'click',
  completed: 'completion',
  visible_started: 'visible',
  on_view: 'visible',
  visible_ended: 'heartbeat',
  dismissed: 'heartbeat',
}
