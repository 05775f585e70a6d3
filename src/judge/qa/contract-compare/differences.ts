/**
 * Compares two responses to the same request: each with the contract, and field by field with the other. What one run
 * makes different from the next (identifiers, times, tokens, prices, creatives, what was decided) is no difference: the
 * role of a field decides.
 */
import { type Endpoint, failureHeaders, type ResponseHeader, responseHeaders } from '#contract/endpoint.ts'
import { ErrorBody, errorCodes, typeWord } from '#contract/errors.ts'
import type { Provenance } from '#contract/objects.ts'
import { findRole } from '#contract/recordings/field-roles.ts'
import { isObject, type Json, valueAt } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { briefValue, contractCheck, provenances } from '../expect/contract.ts'
import { isUnlistedStatus, listBesideStatus } from '../expect/statuses.ts'
import type { Difference } from '../result.ts'

/** A response of either side. Bodies are redacted. */
export interface ComparedResponse {
  status: number
  headers: Readonly<Record<string, string>>
  /** Null when the recording has no body. */
  text: string | null
  /** Undefined when the body is not JSON. */
  json: Json | undefined
}

/**
 * Which side does not hold to the contract. `neither`: the contract allows what both say. `either`: it allows one of two
 * statuses, and the responses do not say which.
 */
export type Breaker = 'service' | 'other' | 'both' | 'neither' | 'either'

/** A difference between two sides, or of one side from the contract. `observed` is what the service says, unless only the other side breaks the contract. */
export interface PairDifference extends Difference {
  breaks: Breaker
  /** Who says what is expected: the other side, or the contract about a side by itself. */
  basis: 'other' | 'contract'
  /** The same for every exchange that shows this difference. */
  identity: string
  /** The path of a field in the body, with `[]` for the items of an array; null for what is no field. */
  path: string | null
  /** What the service has there; undefined when nothing. */
  value: Json | undefined
  /** What the other side has there. */
  other_value: Json | undefined
}

interface PairComparison {
  differences: PairDifference[]
  /** What was decided, where the sides decided differently: `fill banner`, `no fill`. */
  outcomes: { service: string; other: string } | null
}

/** A difference between the two sides, before it is known who breaks the contract. */
type Found = Omit<PairDifference, 'breaks' | 'basis'>

/** Returns what differs in the responses of two sides to one request. */
export function compareResponses(
  endpoint: Endpoint,
  service: ComparedResponse,
  other: ComparedResponse,
): PairComparison {
  const outcomes = compareOutcomes(service.json, other.json)
  const of_service = listContractDifferences(endpoint, service)
  const of_other = listContractDifferences(endpoint, other)
  if (service.status !== other.status) {
    // If the statuses differ, the responses are not compared with each other; each is still held against the contract.
    const status = compareStatuses(endpoint, service, other)
    const isUnlisted = [...of_service, ...of_other].some(isUnlistedStatus)
    const difference: PairDifference = {
      ...status,
      weight: isUnlisted ? 'documented' : status.weight,
      breaks: findBreaker(of_service, of_other),
      basis: 'other',
    }
    const own = listOwn(listBesideStatus(of_service), listBesideStatus(of_other))
    return { differences: [difference, ...own], outcomes: null }
  }
  const found = [...compareHeaders(endpoint, service, other), ...compareBodies(endpoint, service, other)]
  return { differences: mergeDifferences(found, of_service, of_other), outcomes }
}

/** Returns how a response differs from the contract: nothing of it depends on another response. */
function listContractDifferences(endpoint: Endpoint, response: ComparedResponse): Difference[] {
  const { text, ...seen } = response
  const { differences = [] } = contractCheck(endpoint, { ...seen, text: text ?? '' }, false)
  // A recording without the body has its status and its headers only.
  return text === null ? differences.filter(({ what }) => /^(?:header |status$)/.test(what)) : [...differences]
}

function findBreaker(of_service: readonly Difference[], of_other: readonly Difference[]): Breaker {
  const isBroken = (differences: readonly Difference[]) => differences.some(({ weight }) => weight === 'documented')
  if (isBroken(of_service)) return isBroken(of_other) ? 'both' : 'service'
  return isBroken(of_other) ? 'other' : 'either'
}

/** Joins what differs between the sides with what differs from the contract on one of them. */
function mergeDifferences(
  found: readonly Found[],
  of_service: readonly Difference[],
  of_other: readonly Difference[],
): PairDifference[] {
  const byWhat = (differences: readonly Difference[]) => new Map(differences.map((each) => [each.what, each]))
  const [own, others] = [byWhat(of_service), byWhat(of_other)]
  const between = new Set(found.map(({ what }) => what))
  return [
    ...found.map((each): PairDifference => {
      const [one, two] = [own.get(each.what), others.get(each.what)]
      return {
        ...each,
        weight: one?.weight ?? two?.weight ?? each.weight,
        breaks: nameBreaker(one, two),
        basis: 'other',
      }
    }),
    ...listOwn(of_service, of_other).filter(({ what }) => !between.has(what)),
  ]
}

