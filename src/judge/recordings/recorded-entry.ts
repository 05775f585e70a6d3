/** An exchange that passed through, as an entry of a HAR file: all of it passes the redactor, or is not in the file. */
import { ReasonCode } from '#contract/errors.ts'
import { compat, v1 } from '#contract/index.ts'
import { type HarContent, type HarEntry, toHarEntry } from '#contract/recordings/har.ts'
import {
  keepFilePath,
  keepRequestHeaders,
  keepResponseHeaders,
  replaceEmails,
} from '#contract/recordings/recorded-parts.ts'
import {
  isKnownBody,
  isServiceFile,
  locate,
  type RecordedId,
  redactRequestBody,
  redactResponseText,
} from '#contract/recordings/recording.ts'
import { journalPath } from '#contract/recordings/redaction.ts'
import { withoutEncodedSecrets } from '#contract/recordings/secret-fields.ts'
import { withoutPrefixed } from '#contract/recordings/secret-shapes.ts'
import { KeyKind, type RequestDetail } from '#contract/resources/requests.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { collectFromHeaders } from './credential-headers.ts'
import { type PassedExchange, toHeaderRecord } from './exchange.ts'
import { type LeftOut, type ReceivedBody, readReceivedBody, readSentBody } from './recorded-body.ts'
import type { SecretMemory } from './secret-memory.ts'
import {
  collectFromParameters,
  collectFromProseHeaders,
  learnDocument,
  learnForm,
  learnRequest,
  learnResponse,
  learnUnknown,
} from './secret-sources.ts'

interface RecordedEntry {
  /** The exchange as the journal of a sandbox has it. */
  detail: RequestDetail
  entry: HarEntry
  /** `file` for media and scripts of the service; null for what is not of the API. */
  endpoint: RecordedId | 'file' | null
  /** Why the body of the response is not in the entry. */
  left_out: LeftOut | null
}

/** Resolves to the entry of an exchange. @param origin of the service */
export async function recordEntry(
  passed: PassedExchange,
  origin: string,
  memory: SecretMemory,
): Promise<RecordedEntry> {
  const exchange = await readExchange(passed, origin)
  learn(memory, exchange, origin)
  const detail = describe(memory, exchange)
  const { content, left_out } = toContent(memory, exchange, detail.response_body)
  return { detail, entry: toEntry(exchange, origin, detail, content), endpoint: exchange.endpoint, left_out }
}

/** Learns the secrets of an exchange. @param origin of the service */
export async function learnExchange(passed: PassedExchange, origin: string, memory: SecretMemory): Promise<void> {
  learn(memory, await readExchange(passed, origin), origin)
}

/** What an exchange consists of, decoded and not yet redacted. */
interface ReadExchange {
  passed: PassedExchange
  endpoint: RecordedEntry['endpoint']
  params: Readonly<Record<string, string>>
  request_headers: Record<string, string>
  response_headers: Record<string, string>
  /** Empty without a body. */
  sent: string
  sent_json: Json | undefined
  received: ReceivedBody
  received_json: Json | undefined
}

async function readExchange(passed: PassedExchange, origin: string): Promise<ReadExchange> {
  const place = locate(passed.method, origin + passed.path)
  const request_headers = toHeaderRecord(passed.request_headers)
  const response_headers = toHeaderRecord(passed.response?.headers ?? [])
  const isFile = place?.endpoint === null || isServiceFile(passed.method, response_headers['content-type'] ?? '')
  const endpoint = place?.endpoint ?? (isFile ? 'file' : null)
  const sent = await readSentBody(passed.request, request_headers)
  const received = await readReceivedBody(passed, response_headers, endpoint)
  return {
    ...{ passed, endpoint, params: place?.params ?? {}, request_headers, response_headers, sent, received },
    sent_json: parseJson(sent),
    received_json: received.kind === 'text' ? received.json : undefined,
  }
}

/** Learns every secret before anything is redacted: the request can have one that only the response gives away. */
function learn(memory: SecretMemory, exchange: ReadExchange, origin: string): void {
  const { passed, endpoint, params, request_headers, sent, sent_json, received_json, received } = exchange
  collectFromHeaders(memory, passed.request_headers)
  collectFromHeaders(memory, passed.response?.headers ?? [])
  collectFromProseHeaders(memory, request_headers, keepRequestHeaders(request_headers))
  collectFromParameters(memory, params, URL.parse(origin + passed.path)?.search ?? '')
  // A body of another type than JSON is not kept. A response can repeat its parameters.
  learnForm(memory, request_headers['content-type'] ?? '', sent)
  const isKnown = isOfApi(endpoint) && isKnownBody(endpoint, sent)
  if (sent_json !== undefined) (isKnown ? learnRequest : learnUnknown)(memory, sent_json)
  if (received_json !== undefined) learnResponse(memory, received_json)
  if (received.kind === 'text' && endpoint !== 'file' && endpoint !== 'render.script') {
    learnDocument(memory, received.text, received.isJson)
  }
}

function isOfApi(endpoint: RecordedEntry['endpoint']): endpoint is RecordedId {
  return endpoint !== null && endpoint !== 'file'
}

