/**
 * HTTP: path templates such as `/v1/decisions/{slot_id}`, addresses on this computer, Retry-After, and requests as curl command
 * lines.
 */

import { type Visited, walkJson } from './json/walk.ts'
import { parseJson } from './json.ts'

const parameter = /\{(\w+)\}/g

/** Returns the path with its parameters filled in and percent-encoded. Missing ones become empty. */
export function fillPath(template: string, params: object = {}): string {
  return template.replace(parameter, (_, name: string) =>
    encodeURIComponent(String((params as Readonly<Record<string, unknown>>)[name] ?? '')),
  )
}

/** Returns a pattern that matches every path of the template, with each parameter as a named group. */
export function pathPattern(template: string): RegExp {
  const source = template
    .split(/(\{\w+\})/)
    .map((part) =>
      part.startsWith('{') ? `(?<${part.slice(1, -1)}>[^/]+)` : part.replace(/[.*+?^$|()[\]\\]/g, '\\$&'),
    )
    .join('')
  return new RegExp(`^${source}$`)
}

/** Returns the path of a URL or request target, without query and fragment. */
export function withoutQuery(url: string): string {
  return url.split(/[?#]/, 1)[0]!
}

/**
 * Whether a host name or address is loopback: `localhost` and names below it, 127.0.0.0/8, `::1` with and without
 * brackets. Case does not matter; a port is not part of a host.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '[::1]') return true
  return /^127(?:\.\d{1,3}){3}$/.test(name)
}

/** The address of a sandbox on its default port, which documentation and examples have. */
export const usualAddress = 'http://127.0.0.1:4010'

const whole = /http:\/\/127\.0\.0\.1:4010(?!\d)/g

/** Returns a text with the address of a service in place of the usual one. */
export function withAddress(text: string, base_url: string): string {
  const address = base_url.replace(/\/+$/, '')
  return address === usualAddress ? text : text.replace(whole, () => address)
}

/** Whether two URLs have the same origin, treating every name of loopback as the same host. */
export function isSameService(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)]
  const isSameHost = a.hostname === b.hostname || (isLoopback(a.hostname) && isLoopback(b.hostname))
  return a.protocol === b.protocol && a.port === b.port && isSameHost
}

/**
 * Returns the wait of a Retry-After header, milliseconds from `now_ms`: the header is whole seconds or an HTTP date
 * (RFC 9110). Returns null when it is missing or neither.
 */
export function retryAfterMs(header: string | null | undefined, now_ms: number): number | null {
  if (header === null || header === undefined) return null
  const wait_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms
  return Number.isFinite(wait_ms) ? Math.max(0, wait_ms) : null
}

/* Headers about one connection only, which a proxy does not pass on (RFC 9110, 7.6.1). */

const hopHeaders: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])

/** Whether a header is about one connection. `connection` is the value of the header that lists others. */
export function isHopHeader(name: string, connection = ''): boolean {
  const lower = name.toLowerCase()
  if (hopHeaders.has(lower)) return true
  // A sender that lists what a message cannot do without gets it passed on all the same.
  if (connection === '' || lower === 'content-length' || lower === 'host') return false
  return connection.split(',').some((each) => each.trim().toLowerCase() === lower)
}

/* Curl command lines, for requests about to be sent and for those in the journal. */

/** Replaces a key that must not be printed. The shell fills it in. */
export const secretKeyVariable = '$SVC_SECRET_KEY'

/** The media type of a command line or a shell script. */
export const shellMediaType = 'text/x-shellscript'

interface CurlRequest {
  method: string
  url: string
  headers: Readonly<Record<string, string>>
  /** Sent only when it is text. */
  body?: unknown
}

/**
 * Returns the curl command that sends the same request. The shell replaces `variables`, such as `$ASSET_TOKEN`, wherever
 * they occur, and `$SVC_SECRET_KEY` in headers.
 */
