/**
 * Addresses of the service in what it sends become those of the pass-through, so that a page works against it: of headers, of
 * the fields of JSON that are addresses, and of scripts and documents. Everything else passes byte for byte.
 */
import { findRole } from '#contract/recordings/field-roles.ts'
import { replaceJsonStrings } from '#contract/recordings/json-strings.ts'
import { isLoopback } from '#foundation/http.ts'

export interface Rewriting {
  /** Returns the headers of a request for the service: a page that it serves has the origin of the pass-through. */
  toService(headers: readonly string[]): string[]
  /** Returns the headers of a response for the client. */
  toClient(headers: readonly string[]): string[]
  /** How the body of a response is rewritten: null for not at all. */
  chooseBody(content_type: string | undefined): 'json' | 'text' | null
  rewriteJson(text: string): string
  rewriteText(text: string): string
  /** The maximum length of a beginning of an address at the end of a text, which may go on in the next. */
  readonly longest: number
}

/** Request headers that name the page. */
const pageHeaders = /^(?:origin|referer)$/i
/** Response headers with addresses. */
const addressHeaders =
  /^(?:location|content-location|link|refresh|content-security-policy(?:-report-only)?|access-control-allow-origin|sourcemap)$/i

/** @param service the origin of the service @param own that of the pass-through */
export function createRewriting(service: string, own: string): Rewriting {
  const origins = listOrigins(service)
  // JSON may escape the slashes, and scripts do.
  const pattern = originPattern(origins)
  const socketPattern = originPattern(origins.map((origin) => origin.replace('http', 'ws')))
  const ownSocket = own.replace('http', 'ws')
  const rewriteText = (text: string) => text.replace(pattern, () => own).replace(socketPattern, () => ownSocket)
  const hosts = origins.map((origin) => new URL(origin).host)
  return {
    toService: (headers) =>
      mapValues(headers, (name, value) => {
        if (!pageHeaders.test(name)) return value
        return value === own || value.startsWith(`${own}/`) ? service + value.slice(own.length) : value
      }),
    toClient: (headers) =>
      mapValues(headers, (name, value) => {
        if (!addressHeaders.test(name)) return value
        const rewritten = rewriteText(value)
        return /^content-security-policy/i.test(name) ? rewritePolicy(rewritten, hosts, own) : rewritten
      }),
    chooseBody(type = '') {
      if (/^application\/(?:[\w.-]+\+)?json\b/i.test(type)) return 'json'
      return /^(?:text\/(?:html|css|javascript)|application\/(?:javascript|x-javascript|xhtml\+xml))\b/i.test(type)
        ? 'text'
        : null
    },
    rewriteJson: (text) =>
      replaceJsonStrings(text, {
        string: (raw, name) => (findRole(name) === 'address' ? raw.replace(pattern, () => own) : null),
      }),
    rewriteText,
    longest: Math.max(...origins.map(({ length }) => length)) + slashEscapes,
  }
}

/** The maximum number of characters that escapes add to an origin, and one that shows where it ends. */
const slashEscapes = 5

/** On loopback a service may call itself by another of its names. */
function listOrigins(service: string): string[] {
  const { protocol, hostname, port } = new URL(service)
  if (!isLoopback(hostname)) return [service]
  const names = new Set([hostname, 'localhost', '127.0.0.1', '[::1]'])
  return [...names].map((name) => `${protocol}//${name}${port === '' ? '' : `:${port}`}`)
}

/** Matches whole origins: neither the beginning of a longer name nor one with another port. */
function originPattern(origins: readonly string[]): RegExp {
  const sources = origins.map((origin) => origin.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('/', '\\\\{0,2}/'))
  return new RegExp(`(?:${sources.join('|')})(?![\\w.:@-])`, 'gi')
}

/** Sources without a scheme are those of the service too. What would turn requests to the pass-through into https goes. */
function rewritePolicy(policy: string, hosts: readonly string[], own: string): string {
  return policy
    .split(';')
    .map((directive) => directive.replace(/[^\s]+/g, (source) => (hosts.includes(source) ? own : source)))
    .filter((directive) => !/^\s*(?:upgrade-insecure-requests|block-all-mixed-content)\b/.test(directive))
    .join(';')
}

function mapValues(headers: readonly string[], change: (name: string, value: string) => string): string[] {
  return headers.map((text, index) => (index % 2 === 0 ? text : change(headers[index - 1]!, text)))
}
