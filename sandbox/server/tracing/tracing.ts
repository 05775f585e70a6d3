/**
 * Spans by the official packages, sent as OTLP over HTTP. This file is a chunk of its own: it is loaded only with --otlp.
 * The packages read the variables OTEL_EXPORTER_OTLP_* and OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME themselves.
 */
import { createTraceState, ROOT_CONTEXT, type SpanContext, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { systemErrorBehind, systemReason } from '#foundation/system-error.ts'
import type { NodeMetrics } from '#runtime/metrics/node-metrics.ts'
import type { TraceContext } from '#runtime/traces/trace-context.ts'
import type { NewSpan, Tracing } from '#runtime/traces/tracing.ts'
import { createSpanQueue } from './span-queue.ts'

interface TracingOptions {
  /** The base URL of a receiver, or its whole URL with /v1/traces. */
  endpoint: string
  version: string
  /** Of a shared store; null for the shared one, and for a file. */
  namespace: string | null
  metrics: Pick<NodeMetrics, 'spans'>
  report(warning: Error): void
}

/** A warning about the receiver, to be printed as a line. */
class TraceWarning extends Error {
  override readonly name = 'TraceWarning'
}

/** How long a stop waits for the receiver, milliseconds. */
const closeTimeoutMs = 2_000

export function createTracing({ endpoint, version, namespace, metrics, report }: TracingOptions): Tracing {
  const url = tracesUrl(endpoint)
  const provider = new TracerProvider({
    resource: describeService(version, namespace),
    spanProcessors: [
      createSpanQueue({
        exporter: new OTLPTraceExporter({ url }),
        spans: metrics.spans,
        onFailure: (error) => report(new TraceWarning(describeFailure(url, error))),
      }),
    ],
  })
  const tracer = provider.getTracer('svc', version)
  return {
    start(span) {
      const started = tracer.startSpan(span.name, toOptions(span), toContext(span.parent))
      return {
        context: toTraceContext(started.spanContext()),
        end(attributes, ended = performance.now()) {
          started.setAttributes(attributes)
          if (attributes['error.type'] !== undefined) started.setStatus({ code: SpanStatusCode.ERROR })
          started.end(toEpochMs(ended))
        },
      }
    },
    async close() {
      let timer: NodeJS.Timeout | undefined
      const tooLate = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, closeTimeoutMs)
      })
      // A failure is counted and reported by the queue.
      await Promise.race([provider.shutdown().catch(() => {}), tooLate])
      clearTimeout(timer)
    },
  }
}

/** Returns the URL that spans are sent to: a whole one ends in `/traces`, a base URL gets the path of OTLP. */
export function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint)
  const path = url.pathname.replace(/\/+$/, '')
  url.pathname = path.endsWith('/traces') ? path : `${path}/v1/traces`
  return url.href
}

/** What the variables of the environment say takes precedence. */
function describeService(version: string, namespace: string | null) {
  const own = resourceFromAttributes({
    'service.name': 'svc-sandbox',
    'service.version': version,
    ...(namespace === null ? {} : { 'svc.namespace': namespace }),
  })
  return defaultResource()
    .merge(own)
    .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }))
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const

function toOptions({ kind, started, attributes = {}, link = null }: NewSpan) {
  const links = link === null ? [] : [{ context: toSpanContext(link) }]
  return { kind: kinds[kind], startTime: toEpochMs(started), attributes, links }
}

/** Times of the host: the sandbox clock can be moved, and the spans of the app beside these cannot. */
function toEpochMs(at: number): number {
  return performance.timeOrigin + at
}

function toContext(parent: TraceContext | null) {
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, toSpanContext(parent))
}

function toSpanContext({ trace_id, span_id, flags, state }: TraceContext): SpanContext {
  return {
    traceId: trace_id,
    spanId: span_id,
    traceFlags: flags,
    isRemote: true,
    ...(state === null ? {} : { traceState: createTraceState(state) }),
  }
}

function toTraceContext({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  return { trace_id: traceId, span_id: spanId, flags: traceFlags, state: traceState?.serialize() ?? null }
}

function describeFailure(url: string, error: Error | undefined): string {
  const system = error === undefined ? null : systemErrorBehind(error)
  const reason = system === null ? (error?.message ?? 'no reason is known') : systemReason(system)
  const isGrpc = new URL(url).port === '4317'
  const advice = isGrpc ? ' Port 4317 is that of OTLP over gRPC; over HTTP, receivers listen on 4318.' : ''
  return `traces do not reach ${url}: ${reason}.${advice} The sandbox goes on without them: svc_trace_spans_total of its metrics counts what is lost.`
}
