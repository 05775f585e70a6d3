/** One beacon against the contract: what the service would refuse it for, in the order in which it looks. */

import { formatTime, formatValue } from '../../cli/output/text.ts'
import { type ReasonCode, reasonCodes } from '../../contract/errors.ts'
import { explainIssues, type LocatedFieldError } from '../../contract/field-errors.ts'
import { limits } from '../../contract/limits.ts'
import {
  BeaconRequest,
  beaconEventSpellings,
  canonicalEvent,
  Measurements,
  occurrenceOf,
  timeProblem,
} from '../../contract/v1/beacons.ts'
import { nearestName } from '../../foundation/nearest-name.ts'
import { rightName } from '../beacon-names.ts'
import type { LooseFinding } from '../lint/finding.ts'

/** When a beacon is judged, epoch milliseconds. */
export interface JudgedAt {
  now_ms: number
  /** Whether `now_ms` is when it is sent. Otherwise it is only known that it was written before. */
  isSending: boolean
}

export interface CheckedBody {
  /** null when it does not fit the schema: the service would not look further. */
  beacon: BeaconRequest | null
  findings: LooseFinding[]
}

const ages = {
  beacon_max_age_ms: limits.beacon_max_age_ms,
  beacon_max_future_skew_ms: limits.beacon_max_future_skew_ms,
}
const members = Object.keys(BeaconRequest.shape)
const measured = Object.keys(Measurements.shape)

export function checkBody(value: unknown, bytes: number, when: JudgedAt): CheckedBody {
  if (Array.isArray(value)) return { beacon: null, findings: [refused('batch_not_supported', [])] }
  const large =
    bytes <= limits.beacon_body_bytes
      ? []
      : [
          {
            ...refused('payload_too_large', []),
            fix: `Send at most ${limits.beacon_body_bytes} bytes; this is ${bytes}.`,
          },
        ]
  const parsed = BeaconRequest.safeParse(value)
  if (!parsed.success) {
    const { fields } = explainIssues(parsed.error.issues)
    const misspelt = new Set(fields.filter(({ isUnknown }) => isUnknown).map(({ at }) => nameMeant(at)))
    const findings = fields
      .filter(({ message, path }) => message !== 'is missing' || !misspelt.has(path))
      .map((field) => wrongMember(field, value))
    return { beacon: null, findings: [...large, ...findings] }
  }
  const beacon = parsed.data
  const { contract_version } = beacon
  return {
    beacon,
    findings: [
      ...large,
      ...oldSpelling(beacon),
      ...(contract_version === undefined || contract_version.endsWith('/v1')
        ? []
        : [refused('contract_version_unsupported', ['contract_version'])]),
      ...keyForToken(beacon),
      ...times(beacon, when),
    ],
  }
}

function wrongMember({ at, path, message, expected, isUnknown }: LocatedFieldError, value: unknown): LooseFinding {
  const common = { severity: 'error', path: path || null, at } as const
  if (isUnknown) {
    return { ...common, isName: true, code: 'field_unknown', message: `${path} is unknown.`, fix: meant(at) }
  }
  const what = path === '' ? 'The beacon' : path
  return { ...common, code: 'schema_invalid', message: `${what} ${message}.`, fix: correction(at, expected, value) }
}

/** What to do about an unknown name. */
function meant(at: readonly PropertyKey[]): string {
  const near = nameMeant(at)
  if (near !== null) return `Its name is ${near}.`
  return at.length > 1
    ? `Leave it out. Known: ${measured.join(', ')}.`
    : `Leave it out, or put it into metadata. Known: ${members.join(', ')}.`
}

/** The member that was probably meant; null for a name that resembles none. */
function nameMeant(at: readonly PropertyKey[]): string | null {
  const name = String(at.at(-1))
  if (at.length > 1) return nearestName(name, measured) ?? inner(rightName(name))
  return rightName(name) ?? nearestName(name, members) ?? inMeasurements(nearestName(name, measured))
}

function inner(name: string | null): string | null {
  return name?.startsWith('measurements.') ? name.slice('measurements.'.length) : null
}

