/** Beacons in a file, for `svc beacons lint`: what the service would refuse, or accept and not bill. Ids are its codes. */

import { type LocatedFieldError, type ReasonCode, reasonCodes } from '#contract/errors.ts'
import { limits } from '#contract/limits.ts'
import { findPersonalFields } from '#contract/personal-data/personal-fields.ts'
import {
  type BeaconRequest,
  beaconEventSpellings,
  canonicalEvent,
  readOccurrence,
  timeProblem,
} from '#contract/resources/beacons.ts'
import type { Place } from '#foundation/finding.ts'
import { nearestName } from '#foundation/nearest-name.ts'
import { listPersonalKinds } from '#foundation/personal-data/personal-kinds.ts'
import { formatTime, formatValue } from '#text/text.ts'
import { beaconPath, type FileBeacon, oldBeaconPath } from '../../facts/beacon-file.ts'
import { type RuleBody, type RuleFinding, type RuleText, ruleSet } from '../../rule.ts'
import { fieldMeant, fixUnknown, fixValue, measurementFields, topFields } from './fields.ts'

type ReadBody = Extract<FileBeacon['body'], { status: 'read' }>
/** A finding at a field of a beacon, or at the beacon. Without a message, the title of the rule is used. */
export type Found = Pick<RuleFinding, 'fix'> & {
  message?: string
  at?: readonly PropertyKey[]
  isName?: true
  in?: Place
}
type FindIn<Subject> = (subject: Subject, file: FileBeacon) => readonly Found[]
export type Words = Omit<RuleText, 'id'> & { title: string }

export function findingAt({ title }: Words, { place }: Pick<FileBeacon, 'place'>, found: Found): RuleFinding {
  const { at = [], isName, in: own, ...texts } = found
  const path = at.length === 0 ? null : at.join('.')
  return { message: title, ...texts, place: { ...(own ?? place(at, isName)), path } }
}

/** Returns a rule about one beacon. */
function beaconRule(rule: Words, find: (file: FileBeacon) => readonly Found[]): RuleBody<'beacon'> {
  return {
    ...rule,
    judge: (file) => ({ sample_size: 1, findings: find(file).map((found) => findingAt(rule, file, found)) }),
  }
}

/** The severity, and the service's own message and hint, for what it would refuse. */
export function refused(code: ReasonCode): Words {
  const { message, hint } = reasonCodes[code]
  return { severity: 'error', title: message, fix: hint }
}

/** Returns a rule about the properties of a body that could be read. */
function bodyRule(rule: Words, find: FindIn<ReadBody>): RuleBody<'beacon'> {
  return beaconRule(rule, (file) => (file.body.status === 'read' ? find(file.body, file) : []))
}

/** Returns a rule about a beacon that matches the schema. */
function fieldRule(rule: Words, find: FindIn<BeaconRequest>): RuleBody<'beacon'> {
  return bodyRule(rule, ({ beacon }, file) => (beacon === null ? [] : find(beacon, file)))
}

/** Rules about single beacons. */
export const beaconFileRules = ruleSet('beacon', {
  route_deprecated: beaconRule(
    { severity: 'warning', title: 'Beacons go to the current route.', fix: `Send to ${beaconPath}.` },
    ({ request }) =>
      request !== null && oldBeaconPath.test(request.path)
        ? [{ message: `${request.path} is a deprecated alias.`, in: request.url_place }]
        : [],
  ),
  body_empty: beaconRule(
    {
      severity: 'error',
      title: 'The request has no body, or the HAR file was saved without it.',
      fix: 'Save the HAR file with its content, or send a JSON object.',
    },
    ({ body }) => (body.status === 'missing' ? [{}] : []),
  ),
  content_type_unsupported: beaconRule(
    {
      severity: 'error',
      title: 'Beacons are sent as application/json.',
      fix: 'Send Content-Type: application/json; navigator.sendBeacon with a string sends text/plain: use fetch with keepalive.',
    },
    ({ request, body }) => {
      const type = request?.content_type ?? null
      const isWrong = type !== null && body.status !== 'missing' && !/^application\/json\b/i.test(type)
      return isWrong ? [{ message: `The request has the content type ${type.slice(0, 60)}.` }] : []
    },
  ),
  json_malformed: beaconRule(
    { severity: 'error', title: 'A beacon is JSON.', fix: 'Send each beacon as one JSON object.' },
    ({ body }) => (body.status === 'malformed' ? [{ message: body.message }] : []),
  ),
  batch_not_supported: beaconRule(refused('batch_not_supported'), ({ body }) => (body.status === 'batch' ? [{}] : [])),
  payload_too_large: bodyRule(refused('payload_too_large'), ({ bytes }) =>
    bytes <= limits.beacon_body_bytes
      ? []
      : [{ fix: `Send at most ${limits.beacon_body_bytes} bytes; this is ${bytes}.` }],
  ),
  field_unknown: bodyRule(refused('field_unknown'), ({ fields }) =>
    fields
      .filter(({ isUnknown }) => isUnknown)
      .map(({ at, path }) => ({ at, isName: true, message: `${path} is unknown.`, fix: fixOfName(at) })),
  ),
  schema_invalid: bodyRule(refused('schema_invalid'), ({ fields, value, beacon }) => [
    ...fieldsAtFault(fields).map(({ at, path, message, expected }) => ({
      at,
      message: `${path === '' ? 'The beacon' : path} ${message}.`,
      fix: fixValue(at, expected, value),
    })),
    ...(beacon !== null && readOccurrence(beacon) === null ? [timeless] : []),
  ]),
  event_spelling_deprecated: fieldRule(
    { severity: 'warning', title: 'Events have their current names.', fix: 'Send the current name.' },
    ({ event }) => {
      const now = canonicalEvent(event)
      const message = `${event} is an old spelling, stored as ${now}.`
      return Object.hasOwn(beaconEventSpellings, event) ? [{ at: ['event'], message, fix: `Send ${now}.` }] : []
    },
  ),
  personal_data: fieldRule(
    {
      severity: 'warning',
      title: 'Metadata contains no personal data.',
      fix: 'Leave it out, or send an identifier that names nobody. Beacons are evidence, and are kept.',
    },
    (beacon) =>
      findPersonalFields(beacon).map(({ path, part, kinds }) => ({
        at: path.includes('[name]') ? part : path.split('.'),
        message: `${path} seems to contain ${listPersonalKinds(kinds)}.`,
      })),
  ),
  contract_version_unsupported: fieldRule(refused('contract_version_unsupported'), ({ contract_version }) =>
    contract_version === undefined || contract_version.endsWith('/v1') ? [] : [{ at: ['contract_version'] }],
  ),
  asset_token_invalid: fieldRule(refused('asset_token_invalid'), ({ asset_token }) =>
    /^(?:sk|pk)_(?:test|live)_/.test(asset_token)
      ? [{ at: ['asset_token'], message: 'asset_token contains a key, not a token.' }]
      : [],
  ),
  occurred_at_in_seconds: timeRule('occurred_at_in_seconds'),
  beacon_stale: timeRule('beacon_stale'),
  beacon_in_future: timeRule('beacon_in_future'),
  occurred_at_conflict: timeRule('occurred_at_conflict'),
  occurred_at_ignored: fieldRule(
    { severity: 'warning', title: 'A beacon has one time.', fix: 'Send one of them.' },
    ({ occurred_at, occurred_at_ms }, { times }) => {
      if (occurred_at === undefined || occurred_at_ms === undefined) return []
      const now_ms = times.sent_at_ms ?? times.now_ms
      const problem = timeProblem({ occurred_at, occurred_at_ms }, occurred_at_ms, now_ms, ages)
      if (problem === 'occurred_at_conflict' || Date.parse(occurred_at) === occurred_at_ms) return []
      const message = `occurred_at is ${formatValue(occurred_at)}, occurred_at_ms is ${formatTime(occurred_at_ms)}: only the latter counts.`
      return [{ at: ['occurred_at'], message }]
    },
  ),
})

