/**
 * HAR 1.2: the file of exchanges that browsers, proxies and their viewers share. Names that begin with `_` are our own, as
 * the format provides.
 */
import type { RequestDetail } from '../resources/requests.ts'

interface NamedValue {
  name: string
  value: string
}

/** `text` is missing where the file has no body. */
export interface HarContent {
  /** Of the body without its compression, bytes. */
  size: number
  mimeType: string
  text?: string
  encoding?: 'base64'
  /** Why the body is left out. */
  comment?: string
}

export interface HarEntry {
  startedDateTime: string
  /** Milliseconds. */
  time: number
  request: {
    method: string
    url: string
    httpVersion: string
    cookies: readonly never[]
    headers: NamedValue[]
    queryString: NamedValue[]
    postData?: { mimeType: string; text: string }
    headersSize: number
    bodySize: number
  }
  response: {
    status: number
    statusText: string
    httpVersion: string
    cookies: readonly never[]
    headers: NamedValue[]
    content: HarContent
    redirectURL: string
    headersSize: number
    bodySize: number
  }
  cache: object
  timings: { send: number; wait: number; receive: number }
  comment?: string
  _request_id: string
  _reason_code?: string
  _client_id?: string
  _key?: string
  _session_id?: string
  _slot_id?: string
  /** What ended the exchange before its response was complete. */
  _error?: string
}

/** Sizes that are not known: the journal has bodies without their secrets. */
const unknownSize = -1

/**
 * Yields the text of a HAR file piece by piece, one line for each entry.
 * @param entries oldest first, as viewers show them
 * @param version that of svc
 * @param toJson writes an entry; one for terminals escapes more
 */
export async function* writeHar(
  entries: Iterable<HarEntry> | AsyncIterable<HarEntry>,
  version: string,
  toJson: (entry: HarEntry) => string = JSON.stringify,
): AsyncGenerator<string> {
  yield openHar(version, 'Keys, tokens and prompt texts are redacted.')
  let separator = '\n'
  for await (const entry of entries) {
    yield separator + toJson(entry)
    separator = ',\n'
  }
  yield '\n]}}\n'
}

/** Returns the beginning of a HAR file, up to its first entry. @param version that of svc */
export function openHar(version: string, comment: string): string {
  const creator = { name: 'svc', version }
  return `{"log":{"version":"1.2","creator":${JSON.stringify(creator)},"comment":${JSON.stringify(comment)},"entries":[`
}

/**
 * Returns an exchange of the journal as an entry of a HAR file.
 * @param base_url of the sandbox; the path of a callback is a URL already
 */
export function toHarEntry(exchange: RequestDetail, base_url: string): HarEntry {
  const { request_id, at_ms, method, path, status, duration_ms } = exchange
  const { request_headers, request_body, response_headers, response_body } = exchange
  const url = URL.canParse(path, base_url) ? new URL(path, base_url) : null
  const sent_type = findHeader(request_headers, 'content-type')
  return {
    startedDateTime: Number.isNaN(new Date(at_ms).getTime()) ? '' : new Date(at_ms).toISOString(),
    time: duration_ms,
    request: {
      method,
      url: url?.href ?? path,
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: toPairs(request_headers),
      queryString: [...(url?.searchParams ?? [])].map(([name, value]) => ({ name, value })),
      ...(request_body === null ? {} : { postData: { mimeType: sent_type, text: request_body } }),
      headersSize: unknownSize,
      bodySize: unknownSize,
    },
    response: {
      status,
      statusText: '',
      httpVersion: 'HTTP/1.1',
      cookies: [],
      headers: toPairs(response_headers),
      content: {
        size: response_body === null ? 0 : new TextEncoder().encode(response_body).length,
        mimeType: findHeader(response_headers, 'content-type') || 'x-unknown',
        ...(response_body === null ? {} : { text: response_body }),
      },
      redirectURL: findHeader(response_headers, 'location'),
      headersSize: unknownSize,
      bodySize: unknownSize,
    },
    cache: {},
    timings: { send: 0, wait: duration_ms, receive: 0 },
    _request_id: request_id,
    ...ownFields(exchange),
  }
}

/** Fields of the journal that the format does not have. */
function ownFields({ reason_code, client_id, key, session_id, slot_id }: RequestDetail): Partial<HarEntry> {
  return {
    ...(reason_code !== null && { _reason_code: reason_code }),
    ...(client_id !== null && { _client_id: client_id }),
    ...(key !== null && { _key: key }),
    ...(session_id !== null && { _session_id: session_id }),
    ...(slot_id !== null && { _slot_id: slot_id }),
  }
}

function toPairs(headers: Readonly<Record<string, string>>): NamedValue[] {
  return Object.entries(headers).map(([name, value]) => ({ name, value }))
}

function findHeader(headers: Readonly<Record<string, string>>, name: string): string {
  return Object.hasOwn(headers, name) ? headers[name]! : ''
}
