/** An exchange that passed through, as an entry of a HAR file: all of it passes the redactor, or is not in the file. */
import { ReasonCode } from '#contract/errors.ts'
import {
  learnExchange,
  replaceInHeaders,
  replaceInPath,
  toHeaderRecord,
} from '#contract/recordings/exchange-secrets.ts'
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
import type { SecretMemory } from '#contract/recordings/secret-memory.ts'
import { withoutPrefixed } from '#contract/recordings/secret-shapes.ts'
import { KeyKind, type RequestDetail } from '#contract/resources/requests.ts'
import { type Json, parseJson, valueAt } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import type { PassedExchange } from './exchange.ts'
import { type LeftOut, type ReceivedBody, readReceivedBody, readSentBody } from './recorded-body.ts'

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

/** What an exchange consists of, decoded and not yet redacted. */
interface ReadExchange {
  passed: PassedExchange
  endpoint: RecordedEntry['endpoint']
  params: Readonly<Record<string, string>>
  request_headers: Record<string, string>
  /** Without credentials. */
  kept_headers: Record<string, string>
  response_headers: Record<string, string>
  /** Empty without a body. */
  sent: string
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
    kept_headers: keepRequestHeaders(request_headers),
    received_json: received.kind === 'text' ? received.json : undefined,
  }
}

/** Learns the secrets of an exchange before any part of it is written. */
function learn(memory: SecretMemory, exchange: ReadExchange, origin: string): void {
  const { passed, endpoint, params, kept_headers, sent, received } = exchange
  learnExchange(memory, {
    kept_headers,
    ...{ request_headers: passed.request_headers, response_headers: passed.response?.headers ?? [], params, sent },
    search: URL.parse(origin + passed.path)?.search ?? '',
    isKnown: isOfApi(endpoint) && isKnownBody(endpoint, sent),
    received: received.kind === 'text' ? received : null,
    isFile: endpoint === 'file' || endpoint === 'render.script',
  })
}

function isOfApi(endpoint: RecordedEntry['endpoint']): endpoint is RecordedId {
  return endpoint !== null && endpoint !== 'file'
}

/** Returns the exchange in the form of the journal. */
function describe(memory: SecretMemory, exchange: ReadExchange): RequestDetail {
  const { passed, endpoint, params, received, received_json, sent } = exchange
  const request_body = sent === '' ? null : memory.replace(redactRequestBody(isOfApi(endpoint) ? endpoint : null, sent))
  const kept = parseJson(request_body ?? '')
  const response_headers = replaceInHeaders(memory, keepResponseHeaders(exchange.response_headers))
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
    request_headers: replaceInHeaders(memory, exchange.kept_headers),
    request_body,
    response_headers,
    response_body: received.kind === 'text' ? redactText(memory, received.text, received.isJson) : null,
  }
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
