/** Fields of an endpoint's answer by their path, and where each comes from. */
import type { Endpoint } from '../../contract/endpoint.ts'
import { v1 } from '../../contract/index.ts'
import { endpointFields, type ListedField } from '../../contract/listing.ts'
import { type Provenance, sourceOf } from '../../contract/provenance.ts'
import type { V1Id } from './difference.ts'

/** Weakest first. */
const strengths: readonly Provenance[] = ['assumed', 'observed', 'documented']

/** Fields whose values the API document shows without saying that there are no others: another one is no difference of it. */
const openValues: ReadonlySet<string> = new Set([
  'status',
  'authoritative_consent.lifecycle_state',
  'placement.render.strategy',
  'placement.render.native_template_id',
])

/** The provenance of every field of one place of an endpoint, by path. Where shapes differ, the strongest counts. */
export function provenances(id: V1Id, where: ListedField['where']): Map<string, Provenance> {
  const endpoint: Endpoint = v1[id]
  const cap = capOf(endpoint, where)
  const found = new Map<string, Provenance>()
  for (const field of endpointFields(endpoint)) {
    if (field.where !== where) continue
    const given = weaker(field.provenance, cap)
    const before = found.get(field.path)
    if (before === undefined || strengths.indexOf(given) > strengths.indexOf(before)) found.set(field.path, given)
  }
  return found
}

export function weaker(a: Provenance, b: Provenance): Provenance {
  return strengths.indexOf(a) < strengths.indexOf(b) ? a : b
}

/** `placement.render.width`; an index becomes `[]`. */
export function pathText(at: readonly PropertyKey[]): string {
  return at.reduce<string>(
    (path, key) => (typeof key === 'number' ? `${path}[]` : path === '' ? String(key) : `${path}.${String(key)}`),
    '',
  )
}

/** How much a wrong value of a field weighs. */
export function valueProvenance(path: string, provenance: Provenance, isOtherValue: boolean): Provenance {
  return isOtherValue && openValues.has(path) ? 'assumed' : provenance
}

/** The path of every member of an answer. */
export function pathsIn(value: unknown, prefix = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, `${prefix}[]`))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    return [path, ...pathsIn(member, path)]
  })
}

/** A shape that is itself assumed makes all in it no more than that. */
function capOf({ response }: Endpoint, where: ListedField['where']): Provenance {
  return where === 'response' && 'def' in response ? (sourceOf(response)?.provenance ?? 'documented') : 'documented'
}
