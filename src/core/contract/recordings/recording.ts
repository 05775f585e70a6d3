/**
 * A recording: exchanges of this API out of a HAR file, as `svc record`, the journal, the network panel of a browser or a
 * proxy writes it. What is not of this API is left out and counted. Everything passes the redactor, so that nothing that
 * reads a recording can show a key, a token or a prompt text, even where the file has them.
 */
import { z } from 'zod'
import { pathPattern } from '#foundation/http.ts'
import { parseExactly } from '#foundation/json/exact-numbers.ts'
import { isObject, type Json, parseAnyJson, parseJson } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { type CompatEndpointId, compat, v1 } from '../index.ts'
import { learnExchange, replaceInHeaders, replaceInPath, toHeaderRecord } from './exchange-secrets.ts'
import { isHarBase64, readHarText } from './har-text.ts'
import { isJsonLike } from './json-strings.ts'
import { withoutJsonKeys } from './private-keys.ts'
import {
  isMediaType,
  keepRequestHeaders,
  keepResponseHeaders,
  withoutEmail,
  withoutPersonal,
} from './recorded-parts.ts'
import { describeUnvalidated, journalBody } from './redaction.ts'
import { redactMarked, redactNamedSecrets, redactText, withoutEncodedSecrets } from './secret-fields.ts'
import { createSecretMemory, type SecretMemory } from './secret-memory.ts'
import { redacted } from './secret-shapes.ts'

/** An endpoint that a recording can have. */
export type RecordedId = keyof typeof v1 | CompatEndpointId

/** A text, or the bytes of a file as base64. */
type RecordedBody = { text: string } | { base64: string }

export interface RecordedExchange {
  /** Its place among the entries of the file, from 0. */
  entry: number
  /** When it was sent, Unix epoch milliseconds. */
  at_ms: number
  duration_ms: number
  /** Null for a file of the service: media, a script. */
  endpoint: RecordedId | null
  method: string
  /** Where the service was: everything before the path of the endpoint. */
  base_url: string
  /** From the path of the endpoint on, with its query. */
  path: string
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  /** Names in lower case, without credentials. */
  request_headers: Readonly<Record<string, string>>
  /** JSON where it is, else text; null without a body. Without prompt text. */
  request_body: Json | string | null
  status: number
  response_headers: Readonly<Record<string, string>>
  /** Null where the file has none. */
  response_body: RecordedBody | null
  session_id: string | null
}

export interface Recording {
  /** The program that wrote the file, with its version. */
  creator: string
  /** Oldest first. */
  exchanges: RecordedExchange[]
  /** Entries that are not in `exchanges`, by reason. */
  left_out: {
    /** Another host or path. */
    not_of_api: number
    /** Preflights of a browser. */
    preflight: number
    /** No response was recorded. */
    no_response: number
    /** Of this API, or of no address at all, and not readable: without a time, for example. */
    unreadable: number
  }
  /** The first entry that cannot be read, and what is wrong with it: `entry 4: response.status`. Null without one. */
  first_unreadable: string | null
  /** Of the newest exchange, Unix epoch milliseconds; null without one. */
  recorded_at_ms: number | null
}

/** Says in a sentence what is wrong with a file; the caller knows its name. */
export class RecordingError extends Error {
  override name = 'RecordingError'
}

/** What is needed of every entry, those of other hosts included. */
const Addressed = z.object({ request: z.object({ method: z.string(), url: z.string() }) })
type Addressed = z.infer<typeof Addressed>

const Pair = z.object({ name: z.string(), value: z.string() })
const pairs = z
  .array(z.unknown())
  .catch([])
  .transform((listed) => listed.flatMap((each) => Pair.safeParse(each).data ?? []))
const body = z.record(z.string(), z.unknown()).nullish().catch(null)
/** What is needed of an entry of the API. */
const Entry = z.object({
  startedDateTime: z.string().refine((text) => !Number.isNaN(Date.parse(text))),
  time: z.number().catch(0),
  // _content: of a proxy that keeps binary requests.
  request: Addressed.shape.request.extend({ headers: pairs, postData: body, _content: body }),
  response: z
    .object({
      status: z.union([z.number(), z.stringFormat('status', /^\d{1,3}$/).transform(Number)]),
      headers: pairs,
      content: body,
    })
    .nullish(),
  _session_id: z.string().nullish().catch(null),
})
type Sent = z.infer<typeof Entry>
type Response = NonNullable<Sent['response']>
const File = z.object({
  log: z.object({
    creator: z
      .object({ name: z.string(), version: z.string().catch('') })
      .optional()
      .catch(undefined),
    entries: z.array(z.unknown()),
  }),
})

