/** Journal entries: exchanges as redacted by the contract (A50). */
import type { Socket } from 'node:net'
import { reasonCodes } from '#contract/errors.ts'
import { describeRemoved, describeUnvalidated, journalHeaders, journalPath } from '#contract/recordings/redaction.ts'
import { redactSecrets, redactWithBase64 } from '#foundation/redaction.ts'
import { keyKind, type Services } from '#operations/context.ts'
import type { ExchangeRow } from '#store/store.ts'
import type { OpenExchange, PipelineResponse, Request } from './exchange.ts'

/** Records an exchange in the journal, with the next commit, or with the exchanges of pages that no project allows. */
export function record(
  { store }: Services,
  exchange: OpenExchange,
  { status, headers, body, error }: PipelineResponse,
  place: 'journal' | 'foreign',
): void {
  const { id, context, request, started } = exchange
  const { caller, subject } = context
  const row: ExchangeRow = {
    id,
    at_ms: context.now_ms,
    method: request.method,
    path: journalPath(request.url),
    status,
    error: error === undefined ? null : reasonCodes[error.reason_code].error,
    reason_code: error?.reason_code ?? null,
    duration_us: Math.round((performance.now() - started) * 1000),
    project_id: caller?.project.id ?? subject.project_id,
    session_id: subject.session_id,
    slot_id: subject.slot_id,
    request_headers: requestHeaders(request),
    request_body: exchange.journal_body ?? describeUnvalidated(request.body.toString('utf8')),
    response_headers: responseHeaders(headers),
    response_body: isJson(headers) && typeof body === 'string' ? redactSecrets(body) : '',
    key_kind: caller === null ? null : keyKind(caller),
    key_id: caller?.key_id ?? null,
  }
  if (place === 'journal') store.appendExchange(row)
  else store.appendForeign(row)
}

/** An allowed origin and a link repeat what was sent. */
function responseHeaders(headers: PipelineResponse['headers']): string {
  const { link } = headers
  const repeats = link !== undefined || headers['access-control-allow-origin'] !== undefined
  if (!repeats) return JSON.stringify(headers)
  const isPlain = link === undefined || /^<[\w.:/{}-]{1,256}>; rel=/.test(link)
  return redactWithBase64(JSON.stringify(isPlain ? headers : { ...headers, link: describeRemoved(link) }))
}

/** Only JSON is kept: a frame holds a beacon token, and files are large. */
function isJson(headers: PipelineResponse['headers']): boolean {
  return headers['content-type']?.startsWith('application/json') === true
}

/** The last headers of each connection, as sent and as kept: a client sends the same ones with every request. */
const lastHeaders = new WeakMap<Socket, { raw: readonly string[]; kept: string }>()

function requestHeaders({ incoming, headers }: Request): string {
  if (incoming === null) return journalHeaders(headers)
  const { socket, rawHeaders: raw } = incoming
  const last = lastHeaders.get(socket)
  if (last !== undefined && isSame(last.raw, raw)) return last.kept
  const kept = journalHeaders(headers)
  lastHeaders.set(socket, { raw, kept })
  return kept
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}
