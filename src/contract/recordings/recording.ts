/**
 * A recording: exchanges of this API out of a HAR file, as `svc record`, the journal, the network panel of a browser or a
 * proxy writes it. What is not of this API is left out and counted. Everything passes the redactor, so that nothing that
 * reads a recording can show a key, a token or a prompt text, even where the file has them.
 */
import { z } from 'zod'
import { parseExactly } from '#foundation/exact-numbers.ts'
import { pathPattern } from '#foundation/http.ts'
import { isObject, type Json, parseJson } from '#foundation/json.ts'
import { redactSecrets } from '#foundation/redaction.ts'
import { tableNames } from '#foundation/table-entry.ts'
import { type CompatEndpointId, compat, v1 } from '../index.ts'
import { keepRequestHeaders, keepResponseHeaders, withoutEmail, withoutPersonal } from './recorded-parts.ts'
import { describeUnvalidated, journalBody } from './redaction.ts'

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
  }
  /** Of the newest exchange, Unix epoch milliseconds; null without one. */
  recorded_at_ms: number | null
}

/** Says in a sentence what is wrong with a file; the caller knows its name. */
export class RecordingError extends Error {
  override name = 'RecordingError'
}

const pairs = z.array(z.object({ name: z.string(), value: z.string() })).default([])
const Entry = z.object({
  startedDateTime: z.string(),
  time: z.number().catch(0),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: pairs,
    postData: z.object({ text: z.string().optional() }).nullish(),
  }),
  response: z.object({
    status: z.number(),
    headers: pairs,
    content: z.object({ text: z.string().optional(), encoding: z.string().optional() }).nullish(),
  }),
  _session_id: z.string().nullish(),
})
type Entry = z.infer<typeof Entry>
const File = z.object({
  log: z.object({
    creator: z.object({ name: z.string(), version: z.string().catch('') }).optional(),
    entries: z.array(z.unknown()),
  }),
})

/**
 * Reads a HAR file.
 * @throws RecordingError when it is not JSON, not HAR, or has an entry that is not one
 */
