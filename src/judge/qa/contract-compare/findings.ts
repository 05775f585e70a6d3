/** Joins what differs in many exchanges into findings: each says one thing once, how often, and where to see it. */
import type { Endpoint } from '#contract/endpoint.ts'
import { compat, v1 } from '#contract/index.ts'
import type { RecordedId } from '#contract/recordings/recording.ts'
import { type Json, valueAt } from '#foundation/json.ts'
import type { Difference } from '../result.ts'
import { type Breaker, type ComparedResponse, compareResponses, type PairDifference } from './differences.ts'

/** One request, and the responses of both sides to it. */
export interface ExchangePair {
  endpoint: RecordedId
  /** The entry in the recording, from 1; null without one. */
  entry: number | null
  service: ComparedResponse
  other: ComparedResponse
}

/** A difference between two sides, in one or more exchanges. */
export interface CountedDifference extends Difference {
  endpoint: RecordedId
  breaks: Breaker
  /** Who says what is expected. */
  basis: PairDifference['basis']
  /** In how many exchanges. */
  count: number
  /** The first exchange that shows it, and the request ids of its responses. */
  first: { entry: number | null; request_id: string | null; other_request_id: string | null }
}

/** What the service has, and where: of that an override is made. */
export interface ValuedDifference extends CountedDifference {
  /** The field in the body; null for other findings. */
  path: string | null
  other_value: Json | undefined
  seen: SeenValues[]
  /** The statuses of both sides. */
  statuses: { service: number; other: number }
}

/** What the service has in responses of one kind. */
interface SeenValues {
  /** Of a success its format, null without one; of an error the cause that the other side names. */
  kind: string | null
  count: number
  /** As JSON text, at most two; `undefined` where the service has no value. */
  values: Set<string | undefined>
}

export interface Comparison {
  /** Exchanges whose bodies were compared. */
  compared: number
  /** Exchanges of which a side lacks the body, so that only status and headers were compared. */
  without_body: number
  endpoints: { endpoint: RecordedId; compared: number; findings: number }[]
  /** What is documented first. */
  findings: ValuedDifference[]
  /** How often the sides decided differently about the same request, which is no difference of the contract. */
  outcomes: { service: string; other: string; count: number }[]
}

/** Returns what differs in all exchanges. */
export function compareExchanges(pairs: Iterable<ExchangePair>): Comparison {
  const findings = new Map<string, ValuedDifference>()
  const outcomes = new Map<string, Comparison['outcomes'][number]>()
  const compared = new Map<RecordedId, number>()
  let without_body = 0
  for (const pair of pairs) {
    const { differences, outcomes: decided } = compareResponses(endpoints[pair.endpoint], pair.service, pair.other)
    if (lacksBody(pair)) without_body++
    else compared.set(pair.endpoint, (compared.get(pair.endpoint) ?? 0) + 1)
    for (const difference of differences) addDifference(findings, pair, difference)
    if (decided === null) continue
    const key = `${decided.service} ${decided.other}`
    outcomes.set(key, { ...decided, count: (outcomes.get(key)?.count ?? 0) + 1 })
  }
  // What is left has no body that is compared: a frame, for example.
  if (without_body > 0 && [...compared.keys()].every((id) => !hasComparedBody(id))) compared.clear()
  const joined = joinVarying([...findings.values()])
  const listed = new Set([...compared.keys(), ...joined.map(({ endpoint }) => endpoint)])
  return {
    compared: [...compared.values()].reduce((sum, count) => sum + count, 0),
    without_body,
    endpoints: [...listed].map((endpoint) => ({
      endpoint,
      compared: compared.get(endpoint) ?? 0,
      findings: joined.filter((finding) => finding.endpoint === endpoint).length,
    })),
    findings: joined.toSorted((a, b) => weights.indexOf(a.weight) - weights.indexOf(b.weight)),
    outcomes: [...outcomes.values()].toSorted((a, b) => b.count - a.count),
  }
}

/** Whether a side has no body where the contract has one: browsers leave bodies out, no longer have them, or got a 304. */
function lacksBody({ endpoint: id, service, other }: ExchangePair): boolean {
  return (
    hasComparedBody(id) &&
    [service, other].some((side) => side.text === null || side.status === 204 || side.status === 304)
  )
}

function hasComparedBody(id: RecordedId): boolean {
  const { status, response } = endpoints[id]
  return status !== 101 && !('media_type' in response)
}

/** The endpoints that a recording can have. */
export const endpoints: Readonly<Record<RecordedId, Endpoint>> = { ...v1, ...compat }

const weights: readonly Difference['weight'][] = ['documented', 'observed', 'assumed', 'addition']

function addDifference(findings: Map<string, ValuedDifference>, pair: ExchangePair, difference: PairDifference): void {
  const { weight, what, expected, observed, breaks, basis, identity, path, value, other_value } = difference
  const { endpoint, entry, service, other } = pair
  const key = JSON.stringify([endpoint, weight, what, breaks, identity])
  const found = findings.get(key) ?? {
    ...{ endpoint, weight, what, expected, observed, breaks, basis, count: 0, path, other_value, seen: [] },
    first: {
      entry,
      request_id: service.headers['x-request-id'] ?? null,
      other_request_id: other.headers['x-request-id'] ?? null,
    },
    statuses: { service: service.status, other: other.status },
  }
  found.count++
  addValue(found.seen, findKind(pair), JSON.stringify(value))
  findings.set(key, found)
}

/** Returns what tells responses of one endpoint apart: the format, or the cause of an error. */
function findKind({ other }: ExchangePair): string | null {
  const kind = valueAt(other.json, other.status < 400 ? 'decision.format' : 'reason_code')
  return typeof kind === 'string' ? kind : null
}

function addValue(seen: SeenValues[], kind: string | null, value: string | undefined, count = 1): void {
  const before = seen.find((each) => each.kind === kind)
  if (before === undefined) seen.push({ kind, count, values: new Set([value]) })
  else {
    before.count += count
    // Two different values show that it varies.
    if (before.values.size < 2) before.values.add(value)
  }
}

/** More findings about different values of one field become one: the field varies. */
const maxFindingsOfField = 3

function joinVarying(findings: readonly ValuedDifference[]): ValuedDifference[] {
  const groups = Map.groupBy(findings, ({ endpoint, what, weight, breaks }) =>
    [endpoint, what, weight, breaks].join(' '),
  )
  return [...groups.values()].flatMap((group) =>
    group.length <= maxFindingsOfField || group[0]?.what === 'status' ? group : [joinFindings(group)],
  )
}

function joinFindings(group: readonly ValuedDifference[]): ValuedDifference {
  const seen: SeenValues[] = []
  for (const { kind, count, values } of group.flatMap((finding) => finding.seen)) {
    for (const [index, value] of [...values].entries()) addValue(seen, kind, value, index === 0 ? count : 0)
  }
  return {
    ...group[0]!,
    expected: listSome(group.map(({ expected }) => expected)),
    observed: listSome(group.map(({ observed }) => observed)),
    count: group.reduce((sum, { count }) => sum + count, 0),
    seen,
  }
}

function listSome(values: readonly string[]): string {
  const distinct = [...new Set(values)]
  const shown = distinct.slice(0, maxFindingsOfField)
  return [...shown, ...(distinct.length > shown.length ? ['…'] : [])].join(' or ')
}
