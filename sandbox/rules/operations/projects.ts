/** Projects: administered by the control plane, and the configuration that a client reads (A80). */
import { ApiError, type FieldError } from '#contract/errors.ts'
import { encodeId } from '#contract/ids.ts'
import type { Contract } from '#contract/index.ts'
import { normalizeOriginEntries, originEntryProblem } from '#contract/origins.ts'
import {
  defaultSettings,
  type ProjectDetail,
  type ProjectSettings,
  type ProjectSettingsPatch,
} from '#contract/resources/projects.ts'
import { requiresConsent } from '#domain/consent.ts'
import { isObject } from '#foundation/json.ts'
import type { ProjectRow } from '#store/store.ts'
import {
  addWarning,
  type Context,
  encodeCursor,
  type Operation,
  parsePage,
  requireCaller,
  requireProject,
  type Services,
} from './context.ts'
import { newKey } from './keys.ts'

/** Attempts to write while other requests change the same settings. */
const attempts = 8

/** GET /v1/projects/{client_id}/config (A80). The ETag follows the revision of the settings. */
export const getProjectConfig: Operation<Contract['projects.config']> = async (services, context, { params }) => {
  const { project, mode } = requireCaller(context)
  if (params.client_id !== project.client_id) throw new ApiError('not_found')
  const { settings } = project
  context.headers.etag = `W/"${project.config_revision}-${mode}-${services.version}"`
  context.headers['cache-control'] = 'private, max-age=60'
  return {
    client_id: project.client_id,
    mode,
    enabled: settings.enabled,
    defaults: { ...settings.defaults, formats: settings.defaults.allowed_formats, decision_delivery: 'polling' },
    disclosure: { label_text: settings.label_text, label_required: settings.label_required },
    consent: { ...settings.consent, required: requiresConsent(settings.consent) },
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

export const listProjects: Operation<Contract['projects.list']> = async ({ store }, _context, { query }) => {
  const { limit, before } = parsePage(query)
  const projects = await store.listProjects()
  const older = projects.filter(({ id }) => before === null || id < before).toReversed()
  const page = older.slice(0, limit)
  return {
    items: page.map(({ client_id, config_revision, settings }) => ({
      client_id,
      enabled: settings.enabled,
      billing_model: settings.billing_model,
      consent_required: requiresConsent(settings.consent),
      allowed_origins: settings.allowed_origins,
      config_revision,
    })),
    next_cursor: encodeCursor(older.length > limit ? page.at(-1)!.id : null),
  }
}

export const showProject: Operation<Contract['projects.show']> = async (services, _context, { params }) =>
  projectDetail(await requireProject(services, params.client_id))

export const createProject: Operation<Contract['projects.create']> = async (services, context, { body }) => {
  const { now_ms } = context
  const { client_id, ...patch } = body
  warnOfRates(services, context, patch)
  const settings = checked(defaultSettings, patch)
  const secret = await newKey(services, 'secret', 'test')
  const live = await newKey(services, 'secret', 'live')
  const publishable = await newKey(services, 'publishable', 'test')
  const keys = [secret, live, publishable].map(({ row }) => row)
  const project = await services.store.insertProject(client_id, settings, keys, now_ms)
  if (project === null) {
    throw new ApiError('schema_invalid', {
      message: `There is a project ${client_id} already.`,
      hint: 'Choose another client_id, or change that project: svc sandbox projects update.',
      fields: [{ path: 'client_id', message: 'is taken', expected: 'a client_id that no project has' }],
    })
  }
  return {
    ...projectDetail(project),
    keys: { secret_key: secret.text, live_secret_key: live.text, publishable_key: publishable.text },
  }
}

export const updateProject: Operation<Contract['projects.update']> = async (services, context, { params, body }) => {
  warnOfRates(services, context, body)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const project = await requireProject(services, params.client_id)
    const settings = checked(project.settings, body)
    if (JSON.stringify(settings) === JSON.stringify(project.settings)) return projectDetail(project)
    const saved = await services.store.saveSettings(project.id, project.config_revision, settings)
    if (saved === null) continue
    const hasNewRates = JSON.stringify(settings.rate_limits) !== JSON.stringify(project.settings.rate_limits)
    if (hasNewRates) await services.clearRates()
    return projectDetail(saved)
  }
  throw new Error('the settings of this project change faster than they can be written')
}

/** The limit of a start takes precedence over those of a project (A20). */
function warnOfRates({ hasStartRate }: Services, context: Context, { rate_limits }: ProjectSettingsPatch): void {
  if (hasStartRate && rate_limits != null) addWarning(context, 'rate_limit_overridden')
}

/** Returns the complete settings after a patch, with origins as they are compared. @throws ApiError 400 */
function checked(present: ProjectSettings, patch: ProjectSettingsPatch): ProjectSettings {
  const settings = patchSettings(present, patch)
  const fields = [...originProblems(patch.allowed_origins ?? []), ...latencyProblems(settings)]
  if (fields.length > 0) throw new ApiError('schema_invalid', { fields })
  return { ...settings, allowed_origins: normalizeOriginEntries(settings.allowed_origins) }
}

function projectDetail({ client_id, tenant_id, config_revision, settings }: ProjectRow): ProjectDetail {
  return { client_id, wrapper_tenant_id: encodeId('ten', tenant_id), config_revision, settings }
}

/** Returns the complete settings after a patch that its schema has checked. */
function patchSettings(present: ProjectSettings, patch: ProjectSettingsPatch): ProjectSettings {
  return merge(present, patch, defaultSettings) as ProjectSettings
}

/* The problems of settings that their schema cannot find, by path. */

function originProblems(origins: readonly string[]): FieldError[] {
  return origins.flatMap((origin, index) => {
    const problem = originEntryProblem(origin)
    return problem === null ? [] : [{ path: `allowed_origins.${index}`, ...problem }]
  })
}

function latencyProblems({ decision_latency_ms: latency }: ProjectSettings): FieldError[] {
  const isReversed =
    typeof latency === 'object' && latency.distribution === 'uniform' && latency.min_ms > latency.max_ms
  if (!isReversed) return []
  const expected = `at least ${latency.min_ms}`
  return [{ path: 'decision_latency_ms.max_ms', message: 'is below min_ms', expected }]
}

function merge(present: unknown, patch: unknown, fallback: unknown): unknown {
  if (patch === undefined) return present
  if (patch === null) return fallback
  // A distribution of latency is replaced, not merged: its default is a number.
  if (!isObject(patch) || !isObject(fallback)) return patch
  const merged: Record<string, unknown> = { ...(present as object) }
  for (const [name, value] of Object.entries(patch)) merged[name] = merge(merged[name], value, fallback[name])
  return merged
}
