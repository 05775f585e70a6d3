/** One attempt to deliver a callback: the request, its journal entry, and its outcome. */
import { problemHeader } from '#contract/endpoint.ts'
import { encodeId } from '#contract/ids.ts'
import type { EventType } from '#contract/resources/events.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { Platform } from '#platform/platform.ts'
import type { CallbackRow, CallbackUpdate, Store } from '#store/store.ts'
import { type TraceContext, toStoredTrace } from '../traces/trace-context.ts'
import type { ActiveSpan, SpanAttributes, Tracing } from '../traces/tracing.ts'

export interface CallbackNetwork {
  findProblem(url: string): Promise<string | null>
  /** Sends one request, and never throws. */
  post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<CallbackResult>
}

/** The outcome of one attempt. */
export type CallbackResult =
  | { status: number; headers: Record<string, string>; body: string }
  /** No response, and why. `is_final`: another attempt would fail the same way. */
  | { status: null; problem: string; is_final: boolean }

const signatureHeader = 'x-csl-signature'

interface SentCallback {
  update: Omit<CallbackUpdate, 'status'>
  is_final: boolean
}

/** Sends one request and records it in the journal. Resolves to null when `signal` aborts it. */
export async function sendCallback(
  { platform, network, store, tracing }: Sender,
  { row, key, message, trace }: { row: CallbackRow; key: string; message: string; trace: TraceContext | null },
  signal: AbortSignal,
): Promise<SentCallback | null> {
  const started = performance.now()
  const span = trace === null ? null : openSpan({ platform, tracing }, trace, row, started)
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'svc-callback',
    [signatureHeader]: `sha256=${platform.hmacSha256Hex(key, message)}`,
    ...toStoredTrace(span?.context ?? null),
  }
  const result = await network.post(row.url, headers, message, signal)
  span?.end(describeResult(result))
  if (signal.aborted && result.status === null) return null
  const now_ms = platform.clock.now()
  store.appendExchange({
    id: platform.newId(),
    at_ms: now_ms,
    method: 'POST',
    path: redactSecrets(row.url),
    status: result.status ?? 0,
    error: null,
    reason_code: null,
    duration_us: Math.round((performance.now() - started) * 1000),
    project_id: row.project_id,
    session_id: null,
    slot_id: row.slot_id,
    request_headers: JSON.stringify(headers),
    request_body: redactSecrets(message),
    response_headers: redactSecrets(JSON.stringify(listHeaders(result))),
    response_body: result.status === null ? '' : redactSecrets(result.body),
    key_kind: null,
    key_id: row.key_id,
  })
  const problem = describeProblem(result)
  const update = {
    slot_id: row.slot_id,
    attempts: row.attempts + 1,
    http_status: result.status,
    problem,
    attempted_at_ms: now_ms,
  }
  return {
    update,
    is_final: problem === null || (result.status === null ? result.is_final : isRedirect(result.status)),
  }
}

interface Sender {
  platform: Platform
  network: CallbackNetwork
  store: Store
  tracing: Tracing | null
}

/** The span of an attempt. Without --otlp it only has an identifier of its own. */
function openSpan(
  { platform, tracing }: Pick<Sender, 'platform' | 'tracing'>,
  parent: TraceContext,
  { slot_id, url }: CallbackRow,
  started: number,
): ActiveSpan {
  if (tracing === null) {
    const span_id = platform.sha256Hex(platform.newSecret()).slice(0, 16)
    return { context: { ...parent, span_id }, end() {} }
  }
  // A path may have a token of the receiver.
  const { hostname, port } = new URL(url)
  const attributes = {
    'http.request.method': 'POST',
    'server.address': hostname,
    ...(port === '' ? {} : { 'server.port': Number(port) }),
    'svc.slot_id': encodeId('slot', slot_id),
  }
  return tracing.start({ name: 'POST callback', kind: 'client', parent, started, attributes })
}

/** For a client, a status from 400 on is a failure. */
function describeResult(result: CallbackResult): SpanAttributes {
  if (result.status === null) return { 'error.type': 'no_response' }
  const { status } = result
  return { 'http.response.status_code': status, ...(status >= 400 ? { 'error.type': String(status) } : {}) }
}

export function outcome(update: Omit<CallbackUpdate, 'status'>, isLast: boolean): [CallbackUpdate, EventType] {
  if (update.problem === null) return [{ ...update, status: 'delivered' }, 'callback.delivered']
  if (isLast) return [{ ...update, status: 'failed' }, 'callback.failed']
  return [{ ...update, status: 'retrying' }, 'callback.retried']
}

/** Returns why an attempt failed, as one sentence; null for a 2xx. */
function describeProblem(result: CallbackResult): string | null {
  if (result.status === null) return result.problem
  if (result.status >= 200 && result.status < 300) return null
  if (isRedirect(result.status)) return `The receiver responded ${result.status}; redirects are not followed.`
  return `The receiver responded ${result.status}.`
}

/** Returns the headers of a response; without one, why there is none. */
function listHeaders(result: CallbackResult): Record<string, string> {
  return result.status === null ? { [problemHeader]: result.problem } : result.headers
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}
