/**
 * What a schema accepts, before and after, compared in one direction. A request breaks its clients when less is accepted than
 * before, a response when more is sent: the same difference is harmless in one and breaks the other.
 */
import { isObject, type Json, type JsonObject } from '#foundation/json.ts'

/** A change that breaks clients. */
export interface ContractChange {
  /** As the changelog names it: `POST /v1/placements query wait_ms`, or a field of a component, `Placement.width`. */
  place: string
  problem: string
}

export type Direction = 'request' | 'response'

/** A schema, with the document that its references are in. */
interface Side {
  schema: Json | undefined
  document: JsonObject
}

interface Comparison {
  direction: Direction
  place: string
  before: Side
  after: Side
  /** The pairs of components that have been compared, with the direction. */
  compared: Set<string>
}

/** Returns what breaks clients in a schema and everything it refers to; each pair of components is compared once. */
export function compareSchemas(given: Comparison): ContractChange[] {
  const { before, after, ...rest } = given
  const [one, other] = [resolve(before), resolve(after)]
  const { direction, compared } = rest
  const place = one.name ?? rest.place
  if (one.name !== null) {
    const pair = [direction, one.name, other.name ?? place].join(' ')
    if (compared.has(pair)) return []
    compared.add(pair)
  }
  const within: Pair = { ...rest, place, before, after, one: one.schema, other: other.schema }
  const [ours, theirs] = [variants(one.schema), variants(other.schema)]
  if (ours.length > 0 || theirs.length > 0) {
    if (!('properties' in one.schema && 'properties' in other.schema)) return compareVariants(within, ours, theirs)
    // The fields are those of the object: its variants say which of them go together.
    return [...compareFields(within), ...compareVariants(within, ours.map(withoutFields), theirs.map(withoutFields))]
  }
  return [
    ...compareTypes(within),
    ...compareValues(within),
    ...(direction === 'request' ? compareLimits(within) : []),
    ...compareFields(within),
    ...comparePart(within, 'items', '[]'),
    ...comparePart(within, 'additionalProperties', '.*'),
  ]
}

/** A comparison of schemas that are no references. */
interface Pair extends Comparison {
  one: JsonObject
  other: JsonObject
}

function resolve({ schema, document }: Side): { name: string | null; schema: JsonObject } {
  if (!isObject(schema)) return { name: null, schema: {} }
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(schema.$ref))?.[1]
  if (name === undefined) return { name: null, schema }
  const { components } = document
  const schemas = isObject(components) && isObject(components.schemas) ? components.schemas : {}
  const found = schemas[name]
  if (!isObject(found)) throw new Error(`The document has no schema ${name}.`)
  return { name, schema: found }
}

function variants(schema: JsonObject): Json[] {
  const found = schema.anyOf ?? schema.oneOf ?? schema.allOf
  return Array.isArray(found) ? found : []
}

function withoutFields(variant: Json): Json {
  if (Array.isArray(variant)) return variant.map(withoutFields)
  if (!isObject(variant)) return variant
  const entries = Object.entries(variant).filter(([key]) => key !== 'properties')
  return Object.fromEntries(
    entries.map(([key, part]) => [key, /^(any|one|all)Of$/.test(key) ? withoutFields(part) : part]),
  )
}

/** Each variant that clients send must still be accepted by one; each that they receive must be one that they know. */
function compareVariants(pair: Pair, ours: Json[], theirs: Json[]): ContractChange[] {
  const { one, other, before, after, direction, place } = pair
  const known = ours.length > 0 ? ours : [one]
  const current = theirs.length > 0 ? theirs : [other]
  const isRequest = direction === 'request'
  return (isRequest ? known : current).flatMap((variant, index) => {
    const attempts = (isRequest ? current : known).map((candidate) => {
      const [old, now] = isRequest ? [variant, candidate] : [candidate, variant]
      const sides = { before: { ...before, schema: old }, after: { ...after, schema: now } }
      const compared = new Set(pair.compared)
      return { compared, changes: compareSchemas({ ...pair, ...sides, compared, place: `${place}|${index + 1}` }) }
    })
    const best = attempts.toSorted((a, b) => a.changes.length - b.changes.length)[0]
    for (const each of best?.compared ?? []) pair.compared.add(each)
    return best?.changes ?? []
  })
}

function compareTypes({ one, other, direction, place }: Pair): ContractChange[] {
  const [ours, theirs] = [typesOf(one), typesOf(other)]
  const [from, into] = direction === 'request' ? [ours, theirs] : [theirs, ours]
  const missing = from.filter((type) => !into.includes(type) && !(type === 'integer' && into.includes('number')))
  if (missing.length === 0) return []
  const problem = direction === 'request' ? 'is no longer accepted' : 'is new in responses'
  return [{ place, problem: `the type ${missing.join(', ')} ${problem}` }]
}

const anyType = ['array', 'boolean', 'null', 'number', 'object', 'string']

