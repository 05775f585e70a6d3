/** Settings of a project: patched (RFC 7396, where null restores the default), and the origins that they allow (A07). */
import {
  defaultSettings,
  type ProjectSettings,
  type ProjectSettingsPatch,
} from '../../src/contract/control/projects.ts'
import type { Mode } from '../../src/contract/fields.ts'
import { isObject } from '../../src/foundation/json.ts'

/** Returns the complete settings after a patch that its schema has checked. */
export function patchSettings(present: ProjectSettings, patch: ProjectSettingsPatch): ProjectSettings {
  return merge(present, patch, defaultSettings) as ProjectSettings
}

/** Returns the problems of settings that their schema cannot find, by path. */
export function settingsProblems(settings: ProjectSettings): { path: string; message: string; expected: string }[] {
  const problems = settings.allowed_origins.flatMap((origin, index) =>
    isOriginEntry(origin)
      ? []
      : [
          {
            path: `allowed_origins.${index}`,
            message: 'is not an origin',
            expected: 'scheme, host and port alone, such as https://app.example.com, or http://localhost:*',
          },
        ],
  )
  const latency = settings.decision_latency_ms
  const isReversed =
    typeof latency === 'object' && latency.distribution === 'uniform' && latency.min_ms > latency.max_ms
  if (isReversed) {
    problems.push({
      path: 'decision_latency_ms.max_ms',
      message: 'is below min_ms',
      expected: `at least ${latency.min_ms}`,
    })
  }
  return problems
}

function merge(present: unknown, patch: unknown, fallback: unknown): unknown {
  if (patch === undefined) return present
  if (patch === null) return fallback
  // A distribution of latency is replaced, not merged: its default is a number.
  if (!isObject(patch) || !isObject(fallback)) return patch
  const merged: Record<string, unknown> = { ...(present as object) }
  for (const [name, value] of Object.entries(patch)) merged[name] = merge(merged[name], value, fallback[name])
  return merged
}

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
function isOriginEntry(text: string): boolean {
  return anyPort.has(text) || serializeOrigin(text) !== null
}
