/** The settings of a project as texts of a form, and the merge patch that leads from one to the other. */
import type { Latency, ProjectSettings, ProjectSettingsPatch } from '../../../../src/contract/control/projects.ts'
import { isObject, type Json, type JsonObject, parseJson } from '../../../../src/foundation/json.ts'

/** The settings that have a field of their own. */
export interface SettingsForm {
  enabled: boolean
  allowed_origins: string
  fill_rate: string
  latency: 'fixed' | 'uniform' | 'lognormal'
  /** Milliseconds: the latency, its lower bound, or its median. */
  latency_ms: string
  /** The upper bound in milliseconds, or sigma. */
  latency_spread: string
  rate_default: string
  rate_beacons: string
  rate_activate: string
  consent_required: boolean
  label_text: string
  billing_model: string
}

export function formOf(settings: ProjectSettings): SettingsForm {
  const { rate_limits, consent } = settings
  return {
    enabled: settings.enabled,
    allowed_origins: settings.allowed_origins.join('\n'),
    fill_rate: String(settings.fill_rate),
    ...latencyForm(settings.decision_latency_ms),
    rate_default: rate_limits.default ?? '',
    rate_beacons: rate_limits.beacons ?? '',
    rate_activate: rate_limits.activate ?? '',
    consent_required: consent.required,
    label_text: settings.label_text,
    billing_model: settings.billing_model,
  }
}

function latencyForm(latency: Latency): Pick<SettingsForm, 'latency' | 'latency_ms' | 'latency_spread'> {
  if (typeof latency === 'number') return { latency: 'fixed', latency_ms: String(latency), latency_spread: '' }
  if (latency.distribution === 'uniform') {
    return { latency: 'uniform', latency_ms: String(latency.min_ms), latency_spread: String(latency.max_ms) }
  }
  return { latency: 'lognormal', latency_ms: String(latency.median_ms), latency_spread: String(latency.sigma) }
}

function latencyOf({ latency, latency_ms, latency_spread }: SettingsForm): Latency {
  const [ms, spread] = [Number(latency_ms), Number(latency_spread)]
  if (latency === 'fixed') return ms
  if (latency === 'uniform') return { distribution: 'uniform', min_ms: ms, max_ms: spread }
  return { distribution: 'lognormal', median_ms: ms, sigma: spread }
}

/** Returns the settings with those of the form in their place. */
export function settingsOf(before: ProjectSettings, form: SettingsForm): JsonObject {
  const lines = form.allowed_origins.split('\n').map((line) => line.trim())
  return {
    ...(before as unknown as JsonObject),
    enabled: form.enabled,
    allowed_origins: lines.filter((line) => line !== ''),
    fill_rate: Number(form.fill_rate),
    decision_latency_ms: latencyOf(form) as Json,
    rate_limits: {
      default: form.rate_default.trim() || null,
      beacons: form.rate_beacons.trim() || null,
      activate: form.rate_activate.trim() || null,
    },
    consent: { ...(before.consent as unknown as JsonObject), required: form.consent_required },
    label_text: form.label_text,
    billing_model: form.billing_model,
  }
}

/** Returns the merge patch between two settings: objects are patched field by field, a field that is gone becomes null. */
export function patchBetween(before: JsonObject, after: JsonObject): ProjectSettingsPatch {
  return patch(before, after) as ProjectSettingsPatch
}

function patch(before: JsonObject, after: JsonObject): JsonObject {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  const changes: JsonObject = {}
  for (const name of names) {
    const [old, next] = [before[name], after[name]]
    if (JSON.stringify(old) === JSON.stringify(next)) continue
    // A latency is one value: its fields belong together.
    if (isObject(old) && isObject(next) && name !== 'decision_latency_ms') changes[name] = patch(old, next)
    else changes[name] = next ?? null
  }
  return changes
}

/** Returns the settings of a JSON text, or what is wrong with it. */
export function readSettings(text: string): { settings: JsonObject } | { problem: string } {
  const settings = parseJson(text)
  return isObject(settings) ? { settings } : { problem: 'Write a JSON object: the settings as they are to be.' }
}
