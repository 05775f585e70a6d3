/** The shape of a suite file. The JSON schema for editors is made of it (`json-schema.ts`). */
import { z } from 'zod'
import { ProjectSettingsPatch } from '../../contract/control/project-admin.ts'
import { ClientId } from '../../contract/fields.ts'
import { stepKinds } from '../steps/index.ts'
import { commonMembers, requestMembers } from '../steps/members.ts'
import type { StepKind } from '../steps/step-kind.ts'
import { Duration, Json, Name } from './fields.ts'

const stepSchemas = new Map<string, z.ZodObject>(stepKinds.map((kind) => [kind.name, schemaOf(kind)]))

/** The schema of a step of this kind. */
export function stepSchema(kind: string): z.ZodObject {
  return stepSchemas.get(kind)!
}

function schemaOf(kind: StepKind): z.ZodObject {
  return z
    .strictObject({ ...kind.shape, ...commonMembers, ...(kind.isRequest ? requestMembers : {}) })
    .describe(kind.summary)
}

/** A step, of any kind. The loader reads a step with the schema of its kind, whose errors say more. */
export const Step = z.union([...stepSchemas.values()] as [z.ZodObject, ...z.ZodObject[]])

const Tag = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be lower-case letters, digits, - _ and .')
const Axis = z.array(Json).min(1)
const variables = z.record(Name, Json)

/** A project of the sandbox by its id, or settings: the case then has a new project of its own. */
const Project = z.union([ClientId, ProjectSettingsPatch], {
  error: 'must be a client_id such as proj_strict, or settings of a project',
})
export type ProjectChoice = z.infer<typeof Project>

export const Case = z.strictObject({
  name: z.string().min(1).max(200).describe('What it shows, as a sentence; {{variables}} of the matrix may be in it.'),
  tags: z.array(Tag).optional().describe('For --tag, beside those of the suite.'),
  matrix: z
    .union([z.array(z.string()).min(1), z.record(Name, Axis)])
    .optional()
    .describe('Names of axes of the suite, or axes of its own: one case for each combination.'),
  except: z.array(z.record(z.string(), Json)).optional().describe('Combinations that are left out.'),
  project: Project.optional().describe('A project by its id, or settings of a new one for this case alone.'),
  variables: variables.optional(),
  timeout: Duration.optional().describe('How long the whole case may take; default 60s.'),
  setup: z.array(z.unknown()).optional().describe('Steps before it, after those of the suite.'),
  steps: z.array(z.unknown()).min(1).describe('What is done, in order.'),
  teardown: z.array(z.unknown()).optional().describe('Steps after it, whatever happened.'),
})

export const Suite = z.strictObject({
  suite: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and -, beginning with a letter')
    .describe('Name of the suite.'),
  title: z.string().min(1).describe('What it shows, in one line.'),
  tags: z.array(Tag).optional().describe('For --tag, of every case.'),
  project: Project.optional().describe('Project of every case that names none.'),
  variables: variables.optional().describe('Values by name: {{name}}.'),
  matrix: z.record(Name, Axis).optional().describe('Axes that cases may name: format: [banner, clip, native].'),
  setup: z.array(z.unknown()).optional().describe('Steps before each case.'),
  teardown: z.array(z.unknown()).optional().describe('Steps after each case, whatever happened.'),
  cases: z.array(z.unknown()).min(1),
})
