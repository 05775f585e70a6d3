/**
 * Accepts valid values by a schema of the contract, at a quarter of the cost of its parser, which makes an object for
 * each field of each request. An acceptor is computed from the schema on first use. It handles the common kinds of
 * schema and leaves the others to their parser, along with every value that it does not accept: only the parser reports
 * what is wrong.
 */
import type { z } from 'zod'

/** Returned by an acceptor for a value that the parser has to judge. */
export const refused = Symbol('refused')

/** Returns a value as the parser of its schema would, or `refused`. */
type Acceptor = (value: unknown) => unknown

type Schema = z.core.$ZodType

const acceptors = new WeakMap<Schema, Acceptor>()

/**
 * Returns a value that came from JSON as its schema parses it: fields in the order of the schema. `refused` is not a
 * verdict: the value may still be valid.
 */
export function accept<S extends Schema>(schema: S, value: unknown): z.output<S> | typeof refused {
  let acceptor = acceptors.get(schema)
  if (acceptor === undefined) {
    acceptor = acceptorOf(schema)
    acceptors.set(schema, acceptor)
  }
  return acceptor(value) as z.output<S> | typeof refused
}

function acceptorOf(schema: Schema): Acceptor {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return objectOf(schema, def)
    case 'array':
      return arrayOf(schema, def)
    case 'string':
      return textOf(schema, def)
    case 'number':
      return numberOf(schema, def)
    case 'boolean':
      return hasChecks(def) ? parsed(schema) : (value) => (typeof value === 'boolean' ? value : refused)
    case 'enum':
    case 'literal':
      return hasChecks(def) ? parsed(schema) : oneOf(schema._zod.values!)
    case 'nullable':
      return nullOr(acceptorOf(def.innerType))
    case 'union':
      return firstOf(schema, def)
    default:
      return parsed(schema)
  }
}

/** Accepts what the schema's own parser accepts. */
function parsed(schema: Schema): Acceptor {
  return (value) => {
    const result = (schema as z.ZodType).safeParse(value)
    return result.success ? result.data : refused
  }
}

interface Field {
  name: string
  isOptional: boolean
  accept: Acceptor
}

/** A strict object. One with an unknown field has more fields than were accepted. */
function objectOf(schema: Schema, def: z.core.$ZodObjectDef): Acceptor {
  if (hasChecks(def) || def.catchall?._zod.def.type !== 'never') return parsed(schema)
  const fields = Object.entries(def.shape).map(([name, field]) => fieldOf(name, field))
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return refused
    const input = value as Record<string, unknown>
    const result: Record<string, unknown> = {}
    let missing = 0
    for (const _ in input) missing++
    for (let index = 0; index < fields.length; index++) {
      const { name, isOptional, accept } = fields[index]!
      const inner = input[name]
      if (inner === undefined) {
        if (isOptional) continue
        return refused
      }
      const accepted = accept(inner)
      if (accepted === refused) return refused
      result[name] = accepted
      missing--
    }
    return missing === 0 ? result : refused
  }
}

function fieldOf(name: string, field: Schema): Field {
  const { def } = (field as z.core.$ZodTypes)._zod
  if (def.type !== 'optional' || def.innerType._zod.optin === 'defaulted') {
    return { name, isOptional: false, accept: acceptorOf(field) }
  }
  return { name, isOptional: true, accept: acceptorOf(def.innerType) }
}

function arrayOf(schema: Schema, def: z.core.$ZodArrayDef): Acceptor {
  const bounds = lengthsOf(def)
  if (bounds === null) return parsed(schema)
  const item = acceptorOf(def.element)
  return (value) => {
    if (!Array.isArray(value) || value.length < bounds.least || value.length > bounds.most) return refused
    const result: unknown[] = []
    for (const inner of value) {
      const accepted = item(inner)
      if (accepted === refused) return refused
      result.push(accepted)
    }
    return result
  }
}

/**
 * The parser counts a surrogate pair as one character, so a text can be shorter than its `length`, but never longer.
 */
function textOf(schema: Schema, def: z.core.$ZodStringDef): Acceptor {
  const patterns: RegExp[] = []
  const bounds = lengthsOf(def, (check) => {
    if (check.check !== 'string_format' || !('pattern' in check) || !(check.pattern instanceof RegExp)) return false
    patterns.push(check.pattern)
    return 'format' in check && check.format === 'regex' && !check.pattern.global && !check.pattern.sticky
  })
  if (bounds === null || 'format' in def || def.coerce === true) return parsed(schema)
  const { most } = bounds
  const least = bounds.least > 1 ? bounds.least * 2 : bounds.least
  const [pattern, ...others] = patterns
  if (others.length > 0) return parsed(schema)
  return (value) => {
    if (typeof value !== 'string' || value.length < least || value.length > most) return refused
    return pattern === undefined || pattern.test(value) ? value : refused
  }
}

function numberOf(schema: Schema, def: z.core.$ZodNumberDef): Acceptor {
  const isWhole = 'format' in def
  if (def.coerce === true || (isWhole && def.format !== 'safeint')) return parsed(schema)
  let least = Number.NEGATIVE_INFINITY
  let most = Number.POSITIVE_INFINITY
  for (const check of checksOf(def)) {
    const value = 'value' in check ? check.value : null
    if (typeof value !== 'number' || !('inclusive' in check) || check.inclusive !== true) return parsed(schema)
    if (check.check === 'greater_than') least = Math.max(least, value)
    else if (check.check === 'less_than') most = Math.min(most, value)
    else return parsed(schema)
  }
  return (value) => {
    if (typeof value !== 'number' || !(isWhole ? Number.isSafeInteger(value) : Number.isFinite(value))) return refused
    return value >= least && value <= most ? value : refused
  }
}

function oneOf(values: ReadonlySet<unknown>): Acceptor {
  return (value) => (values.has(value) ? value : refused)
}

function nullOr(accept: Acceptor): Acceptor {
  return (value) => (value === null ? null : accept(value))
}

/** The first variant wins in the parser too. A value that it refuses can be of any variant, including this one. */
function firstOf(schema: Schema, def: z.core.$ZodUnionDef): Acceptor {
  const [first] = def.options
  if (first === undefined || hasChecks(def) || 'discriminator' in def || def.inclusive === false) return parsed(schema)
  const accept = acceptorOf(first)
  const byParser = parsed(schema)
  return (value) => {
    const accepted = accept(value)
    return accepted === refused ? byParser(value) : accepted
  }
}

type Checked = Pick<z.core.$ZodTypeDef, 'checks'>
type Check = z.core.$ZodCheckDef

function checksOf({ checks = [] }: Checked): Check[] {
  return checks.map(({ _zod }) => _zod.def)
}

function hasChecks({ checks = [] }: Checked): boolean {
  return checks.length > 0
}

/** Returns the bounds of a length; null if a check is neither a bound nor known to `isOther`. */
function lengthsOf(
  def: Checked,
  isOther: (check: Check) => boolean = () => false,
): { least: number; most: number } | null {
  let least = 0
  let most = Number.POSITIVE_INFINITY
  for (const check of checksOf(def)) {
    if ('minimum' in check && check.check === 'min_length') least = Math.max(least, Number(check.minimum))
    else if ('maximum' in check && check.check === 'max_length') most = Math.min(most, Number(check.maximum))
    else if (!isOther(check)) return null
  }
  return { least, most }
}
