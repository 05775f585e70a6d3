/**
 * Origins of pages, and the allow-lists of projects that name them (A07). Pure: the allow-list is in the project's
 * settings.
 */
import type { Mode } from '../../src/contract/fields.ts'

const shape = /^https?:\/\/[^\s/\\?#@]+$/i

/** Patterns for any port, and the prefix of the origins they allow. Test mode only. */
const anyPort = new Map([
  ['http://localhost:*', 'http://localhost'],
  ['http://127.0.0.1:*', 'http://127.0.0.1'],
])

/**
 * Returns the serialized form of an `Origin` header or a setting: scheme and host in lower case, without a default port.
 * Returns null for `null`, for anything with a path, query or credentials, and for schemes other than http and https.
 */
export function serializeOrigin(text: string): string | null {
  if (!shape.test(text)) return null
  return URL.parse(text)?.origin ?? null
}

/**
 * Whether an origin is on an allow-list. Entries match exactly, except `http://localhost:*` and `http://127.0.0.1:*`, which
 * in test mode allow every port of that host.
 */
export function isOriginAllowed(origin: string, allowed: readonly string[], mode: Mode): boolean {
  const serialized = serializeOrigin(origin)
  if (serialized === null) return false
  return allowed.some((entry) => {
    const host = anyPort.get(entry)
    if (host === undefined) return serializeOrigin(entry) === serialized
    return mode === 'test' && (serialized === host || serialized.startsWith(`${host}:`))
  })
}

/** Whether a text is valid on an allow-list: an origin, or a pattern for any port. */
export function isOriginEntry(text: string): boolean {
  return anyPort.has(text) || serializeOrigin(text) !== null
}
