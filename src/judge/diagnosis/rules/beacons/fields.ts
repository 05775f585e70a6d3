/** Fixes for fields of a beacon that the service refused, in requests and in files. */
import { isTypeWord, typeWord } from '#contract/errors.ts'
import { BeaconRequest, beaconEvents, Measurements, secondsBelow } from '#contract/exports.ts'
import { beaconEventMeant, canonicalEvent } from '#contract/resources/beacons.ts'
import { valueAt } from '#foundation/json.ts'
import { findEntry } from '#foundation/table-entry.ts'

/** The fields of a beacon, and those of its measurements. */
export const topFields = Object.keys(BeaconRequest.shape)
export const measurementFields = Object.keys(Measurements.shape)

/** Names that other beacon APIs use, other than names that differ only in case. */
const namesElsewhere: Readonly<Record<string, readonly string[]>> = {
  beacon_id: ['id', 'event_id', 'idempotency_key'],
  asset_token: ['token'],
  event: ['type', 'kind', 'event_type', 'beacon_type', 'event_name'],
  occurred_at_ms: ['time', 'ts', 'timestamp', 'timestamp_ms', 'occurred_at_ms_client'],
  slot_id: ['slot'],
  render_instance_id: ['instance_id'],
  seq: ['sequence'],
  consent_revision: ['revision'],
  measurements: ['metrics'],
  metadata: ['meta', 'data'],
  'measurements.visible_ratio': ['ratio'],
  'measurements.duration_ms': ['duration'],
}

/** Returns what to do about an unknown field of a beacon that was probably meant for another one, or for none. */
export function fixUnknown(meant: string | null): string {
  return meant === null
    ? `Leave it out, or put it into metadata. Known: ${topFields.join(', ')}.`
    : `Its name is ${meant}.`
}

/** Returns the field of a beacon that an unknown name was probably meant for, or null when it resembles none. */
export function fieldMeant(wrong: string): string | null {
  const snake = wrong.replace(/[A-Z]/g, (letter, at: number) => `${at === 0 ? '' : '_'}${letter.toLowerCase()}`)
  if (topFields.includes(snake)) return snake
  if (measurementFields.includes(snake)) return `measurements.${snake}`
  return Object.keys(namesElsewhere).find((name) => findEntry(namesElsewhere, name)!.includes(snake)) ?? null
}

/** Returns what to do about a field of a beacon, based on its value and what the service expected. */
export function fixValue(at: readonly PropertyKey[], expected: string, value: unknown): string {
  const given = valueAt(value, at)
  const special = fixByName(at.at(-1), given)
  if (special !== null) return special
  if (typeof given === 'number' && expected === 'a whole number') {
    const isSeconds = at.at(-1) === 'occurred_at_ms' && given < secondsBelow
    return `Send ${isSeconds ? 'milliseconds, as ' : ''}a whole number: ${Math.round(isSeconds ? given * 1_000 : given)}.`
  }
  if (isTypeWord(expected) && given !== undefined) {
    const example = findExample(at.at(-1), expected, given)
    return `Send ${at.join('.')} as ${expected}, not ${typeWord(given)}${example === null ? '' : `: ${example}`}.`
  }
  return fixExpected(expected)
}

/** Fields of beacons, each with what it has in a correct one. */
const examples: Readonly<Record<string, string>> = {
  beacon_id: '"mount_1:render"',
  render_instance_id: '"mount_1"',
  asset_token: 'that of the decision',
  slot_id: 'that of the response',
  measurements: '{ "visible_ratio": 1 }',
  metadata: '{ "turn_id": "turn_1" }',
  seq: '0',
  visible_ratio: '0.5',
  visible_ms: '1000',
}

/** Returns a value of the expected type as JSON: the given one, else that of a correct beacon; null where neither is known. */
function findExample(name: PropertyKey | undefined, expected: string, given: unknown): string | null {
  const value = expected === 'true or false' ? /^(true|false)$/ : /number/.test(expected) ? /^-?\d+(\.\d+)?$/ : null
  if (value !== null && typeof given === 'string' && value.test(given)) return given
  const own = findEntry(examples, String(name))
  return own ?? (expected === 'text' && typeof given === 'number' ? `"${given}"` : null)
}

/** Returns what to do about a field that clients often get wrong in the same way, or null. */
function fixByName(name: PropertyKey | undefined, given: unknown): string | null {
  if (name === 'visible_ratio' && typeof given === 'number' && given > 1 && given <= 100) {
    return `Send a share from 0 to 1, not a percentage: ${given / 100}.`
  }
  if (name === 'event') {
    const meant = typeof given === 'string' ? beaconEventMeant(given) : null
    return meant === null ? `Send one of ${beaconEvents.join(', ')}.` : `Send ${canonicalEvent(meant)}.`
  }
  if (name === 'occurred_at_ms' && typeof given === 'string') {
    return 'Send Date.now(), a number of milliseconds; a text such as 2026-01-31T12:00:00Z belongs in occurred_at.'
  }
  return null
}

/** Returns what to do about a value, based on what the service expected. */
export function fixExpected(expected: string): string {
  return expected.startsWith('must ') ? `It ${expected}.` : `Send ${expected}.`
}
