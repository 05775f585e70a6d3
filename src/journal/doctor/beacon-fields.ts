/** Beacon field names: the fourth of the five points to check when migrating. */
import { reasonCodes } from '../../contract/errors.ts'
import { beaconEventSpellings } from '../../contract/v1/beacons.ts'
import { beaconMembers, rightName } from '../beacon-names.ts'
import { type Exchange, groupBy, member, pathOf, type Traffic, times } from '../exchange.ts'
import { type Check, type Outcome, orOk, problem, warning } from './finding.ts'
import { refusals } from './journal-check.ts'

export const beaconFields: Check<Traffic> = {
  name: 'beacon fields',
  find: ({ exchanges }) => {
    const beacons = exchanges.filter((exchange) => exchange.method === 'POST' && pathOf(exchange) === '/v1/beacons')
    return orOk(
      [
        ...wrongFields(beacons),
        ...refusals(beacons, {
          occurred_at_in_seconds: reasonCodes.occurred_at_in_seconds.hint,
          beacon_stale: reasonCodes.beacon_stale.hint,
          beacon_in_future: reasonCodes.beacon_in_future.hint,
          beacon_before_decision: reasonCodes.beacon_before_decision.hint,
          batch_not_supported: reasonCodes.batch_not_supported.hint,
          content_type_unsupported: reasonCodes.content_type_unsupported.hint,
        }),
        ...oldSpellings(beacons),
      ],
      beacons.length === 0 ? 'No beacon was sent to the API.' : 'Every beacon had the names of the contract.',
    )
  },
}

function wrongFields(beacons: readonly Exchange[]): Outcome[] {
  const found = new Map<string, { count: number; outcome: (count: number) => Outcome }>()
  for (const { detail, reason_code } of beacons) {
    if (reason_code !== 'field_unknown' && reason_code !== 'schema_invalid') continue
    const fields = member(detail?.response_body, 'fields')
    for (const field of Array.isArray(fields) ? (fields as unknown[]) : []) {
      const path = String(member(field, 'path'))
      const text = `${path} ${String(member(field, 'message'))}`
      const expected = String(member(field, 'expected'))
      const outcome = (count: number) => outcomeOf(path, text, expected, count)
      found.set(text, { count: (found.get(text)?.count ?? 0) + 1, outcome })
    }
  }
  return [...found.values()].map(({ count, outcome }) => outcome(count))
}

function outcomeOf(path: string, text: string, expected: string, count: number): Outcome {
  const isKnown = beaconMembers.includes(path.split('.')[0] as string)
  const right = isKnown ? null : rightName(path)
  const message = isKnown ? `A beacon's ${text}` : `A beacon has ${path}, which the contract does not know`
  if (right !== null) return problem(`${message} (${times(count)}).`, `Its name is ${right}.`)
  return problem(
    `${message} (${times(count)}).`,
    isKnown ? `Send ${expected}.` : `Leave it out, or put it into metadata. Known: ${beaconMembers.join(', ')}.`,
  )
}

function oldSpellings(beacons: readonly Exchange[]): Outcome[] {
  const groups = groupBy(beacons, ({ detail, status }) => {
    const event = member(detail?.request_body, 'event')
    return status === 200 && typeof event === 'string' && event in beaconEventSpellings ? event : null
  })
  return [...groups].map(([event, group]) =>
    warning(
      `The event ${event} is an old spelling, accepted ${times(group.length)}.`,
      `Send ${beaconEventSpellings[event as keyof typeof beaconEventSpellings]}.`,
    ),
  )
}
