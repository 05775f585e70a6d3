/** The shape of a suite file: the kinds of steps, the schema of the file, and a suite that was loaded. */
import { z } from 'zod'
import { ClientId } from '#contract/fields.ts'
import { ProjectSettingsPatch } from '#contract/resources/projects.ts'
import type { SourceLocation } from '#foundation/finding.ts'
import { isObject, type Json } from '#foundation/json.ts'
import { activate, call, config, consent } from '#qa/steps/call.ts'
import type { Path } from '#yaml/problems.ts'
import { browser, page } from '../browser/steps.ts'
import { beacon, frame, job, ledger, placement, poll } from '../steps/placement.ts'
import { request } from '../steps/request.ts'
import { clock, evidence, fault, reset, scenario, waitFor } from '../steps/sandbox.ts'
import { commonFields, requestFields, type StepData, type StepKind } from '../steps/step-kind.ts'
import { AnyJson, Duration, Name } from './variables.ts'

/** Every kind of step, in the order of the documentation. A new kind is added here, and nowhere else. */
export const stepKinds: readonly StepKind[] = [
  placement,
  job,
  poll,
  frame,
  beacon,
  consent,
  activate,
  config,
  call,
  request,
  waitFor,
  browser,
  page,
  ledger,
  evidence,
  clock,
  fault,
  scenario,
  reset,
]

const byName = new Map(stepKinds.map((kind) => [kind.name, kind]))

/** Returns the kind of a name, or undefined: the kind of a step is named by one of its fields. */
export function kindNamed(name: string): StepKind | undefined {
  return byName.get(name)
}

const stepSchemas = new Map<string, z.ZodObject>(stepKinds.map((kind) => [kind.name, buildStepSchema(kind)]))

/** Returns the schema of a step of a kind. */
export function stepSchema(kind: string): z.ZodObject {
  return stepSchemas.get(kind)!
}

function buildStepSchema(kind: StepKind): z.ZodObject {
  return z
    .strictObject({ ...kind.shape, ...commonFields, ...(kind.isRequest ? requestFields : {}) })
    .describe(kind.summary)
}

/** A step of any kind. The loader parses a step with the schema of its kind, whose errors are more precise. */
const Step = z.union([...stepSchemas.values()] as [z.ZodObject, ...z.ZodObject[]])

const Tag = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/, 'must be lower-case letters, digits, - _ and .')
const Axis = z.array(AnyJson).min(1)
const variables = z.record(Name, AnyJson)

/** A project of the sandbox by its id, or settings: the case then has a new project. */
const Project = z.union([ClientId, ProjectSettingsPatch], {
  error: 'must be a client_id such as proj_strict, or settings of a project',
})
type ProjectChoice = z.infer<typeof Project>

export const Case = z.strictObject({
  name: z.string().min(1).max(200).describe('What it checks, as a sentence; may contain {{variables}} of the matrix.'),
  tags: z.array(Tag).optional().describe("For --tag, in addition to the suite's tags."),
  matrix: z
    .union([z.array(z.string()).min(1), z.record(Name, Axis)])
    .optional()
    .describe("Names of the suite's axes, or axes of the case: one case for each combination."),
  except: z.array(z.record(z.string(), AnyJson)).optional().describe('Combinations that are left out.'),
  project: Project.optional().describe('A project by its id, or settings of a new one for this case only.'),
  variables: variables.optional(),
  timeout: Duration.optional().describe('How long the whole case may take; default 60s.'),
  setup: z.array(z.unknown()).optional().describe("Steps before it, after the suite's own."),
  steps: z.array(z.unknown()).min(1).describe('Steps, in order.'),
  teardown: z.array(z.unknown()).optional().describe('Steps after it, also after a failure.'),
})

export const Suite = z.strictObject({
  suite: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,63}$/, 'must be lower-case letters, digits and -, beginning with a letter')
    .describe('Name of the suite.'),
  title: z.string().min(1).describe('What it checks, in one line.'),
  tags: z.array(Tag).optional().describe('For --tag, of every case.'),
  project: Project.optional().describe('Default project of cases.'),
  variables: variables.optional().describe('Values by name: {{name}}.'),
  matrix: z.record(Name, Axis).optional().describe('Axes that cases may name: format: [banner, clip, native].'),
  setup: z.array(z.unknown()).optional().describe('Steps before each case.'),
  teardown: z.array(z.unknown()).optional().describe('Steps after each case, also after a failure.'),
  cases: z.array(z.unknown()).min(1),
})

export interface LoadedStep {
  kind: StepKind
  /** As it is written, variables included. */
  data: StepData
  place: SourceLocation
  /** Returns the place of a field of it. */
  at(path: Path): SourceLocation
}

export type Axes = Readonly<Record<string, readonly Json[]>>

export interface LoadedCase {
  name: string
  tags: readonly string[]
  axes: Axes
  except: readonly Readonly<Record<string, Json>>[]
  project: ProjectChoice | null
  variables: Readonly<Record<string, Json>>
  timeout_ms: number | null
  setup: readonly LoadedStep[]
  steps: readonly LoadedStep[]
  teardown: readonly LoadedStep[]
  place: SourceLocation
}

export interface LoadedSuite {
  name: string
  title: string
  file: string
  /** Folder of the file, for files that it names. */
  folder: string
  cases: readonly LoadedCase[]
}

/** Returns the JSON schema of suite files, for editors: `fixtures/svc.qa.schema.json`. */
export function qaSuiteSchema(): object {
  const steps = z.array(Step)
  const { $schema, ...schema } = z.toJSONSchema(
    Suite.extend({
      setup: steps.optional(),
      teardown: steps.optional(),
      cases: z
        .array(Case.extend({ setup: steps.optional(), steps: steps.min(1), teardown: steps.optional() }))
        .min(1)
        .describe('The cases of the suite, each independent of the others.'),
    }),
    { io: 'input', reused: 'ref', unrepresentable: 'any' },
  )
  return { $schema, $id: 'urn:svc:qa-suite:v1', ...inlineSingleUses(schema) }
}

/** Puts definitions that are used once where they are used: zod makes one of each schema that it passes twice. */
function inlineSingleUses({ $defs = {}, ...schema }: z.core.JSONSchema.BaseSchema): object {
  const isSingle = (reference: string) => JSON.stringify({ $defs, schema }).split(`"${reference}"`).length === 2
  const inline = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inline)
    if (!isObject(value)) return value
    const { $ref, ...rest } = value
    if (typeof $ref === 'string' && isSingle($ref)) return inline({ ...$defs[$ref.split('/').at(-1) ?? ''], ...rest })
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, inline(field)]))
  }
  const kept = Object.entries($defs).filter(([name]) => !isSingle(`#/$defs/${name}`))
  return inline({ ...schema, $defs: Object.fromEntries(kept) }) as object
}