/** Returns what each side breaks of the contract by itself. */
function listOwn(of_service: readonly Difference[], of_other: readonly Difference[]): PairDifference[] {
  const names = (differences: readonly Difference[]) => new Set(differences.map(({ what }) => what))
  const [own, others] = [names(of_service), names(of_other)]
  const toOwn = (each: Difference, breaks: Breaker): PairDifference => {
    const values = { path: null, value: undefined, other_value: undefined }
    return { ...each, breaks, basis: 'contract', identity: each.expected, ...values }
  }
  return [
    // Where both sides break the contract alike, they do not differ: so a sandbox with overrides is like its service.
    // What is no JSON is like nothing.
    ...of_service
      .filter(({ what }) => what === 'body' || !others.has(what))
      .map((each) => toOwn(each, others.has(each.what) ? 'both' : 'service')),
    ...of_other.filter(({ what }) => !own.has(what)).map((each) => toOwn(each, 'other')),
  ]
}

function nameBreaker(of_service: Difference | undefined, of_other: Difference | undefined): Breaker {
  if (of_service === undefined) return of_other === undefined ? 'neither' : 'other'
  return of_other === undefined ? 'service' : 'both'
}

/* Statuses and headers. */

function compareStatuses(endpoint: Endpoint, service: ComparedResponse, other: ComparedResponse): Found {
  const text = ({ status, json }: ComparedResponse) =>
    briefValue(status < 400 ? status : `${status} ${reasonText(json)}`.trim())
  return {
    weight: findStatusProvenance(endpoint, service, other),
    what: 'status',
    expected: text(other),
    observed: text(service),
    identity: `${text(other)} ${text(service)}`,
    path: null,
    value: service.status,
    other_value: other.status,
  }
}

function reasonText(json: Json | undefined): string {
  const reason = valueAt(json, 'reason_code') ?? valueAt(json, 'error')
  return typeof reason === 'string' ? reason : ''
}

/** Where it comes from that the other side responds with its status. */
function findStatusProvenance(
  { provenance }: Endpoint,
  service: ComparedResponse,
  { status, json }: ComparedResponse,
): Provenance {
  // That a job is 201 is assumed (A21); that a request is accepted is what the document says of its endpoint.
  if (status < 400) return service.status < 400 ? 'assumed' : provenance
  const code = valueAt(json, 'error')
  return (typeof code === 'string' ? findEntry(errorCodes, code)?.provenance : undefined) ?? 'assumed'
}

/** Headers whose value is the same in every response. */
const comparedValues: ReadonlySet<string> = new Set(['cache-control', 'cross-origin-resource-policy'])

function compareHeaders(endpoint: Endpoint, service: ComparedResponse, other: ComparedResponse): Found[] {
  const byStatus: Partial<Record<number, readonly ResponseHeader[]>> = failureHeaders
  const declared = service.status < 400 ? (endpoint.response_headers ?? []) : (byStatus[service.status] ?? [])
  const names = declared.filter((name) => !name.startsWith('x-sandbox-') && name !== 'content-encoding')
  return ['x-request-id', ...names].flatMap((name) => {
    const [one, two] = [service.headers[name], other.headers[name]]
    const isSame = comparedValues.has(name) ? one === two : (one === undefined) === (two === undefined)
    if (isSame) return []
    const weight = findEntry(responseHeaders, name)?.provenance ?? 'assumed'
    return [describeFound({ weight, what: `header ${name}`, path: null }, one, two)]
  })
}

/* Bodies. */

/** What the fields of a body are known by. */
interface BodyContext {
  /** `response` or `error`: begins the name of a field. */
  part: 'response' | 'error'
  known: ReadonlyMap<string, Provenance>
  /** Whether the contract has a field. */
  isKnown(path: string): boolean
  isCompared(path: string): boolean
  hasValue(path: string): boolean
}

function compareBodies(endpoint: Endpoint, service: ComparedResponse, other: ComparedResponse): Found[] {
  if (service.json === undefined || other.json === undefined) return []
  const context = service.status < 400 ? successContext(endpoint, service.json, other.json) : failureContext
  return compareValues(context, '', service.json, other.json)
}

function successContext(endpoint: Endpoint, service: Json, other: Json): BodyContext {
  const known = provenances(endpoint, 'response')
  // With another outcome they are other objects.
  const isSameOutcome = compareOutcomes(service, other) === null
  return {
    part: 'response',
    known,
    isKnown: (path) => known.has(path),
    isCompared: (path) => isSameOutcome || !/^(?:placement|decision)$/.test(path),
    hasValue: (path) => known.has(path) && findRole(path) === 'value',
  }
}