function inMeasurements(name: string | null): string | null {
  return name === null ? null : `measurements.${name}`
}

function correction(at: readonly PropertyKey[], expected: string, value: unknown): string {
  const given = at.reduce<unknown>((inner, key) => (inner as Record<PropertyKey, unknown> | null)?.[key], value)
  if (at.at(-1) === 'visible_ratio' && typeof given === 'number' && given > 1 && given <= 100) {
    return `Send a share from 0 to 1, not a percentage: ${given / 100}.`
  }
  if (at.at(-1) === 'event' && typeof given === 'string') {
    const near = nearestName(given, [...BeaconRequest.shape.event.options])
    if (near !== null) return `Send ${canonicalEvent(near as BeaconRequest['event'])}.`
  }
  if (expected.startsWith('of type ') && given !== undefined) {
    return `Send it ${expected}, not ${given === null ? 'null' : Array.isArray(given) ? 'an array' : typeof given}.`
  }
  return expected.startsWith('must ') ? `It ${expected}.` : `Send ${expected.replace(/^of type/, 'it, of type')}.`
}

function oldSpelling({ event }: BeaconRequest): LooseFinding[] {
  if (!(event in beaconEventSpellings)) return []
  return [
    {
      severity: 'warning',
      code: 'event_spelling_deprecated',
      path: 'event',
      at: ['event'],
      message: `${event} is an old spelling, kept as ${canonicalEvent(event)}.`,
      fix: `Send ${canonicalEvent(event)}.`,
    },
  ]
}

/** A key in the place of the token; neither is repeated. */
function keyForToken({ asset_token }: BeaconRequest): LooseFinding[] {
  if (!/^(?:sk|pk)_(?:test|live)_/.test(asset_token)) return []
  return [{ ...refused('asset_token_invalid', ['asset_token']), message: 'asset_token holds a key, not a token.' }]
}

function times(beacon: BeaconRequest, { now_ms, isSending }: JudgedAt): LooseFinding[] {
  const happened_at_ms = occurrenceOf(beacon)
  const { occurred_at, occurred_at_ms } = beacon
  if (happened_at_ms === null) {
    const fix = 'Send occurred_at (RFC 3339) or occurred_at_ms (epoch milliseconds).'
    return [{ severity: 'error', code: 'schema_invalid', path: null, at: [], message: 'It has no time.', fix }]
  }
  const name = occurred_at_ms === undefined ? 'occurred_at' : 'occurred_at_ms'
  const code = timeProblem(beacon, happened_at_ms, now_ms, isSending ? ages : { ...ages, beacon_max_age_ms: now_ms })
  const ignored: LooseFinding[] =
    occurred_at === undefined || occurred_at_ms === undefined || Date.parse(occurred_at) === occurred_at_ms
      ? []
      : [
          {
            severity: 'warning',
            code: 'occurred_at_ignored',
            path: 'occurred_at',
            at: ['occurred_at'],
            message: `occurred_at is ${formatValue(occurred_at)}, occurred_at_ms is ${formatTime(occurred_at_ms)}: only the latter counts.`,
            fix: 'Send one of them.',
          },
        ]
  if (code === null) return ignored
  const message = `${reasonCodes[code].message.replace(/\.$/, '')}: ${said(code, happened_at_ms, now_ms)}.`
  return [{ ...refused(code, [name]), message }, ...ignored]
}

function said(code: ReasonCode, happened_at_ms: number, now_ms: number): string {
  if (code === 'occurred_at_in_seconds') return `${happened_at_ms} is ${formatTime(happened_at_ms)}`
  const seconds = Math.round(Math.abs(now_ms - happened_at_ms) / 1000)
  return `it says ${formatTime(happened_at_ms)}, ${seconds} s ${happened_at_ms < now_ms ? 'before' : 'after'} ${formatTime(now_ms)}`
}

/** What the service would answer, in its own words. */
export function refused(code: ReasonCode, at: readonly PropertyKey[]): LooseFinding {
  const { message, hint } = reasonCodes[code]
  return { severity: 'error', code, path: at.length === 0 ? null : at.join('.'), at, message, fix: hint }
}
