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

/** The fields that have a role other than `value`, by their own name: a name means the same in every endpoint. */
const roles: Readonly<Record<string, FieldRole>> = {
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
}

function named(role: FieldRole, names: string): Record<string, FieldRole> {
  return Object.fromEntries(names.split(' ').map((name) => [name, role]))
}

/** Returns the role of a field. @param path dotted, `[]` for the items of an array: `placement.render.frame_url` */
export function findRole(path: string): FieldRole {
  const name = path.replaceAll('[]', '').split('.').at(-1) ?? ''
  return findEntry(roles, name) ?? 'value'
}
