/** The OpenAPI document of a service beside that of the contract, for v1. */
import { type ErrorCode, errorCodes } from '../../contract/errors.ts'
import { v1 } from '../../contract/index.ts'
import { openapiDocument } from '../../contract/openapi.ts'
import type { Provenance } from '../../contract/provenance.ts'
import type { Difference, V1Id, Weight } from './difference.ts'
import { provenances } from './fields.ts'
import { type OpenapiField, type OpenapiOperation, readOperation } from './openapi-fields.ts'

/** What differs. `document` is any JSON object that says it is OpenAPI. */
export function compareOpenapi(document: Readonly<Record<string, unknown>>): Difference[] {
  const ours = openapiDocument({ server_url: '/' })
  return (Object.keys(v1) as V1Id[]).flatMap((id) => {
    const { method, path } = v1[id]
    const theirs = readOperation(document, method, path)
    const own = readOperation(ours, method, path) as OpenapiOperation
    if (theirs === null) return [difference(id, 'documented', `${method} ${path}`, 'described', 'missing')]
    return [...compareFields(id, own, theirs), ...compareStatuses(id, own, theirs)]
  })
}

function compareFields(id: V1Id, own: OpenapiOperation, theirs: OpenapiOperation): Difference[] {
  const known = new Map<string, Provenance>(
    (['query', 'body', 'response'] as const).flatMap((where) =>
      [...provenances(id, where)].map(([path, provenance]) => [`${where} ${path}`, provenance] as const),
    ),
  )
  const weightOf = (path: string): Provenance => known.get(path) ?? 'assumed'
  const missing = [...own.fields].flatMap(([path, field]) => {
    const other = theirs.fields.get(path)
    if (other !== undefined) return compareField(id, weightOf(path), path, field, other)
    // What is in a member that is missing is missing with it.
    const around = path.replace(/(\[\])?\.[^.]+$/, '')
    const isTold = around !== path && own.fields.has(around) && !theirs.fields.has(around)
    return isTold ? [] : [difference(id, weightOf(path), path, 'described', 'missing')]
  })
  const added = [...theirs.fields.keys()]
    .filter((path) => !own.fields.has(path))
    .map((path) => {
      const isDemanded = !path.startsWith('response') && theirs.fields.get(path)?.required === true
      return isDemanded
        ? difference(id, 'documented', path, 'no such field', 'required')
        : difference(id, 'addition', path, 'no such field', 'described')
    })
  return [...missing, ...added]
}

function compareField(
  id: V1Id,
  weight: Provenance,
  path: string,
  own: OpenapiField,
  other: OpenapiField,
): Difference[] {
  const found: Difference[] = []
  if (
    own.types.size > 0 &&
    other.types.size > 0 &&
    (without(own.types, other.types).size > 0 || without(other.types, own.types).size > 0)
  ) {
    found.push(difference(id, weight, path, list(own.types), list(other.types)))
  }
  if (own.values !== null && other.values !== null) {
    const gone = without(own.values, other.values)
    const added = without(other.values, own.values)
    if (gone.size > 0) found.push(difference(id, weight, path, `the value ${list(gone)}`, 'not among its values'))
    if (added.size > 0) found.push(difference(id, 'addition', path, 'no such value', list(added)))
  }
  // A caller that sends all it must, and reads only what it must get, is well in the other cases.
  const isStricter = path.startsWith('response') ? own.required && !other.required : !own.required && other.required
  if (isStricter) found.push(difference(id, weight, path, text(own.required), text(other.required)))
  return found
}

function compareStatuses(id: V1Id, own: OpenapiOperation, theirs: OpenapiOperation): Difference[] {
  return [...without(own.statuses, theirs.statuses)]
    .filter((status) => /^[24]/.test(status) && !(status.startsWith('2') && hasSuccess(theirs)))
    .map((status) => difference(id, statusProvenance(status), `status ${status}`, 'described', 'missing'))
}

function hasSuccess({ statuses }: OpenapiOperation): boolean {
  return [...statuses].some((status) => status.startsWith('2'))
}

/** An error status is as documented as its code is. */
function statusProvenance(status: string): Provenance {
  if (status.startsWith('2')) return 'documented'
  const codes = (Object.keys(errorCodes) as ErrorCode[]).filter((code) => String(errorCodes[code].status) === status)
  return codes.some((code) => errorCodes[code].provenance === 'documented') ? 'observed' : 'assumed'
}

function difference(endpoint: V1Id, weight: Weight, what: string, expected: string, observed: string): Difference {
  return { endpoint, weight, check: 'openapi', what, expected, observed }
}

function list(names: ReadonlySet<string>): string {
  return [...names].toSorted().join(', ')
}

function text(required: boolean): string {
  return required ? 'required' : 'not required'
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> {
  return new Set([...names].filter((name) => !others.has(name)))
}