/** Returns the exchange in the form of the journal. */
function describe(memory: SecretMemory, exchange: ReadExchange): RequestDetail {
  const { passed, endpoint, params, received, received_json, sent } = exchange
  const redact = (headers: Record<string, string>): Record<string, string> =>
    JSON.parse(memory.replace(JSON.stringify(headers))) as Record<string, string>
  const request_body = sent === '' ? null : memory.replace(redactRequestBody(isOfApi(endpoint) ? endpoint : null, sent))
  const kept = parseJson(request_body ?? '')
  const response_headers = redact(keepResponseHeaders(exchange.response_headers))
  const { 'x-request-id': request_id = '' } = response_headers
  return {
    request_id,
    at_ms: passed.at_ms,
    method: passed.method,
    path: withoutEncodedSecrets(
      withoutPrefixed(
        withoutPathUser(
          (endpoint === 'file' ? keepFilePath : journalPath)(
            replaceEmails(replaceInPath(memory, passed.path), () => '[removed]'),
          ),
        ),
      ),
      false,
    ),
    status: passed.response?.status ?? 0,
    reason_code: ReasonCode.safeParse(valueAt(received_json, 'reason_code')).data ?? null,
    duration_ms: passed.duration_ms,
    client_id: textAt(kept, 'client_id'),
    key: findKeyKind(exchange.request_headers.authorization),
    key_id: null,
    session_id: textAt(kept, 'session_id') ?? textAt(kept, 'chat_session_id'),
    slot_id: findSlot(memory, received_json) ?? textAt(kept, 'slot_id') ?? keepParameter(memory, params.slot_id),
    request_headers: redact(keepRequestHeaders(exchange.request_headers)),
    request_body,
    response_headers,
    response_body: received.kind === 'text' ? redactText(memory, received.text, received.isJson) : null,
  }
}

/** What the paths of endpoints have beside their parameters. */
const fixedSegments = new Set(
  [...Object.values(v1), ...Object.values(compat)].flatMap(({ path }) => path.match(/\/[\w.-]+(?=\/|$)/g) ?? []),
)

/** Returns a path without what was learnt. What endpoints have in theirs stays. */
export function replaceInPath(memory: SecretMemory, path: string): string {
  const at = path.search(/\?|$/)
  let kept = ''
  let others = ''
  for (const segment of path.slice(0, at).match(/\/[^/]*|^[^/]+/g) ?? []) {
    if (!fixedSegments.has(segment)) others += segment
    else {
      kept += memory.replace(others) + segment
      others = ''
    }
  }
  return kept + memory.replace(others + path.slice(at))
}

/** Returns a path without the user and the password of an address in it. */
function withoutPathUser(path: string): string {
  return path.replace(/(?<=\/)[^/?:@]{0,256}:[^/?@]{1,512}@/g, '[removed]@')
}

function textAt(value: Json | undefined, path: string): string | null {
  const found = valueAt(value, path)
  return typeof found === 'string' ? found : null
}

/** The slot that a response is about, in any of the shapes of v1. */
function findSlot(memory: SecretMemory, value: Json | undefined): string | null {
  for (const path of ['slot_id', 'decision.slot_id', 'placement.slot_id']) {
    const found = textAt(value, path)
    if (found !== null) return redactText(memory, found, false)
  }
  return null
}

/** A part of the path, unless it might be prose. */
function keepParameter(memory: SecretMemory, value: string | undefined): string | null {
  const kept =
    value === undefined ? '' : withoutEncodedSecrets(journalPath(memory.replace(`/${value}`)), false).slice(1)
  return kept === value ? value : null
}

function findKeyKind(authorization: string | undefined): KeyKind | null {
  const [, kind] = /^Bearer +(sk_test|sk_live|at|bt)_/i.exec(authorization ?? '') ?? []
  return KeyKind.safeParse(kind).data ?? null
}

function redactText(memory: SecretMemory, text: string, isJson: boolean): string {
  return redactResponseText(memory.replace(text), isJson)
}

/** Returns the body of the response for the file. @param kept its text without secrets; null for one that is none */
function toContent(
  memory: SecretMemory,
  { received, response_headers }: ReadExchange,
  kept: string | null,
): { content: HarContent; left_out: LeftOut | null } {
  const mimeType = response_headers['content-type'] ?? 'x-unknown'
  const leftOut = (reason: LeftOut, size: number) => ({
    content: { size, mimeType, comment: `Left out: ${reason}.` },
    left_out: reason,
  })
  switch (received.kind) {
    case 'none':
      return { content: { size: 0, mimeType }, left_out: null }
    case 'left_out':
      return leftOut(received.reason, received.size)
    case 'text': {
      const text = kept ?? ''
      return { content: { size: Buffer.byteLength(text), mimeType, text }, left_out: null }
    }
    case 'bytes': {
      const { bytes } = received
      // Nothing can be taken out of an image.
      const text = bytes.toString('latin1')
      if (memory.isWithin(text) || withoutPrefixed(redactSecrets(text)) !== text)
        return leftOut('body_has_secret', bytes.length)
      const content = { size: bytes.length, mimeType, text: bytes.toString('base64'), encoding: 'base64' as const }
      return { content, left_out: null }
    }
  }
}

function toEntry({ passed }: ReadExchange, origin: string, detail: RequestDetail, content: HarContent): HarEntry {
  const entry = toHarEntry({ ...detail, path: origin + detail.path }, origin)
  const { status_text, wait_ms } = passed.response ?? { status_text: '', wait_ms: passed.duration_ms }
  const httpVersion = `HTTP/${passed.http_version}`
  return {
    ...entry,
    request: { ...entry.request, httpVersion, bodySize: passed.request.length },
    response: {
      ...entry.response,
      ...{ httpVersion, statusText: status_text, bodySize: passed.response?.body.length ?? 0 },
      content: { ...content, mimeType: entry.response.content.mimeType },
    },
    timings: { send: 0, wait: wait_ms, receive: Math.max(0, passed.duration_ms - wait_ms) },
    ...(passed.problem === null ? {} : { _error: passed.problem }),
  }
}
