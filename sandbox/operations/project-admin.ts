/** Projects of the sandbox, as the control plane administers them. */
import { defaultSettings, type ProjectDetail, type ProjectSettings } from '../../src/contract/control/projects.ts'
import { ApiError } from '../../src/contract/errors.ts'
import { encodeId } from '../../src/contract/ids.ts'
import type { Contract } from '../../src/contract/index.ts'
import { patchSettings, settingsProblems } from '../domain/settings.ts'
import type { ProjectRow } from '../store/store.ts'
import type { Operation, Services } from './context.ts'
import { cursorOf, pageOf } from './listing.ts'
import { newKey } from './new-key.ts'

/** How often a write is tried again when another writer was first. */
const attempts = 8

export const listProjects: Operation<Contract['projects.list']> = async ({ store }, _context, { query }) => {
  const { limit, before } = pageOf(query)
  const projects = await store.listProjects()
  const older = projects.filter(({ id }) => before === null || id < before).toReversed()
  const shown = older.slice(0, limit)
  return {
    items: shown.map(({ client_id, config_revision, settings }) => ({
      client_id,
      enabled: settings.enabled,
      billing_model: settings.billing_model,
      consent_required: settings.consent.required,
      allowed_origins: settings.allowed_origins,
      config_revision,
    })),
    next_cursor: cursorOf(older.length > limit ? shown.at(-1)!.id : null),
  }
}

export const showProject: Operation<Contract['projects.show']> = async (services, _context, { params }) =>
  projectDetail(await projectOf(services, params.client_id))

export const createProject: Operation<Contract['projects.create']> = async (services, { now_ms }, { body }) => {
  const { client_id, ...patch } = body
  const settings = checked(patchSettings(defaultSettings, patch))
  const secret = await newKey(services, 'secret', 'test')
  const live = await newKey(services, 'secret', 'live')
  const publishable = await newKey(services, 'publishable', 'test')
  const keys = [secret, live, publishable].map(({ row }) => row)
  const project = await services.store.insertProject(client_id, settings, keys, now_ms)
  if (project === null) {
    throw new ApiError('schema_invalid', {
      message: `There is a project ${client_id} already.`,
      hint: 'Take another client_id, or change that project with PATCH /_sandbox/projects/{client_id}.',
      fields: [{ path: 'client_id', message: 'is taken', expected: 'a client_id that no project has' }],
    })
  }
  return {
    ...projectDetail(project),
    keys: { secret_key: secret.text, live_secret_key: live.text, publishable_key: publishable.text },
  }
}

export const updateProject: Operation<Contract['projects.update']> = async (services, _context, { params, body }) => {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const project = await projectOf(services, params.client_id)
    const settings = checked(patchSettings(project.settings, body))
    if (JSON.stringify(settings) === JSON.stringify(project.settings)) return projectDetail(project)
    const saved = await services.store.saveSettings(project.id, project.config_revision, settings)
    if (saved === null) continue
    const hasNewRates = JSON.stringify(settings.rate_limits) !== JSON.stringify(project.settings.rate_limits)
    if (hasNewRates) services.clearRates()
    return projectDetail(saved)
  }
  throw new Error('the settings of this project change faster than they can be written')
}

/** The project of a path. @throws ApiError 404 */
export async function projectOf({ store }: Services, client_id: string): Promise<ProjectRow> {
  const project = await store.findProject(client_id)
  if (project !== null) return project
  throw new ApiError('not_found', {
    message: 'There is no such project in this sandbox.',
    hint: 'See GET /_sandbox/projects, or svc projects list, for those there are.',
  })
}

function checked(settings: ProjectSettings): ProjectSettings {
  const fields = settingsProblems(settings)
  if (fields.length > 0) throw new ApiError('schema_invalid', { fields })
  return settings
}

function projectDetail({ client_id, tenant_id, config_revision, settings }: ProjectRow): ProjectDetail {
  return { client_id, wrapper_tenant_id: encodeId('ten', tenant_id), config_revision, settings }
}
