/**
 * The spans that wait for their export: at most so many, however slow the receiver is. What is not exported is counted, and
 * warned of once.
 */
import { TraceFlags } from '@opentelemetry/api'
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace'
import type { Counts } from '#runtime/metrics/counts.ts'

/** Spans that wait, those under way included. */
const maxWaiting = 2_048
const batchSpans = 512
/** How long spans are gathered: somebody may be looking at the screen that shows them. */
const delayMs = 1_000

interface QueueOptions {
  exporter: SpanExporter
  /** By result: exported, failed, dropped. */
  spans: Counts
  /** Called with the first failure, and again with the first one after a success. */
  onFailure(error: Error | undefined): void
}

/** A count of the SDK would need a meter, and its own limit does not see spans under way. */
export function createSpanQueue({ exporter, spans, onFailure }: QueueOptions): SpanProcessor {
  let waiting = 0
  let isFailing = false
  const counted: SpanExporter = {
    export(batch, done) {
      exporter.export(batch, (result) => {
        waiting -= batch.length
        const isExported = result.error === undefined && result.code === 0
        for (let count = 0; count < batch.length; count++) spans.add(isExported ? 'exported' : 'failed')
        if (!isExported && !isFailing) onFailure(result.error)
        isFailing = !isExported
        done(result)
      })
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  }
  const batches = new BatchSpanProcessor({
    exporter: counted,
    maxQueueSize: maxWaiting,
    maxExportBatchSize: batchSpans,
    scheduledDelayMillis: delayMs,
  })
  return {
    onStart: (span, context) => batches.onStart(span, context),
    onEnd(span: ReadableSpan) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= maxWaiting) return spans.add('dropped')
      waiting++
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}
