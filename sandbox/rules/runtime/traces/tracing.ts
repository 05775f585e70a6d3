/** What records spans, when the sandbox was started with --otlp. The implementation is loaded only then. */
import type { TraceContext } from './trace-context.ts'

export type SpanAttributes = Record<string, string | number | boolean>

export interface NewSpan {
  name: string
  kind: 'server' | 'client' | 'internal'
  /** Null begins a trace. */
  parent: TraceContext | null
  /** Another context that it belongs to as well. */
  link?: TraceContext | null
  /** By `performance.now()`. */
  started: number
  attributes?: SpanAttributes
}

export interface ActiveSpan {
  /** What its children, and whatever it calls, are a part of. */
  readonly context: TraceContext
  /** @param ended by `performance.now()`; default: now */
  end(attributes: SpanAttributes, ended?: number): void
}

export interface Tracing {
  /** Starts a span. Never waits, never fails. An attribute `error.type` marks it as failed when it ends. */
  start(span: NewSpan): ActiveSpan
  /** Sends what is recorded, for at most a few seconds. */
  close(): Promise<void>
}
