import { ApiError } from '../../src/contract/errors.ts'
import type { Contract } from '../../src/contract/index.ts'
import { callerOf, type Operation } from './context.ts'

/** GET /v1/projects/{client_id}/config (A80). The ETag follows the revision of the settings. */
export const getProjectConfig: Operation<Contract['projects.config']> = async (services, context, { params }) => {
  const { project, mode } = callerOf(context)
  if (params.client_id !== project.client_id) throw new ApiError('not_found')
  const { settings } = project
  context.headers.etag = `W/"${project.config_revision}-${mode}-${services.version}"`
  context.headers['cache-control'] = 'private, max-age=60'
  return {
    client_id: project.client_id,
    mode,
    enabled: settings.enabled,
    defaults: { ...settings.defaults, decision_delivery: 'polling' },
    disclosure: { label_text: settings.label_text, label_required: settings.label_required },
    consent: settings.consent,
    viewability: { ...settings.viewability, billing_model: settings.billing_model },
    beacons: {
      max_age_ms: settings.beacon_max_age_ms,
      max_future_skew_ms: settings.beacon_max_future_skew_ms,
      heartbeat_interval_ms: settings.heartbeat_interval_ms,
    },
    allowed_origins: settings.allowed_origins,
    renderer: { script_url: `${services.base_url}/v1/render.js`, version: services.version },
    server_time_ms: context.now_ms,
    config_revision: project.config_revision,
    request_id: context.request_id,
  }
}
