/**
 * What this node has counted since its start. Labels have values of the contract alone: endpoints, formats, events, codes.
 * Projects, sessions and slots are no labels, since a shared sandbox has any number of them, and each would be a series
 * that a monitoring system keeps for weeks; the journal and the traces have them.
 */
import type { Endpoint } from '#contract/endpoint.ts'
import type { ReasonCode } from '#contract/errors.ts'
import { formats } from '#contract/fields.ts'
import { contract } from '#contract/index.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { type BeaconEvent, beaconEvents } from '#contract/resources/beacons.ts'
import { CallbackStatus } from '#contract/resources/callbacks.ts'
import type { StoredDecision } from '#store/store.ts'
import { type Counts, createCounts, createHistogram, type Histogram } from './counts.ts'

/** How a span ended that tracing has made. */
const spanResults = ['exported', 'failed', 'dropped'] as const

/** What clients keep open beyond a request. */
type StreamKind = 'event_stream' | 'decision_socket'

export interface NodeMetrics {
  /** Requests by endpoint, in the order of their first request; those of v1 from the start. */
  readonly routes: ReadonlyMap<string, RouteMetrics>
  readonly errors: Counts
  readonly fills: Counts
  readonly no_fills: Counts
  readonly slots: Counts
  readonly beacons: Counts
  readonly callbacks: Counts
  readonly spans: Counts
  readonly transactions: Histogram
  /** Transactions that the database refused. */
  failed_transactions: number
  readonly open_streams: Record<StreamKind, number>
  /** Returns the figures of a route; the same for every call. */
  findRoute(route: RoutePath): RouteMetrics
  countError(endpoint: string, reason_code: ReasonCode): void
  /** Counts a slot that was created, and its decision where it has one. */
  countSlot(decision: StoredDecision | null): void
  /** Counts the decision of a slot that was pending. */
  countDecision(decision: StoredDecision): void
  /** @param event null for a beacon without a valid one */
  countBeacon(event: BeaconEvent | null, verdict: 'accepted' | 'duplicate' | 'rejected', reason_code: string): void
  /** Counts an attempt to deliver a callback by the status that it led to. */
  countCallback(status: CallbackStatus): void
  countTransaction(duration_s: number, isStored: boolean): void
}

interface RouteMetrics {
  /** The id of the endpoint, or what stands in its place: `pages`, `files`, `preflight`, `none`. */
  readonly endpoint: string
  /** Responses by status class; the first: those that the client did not get. */
  readonly statuses: number[]
  readonly durations: Histogram
}

/** The part of a route that names its series. */
export interface RoutePath {
  method: string
  path: string
  isPage?: boolean
}

export function createNodeMetrics(): NodeMetrics {
  const routes = new Map<string, RouteMetrics>()
  /** Looking a route up by its object is faster than by its names. */
  const found = new WeakMap<RoutePath, RouteMetrics>()
  const errors = createCounts('endpoint', 'reason_code')
  const fills = createCounts('format')
  const no_fills = createCounts('reason')
  const slots = createCounts('state')
  const beacons = createCounts('event', 'verdict', 'reason_code')
  const callbacks = createCounts('result')
  const spans = createCounts('result')
  const transactions = createHistogram()
  for (const { id, path } of Object.values<Endpoint>(contract)) if (path.startsWith('/v1/')) findNamed(id)
  for (const format of formats) fills.start(format)
  for (const reason of Object.keys(noFillReasons)) no_fills.start(reason)
  for (const state of ['decided', 'pending']) slots.start(state)
  for (const event of beaconEvents) beacons.start(event, 'accepted', 'OK')
  for (const status of CallbackStatus.options) if (status !== 'waiting') callbacks.start(status)
  for (const result of spanResults) spans.start(result)

  const metrics: NodeMetrics = {
    ...{ routes, errors, fills, no_fills, slots, beacons, callbacks, spans, transactions },
    failed_transactions: 0,
    open_streams: { event_stream: 0, decision_socket: 0 },
    findRoute(route) {
      const known = found.get(route)
      if (known !== undefined) return known
      const named = findNamed(nameRoute(route))
      found.set(route, named)
      return named
    },
    countError: (endpoint, reason_code) => errors.add(endpoint, reason_code),
    countSlot(decision) {
      slots.add(decision === null ? 'pending' : 'decided')
      if (decision !== null) metrics.countDecision(decision)
    },
    countDecision({ outcome }) {
      if (outcome.status === 'filled') fills.add(outcome.format)
      else no_fills.add(outcome.reason)
    },
    countBeacon: (event, verdict, reason_code) => beacons.add(event ?? 'unknown', verdict, reason_code),
    countCallback: (status) => callbacks.add(status),
    countTransaction(duration_s, isStored) {
      if (isStored) transactions.observe(duration_s)
      else metrics.failed_transactions++
    },
  }
  return metrics

  function findNamed(endpoint: string): RouteMetrics {
    const known = routes.get(endpoint)
    if (known !== undefined) return known
    const created = { endpoint, statuses: [0, 0, 0, 0, 0, 0], durations: createHistogram() }
    routes.set(endpoint, created)
    return created
  }
}

/** The series of requests that no route was found for. */
export const noRoute: RoutePath = { method: '', path: '' }

const endpoints = new Map<string, string>(
  Object.values<Endpoint>(contract).map(({ id, method, path }) => [`${method} ${path}`, id] as const),
)

function nameRoute({ method, path, isPage }: RoutePath): string {
  if (path === '') return 'none'
  if (method === 'OPTIONS') return 'preflight'
  const id = isPage === true ? undefined : endpoints.get(`${method} ${path}`)
  return id ?? (path.startsWith('/_sandbox') || isPage === true ? 'pages' : 'files')
}
