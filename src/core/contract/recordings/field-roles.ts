/**
 * What the value of a field of v1 stands for. From it follows what a comparison may ignore, what a recording is played back
 * with, and which values are never written: identifiers, times and tokens differ with every response, and say nothing.
 */
import { findEntry } from '#foundation/table-entry.ts'

/**
 * `identifier`: names a thing of one run. `time`: a moment. `token`: a credential. `price`: an amount of money. `address`: a
 * URL of the service or of a creative. `creative`: what the chosen campaign brings. `outcome`: what was decided about this
 * request. `count`: grows with use. `value`: what the service always says, so that another value is a difference.
 */
export type FieldRole =
  | 'identifier'
  | 'time'
  | 'token'
  | 'price'
  | 'address'
  | 'creative'
  | 'outcome'
  | 'count'
  | 'value'

/**
 * Every field of v1, by its own name: a name means the same in every endpoint. One that is in no line fails a test, since a time
 * that were taken for a `value` would be a difference in each comparison.
 */
export const fieldRoles: Readonly<Record<string, FieldRole>> = {
  ...named('identifier', 'slot_id slot_ids job_id request_id consent_id key_id project_id client_id wrapper_tenant_id'),
  ...named('identifier', 'session_id chat_session_id beacon_id render_instance_id allowed_origins'),
  ...named('time', 'updated_at_ms expires_at_ms expires_at server_time_ms occurred_at occurred_at_ms'),
  ...named('token', 'asset_token activation_token beacon_token ticket secret_key publishable_key'),
  ...named('price', 'gross_cpm estimated_net_per_impression currency'),
  ...named('address', 'frame_url script_url image_url video_url delivery_url icon_url click_url url click_through_url'),
  ...named('creative', 'sponsor_name title description cta_text width height aspect_ratio dimensions'),
  ...named('creative', 'mime_type duration_ms creative_duration_ms assets metadata'),
  ...named('outcome', 'fill format media_type mode no_fill_reason reason_origin nbr retryable native_template_id'),
  ...named('outcome', 'placement decision status accepted duplicate billable reason_code cs_declaration'),
  ...named('count', 'revision config_revision consent_revision expected_revision'),
  ...named('value', 'ad_label_text allowed_formats allowed_modes app_bundle app_domain app_name'),
  ...named('value', 'authoritative_consent banner beacons bidfloor bidfloor_currency bidfloorcur bidfloors'),
  ...named('value', 'billing_model blocked_categories blocked_domains brand_safety callback_url'),
  ...named('value', 'candidate_partner_ids categories clip clip_duration_ms clip_ratio consent consent_source'),
  ...named('value', 'constraints context contract_version cross_session_persistence decision_delivery'),
  ...named('value', 'decision_path_template default defaults delivery device disclosure enabled'),
  ...named('value', 'estimated_window_ms event fallback_mode formats force_campaign_id frequency_cap gdpr_applies geo'),
  ...named('value', 'global_per_hour gpp_sections gpp_string heartbeat_interval_ms height_px human inference job'),
  ...named('value', 'job_type label_required label_text large_area_px2 large_ratio latency_hint lifecycle_state'),
  ...named('value', 'locale max_age_ms max_creative_duration_ms max_future_skew_ms max_height max_render_delay_ms'),
  ...named('value', 'max_width measurements mechanism model_id muted native ok overrides pacing page_visible'),
  ...named('value', 'poll_path_template position position_hint position_ms predicted_latency_ms'),
  ...named('value', 'preferred_partner_id prompt prompt_interval prompt_shared prompt_text publisher purposes'),
  ...named('value', 'ratio reason render renderer require_viewability_ms required required_purposes'),
  ...named('value', 'revenue_estimate routing routing_hint ruleset_id ruleset_version semantic_targeting seq'),
  ...named('value', 'session session_persistence slot_config slot_hint slots_requested source ssp_partner_id'),
  ...named('value', 'strategy targeting tcf_consent_string tcf_string test_outcome text timing'),
  ...named('value', 'token_count_estimate topic ttl_ms us_privacy user_activated user_per_day verification'),
  ...named('value', 'version viewability visibility_check visible_ms visible_ratio wait_ms width_px'),
}

function named(role: FieldRole, names: string): Record<string, FieldRole> {
  return Object.fromEntries(names.split(' ').map((name) => [name, role]))
}

/** Returns the role of a field. @param path dotted, `[]` for the items of an array: `placement.render.frame_url` */
export function findRole(path: string): FieldRole {
  const name = path.replaceAll('[]', '').split('.').at(-1) ?? ''
  return findEntry(fieldRoles, name) ?? 'value'
}
