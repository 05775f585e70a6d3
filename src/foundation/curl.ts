/** Requests as curl command lines, of requests that are about to be sent and of those in the journal. */
import { isObject, parseJson } from './json.ts'

/** Stands for a key that must not be printed. The shell replaces it. */
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
    ...(typeof body === 'string' ? [`--data-raw ${quote(body, variables, true)}`] : []),
  ].join(' \\\n  ')
}

/**
 * Quotes a text for a shell, except for variables, which the shell replaces. A body keeps its lines; in an address or a header
 * a control character is an escape of bash and zsh, so that no text begins a line of its own.
 */
function quote(text: string, variables: readonly string[], isBody = false): string {
  const hasControls = !isBody && /\p{Cc}/u.test(text)
  const open = hasControls ? "$'" : "'"
  const inner = hasControls
    ? text
        .replace(/[\\']/g, '\\$&')
        .replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : text.replaceAll("'", "'\\''")
  const quoted = `${open}${inner}'`
  return [...new Set(variables)].reduce((all, name) => all.replaceAll(name, () => `'"${name}"${open}`), quoted)
}

/** What a curl command needs of a journal entry. */
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
      // A secret key is refused together with an origin.
      ...(origin === undefined || authorization !== undefined ? {} : { origin }),
    },
    ...(body === '' ? {} : { body }),
  }
}

const redacted =
  /\b(?:ast|at|bt)_[0-9a-z]{11}_redacted|\b[sp]k_(?:test|live)_redacted|\[removed|\[name\]|\[nested deeper\]/

/** Returns what the journal does not keep of a request: `path`, or fields of the body by dotted path. */
export function redactedParts({ url, body }: { url: string; body?: string }): string[] {
  const inPath = redacted.test(decodedPath(url)) ? ['path'] : []
  return body === undefined ? inPath : [...inPath, ...redactedFields(parseJson(body), [])]
}

/** A path of the journal may hold any escapes. */
function decodedPath(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}

function redactedFields(value: unknown, path: readonly string[]): string[] {
  if (value === undefined) return ['body']
  if (typeof value === 'string') return redacted.test(value) ? [path.join('.') || 'body'] : []
  if (!isObject(value) && !Array.isArray(value)) return []
  return Object.entries(value).flatMap(([name, field]) => {
    const inner = [...path, name]
    return redacted.test(name) ? [inner.join('.')] : redactedFields(field, inner)
  })
}
