/**
 * A request in its trace. A turn is one trace: that of the request that created its slots, which the job keeps. Frame, polls
 * and beacons come from a browser, mostly without a context of their own, and join it as soon as their slot is known.
 */
import type { StoredDecision } from '#store/store.ts'
import {
  readStoredTrace,
  readTraceContext,
  type StoredTrace,
  type TraceContext,
  toStoredTrace,
} from './trace-context.ts'
import type { ActiveSpan, SpanAttributes, Tracing } from './tracing.ts'

export interface RequestTrace {
  /** Method and path of the route: a path as it was sent may have a token. */
  readonly name: string
  /** Null unless the client sent one. */
  readonly parent: TraceContext | null
  /** The trace of the slot that the request is about. */
  turn: TraceContext | null
  /** The span of the request, once something must know its id; null without --otlp. */
  span: ActiveSpan | null
  /** `performance.now()` when the request was complete. */
  readonly started: number
  /** What the operation says about the request. */
  readonly attributes: SpanAttributes
  /** What happened within it, as spans of their own. */
  readonly steps: { name: string; started: number; ended: number; attributes: SpanAttributes }[]
}

/** Returns null, which costs nothing, for a request outside any trace. */
export function openTrace(
  tracing: Tracing | null,
  { method, path, headers }: TracedRequest,
  started: number,
): RequestTrace | null {
  const { traceparent, tracestate } = headers
  if (tracing === null && traceparent === undefined) return null
  const parent = readTraceContext(toText(traceparent), toText(tracestate))
  return tracing === null && parent === null ? null : createTrace(`${method} ${path}`, parent, started)
}

interface TracedRequest {
  method: string
  path: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

function createTrace(name: string, parent: TraceContext | null, started: number): RequestTrace {
  return { name, parent, turn: null, span: null, started, attributes: {}, steps: [] }
}

function toText(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(',') : value
}

/** Returns the trace of a request once its slot is known: of one outside any trace, that of the slot. */
export function joinTurn(trace: RequestTrace | null, facts: StoredTrace): RequestTrace | null {
  if (facts.traceparent === undefined) return trace
  // Without --otlp: only its id is needed.
  const joined = trace ?? createTrace('', null, 0)
  joined.turn = readStoredTrace(facts)
  return joined
}

/** Returns the id of the trace that a request is in; null when it is in none. */
export function findTraceId(trace: RequestTrace | null): string | null {
  return trace === null ? null : ((trace.span?.context ?? trace.turn ?? trace.parent)?.trace_id ?? null)
}

/** Returns what a job keeps of the trace of its request: with --otlp the span of the request, else what the client sent. */
export function storeTrace(tracing: Tracing | null, trace: RequestTrace | null): StoredTrace {
  if (trace === null) return {}
  if (tracing !== null) trace.span ??= startSpan(tracing, trace)
  return toStoredTrace(trace.span?.context ?? trace.parent)
}

/** Ends the span of a request, and records what happened within it. */
export function endTrace(tracing: Tracing, trace: RequestTrace, attributes: SpanAttributes): void {
  const span = trace.span ?? startSpan(tracing, trace)
  for (const { ended, attributes: own, ...step } of trace.steps)
    tracing.start({ ...step, kind: 'internal', parent: span.context }).end(own, ended)
  span.end({ ...attributes, ...trace.attributes })
}

/** Of the trace that the client names and that of the slot, the slot's wins; a span of both is nearer. */
function startSpan(tracing: Tracing, { name, parent, turn, started }: RequestTrace): ActiveSpan {
  const isApart = turn !== null && parent !== null && parent.trace_id !== turn.trace_id
  return tracing.start({
    name,
    kind: 'server',
    parent: isApart ? turn : (parent ?? turn),
    link: isApart ? parent : null,
    started,
  })
}

/** Returns what a span says about a decision. */
export function describeDecision({ outcome }: StoredDecision): SpanAttributes {
  if (outcome.status === 'no_fill')
    return { 'svc.decision.outcome': 'no_fill', 'svc.decision.no_fill_reason': outcome.reason }
  const { format, campaign_id, creative_id } = outcome
  return {
    'svc.decision.outcome': 'fill',
    'svc.decision.format': format,
    'svc.decision.campaign_id': campaign_id,
    'svc.decision.creative_id': creative_id,
  }
}
