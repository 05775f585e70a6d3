/**
 * Overrides: where the sandbox answers as a service was seen to, as data that a person reviews. Each rule replaces one value,
 * removes one field, or changes the status of one error, in responses of one endpoint. `svc contract compare` writes the
 * file, and `svc start --overrides` serves by it.
 */
import { z } from 'zod'
import { isObject, type Json } from '#foundation/json.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { describeRequirement } from '../errors.ts'
import { compat, v1 } from '../index.ts'

const endpoints = { ...v1, ...compat }
const names = tableNames(endpoints)
const json: z.ZodType<Json> = z.json() as z.ZodType<Json>
const pathPattern = /^[\w$@-]+(?:\[\])?(?:\.[\w$@-]+(?:\[\])?)*$/

const When = z.strictObject({
  format: z.string().nullable().optional().describe('Only responses of this format; null: those without a fill.'),
  reason_code: z.string().optional().describe('Only errors with this cause, as the sandbox names it.'),
})

export const Override = z
  .strictObject({
    endpoint: z.enum(names).describe('The endpoint whose responses change.'),
    when: When.optional().describe('Which of its responses: all successes without it.'),
    path: z
      .string()
      .regex(pathPattern, 'must be a dotted path, such as placement.render.label_text or items[].id')
      .optional()
      .describe('The field of the body, dotted; [] for every item of a list.'),
    value: json.optional().describe('What the field says.'),
    absent: z.literal(true).optional().describe('The field is not there.'),
    status: z.int().min(200).max(599).optional().describe('The HTTP status in place of that of the sandbox.'),
    provenance: z
      .enum(['documented', 'observed', 'assumed', 'addition'])
      .optional()
      .describe('Where the fact comes from that the service does not hold to.'),
    sandbox: json.optional().describe('What the sandbox says without this rule. For reviewers.'),
    seen: z.int().min(1).optional().describe('In how many exchanges the service said so. For reviewers.'),
  })
  .refine(({ path, value, absent }) => (path !== undefined) === (value !== undefined || absent !== undefined), {
    error: 'must have path and one of value and absent together',
  })
  .refine(({ value, absent }) => value === undefined || absent === undefined, {
    error: 'cannot have both value and absent',
  })
  .refine(({ path, status }) => path !== undefined || status !== undefined, {
    error: 'must have path and value, path and absent, or status',
  })
export type Override = z.infer<typeof Override>

const OverridesFile = z.strictObject({
  $schema: z.string().optional(),
  source: z.string().optional().describe('What was compared.'),
  overrides: z.array(Override).describe('Applied in their order.'),
})

/** Returns the JSON schema of such a file, for editors: `fixtures/svc.overrides.schema.json`. */
export function overridesSchema() {
  return z.toJSONSchema(OverridesFile, { io: 'input' })
}

/** The rules of a start. */
export interface Overrides {
  /** Returns the rules for an endpoint by its method and its path, as the contract writes it; null for most. */
  find(method: string, path: string): readonly Override[] | null
  readonly count: number
}

/** Says in a sentence what is wrong with a file; the caller knows its name. */
export class OverridesError extends Error {
  override name = 'OverridesError'
}

/** Returns the rules of a file. @throws OverridesError with the place of the first mistake */
export function readOverrides(value: unknown): Overrides {
  const parsed = OverridesFile.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const place = (issue?.path ?? []).map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
    throw new OverridesError(
      `is not a file of overrides: ${place.replace(/^\./, '') || 'it'} ${describeRequirement(issue)}`,
    )
  }
  const { overrides } = parsed.data
  const byRoute = Map.groupBy(overrides, ({ endpoint }) => `${endpoints[endpoint].method} ${endpoints[endpoint].path}`)
  return { find: (method, path) => byRoute.get(`${method} ${path}`) ?? null, count: overrides.length }
}

/** A response that rules may change. */
interface OverridableResponse {
  status: number
  body: Json
}

/** Returns a response as the rules of its endpoint change it; the same one where no rule fits. */
export function applyOverrides(rules: readonly Override[], response: OverridableResponse): OverridableResponse {
  const isError = response.status >= 400
  const cause = isObject(response.body) ? response.body[isError ? 'reason_code' : 'decision'] : undefined
  const found = isError ? cause : isObject(cause) ? (cause.format ?? null) : null
  return rules.reduce((changed, { when, path, value, absent, status }) => {
    const isMeant = isError ? when?.reason_code === found : when?.reason_code === undefined && fits(when?.format, found)
    if (!isMeant) return changed
    const body =
      path === undefined ? changed.body : replaceAt(changed.body, path.split('.'), absent ? undefined : value)
    return { status: status ?? changed.status, body }
  }, response)
}

function fits(wanted: string | null | undefined, format: Json | undefined): boolean {
  return wanted === undefined || wanted === (format ?? null)
}

/** Returns a copy with one field replaced, or removed for undefined. Where the object around it is missing, nothing changes. */
function replaceAt(whole: Json, [name = '', ...rest]: readonly string[], value: Json | undefined): Json {
  if (!isObject(whole)) return whole
  const key = name.replace(/\[\]$/, '')
  const own = Object.hasOwn(whole, key) ? whole[key] : undefined
  if (key !== name) {
    if (!Array.isArray(own)) return whole
    const items = rest.length === 0 ? own.map(() => value ?? null) : own.map((item) => replaceAt(item, rest, value))
    return { ...whole, [key]: items }
  }
  if (rest.length > 0) return own === undefined ? whole : { ...whole, [key]: replaceAt(own, rest, value) }
  if (value !== undefined) return { ...whole, [key]: value }
  const { [key]: _, ...others } = whole
  return others
}
