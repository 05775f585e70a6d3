/** `--set path=value`: writes one member of a body, however deep, with the type its schema has there. */
import { z } from 'zod'
import { CliError } from '../run/cli-error.ts'
import { kindOf, unwrap } from './flags.ts'

export type Body = Record<string, unknown>

/** Applies `path=value` to `body`. Paths are dotted, numbers index arrays: `overrides.allowed_formats.0=clip`. */
export function assign(body: Body, assignment: string, schema: z.ZodType | undefined): void {
  const { path, value } = readAssignment(assignment, schema)
  write(body, path, value)
}

/** `path=value` as the path and the value that is meant there. */
export function readAssignment(assignment: string, schema: z.ZodType | undefined): { path: string[]; value: unknown } {
  const equals = assignment.indexOf('=')
  const path = assignment.slice(0, equals).split('.')
  if (equals < 1 || path.some((segment) => segment === '' || segment === '__proto__')) {
    throw new CliError(
      'usage',
      'set_malformed',
      `--set ${assignment} is not path=value.`,
      'For example: --set slot_hint.max_width=300',
    )
  }
  return { path, value: valueAt(schema, path, assignment.slice(equals + 1)) }
}

/** The value that `text` means at a path of `schema`. */
export function valueAt(schema: z.ZodType | undefined, path: readonly string[], text: string): unknown {
  return typedValue(text, schemaAt(schema, path))
}

/** The value that `text` means where `schema` stands; without one, JSON if it parses, else the text itself. */
function typedValue(text: string, schema: z.ZodType | undefined): unknown {
  const json = parseJson(text)
  const value = json === undefined ? text : json
  if (schema === undefined) return value
  const kinds = alternatives(schema).map(kindOf)
  if (kinds.includes('array') && !Array.isArray(json)) {
    const element = elementOf(alternatives(schema).find((each) => kindOf(each) === 'array'))
    return text === '' ? [] : text.split(',').map((item) => typedValue(item, element))
  }
  const isText = kinds.some((kind) => kind === 'string' || kind === 'enum' || kind === 'literal')
  if (!isText || typeof json === 'string') return value
  return kinds.includes('object') && typeof json === 'object' && json !== null ? json : text
}

/** Writes one member, making the objects and arrays on the way. */
export function write(body: Body, path: readonly string[], value: unknown): void {
  let target: Body = body
  for (const [index, segment] of path.slice(0, -1).entries()) {
    const next = target[segment]
    if (typeof next !== 'object' || next === null) target[segment] = /^\d+$/.test(path[index + 1] ?? '') ? [] : {}
    target = target[segment] as Body
  }
  target[path.at(-1) as string] = value
}

/** The schema at a path; undefined where the contract has no such member. */
function schemaAt(schema: z.ZodType | undefined, path: readonly string[]): z.ZodType | undefined {
  const [segment, ...rest] = path
  if (schema === undefined || segment === undefined) return schema
  for (const alternative of alternatives(schema)) {
    const member = alternative instanceof z.ZodObject ? alternative.shape[segment] : elementOf(alternative)
    if (member !== undefined) return schemaAt(member, rest)
  }
  return undefined
}

function elementOf(schema: z.ZodType | undefined): z.ZodType | undefined {
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : undefined
}

/** The members of a union, or the schema alone. */
function alternatives(schema: z.ZodType): z.ZodType[] {
  const inner = unwrap(schema)
  return inner instanceof z.ZodUnion ? (inner.options as z.ZodType[]).flatMap(alternatives) : [inner]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