/**
 * Reads a HAR file. Entries that cannot be read are counted; of other hosts only method and address are read. What an exchange
 * authenticated with is replaced in all of them, as `svc record` does.
 * @throws RecordingError when it is not JSON, or not HAR
 */
export function readRecording(text: string): Recording {
  // Browsers note whole call stacks in fields that nobody reads.
  const whole = parseAnyJson(text)
  const json = whole ?? parseAnyJson(withoutCutEntry(text))
  if (json === undefined) throw new RecordingError('is not JSON; a recording is a HAR file')
  const file = File.safeParse(json)
  if (!file.success) throw new RecordingError('is not a HAR file: it has no log.entries')
  const { creator, entries } = file.data.log
  const left_out: Recording['left_out'] = {
    ...{ not_of_api: 0, preflight: 0, no_response: whole === undefined ? 1 : 0, unreadable: 0 },
  }
  const exchanges: RecordedExchange[] = []
  let first_unreadable: string | null = null
  const addressed = entries.map((entry) => Addressed.safeParse(entry).data ?? null)
  const services = new Set(addressed.flatMap((entry) => (entry && locateEntry(entry) ? [readOrigin(entry)] : [])))
  const all = entries.map((raw, index) => readEntry(raw, addressed[index] ?? null, services))
  const memory = createSecretMemory()
  for (const read of all) if ('place' in read) learn(memory, read)
  for (const [index, read] of all.entries()) {
    if ('response' in read) exchanges.push(toExchange(read, index, memory))
    else left_out[read.reason]++
    if ('problem' in read) first_unreadable ??= `entry ${index + 1}: ${read.problem}`
  }
  const kept = exchanges.filter((exchange) => !isForeignFile(exchange, exchanges))
  left_out.not_of_api += exchanges.length - kept.length
  kept.sort((a, b) => a.at_ms - b.at_ms || a.entry - b.entry)
  return {
    creator: creator === undefined ? 'unknown' : `${creator.name} ${creator.version}`.trim(),
    exchanges: kept,
    left_out,
    first_unreadable,
    recorded_at_ms: kept.at(-1)?.at_ms ?? null,
  }
}

/**
 * Returns the text of a file of `svc record` without its last entry: a kill in the middle of writing it, some microseconds,
 * leaves the beginning of one, each on a line of its own.
 */
function withoutCutEntry(text: string): string {
  const start = text.lastIndexOf('\n{"startedDateTime":')
  return start < 0 ? '' : `${text.slice(0, start).replace(/,$/, '')}\n]}}`
}

/** Whether a file is one of the app, whose assets may have a path like those of the service: no response names it. */
function isForeignFile({ endpoint, base_url, path }: RecordedExchange, all: readonly RecordedExchange[]): boolean {
  if (endpoint !== null || all.some((other) => other.endpoint !== null && other.base_url === base_url)) return false
  const url = base_url + path
  return !all.some(({ response_body: body }) => body !== null && 'text' in body && body.text.includes(url))
}

/** What is read of an entry of the API. */
interface Located {
  sent: Sent
  /** Without credentials. */
  kept_headers: Record<string, string>
  place: Place
}

/** An entry as an exchange, or why it is left out. */
type ReadEntry =
  | (Located & { response: Response })
  | (Located & { reason: 'no_response' })
  | { reason: 'not_of_api' | 'preflight' }
  | { reason: 'unreadable'; problem: string }

