/** GET /_sandbox/metrics: what this node has counted, and what it holds now, as metric families (A111). */
import { type Family, type Sample, toSamples } from '#runtime/metrics/exposition.ts'
import type { NodeMetrics } from '#runtime/metrics/node-metrics.ts'
import { StorageError } from '#store/store.ts'
import type { Services } from '../context.ts'

/** Resolves to every family. The database may be lost: then its size is missing, and svc_store_up is 0. */
export async function collectMetrics(services: Services): Promise<Family[]> {
  const size_bytes = await readSize(services)
  return [
    ...describeRequests(services.metrics),
    ...describeTurns(services),
    ...describeStore(services, size_bytes),
    ...describeProcess(services),
  ]
}

/** Resolves to null when the database cannot be read. */
async function readSize({ store }: Services): Promise<number | null> {
  try {
    return await store.sizeBytes()
  } catch (error) {
    if (error instanceof StorageError) return null
    throw error
  }
}

const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'] as const
/** A request of v1 may have these before it had any: a rate of errors needs a 0 to begin at. */
const startedClasses: ReadonlySet<string> = new Set(['2xx', '4xx', '5xx'])

function describeRequests({ routes, errors }: NodeMetrics): Family[] {
  const all = [...routes.values()]
  return [
    {
      name: 'svc_requests',
      type: 'counter',
      help: 'Requests by endpoint and status class; none: the client got no response.',
      samples: all.flatMap(({ endpoint, statuses }) =>
        statuses.flatMap((value, at) =>
          value > 0 || startedClasses.has(statusClasses[at]!)
            ? [{ labels: { endpoint, status: statusClasses[at]! }, value }]
            : [],
        ),
      ),
    },
    counter('svc_request_errors', 'Error responses by endpoint and reason_code.', toSamples(errors)),
    {
      name: 'svc_request_duration_seconds',
      type: 'histogram',
      help: 'From the complete request to its response, waits for a decision included.',
      series: all.map(({ endpoint, durations }) => ({ labels: { endpoint }, reading: durations.read() })),
    },
  ]
}

function describeTurns({ metrics, pendingDecisions, waiters, callbacks }: Services): Family[] {
  const { event_stream, decision_socket } = metrics.open_streams
  const queue = callbacks.queued()
  return [
    counter('svc_slots', 'Slots created on this node, decided at once or left pending.', toSamples(metrics.slots)),
    counter('svc_fills', 'Decisions of this node that filled, by format.', toSamples(metrics.fills)),
    counter('svc_no_fills', 'Decisions of this node that did not fill, by reason.', toSamples(metrics.no_fills)),
    gauge('svc_pending_decisions', 'Decisions that this node has yet to make.', pendingDecisions.count()),
    counter('svc_beacons', 'Beacons by event, verdict and reason_code.', toSamples(metrics.beacons)),
    counter('svc_callback_attempts', 'Attempts to deliver a callback, by result.', toSamples(metrics.callbacks)),
    {
      name: 'svc_callbacks_queued',
      type: 'gauge',
      help: 'Callbacks that wait for their turn, and that are being sent.',
      samples: Object.entries(queue).map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      name: 'svc_open_streams',
      type: 'gauge',
      help: 'What clients keep open: waits for a decision, event streams, sockets.',
      samples: Object.entries({ long_poll: waiters.count(), event_stream, decision_socket }).map(([kind, value]) => ({
        labels: { kind },
        value,
      })),
    },
    counter('svc_trace_spans', 'Spans made for --otlp: exported, failed to, or dropped.', toSamples(metrics.spans)),
  ]
}

function describeStore({ store, metrics }: Services, size_bytes: number | null): Family[] {
  const { size, dropped } = store.journal()
  const isUp = size_bytes !== null && store.shared?.isConnected() !== false
  return [
    {
      name: 'svc_store_transaction_duration_seconds',
      type: 'histogram',
      help: 'Transactions of this node with writes of requests, until they are committed.',
      series: [{ labels: {}, reading: metrics.transactions.read() }],
    },
    counter('svc_store_failed_transactions', 'Transactions that the database refused.', metrics.failed_transactions),
    gauge('svc_store_up', '1 while the database can be read.', isUp ? 1 : 0),
    ...(size_bytes === null
      ? []
      : [gauge('svc_store_size_bytes', 'Size of the database: of this namespace, on PostgreSQL.', size_bytes)]),
    gauge('svc_journal_entries', 'Exchanges in the journal; nodes that share a store report the same.', size),
    counter('svc_journal_dropped', 'Exchanges that the journal dropped for newer ones.', dropped),
    counter('svc_events_dropped', 'Events that were dropped for newer ones.', store.eventLog().dropped),
  ]
}

function describeProcess({ version, store, readProcess }: Services): Family[] {
  const figures = readProcess()
  const { open_descriptors } = figures
  const kind = store.shared !== null ? 'postgresql' : store.location === ':memory:' ? 'memory' : 'file'
  return [
    {
      name: 'svc_build',
      type: 'info',
      help: 'Versions, and the kind of store.',
      samples: [{ labels: { version, node_version: figures.node_version, store: kind }, value: 1 }],
    },
    counter('svc_event_loop_active_seconds', 'How long the event loop has worked.', figures.event_loop_active_s),
    gauge('svc_heap_used_bytes', 'Memory of the JavaScript heap in use.', figures.heap_used_bytes),
    counter('process_cpu_seconds', 'Processor time of all threads.', figures.cpu_s),
    gauge('process_resident_memory_bytes', 'Resident memory.', figures.resident_bytes),
    gauge('process_start_time_seconds', 'Start of the process, Unix epoch.', figures.started_at_s),
    ...(open_descriptors === null ? [] : [gauge('process_open_fds', 'Open file descriptors.', open_descriptors)]),
  ]
}

function counter(name: string, help: string, value: number | readonly Sample[]): Family {
  return { name, type: 'counter', help, samples: typeof value === 'number' ? [{ labels: {}, value }] : value }
}

function gauge(name: string, help: string, value: number): Family {
  return { name, type: 'gauge', help, samples: [{ labels: {}, value }] }
}
