/** Administration of the projects of a sandbox: list, create, read, change. */
import { z } from 'zod'
import { endpoint, reading, writeErrors, writing } from '../endpoint.ts'
import { ClientId } from '../fields.ts'
import { assumed, documented, sourceOf } from '../provenance.ts'
import { page, pageQuery } from './paging.ts'
import { ProjectSettings } from './projects.ts'

type Patched<Shape extends z.ZodRawShape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodObject<infer Inner extends z.ZodRawShape>
    ? z.ZodOptional<z.ZodNullable<z.ZodObject<Patched<Inner>, z.core.$strict>>>
    : Shape[Name] extends z.ZodType
      ? z.ZodOptional<z.ZodNullable<Shape[Name]>>
      : never
}

/** The merge patch of an object (RFC 7396): every member may be left out, null puts it back to its default. */
function patchShape<Shape extends z.ZodRawShape>(shape: Shape): Patched<Shape> {
  const members = Object.entries(shape).map(([name, member]) => {
    const schema = member as z.ZodType
    const inner = schema instanceof z.ZodObject ? z.strictObject(patchShape(schema.shape)) : schema
    const { decision = 'A80', description = name } = sourceOf(schema) ?? {}
    return [name, assumed(inner.nullable().optional(), decision, description)]
  })
  return Object.fromEntries(members) as Patched<Shape>
}

export const ProjectSettingsPatch = z.strictObject(patchShape(ProjectSettings.shape))
export type ProjectSettingsPatch = z.infer<typeof ProjectSettingsPatch>

export const ProjectCreation = z.strictObject({
  client_id: assumed(ClientId, 'A01', 'Project ID: proj_ and a name.'),
  ...ProjectSettingsPatch.shape,
})
export type ProjectCreation = z.infer<typeof ProjectCreation>

export const ProjectItem = z.strictObject({
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  enabled: assumed(z.boolean(), 'A80', 'false makes every decision a no-fill policy_block.'),
  billing_model: assumed(ProjectSettings.shape.billing_model, 'A76', 'What is billed.'),
  consent_required: assumed(z.boolean(), 'A64', 'Whether a placement needs consent.'),
  allowed_origins: assumed(z.array(z.string()), 'A07', 'Origins that may activate and embed.'),
  config_revision: assumed(z.int(), 'A80', 'Grows with every change of the settings.'),
})
export type ProjectItem = z.infer<typeof ProjectItem>

const detail = {
  client_id: assumed(z.string(), 'A93', 'Project ID.'),
  wrapper_tenant_id: assumed(z.string(), 'A93', 'Tenant, as activation answers it.'),
  config_revision: assumed(z.int(), 'A80', 'Grows with every change of the settings.'),
  settings: assumed(ProjectSettings, 'A80', 'Every setting, defaults included.'),
}

export const ProjectDetail = z.strictObject(detail)
export type ProjectDetail = z.infer<typeof ProjectDetail>

export const ProjectCreated = z.strictObject({
  ...detail,
  keys: assumed(
    z.strictObject({
      secret_key: assumed(z.string(), 'A02', 'Server Test Key.'),
      live_secret_key: assumed(z.string(), 'A02', 'Production secret key.'),
      publishable_key: assumed(z.string(), 'A02', 'Publishable key, test mode.'),
    }),
    'A02',
    'Shown here and never again: only their hashes are stored.',
  ),
})
export type ProjectCreated = z.infer<typeof ProjectCreated>

const params = z.strictObject({ client_id: documented(z.string(), 'Project ID.') })
const settingsErrors = [...writeErrors, 'schema_invalid', 'format_unsupported'] as const

export const listProjects = endpoint({
  ...reading,
  id: 'projects.list',
  path: '/_sandbox/projects',
  summary: 'List projects',
  description: 'The seeded projects and those created since.',
  query: z.strictObject(pageQuery),
  response: page(ProjectItem),
  errors: ['schema_invalid', 'field_unknown', 'origin_refused', 'internal_error'],
})

export const createProject = endpoint({
  ...writing,
  id: 'projects.create',
  path: '/_sandbox/projects',
  summary: 'Create a project',
  description: 'With three new keys. Settings that are left out, or null, are the defaults.',
  body: ProjectCreation,
  status: 201,
  response: ProjectCreated,
  errors: settingsErrors,
})

export const showProject = endpoint({
  ...reading,
  id: 'projects.show',
  path: '/_sandbox/projects/{client_id}',
  summary: 'Show the settings of a project',
  description: 'Every setting of the project, those of the emulator included. Never a key.',
  params,
  query: z.strictObject({}),
  response: ProjectDetail,
  errors: ['not_found', 'field_unknown', 'origin_refused', 'internal_error'],
})

export const updateProject = endpoint({
  ...writing,
  id: 'projects.update',
  method: 'PATCH',
  path: '/_sandbox/projects/{client_id}',
  summary: 'Change settings of a project',
  description:
    'A merge patch of the settings (RFC 7396): what is left out stays, null puts a setting back to its default. In force from the next request on; config_revision grows when something has changed.',
  params,
  body: ProjectSettingsPatch,
  response: ProjectDetail,
  errors: [...settingsErrors, 'not_found'],
})