function typesOf({ type, const: only, enum: values }: JsonObject): string[] {
  if (Array.isArray(type)) return type.map(String)
  if (typeof type === 'string') return [type]
  const given = only === undefined ? values : [only]
  if (!Array.isArray(given)) return anyType
  return [...new Set(given.map((value) => (value === null ? 'null' : typeof value)))]
}

/** Compares the values of `enum` and `const`. */
function compareValues({ one, other, direction, place }: Pair): ContractChange[] {
  const [ours, theirs] = [anyValue(one), anyValue(other)]
  const [from, into] = direction === 'request' ? [ours, theirs] : [theirs, ours]
  if (into === null) return []
  if (from === null) {
    const problem =
      direction === 'request'
        ? `only ${into.join(', ')} is accepted now`
        : `any value is sent now, not only ${into.join(', ')}`
    return [{ place, problem }]
  }
  const missing = from.filter((value) => !into.includes(value))
  if (missing.length === 0) return []
  const problem = direction === 'request' ? 'is no longer accepted' : 'is new in responses'
  return [{ place, problem: `${missing.join(', ')} ${problem}` }]
}

function anyValue({ const: only, enum: values }: JsonObject): string[] | null {
  if (only !== undefined) return [JSON.stringify(only)]
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : null
}

const lowest = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']
const highest = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']
const exact = ['pattern', 'format', 'multipleOf', 'uniqueItems', 'propertyNames']

/** Compares the limits of values that clients send. */
function compareLimits({ one, other, place }: Pair): ContractChange[] {
  const isNarrower = (name: string): boolean => {
    const [old, now] = [one[name], other[name]]
    if (now === undefined || JSON.stringify(old) === JSON.stringify(now)) return false
    if (name === 'pattern' && isWiderPattern(String(old), String(now))) return false
    if (old === undefined || exact.includes(name)) return true
    return lowest.includes(name) ? Number(now) > Number(old) : Number(now) < Number(old)
  }
  return [...lowest, ...highest, ...exact].filter(isNarrower).map((name) => {
    const old = one[name] === undefined ? 'unlimited' : shorten(one[name])
    return { place, problem: `${name} is ${shorten(other[name])} now, before ${old}` }
  })
}

/** A group of alternatives in a pattern that are plain words. */
const words = /\((\w+(?:\|\w+)*)\)/g

/** Whether two patterns differ only in alternatives that are words, and none of the first has gone. */
function isWiderPattern(old: string, now: string): boolean {
  if (old.replaceAll(words, '()') !== now.replaceAll(words, '()')) return false
  const [ours, theirs] = [old, now].map((pattern) =>
    [...pattern.matchAll(words)].map(([, list = '']) => list.split('|')),
  )
  return ours?.every((group, index) => group.every((word) => theirs?.[index]?.includes(word))) === true
}

function shorten(value: Json | undefined): string {
  const text = JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 100)}...` : text
}

function compareFields(pair: Pair): ContractChange[] {
  const { one, other, before, after, direction, place } = pair
  const [ours, theirs] = [objectAt(one, 'properties'), objectAt(other, 'properties')]
  const [required, requiredNow] = [requiredFields(one), requiredFields(other)]
  const isClosed = other.additionalProperties === false
  const gone = Object.keys(ours).filter((name) => !(name in theirs))
  const kept = Object.keys(ours).filter((name) => name in theirs)
  const change = (name: string, problem: string): ContractChange => ({ place: `${place}.${name}`, problem })
  return [
    ...gone.filter(() => direction === 'response' || isClosed).map((name) => change(name, 'is gone')),
    ...(direction === 'request' && isClosed && one.additionalProperties !== false && 'properties' in one
      ? [{ place, problem: 'unknown fields are refused now' }]
      : []),
    ...(direction === 'request'
      ? requiredNow.filter((name) => !required.includes(name)).map((name) => change(name, 'is required now'))
      : required
          .filter((name) => name in theirs && !requiredNow.includes(name))
          .map((name) => change(name, 'may be absent now'))),
    ...kept.flatMap((name) =>
      compareSchemas({
        ...pair,
        place: `${place}.${name}`,
        before: { ...before, schema: ours[name] },
        after: { ...after, schema: theirs[name] },
      }),
    ),
  ]
}

/** Compares the schema of items, or of further fields, where both have one. */
function comparePart(pair: Pair, part: 'items' | 'additionalProperties', suffix: string): ContractChange[] {
  const { one, other, before, after, place } = pair
  if (!isObject(one[part]) || !isObject(other[part])) return []
  const sides = { before: { ...before, schema: one[part] }, after: { ...after, schema: other[part] } }
  return compareSchemas({ ...pair, ...sides, place: `${place}${suffix}` })
}

/** Returns a field that is an object; an empty one otherwise. */
export function objectAt(value: Json | undefined, field: string): JsonObject {
  const found = isObject(value) ? value[field] : undefined
  return isObject(found) ? found : {}
}

function requiredFields({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.map(String) : []
}
