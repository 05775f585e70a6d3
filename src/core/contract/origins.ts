/**
 * Origins of pages, and the allow-lists of projects that name them (A07, A100). This is the one matcher: activation,
 * tokens, CORS, `frame-ancestors`, rules and commands compare origins here and nowhere else. Entries of an allow-list are
 * normalized when they are set, so matching is comparing text.
 */
import { isListed } from '#foundation/table-entry.ts'
import type { Mode } from './fields.ts'

/** Shells whose pages have a scheme of their own. Files have no origin: a page from `file:` sends `null`. */
const shellSchemes = [
  'capacitor',
  'ionic',
  'tauri',
  'app',
  'chrome-extension',
  'moz-extension',
  'vscode-webview',
] as const

const shape = /^([a-z][a-z0-9+.-]*):\/\/([^\s/\\?#@]+)$/i

/** Hosts that a policy can name, and literal IPv6 addresses, which none can. */
const hostOfWeb = /^([\w.-]+|\[[\da-f:.]+\])$/
const placeOfShell = /^[a-z0-9._-]+(:\d{1,5})?$/

/** Patterns for any port, and the prefix of the origins they allow. Test mode only. */
const anyPort: ReadonlyMap<string, string> = new Map([
  ['http://localhost:*', 'http://localhost'],
  ['http://127.0.0.1:*', 'http://127.0.0.1'],
])

/**
 * Returns the serialized form of an `Origin` header or a setting: scheme and host in lower case, names in ASCII, without a
 * default port. Returns null for `null`, for anything with a path, query or credentials, and for schemes that are neither
 * http, https nor one of a shell.
 */
export function serializeOrigin(text: string): string | null {
  const [, scheme = '', place = ''] = shape.exec(text) ?? []
  const lower = scheme.toLowerCase()
  if (isShell(lower)) return placeOfShell.test(place.toLowerCase()) ? `${lower}://${place.toLowerCase()}` : null
  if (lower !== 'http' && lower !== 'https') return null
  const url = URL.parse(text)
  return url !== null && hostOfWeb.test(url.hostname) ? url.origin : null
}

/** Returns the serialized origin of a URL, or null. `URL.origin` is `null` for the schemes of shells. */
export function originOfUrl(url: string): string | null {
  return serializeOrigin(/^[^/]*:\/\/[^/\\?#\s]*/.exec(url)?.[0]?.replace(/\/\/[^/@]*@/, '//') ?? '')
}

/**
 * Whether an origin is on an allow-list. Entries match exactly, except `http://localhost:*` and `http://127.0.0.1:*`, which
 * in test mode allow every port of that host. An entry that is not normalized matches nothing.
 */
export function isOriginAllowed(origin: string, allowed: readonly string[], mode: Mode): boolean {
  const serialized = serializeOrigin(origin)
  if (serialized === null) return false
  return allowed.some((entry) => {
    const host = anyPort.get(entry)
    if (host === undefined) return entry === serialized
    return mode === 'test' && (serialized === host || serialized.startsWith(`${host}:`))
  })
}

/** Returns an entry of an allow-list as it is stored and compared, or null when it is not valid. */
function normalizeOriginEntry(text: string): string | null {
  const lower = text.toLowerCase()
  return anyPort.has(lower) ? lower : serializeOrigin(text)
}

/** Returns the entries of an allow-list as they are compared, each once. Those that are not valid are kept unchanged. */
export function normalizeOriginEntries(texts: readonly string[]): string[] {
  return [...new Set(texts.map((text) => normalizeOriginEntry(text) ?? text))]
}

/** Returns what is wrong with an entry of an allow-list and what to write instead; null when it is valid. */
export function originEntryProblem(text: string): { message: string; expected: string } | null {
  if (normalizeOriginEntry(text) !== null) return null
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]*):(.*)$/is.exec(text.trim()) ?? []
  const lower = scheme?.toLowerCase()
  if (text === 'null' || lower === 'file') {
    return {
      message: 'is the origin of a file or a sandboxed frame, which is never allowed',
      expected: 'the origin of a server: open the page over http or https',
    }
  }
  if (text.includes('*')) {
    return {
      message: 'has a wildcard',
      expected: `each origin by itself; only ${[...anyPort.keys()].join(' and ')} stand for every port`,
    }
  }
  const isWeb = lower === 'http' || lower === 'https'
  if (rest.startsWith('//') && lower !== undefined && !isWeb && !isShell(lower)) {
    return {
      message: `has the scheme ${lower}:`,
      expected: `http, https, or the scheme of a shell: ${shellSchemes.join(', ')}`,
    }
  }
  const meant = originOfUrl(rest.startsWith('//') ? text.trim() : `https://${text.trim()}`)
  return {
    message: 'is not an origin',
    expected: `only scheme, host and port, such as ${meant ?? 'https://app.example.com or capacitor://localhost'}`,
  }
}

/**
 * Returns the sources of a `frame-ancestors` directive for an allow-list: the entries that the matcher allows in this
 * mode. No policy can name a literal IPv6 address. Every page around a frame must be named, so a webview of VS Code brings
 * the window around it.
 */
export function frameAncestors(allowed: Iterable<string>, mode: Mode): string[] {
  const sources = [...allowed].filter((entry) =>
    anyPort.has(entry) ? mode === 'test' : serializeOrigin(entry) === entry && !entry.includes('['),
  )
  const isInEditor = sources.some((source) => source.startsWith('vscode-webview:'))
  return isInEditor ? [...sources, 'vscode-file://vscode-app'] : sources
}

/** Returns an origin of an allow-list that a page can have: with the usual port if any is allowed, before those of shells. */
export function pageOrigin(allowed: readonly string[]): string | undefined {
  const entry = allowed.find((text) => /^https?:/.test(text)) ?? allowed[0]
  return entry?.replace(/:\*$/, ':3000')
}

function isShell(scheme: string): boolean {
  return isListed(shellSchemes, scheme)
}