const timeless = {
  message: 'The beacon has no time.',
  fix: 'Send occurred_at (RFC 3339) or occurred_at_ms (epoch milliseconds).',
}

/** Leaves out fields that are missing only because they are misspelt: those are reported as unknown. */
function fieldsAtFault(fields: readonly LocatedFieldError[]): LocatedFieldError[] {
  const misspelt = new Set(fields.filter(({ isUnknown }) => isUnknown).map(({ at }) => nameMeant(at)))
  return fields.filter(
    ({ isUnknown, message, path }) => !isUnknown && (message !== 'is missing' || !misspelt.has(path)),
  )
}

function fixOfName(at: readonly PropertyKey[]): string {
  const meant = nameMeant(at)
  const isNested = at.length > 1
  return isNested && meant === null ? `Leave it out. Known: ${measurementFields.join(', ')}.` : fixUnknown(meant)
}

/** Returns the field that was probably meant by an unknown one, or null. */
function nameMeant(at: readonly PropertyKey[]): string | null {
  const name = String(at.at(-1))
  const meant = fieldMeant(name)
  if (at.length > 1) {
    const inMeasurements = meant?.startsWith('measurements.') ? meant.slice('measurements.'.length) : null
    return nearestName(name, measurementFields) ?? inMeasurements
  }
  const measurement = nearestName(name, measurementFields)
  return meant ?? nearestName(name, topFields) ?? (measurement === null ? null : `measurements.${measurement}`)
}

const ages = {
  beacon_max_age_ms: limits.beacon_max_age_ms,
  beacon_max_future_skew_ms: limits.beacon_max_future_skew_ms,
}

/** Returns a rule about one way in which the time of a beacon is wrong (A73). */
function timeRule(code: ReasonCode): RuleBody<'beacon'> {
  return fieldRule(refused(code), (beacon, { times: { sent_at_ms, now_ms: present_ms } }) => {
    const happened_at_ms = readOccurrence(beacon)
    if (happened_at_ms === null) return []
    const now_ms = sent_at_ms ?? present_ms
    const allowed = sent_at_ms === null ? { ...ages, beacon_max_age_ms: now_ms } : ages
    if (timeProblem(beacon, happened_at_ms, now_ms, allowed) !== code) return []
    const happened = formatTime(happened_at_ms)
    const seconds = Math.round(Math.abs(now_ms - happened_at_ms) / 1000)
    const difference =
      code === 'occurred_at_in_seconds'
        ? `${happened_at_ms} is ${happened}`
        : code === 'occurred_at_conflict'
          ? `occurred_at is ${formatValue(beacon.occurred_at)}, occurred_at_ms is ${happened}`
          : `it is stamped ${happened}, ${seconds} s ${happened_at_ms < now_ms ? 'before' : 'after'} ${formatTime(now_ms)}`
    return [
      {
        at: [beacon.occurred_at_ms === undefined ? 'occurred_at' : 'occurred_at_ms'],
        message: `${reasonCodes[code].message.replace(/\.$/, '')}: ${difference}.`,
      },
    ]
  })
}
