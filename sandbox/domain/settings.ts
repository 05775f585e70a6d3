/** Changing the settings of a project: a merge patch (RFC 7396), where null means the default. */
import {
  defaultSettings,
  type ProjectSettings,
  type ProjectSettingsPatch,
} from '../../src/contract/control/projects.ts'
import { isOriginEntry } from './origins.ts'

/** Settings after a patch. The result is complete, and as the schema of the patch has checked its members. */
export function patchSettings(present: ProjectSettings, patch: ProjectSettingsPatch): ProjectSettings {
  return merge(present, patch, defaultSettings) as ProjectSettings
}

/** What is wrong with settings beyond their schema, by path. */
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
  if (!isGroup(patch) || !isGroup(fallback)) return patch
  const merged: Record<string, unknown> = { ...(present as Record<string, unknown>) }
  for (const [name, value] of Object.entries(patch)) merged[name] = merge(merged[name], value, fallback[name])
  return merged
}

/** A distribution of latency is a value, not a group: its default is a number. */
function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