export function readRecording(text: string): Recording {
  const whole = parseJson(text)
  const json = whole ?? parseJson(withoutCutEntry(text))
  if (json === undefined) throw new RecordingError('is not JSON; a recording is a HAR file')
  const file = File.safeParse(json)
  if (!file.success) throw new RecordingError('is not a HAR file: it has no log.entries')
  const { creator, entries } = file.data.log
  const left_out: Recording['left_out'] = { not_of_api: 0, preflight: 0, no_response: whole === undefined ? 1 : 0 }
  const exchanges: RecordedExchange[] = []
  const read = entries.map(readEntry)
  const services = new Set(read.flatMap((entry) => (locateEntry(entry) === null ? [] : [readOrigin(entry)])))
  for (const [index, entry] of read.entries()) {
    const place = locateEntry(entry) ?? (services.has(readOrigin(entry)) ? locateFile(entry) : null)
    const reason = findReasonToLeaveOut(entry, place)
    if (reason !== null) left_out[reason]++
    else if (place !== null) exchanges.push(toExchange(entry, index, place))
  }
  const kept = exchanges.filter((exchange) => !isForeignFile(exchange, exchanges))
  left_out.not_of_api += exchanges.length - kept.length
  kept.sort((a, b) => a.at_ms - b.at_ms || a.entry - b.entry)
  return {
    creator: creator === undefined ? 'unknown' : `${creator.name} ${creator.version}`.trim(),
    exchanges: kept,
    left_out,
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

function readEntry(value: unknown, index: number): Entry {
  const entry = Entry.safeParse(value)
  if (entry.success && !Number.isNaN(Date.parse(entry.data.startedDateTime))) return entry.data
  const where = entry.success ? 'startedDateTime' : (entry.error.issues[0]?.path.join('.') ?? '')
  throw new RecordingError(`entry ${index + 1} is not one of HAR 1.2: ${where || 'an object'} is missing or wrong`)
}

function locateEntry({ request }: Entry): Place | null {
  return locate(request.method, request.url)
}

function readOrigin({ request }: Entry): string {
  return URL.parse(request.url)?.origin ?? ''
}

/** Media and scripts beside the API are of the service too, wherever it has them. */
function locateFile({ request, response }: Entry): Place | null {
  const url = URL.parse(request.url)
  const { value: type = '' } = response.headers.find(({ name }) => name.toLowerCase() === 'content-type') ?? {}
  if (url === null || !isServiceFile(request.method, type)) return null
  return { endpoint: null, base_url: redactSecrets(url.origin), path: url.pathname + url.search, params: {} }
}

/** Whether a response of the service that is none of the API is one of its files, by its content type. */
export function isServiceFile(method: string, content_type: string): boolean {
  return method === 'GET' && /^(?:image|video|audio|font)\/|javascript\b|^text\/css\b/i.test(content_type.trim())
}

function findReasonToLeaveOut({ request, response }: Entry, place: Place | null): keyof Recording['left_out'] | null {
  if (place === null) return 'not_of_api'
  if (request.method === 'OPTIONS') return 'preflight'
  return response.status < 100 || response.status > 599 ? 'no_response' : null
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

function toExchange(entry: Entry, index: number, place: Place): RecordedExchange {
  const { request, response } = entry
  const { endpoint, base_url, params } = place
  const path = redactSecrets(place.path)
  const request_body = readRequestBody(endpoint, request.postData?.text)
  return {
    entry: index,
    at_ms: Date.parse(entry.startedDateTime),
    duration_ms: Math.max(0, entry.time),
    endpoint,
    method: request.method,
    base_url,
    path,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, redactSecrets(value)])),
    query: Object.fromEntries(new URL(path, 'http://localhost').searchParams),
    request_headers: keepRequestHeaders(nameHeaders(request.headers)),
    request_body,
    status: response.status,
    response_headers: keepResponseHeaders(nameHeaders(response.headers)),
    response_body: readResponseBody(response.content),
    session_id: readSession(request_body) ?? entry._session_id ?? null,
  }
}

/** Returns a request body as a recording keeps it: one that the contract does not know as its shape, without prose. */
export function readRequestBody(endpoint: RecordedId | null, text: string | undefined): Json | string | null {
  if (text === undefined || text === '') return null
  const kept = redactRequestBody(endpoint, text)
  return parseJson(kept) ?? kept
}

/**
 * Returns the body of a request without prompt text, secrets and what identifies a user. One that the contract does not know
 * is kept as its shape, without any text that might be prose.
 */
export function redactRequestBody(endpoint: RecordedId | null, text: string): string {
  return isKnownBody(endpoint, text)
    ? journalBody(withoutPersonal(parseExactly(text)), false)
    : describeUnvalidated(text)
}

/** Whether the contract knows every field of the body of a request. */
export function isKnownBody(endpoint: RecordedId | null, text: string): boolean {
  if (endpoint === null) return false
  const declared = endpoints[endpoint]
  return 'body' in declared && declared.body.safeParse(parseJson(text)).success
}

function readResponseBody(content: Entry['response']['content']): RecordedBody | null {
  if (content?.text === undefined) return null
  return content.encoding === 'base64' ? { base64: content.text } : { text: withoutEmail(redactSecrets(content.text)) }
}

function readSession(body: Json | string | null): string | null {
  return isObject(body) && typeof body.session_id === 'string' ? body.session_id : null
}

function nameHeaders(headers: Entry['request']['headers']): Record<string, string> {
  const named: Record<string, string> = Object.create(null)
  for (const { name, value } of headers) {
    const lower = name.toLowerCase()
    // Pseudo headers of HTTP/2, as browsers write them.
    if (!lower.startsWith(':')) named[lower] = lower in named ? `${named[lower]}, ${value}` : value
  }
  return named
}