/** Texts for readers may change; identifiers differ. */
const comparedErrorFields: ReadonlySet<string> = new Set(['error', 'reason_code', 'retryable'])
const errorProvenances: ReadonlyMap<string, Provenance> = new Map(
  Object.entries(ErrorBody.shape).map(([name, field]) => [name, field.meta()?.provenance ?? 'assumed']),
)

const failureContext: BodyContext = {
  part: 'error',
  known: errorProvenances,
  isKnown: (path) => errorProvenances.has(path.split(/[.[]/)[0]!),
  isCompared: (path) => path !== 'fields',
  hasValue: (path) => comparedErrorFields.has(path),
}

function compareValues(
  context: BodyContext,
  path: string,
  service: Json | undefined,
  other: Json | undefined,
): Found[] {
  if (!context.isCompared(path)) return []
  if (service === undefined || other === undefined) return comparePresence(context, path, service, other)
  if (isObject(service) && isObject(other)) {
    const names = [...new Set([...Object.keys(service), ...Object.keys(other)])]
    const at = (name: string) => (path === '' ? name : `${path}.${name}`)
    return names.flatMap((name) => compareValues(context, at(name), fieldIn(service, name), fieldIn(other, name)))
  }
  if (Array.isArray(service) && Array.isArray(other)) return compareLists(context, path, service, other)
  const [one, two] = [typeWord(service), typeWord(other)]
  // What was decided may be null on one side.
  const isOutcome = findRole(path) === 'outcome' && (service === null || other === null)
  if (one !== two) return isOutcome && !context.hasValue(path) ? [] : [foundAt(context, path, service, other)]
  return context.hasValue(path) && service !== other ? [foundAt(context, path, service, other)] : []
}

function comparePresence(
  context: BodyContext,
  path: string,
  service: Json | undefined,
  other: Json | undefined,
): Found[] {
  // A campaign may lack a text, and a fill may lack what only others have.
  const isOptional = ['creative', 'outcome'].includes(findRole(path)) && context.isKnown(path)
  return isOptional ? [] : [foundAt(context, path, service, other)]
}

/** Items that are objects are compared one by one; lists of values as a whole. */
function compareLists(context: BodyContext, path: string, service: readonly Json[], other: readonly Json[]): Found[] {
  if ([...service, ...other].some((item) => typeof item === 'object' && item !== null)) {
    const length = Math.min(service.length, other.length)
    const found = Array.from({ length }, (_, index) =>
      compareValues(context, `${path}[]`, service[index], other[index]),
    )
    return found.flat()
  }
  const isSame = JSON.stringify(service.toSorted()) === JSON.stringify(other.toSorted())
  return isSame || !context.hasValue(path) ? [] : [foundAt(context, path, [...service], [...other])]
}

function fieldIn(object: Readonly<Record<string, Json>>, name: string): Json | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

function foundAt(context: BodyContext, path: string, service: Json | undefined, other: Json | undefined): Found {
  const { part, known, isKnown } = context
  const weight = isKnown(path) ? (known.get(path) ?? 'assumed') : 'addition'
  const what = `${part === 'error' ? 'error.' : 'response '}${path || 'body'}`
  return describeFound({ weight, what, path: path || null }, service, other)
}

function describeFound(
  about: Pick<Found, 'weight' | 'what' | 'path'>,
  service: Json | undefined,
  other: Json | undefined,
): Found {
  const [expected, observed] = [quoted(other), quoted(service)]
  const [one, two] = [typeName(other), typeName(service)]
  // Where types differ, the values are only examples.
  const identity = one === two ? `${expected} ${observed}` : `${one} ${two}`
  return { ...about, expected, observed, identity, value: service, other_value: other }
}

function typeName(value: Json | undefined): string {
  return value === undefined ? 'missing' : typeWord(value)
}

/** Returns a value so that null, a text and its absence differ. */
function quoted(value: Json | undefined): string {
  return value === null ? 'null' : briefValue(value)
}

/* What was decided. */

function compareOutcomes(service: Json | undefined, other: Json | undefined): PairComparison['outcomes'] {
  const [one, two] = [describeOutcome(service), describeOutcome(other)]
  return one === two || one === null || two === null ? null : { service: one, other: two }
}

/** Returns what was decided in words; null when the response is not about a decision. */
function describeOutcome(json: Json | undefined): string | null {
  if (!isObject(json)) return null
  const text = (path: string) => {
    const value = valueAt(json, path)
    return value === undefined ? null : String(value)
  }
  if ('decision' in json) {
    const status = text('status') ?? ''
    if (status !== 'ready' || json.decision === null) return status
    return text('decision.fill') === 'true' ? `fill ${text('decision.format')}` : 'no fill'
  }
  return 'accepted' in json && 'reason_code' in json ? `beacon ${text('reason_code')}` : null
}
