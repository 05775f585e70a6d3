/** Paths, hosts and headers of HTTP: path templates such as `/v1/decisions/{slot_id}`, loopback hosts, Retry-After. */

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
 * Whether a host name or address is loopback: `localhost` and names below it, 127.0.0.0/8, `::1` with and
 * without brackets. Upper and lower case are equal; a port is not part of a host.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '[::1]') return true
  return /^127(?:\.\d{1,3}){3}$/.test(name)
}

/** Whether two URLs have the same origin, where every name of loopback is the same host. */
export function isSameService(one: string, other: string): boolean {
  const [a, b] = [new URL(one), new URL(other)]
  const isSameHost = a.hostname === b.hostname || (isLoopback(a.hostname) && isLoopback(b.hostname))
  return a.protocol === b.protocol && a.port === b.port && isSameHost
}

/**
 * Returns the wait that a Retry-After header asks for, milliseconds from `now_ms`: whole seconds or an HTTP date
 * (RFC 9110). Returns null when the header is missing or is neither.
 */
export function retryAfterMs(header: string | null | undefined, now_ms: number): number | null {
  if (header === null || header === undefined) return null
  const wait_ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now_ms
  return Number.isFinite(wait_ms) ? Math.max(0, wait_ms) : null
}