/** @param addressed what is needed of every entry; null where it has not even that @param services origins of the API */
function readEntry(value: unknown, addressed: Addressed | null, services: ReadonlySet<string>): ReadEntry {
  if (addressed === null) return { reason: 'unreadable', problem: 'request.method or request.url' }
  const place = locateEntry(addressed)
  if (place === null && !services.has(readOrigin(addressed))) return { reason: 'not_of_api' }
  const entry = Entry.safeParse(value)
  if (place !== null && addressed.request.method === 'OPTIONS') return { reason: 'preflight' }
  if (!entry.success) {
    if (place === null) return { reason: 'not_of_api' }
    return { reason: 'unreadable', problem: entry.error.issues[0]?.path.join('.') || 'entry' }
  }
  const sent = entry.data
  const { response } = sent
  const isAnswered = response && response.status >= 100 && response.status <= 599
  const found = place ?? (isAnswered ? locateFile(sent.request, response) : null)
  if (found === null) return { reason: 'not_of_api' }
  const located = { sent, kept_headers: keepRequestHeaders(nameHeaders(sent.request.headers)), place: found }
  return isAnswered ? { ...located, response } : { ...located, reason: 'no_response' }
}

function locateEntry({ request }: Addressed): Place | null {
  return locate(request.method, request.url)
}

function readOrigin({ request }: Addressed): string {
  return URL.parse(request.url)?.origin ?? ''
}

/** Media and scripts beside the API are of the service too, wherever it has them. */
function locateFile(request: Sent['request'], response: Response): Place | null {
  const url = URL.parse(request.url)
  const { value: type = '' } = response.headers.find(({ name }) => name.toLowerCase() === 'content-type') ?? {}
  if (url === null || !isServiceFile(request.method, type)) return null
  return { endpoint: null, base_url: redactSecrets(url.origin), path: url.pathname + url.search, params: {} }
}

/** Whether a response of the service that is none of the API is one of its files, by its content type. */
export function isServiceFile(method: string, content_type: string): boolean {
  return method === 'GET' && /^(?:image|video|audio|font)\/|javascript\b|^text\/css\b/i.test(content_type.trim())
}

const endpoints = { ...v1, ...compat }
const patterns = tableNames(endpoints).map((id) => {
  const { method, path } = endpoints[id]
  return { id, method, pattern: pathPattern(path) }
})
/** Where the media of creatives are. */
const files = /^\/(?:assets|v1\/test-assets)\//
const apiStart = /\/(?:v1|public|assets)\//

interface Place {
  endpoint: RecordedId | null
  base_url: string
  path: string
  params: Record<string, string>
}

/** Returns where in the API a URL is; null for any other. The service may be below a path. */
export function locate(method: string, url: string): Place | null {
  const parsed = URL.parse(url)
  if (parsed === null) return null
  const { pathname, search, origin } = parsed
  const start = pathname.search(apiStart)
  if (start < 0) return null
  const path = pathname.slice(start)
  // A service below a path may have a key in it.
  const place = { base_url: redactSecrets(origin + pathname.slice(0, start)), path: path + search }
  for (const { id, method: own, pattern } of patterns) {
    const match = method === own || method === 'OPTIONS' ? pattern.exec(path) : null
    if (match !== null) return { endpoint: id, ...place, params: { ...match.groups } }
  }
  return method === 'GET' && files.test(path) ? { endpoint: null, ...place, params: {} } : null
}

/** Learns the secrets of an entry, before any is kept. */
function learn(memory: SecretMemory, { sent: { request, response }, kept_headers, place }: Located): void {
  const { endpoint, params, path } = place
  const sent = readSent(request) ?? ''
  const text = response && endpoint !== null ? readHarText(response.content) : null
  const json = parseJson(text ?? '')
  learnExchange(memory, {
    request_headers: listHeaders(request.headers),
    response_headers: listHeaders(response?.headers ?? []),
    ...{ kept_headers, params, sent, search: path.slice(path.search(/\?|$/)) },
    isKnown: isKnownBody(endpoint, sent),
    received: text === null ? null : { text, json, isJson: json !== undefined || isJsonLike(text) },
    isFile: endpoint === 'render.script',
  })
}

function readSent({ postData, _content }: Sent['request']): string | null {
  return readHarText(postData) ?? readHarText(_content)
}

