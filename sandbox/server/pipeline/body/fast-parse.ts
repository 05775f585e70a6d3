/**
 * Accepts valid values by a schema of the contract, at a quarter of the cost of its parser, which makes an object for
 * each field of each request. A fast parser is compiled from the schema on first use. It handles the common kinds of
 * schema and leaves the others to the full parser, along with every value that it does not accept: only the full parser
 * reports what is wrong.
 */
import type { z } from 'zod'

/** Returned for a value that the full parser has to judge. */
export const needsFullParse = Symbol('needsFullParse')

/** Returns a value as the parser of its schema would, or `needsFullParse`. */
type FastParser = (value: unknown) => unknown

type Schema = z.core.$ZodType

const parsers = new WeakMap<Schema, FastParser>()

/**
 * Returns a value that came from JSON as its schema parses it: fields in the order of the schema. `needsFullParse` is not a
 * verdict: the value may still be valid.
 */
export function fastParse<S extends Schema>(schema: S, value: unknown): z.output<S> | typeof needsFullParse {
  let parser = parsers.get(schema)
  if (parser === undefined) {
    parser = compile(schema)
    parsers.set(schema, parser)
  }
  return parser(value) as z.output<S> | typeof needsFullParse
}

function compile(schema: Schema): FastParser {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return compileObject(schema, def)
    case 'array':
      return compileArray(schema, def)
    case 'string':
      return compileString(schema, def)
    case 'number':
      return compileNumber(schema, def)
    case 'boolean':
      return hasChecks(def) ? fullParser(schema) : (value) => (typeof value === 'boolean' ? value : needsFullParse)
    case 'enum':
    case 'literal':
      return hasChecks(def) ? fullParser(schema) : compileEnum(schema._zod.values!)
    case 'nullable':
      return compileNullable(compile(def.innerType))
    case 'union':
      return compileUnion(schema, def)
    default:
      return fullParser(schema)
  }
}

function fullParser(schema: Schema): FastParser {
  return (value) => {
    const result = (schema as z.ZodType).safeParse(value)
    return result.success ? result.data : needsFullParse
  }
}

interface Field {
  name: string
  isOptional: boolean
  parse: FastParser
}

/** A strict object. One with an unknown field has more fields than were parsed. */
function compileObject(schema: Schema, def: z.core.$ZodObjectDef): FastParser {
  if (hasChecks(def) || def.catchall?._zod.def.type !== 'never') return fullParser(schema)
  const fields = Object.entries(def.shape).map(([name, field]) => compileField(name, field))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return needsFullParse
    const input = value as Record<string, unknown>
    const result: Record<string, unknown> = {}
    let missing = 0
    for (const _ in input) missing++
    for (let index = 0; index < fields.length; index++) {
      const { name, isOptional, parse } = fields[index]!
      const inner = input[name]
      if (inner === undefined) {
        if (isOptional) continue
        return needsFullParse
      }
      const parsed = parse(inner)
      if (parsed === needsFullParse) return needsFullParse
      result[name] = parsed
      missing--
    }
    return missing === 0 ? result : needsFullParse
  }
}

function compileField(name: string, field: Schema): Field {
  const { def } = (field as z.core.$ZodTypes)._zod
  if (def.type !== 'optional' || def.innerType._zod.optin === 'defaulted') {
    return { name, isOptional: false, parse: compile(field) }
  }
  return { name, isOptional: true, parse: compile(def.innerType) }
}

function compileArray(schema: Schema, def: z.core.$ZodArrayDef): FastParser {
  const bounds = findLengthBounds(def)
  if (bounds === null) return fullParser(schema)
  const item = compile(def.element)
  return (value) => {
    if (!Array.isArray(value) || value.length < bounds.min || value.length > bounds.max) return needsFullParse
    const result: unknown[] = []
    for (const inner of value) {
      const parsed = item(inner)
      if (parsed === needsFullParse) return needsFullParse
      result.push(parsed)
    }
    return result
  }
}

/**
 * The parser counts a surrogate pair as one character, so a text can be shorter than its `length`, but never longer.
 */
function compileString(schema: Schema, def: z.core.$ZodStringDef): FastParser {
  const patterns: RegExp[] = []
  const bounds = findLengthBounds(def, (check) => {
    if (check.check !== 'string_format' || !('pattern' in check) || !(check.pattern instanceof RegExp)) return false
    patterns.push(check.pattern)
    return 'format' in check && check.format === 'regex' && !check.pattern.global && !check.pattern.sticky
  })
  if (bounds === null || 'format' in def || def.coerce === true) return fullParser(schema)
  const { max } = bounds
  const min = bounds.min > 1 ? bounds.min * 2 : bounds.min
  const [pattern, ...others] = patterns
  if (others.length > 0) return fullParser(schema)
  return (value) => {
    if (typeof value !== 'string' || value.length < min || value.length > max) return needsFullParse
    return pattern === undefined || pattern.test(value) ? value : needsFullParse
  }
}

function compileNumber(schema: Schema, def: z.core.$ZodNumberDef): FastParser {
  const isWhole = 'format' in def
  if (def.coerce === true || (isWhole && def.format !== 'safeint')) return fullParser(schema)
  let min = Number.NEGATIVE_INFINITY
  let max = Number.POSITIVE_INFINITY
  for (const check of listChecks(def)) {
    const value = 'value' in check ? check.value : null
    if (typeof value !== 'number' || !('inclusive' in check) || check.inclusive !== true) return fullParser(schema)
    if (check.check === 'greater_than') min = Math.max(min, value)
    else if (check.check === 'less_than') max = Math.min(max, value)
    else return fullParser(schema)
  }
  return (value) => {
    if (typeof value !== 'number' || !(isWhole ? Number.isSafeInteger(value) : Number.isFinite(value)))
      return needsFullParse
    return value >= min && value <= max ? value : needsFullParse
  }
}

function compileEnum(values: ReadonlySet<unknown>): FastParser {
  return (value) => (values.has(value) ? value : needsFullParse)
}

function compileNullable(inner: FastParser): FastParser {
  return (value) => (value === null ? null : inner(value))
}

/** The first variant wins in the parser too. A value that it refuses can be of any variant, including this one. */
function compileUnion(schema: Schema, def: z.core.$ZodUnionDef): FastParser {
  const [first] = def.options
  if (first === undefined || hasChecks(def) || 'discriminator' in def || def.inclusive === false)
    return fullParser(schema)
  const parseFirst = compile(first)
  const parseFully = fullParser(schema)
  return (value) => {
    const parsed = parseFirst(value)
    return parsed === needsFullParse ? parseFully(value) : parsed
  }
}

type Checked = Pick<z.core.$ZodTypeDef, 'checks'>
type Check = z.core.$ZodCheckDef

function listChecks({ checks = [] }: Checked): Check[] {
  return checks.map(({ _zod }) => _zod.def)
}

function hasChecks({ checks = [] }: Checked): boolean {
  return checks.length > 0
}

/** Returns the bounds of a length; null if a check is neither a bound nor known to `isOther`. */
function findLengthBounds(
  def: Checked,
  isOther: (check: Check) => boolean = () => false,
): { min: number; max: number } | null {
  let min = 0
  let max = Number.POSITIVE_INFINITY
  for (const check of listChecks(def)) {
    if ('minimum' in check && check.check === 'min_length') min = Math.max(min, Number(check.minimum))
    else if ('maximum' in check && check.check === 'max_length') max = Math.min(max, Number(check.maximum))
    else if (!isOther(check)) return null
  }
  return { min, max }
}
