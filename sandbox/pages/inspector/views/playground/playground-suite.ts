import { isObject, type Json, type JsonObject } from '#foundation/json.ts'
import type { QaSuite } from '../requests/qa-suite.ts'
import type { PlaygroundState } from './state.ts'

export interface PlacementOutcome {
  status: number
  reason_code: string | null
  fill: boolean | null
  format: string | null
}

/** Returns the suite of a state of the playground, which expects the outcome of the last send. */
export function playgroundSuite(state: PlaygroundState, body: JsonObject, outcome: PlacementOutcome | null): QaSuite {
  const { scenario, as, project } = state
  const { overrides, consent, prompt, slot_hint } = body
  const { allowed_formats, native_template_id, ...others } = isObject(overrides) ? overrides : {}
  const isBrowser = as === 'browser'
  const placement = plain({
    job_type: state.job_type,
    ...(allowed_formats === undefined ? {} : { format: allowed_formats }),
    ...(native_template_id === undefined ? {} : { template: native_template_id }),
    ...(isObject(prompt) ? prompt : {}),
    ...(isObject(slot_hint) ? slot_hint : {}),
    consent: consent ?? 'none',
    ...(body.wait_ms === undefined ? {} : { wait_ms: body.wait_ms }),
    ...(body.test_outcome === undefined ? {} : { no_fill: true }),
  })
  const step: JsonObject = {
    placement,
    ...(isBrowser ? { key: 'activation', origin: '{{origin}}' } : {}),
    ...(Object.keys(others).length === 0
      ? {}
      : {
          set: plain(Object.fromEntries(Object.entries(others).map(([name, value]) => [`overrides.${name}`, value]))),
        }),
    ...buildExpectation(outcome),
  }
  const usesBrace = JSON.stringify(step).includes('{{brace}}')
  return {
    suite: 'playground',
    title: 'Saved from the playground of the inspector',
    cases: [
      {
        name: `a placement for ${state.job_type}`,
        ...(project === '' ? {} : { project }),
        ...(usesBrace ? { variables: { brace: '{' } } : {}),
        steps: [
          ...(scenario === '' ? [] : [{ scenario }]),
          ...(isBrowser ? [{ activate: null, origin: '{{origin}}' }] : []),
          step,
        ],
      },
    ],
  }
}

function buildExpectation(outcome: PlacementOutcome | null): JsonObject {
  if (outcome === null) return {}
  const { status, reason_code, fill, format } = outcome
  if (reason_code !== null) return { expect: { status, reason: reason_code } }
  if (fill === null) return { expect: { status } }
  return {
    expect: { status, body: { 'decision.fill': fill, ...(format === null ? {} : { 'decision.format': format }) } },
  }
}

/** Returns a copy whose texts contain no suite variables. */
function plain(value: Json): Json {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(plain)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [plainText(name), plain(field)]))
}

function plainText(text: string): string {
  return text.replaceAll('{{', '{{brace}}{')
}