export function curlCommand({ method, url, headers, body }: CurlRequest, variables: readonly string[] = []): string {
  return [
    `curl -sS -X ${method} ${quote(url, variables)}`,
    ...Object.entries(headers)
      .filter(([name]) => name !== 'accept')
      .map(([name, value]) => `-H ${quote(`${name}: ${value}`, [secretKeyVariable, ...variables])}`),
    ...(typeof body === 'string' ? [`--data-raw ${quote(shownBody(body), variables, true)}`] : []),
  ].join(' \\\n  ')
}

/**
 * Characters that are invisible, or that change the order in which a line is read. Joiners, which emoji and some
 * scripts need, stay, and so do the tabs and line ends of a body.
 */
const hidden = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
const hiddenInBody = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The hidden characters that a JSON string may contain unescaped. */
const hiddenInJson = /(?![\u200c\u200d])[\p{Cf}\p{Zl}\p{Zp}\u007f-\u009f]/gu

/**
 * Returns a JSON body with hidden characters as JSON escapes, so that any shell can read it. Any other body is returned
 * unchanged.
 */
function shownBody(body: string): string {
  return parseJson(body) === undefined ? body : body.replace(hiddenInJson, jsonEscapes)
}

function jsonEscapes(text: string): string {
  return Array.from(text.split(''), (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}

/**
 * Quotes a text for a shell, except for variables, which the shell replaces. A hidden character is written as escapes
 * of its bytes, which bash and zsh read in any locale: the command shows everything that it sends.
 */
function quote(text: string, variables: readonly string[], isBody = false): string {
  const unseen = isBody ? hiddenInBody : hidden
  const hasHidden = text.search(unseen) >= 0
  const open = hasHidden ? "$'" : "'"
  const inner = hasHidden ? text.replace(/[\\']/g, '\\$&').replace(unseen, byteEscapes) : text.replaceAll("'", "'\\''")
  const quoted = `${open}${inner}'`
  return [...new Set(variables)].reduce((all, name) => all.replaceAll(name, () => `'"${name}"${open}`), quoted)
}

/** Returns a text as its escaped UTF-8 bytes: `\xe2\x80\xae`. */
function byteEscapes(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
}

/** The parts of a journal entry that a curl command needs. */
interface JournaledRequest {
  method: string
  /** Path and query. */
  path: string
  request_headers: Readonly<Record<string, string>>
  request_body: string | null
}

/** Returns the request of a journal entry, with a shell variable in place of its credential. */
export function journaledRequest(entry: JournaledRequest, base_url: string): CurlRequest & { body?: string } {
  const { authorization, origin, 'content-type': content_type = 'application/json' } = entry.request_headers
  const body = entry.request_body ?? ''
  return {
    method: entry.method,
    url: base_url.replace(/\/+$/, '') + entry.path,
    headers: {
      accept: 'application/json',
      ...(body === '' ? {} : { 'content-type': content_type }),
      ...(authorization === undefined ? {} : { authorization: `Bearer ${secretKeyVariable}` }),
      // A secret key sent with an origin is refused.
      ...(origin === undefined || authorization !== undefined ? {} : { origin }),
    },
    ...(body === '' ? {} : { body }),
  }
}

/** What stands in place of what the journal does not store. */
export const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed[:\]]|\[name\]|\[nested deeper\]/

/** Returns the parts of a request that the journal does not store: `path`, or fields of the body by dotted path. */
export function redactedParts({ url, body }: { url: string; body?: string }): string[] {
  const inPath = redacted.test(decodedPath(url)) ? ['path'] : []
  if (body === undefined) return inPath
  const value = parseJson(body)
  return [...inPath, ...(value === undefined ? ['body'] : redactedFields(value))]
}

/** A path in the journal can contain any escapes. */
function decodedPath(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}

/** Returns the dotted paths of what the journal did not store of a body: names of fields, and texts. */
export function redactedFields(body: unknown): string[] {
  const isStored = ({ name }: Visited) => !redacted.test(name)
  return [...walkJson(body, isStored)].flatMap((visited) => {
    const isText = typeof visited.value === 'string' && redacted.test(visited.value)
    return isText || !isStored(visited) ? [visited.path.join('.') || 'body'] : []
  })
}

/** Returns the port that a server listens on. */
export function listeningPort(server: { address(): { port: number } | string | null }): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.')
  return address.port
}
