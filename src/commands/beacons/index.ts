import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import type { Body } from '../../cli/endpoint/input.ts'
import { paintDim, paintReason, paintWord } from '../../cli/output/table.ts'
import { alignPairs, formatValue } from '../../cli/output/text.ts'
import type { CommandInput, Noun } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import { acceptHints, acceptMeanings } from '../../contract/error-codes.ts'
import { lastPlacement } from '../placements/last-placement.ts'
import { lint } from './lint.ts'
import { tail } from './tail.ts'

export const beacons: Noun = {
  summary: 'Send, check, list and follow beacons',
  commands: [
    endpointCommand('beacons.send', {
      details:
        'By default asset_token is that of your last fill, beacon_id a new one, and occurred_at_ms the current time.',
      examples: [
        'beacons send --event render',
        'beacons send --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=1000',
      ],
      defaults,
      text: (result, meta, style) =>
        alignPairs(
          [
            ['verdict', result.duplicate ? 'duplicate: it was received before' : 'accepted'],
            [
              'reason',
              result.reason_code === 'OK' ? 'OK' : `${result.reason_code}: ${acceptMeanings[result.reason_code]}`,
            ],
            ['fix', result.reason_code === 'OK' ? null : acceptHints[result.reason_code]],
            ['billable', result.billable ? 'yes' : 'no'],
            ['would bill', wouldBillText(meta.would_bill)],
            ['request', result.request_id],
          ],
          style,
        ),
    }),
    endpointCommand('beacons.list', {
      empty: 'No beacon was received yet. Send some: svc trigger',
      examples: ['beacons list', 'beacons list --verdict rejected --since 10m -o jsonl'],
      columns: [
        { name: 'when', field: 'received_at_ms', kind: 'time', paint: paintDim },
        { name: 'event' },
        { name: 'format', rank: 3 },
        { name: 'slot', field: 'slot_id', kind: 'id' },
        { name: 'verdict', paint: paintWord },
        { name: 'reason', field: 'reason_code', paint: paintReason },
        { name: 'bills', field: 'would_bill', rank: 2, paint: paintWord },
        { name: 'metric', rank: 4, paint: paintDim },
      ],
    }),
    lint,
    tail,
  ],
}

/** Returns the header in words: `true; metric=viewable_impression` as `yes, a viewable_impression`. */
function wouldBillText(header: string | null): string | null {
  const [, isBilled, metric] = /^(true|false)(?:; metric=(\w+))?$/.exec(header ?? '') ?? []
  if (isBilled === undefined) return header === null ? null : formatValue(header)
  const answer = isBilled === 'true' ? 'yes' : 'no'
  return metric === undefined ? answer : `${answer}, a ${metric}`
}

/** Returns the fields that the flags leave out. A body of --data is sent unchanged, so it gets none. */
async function defaults(
  session: Session,
  { data, set, assetToken, occurredAt }: CommandInput['options'],
): Promise<Body> {
  if (data !== undefined) return {}
  const isSet = (name: string) => (set as string[] | undefined)?.some((text) => text.startsWith(`${name}=`)) === true
  const hasToken = assetToken !== undefined || isSet('asset_token')
  const hasTime = occurredAt !== undefined || isSet('occurred_at')
  return {
    beacon_id: `bcn_${session.host.randomText(16)}`,
    ...(hasToken ? {} : { asset_token: await lastPlacement(session, 'asset_token') }),
    ...(hasTime ? {} : { occurred_at_ms: await serviceTime(session) }),
  }
}

/** The clock of a sandbox may be moved, and the sandbox judges a beacon by it. */
async function serviceTime({ host, settings, signal, client }: Session): Promise<number> {
  return settings.sandbox === null ? host.now() : (await client().clock.show({}, { signal })).now_ms
}
