/** What the refusal of a request is about, for every cause of one: every rule about refusals reads it here. */
import type { ReasonCode } from '../error-codes.ts'

/**
 * `body`: the request as a whole, other than single fields. `fields`: single fields. `clock`: the time of a beacon. `token`: a
 * token of another placement or page. `control`: the control plane alone. `service`: no fault of the request.
 */
export const reasonsAbout = {
  body: [
    ...['json_malformed', 'body_empty', 'secret_in_field', 'formats_empty', 'format_unsupported'],
    ...['format_combination_unsupported', 'slots_requested_out_of_range', 'contract_version_unsupported'],
    ...['consent_revision_conflict', 'consent_revision_mismatch', 'expires_at_in_seconds', 'expires_at_past'],
    ...['callback_url_refused', 'callback_key_missing', 'batch_not_supported', 'event_not_supported_for_format'],
    ...['beacon_id_conflict', 'payload_too_large', 'http_malformed'],
  ],
  fields: ['field_unknown', 'schema_invalid'],
  personal_data: ['personal_data_in_field'],
  content_type: ['content_type_unsupported'],
  credential: [
    ...['credential_missing', 'key_unknown', 'key_revoked', 'key_class', 'token_in_wrong_place'],
    ...['activation_token_invalid', 'activation_token_expired', 'publishable_key_malformed'],
  ],
  key_in_browser: ['secret_key_in_browser'],
  origin: ['origin_not_allowed', 'origin_missing'],
  project: ['project_mismatch'],
  test_outcome: ['test_outcome_requires_test_key'],
  consent_missing: ['consent_required'],
  consent_changed: ['consent_not_granted', 'consent_superseded', 'consent_expired'],
  clock: [
    ...['beacon_stale', 'beacon_in_future', 'beacon_before_decision'],
    ...['occurred_at_in_seconds', 'occurred_at_conflict'],
  ],
  expired: ['asset_token_expired'],
  token: ['slot_mismatch', 'asset_token_invalid', 'origin_mismatch'],
  path: ['not_found', 'method_not_allowed', 'upgrade_required'],
  recording: ['not_recorded'],
  rate: ['rate_limited'],
  control: [
    ...['snapshot_exists', 'token_exists', 'namespace_in_use', 'replay_incomplete', 'archive_invalid', 'archive_newer'],
    ...['bundle_invalid', 'evidence_broken', 'callback_undecided', 'callback_key_lost', 'grant_invalid'],
    ...['ticket_invalid', 'host_not_allowed', 'origin_refused', 'role_missing'],
  ],
  service: [
    ...['headers_too_large', 'internal_error', 'storage_unavailable', 'draining', 'too_many_sockets', 'injected_fault'],
  ],
} as const satisfies Record<string, readonly ReasonCode[]>

type Unsorted = Exclude<ReasonCode, (typeof reasonsAbout)[keyof typeof reasonsAbout][number]>
/** Does not compile where a cause is in no list: the error names it. */
true satisfies [Unsorted] extends [never] ? true : Unsorted
