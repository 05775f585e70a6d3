import type { Mode } from '../../src/contract/fields.ts'

const shape = /^https?:\/\/[^\s/\\?#@]+$/i

/** Patterns that stand for any port, and the start of the origins they allow. Test mode only (A07). */
const anyPort = new Map([
  ['http://localhost:*', 'http://localhost'],
  ['http://127.0.0.1:*', 'http://127.0.0.1'],
])

/**
 * The serialized form of an `Origin` header or a setting: scheme and host in lower case, default port dropped (A07).
 * Null for `null`, for anything with a path, query or credentials, and for any scheme but http and https.
 */
export function serializeOrigin(text: string): string | null {
  if (!shape.test(text)) return null
  return URL.parse(text)?.origin ?? null
}

/**
 * Whether an origin is on an allow-list (A07). Exact, but for `http://localhost:*` and `http://127.0.0.1:*`, which in
 * test mode allow every port of that host.
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

/** Whether a text may stand on an allow-list: an origin, or a pattern for any port. */
export function isOriginEntry(text: string): boolean {
  return anyPort.has(text) || serializeOrigin(text) !== null
}