function toExchange(
  { sent: entry, kept_headers, response, place }: Located & { response: Response },
  index: number,
  memory: SecretMemory,
): RecordedExchange {
  const { request } = entry
  const { endpoint, base_url, params } = place
  const path = replaceInPath(memory, redactSecrets(place.path))
  const hide = (text: string) => memory.replace(redactSecrets(text))
  const request_body = readRequestBody(endpoint, readSent(request) ?? undefined, memory)
  return {
    entry: index,
    at_ms: Date.parse(entry.startedDateTime),
    duration_ms: Math.max(0, entry.time),
    endpoint,
    method: request.method,
    base_url,
    path,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, hide(value)])),
    query: Object.fromEntries(new URL(path, 'http://localhost').searchParams),
    request_headers: replaceInHeaders(memory, kept_headers),
    request_body,
    status: response.status,
    response_headers: replaceInHeaders(memory, keepResponseHeaders(nameHeaders(response.headers))),
    response_body: readResponseBody(response, memory),
    session_id: readSession(request_body) ?? (entry._session_id ? hide(entry._session_id) : null),
  }
}

/** Returns a request body as a recording keeps it: one that the contract does not know as its shape, without prose. @param memory of its recording */
export function readRequestBody(
  endpoint: RecordedId | null,
  text: string | undefined,
  memory?: SecretMemory,
): Json | string | null {
  if (text === undefined || text === '') return null
  const own = redactRequestBody(endpoint, text)
  const kept = memory?.replace(own) ?? own
  return parseJson(kept) ?? kept
}

/**
 * Returns the body of a request without prompt text, secrets and what identifies a user. One that the contract does not know
 * is kept as its shape, without any text that might be prose.
 */
export function redactRequestBody(endpoint: RecordedId | null, text: string): string {
  return isKnownBody(endpoint, text)
    ? withoutJsonKeys(journalBody(withoutPersonal(parseExactly(text)), false), redacted)
    : withoutEncodedSecrets(describeUnvalidated(text), false)
}

/** Whether the contract knows every field of the body of a request. */
export function isKnownBody(endpoint: RecordedId | null, text: string): boolean {
  if (endpoint === null) return false
  const declared = endpoints[endpoint]
  return 'body' in declared && declared.body.safeParse(parseJson(text)).success
}

/** A body that is text, however the file has it, is kept as text; the bytes of a file stay as they are. */
function readResponseBody({ content, headers }: Response, memory: SecretMemory): RecordedBody | null {
  if (!content || typeof content.text !== 'string') return null
  const type = nameHeaders(headers)['content-type'] ?? content.mimeType
  const isFile = isHarBase64(content) && isMediaType(String(type))
  const text = isFile ? null : readHarText(content)
  if (text === null) return { base64: content.text }
  // A browser that no longer has a body writes an empty one.
  if (text === '' && Number(content.size) > 0) return null
  return { text: redactResponseText(memory.replace(text)) }
}

/** Returns the body of a response without keys, tokens, addresses of e-mail, and what the names of its fields give away. */
export function redactResponseText(text: string, isJson: boolean = isJsonLike(text)): string {
  return withoutEmail(redactSecrets(isJson ? redactNamedSecrets(text) : redactDocument(text)))
}

/** Parameters of code are expressions. */
function redactDocument(text: string): string {
  return /[<({]/.test(text) ? redactMarked(text) : redactText(text)
}

/** Whether the text of a response is the code of a frame, a script or a style of the service. @param endpoint null for a file */
export function isServiceCode(endpoint: RecordedId | null, status: number, content_type: string): boolean {
  if (status < 200 || status > 299) return false
  if (endpoint === 'render.frame') return /^text\/html\b/i.test(content_type)
  return (endpoint === null || endpoint === 'render.script') && /javascript\b|^text\/css\b/i.test(content_type)
}

function readSession(body: Json | string | null): string | null {
  return isObject(body) && typeof body.session_id === 'string' ? body.session_id : null
}

function nameHeaders(headers: Sent['request']['headers']): Record<string, string> {
  return toHeaderRecord(listHeaders(headers))
}

/** Returns names and values in turn, without the pseudo headers of HTTP/2, as browsers write them. */
function listHeaders(headers: Sent['request']['headers']): string[] {
  return headers.flatMap(({ name, value }) => (name.startsWith(':') ? [] : [name, value]))
}
