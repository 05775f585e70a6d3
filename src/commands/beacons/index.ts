import type { Body } from '../../cli/endpoint/body.ts'
import { endpointCommand } from '../../cli/endpoint/endpoint-command.ts'
import { alignPairs, formatValue } from '../../cli/output/text.ts'
import type { CommandInput, Noun } from '../../cli/run/command.ts'
import type { Session } from '../../cli/run/session.ts'
import { recallPlacement } from '../placements/last-placement.ts'
import { lint } from './lint.ts'
import { tail } from './tail.ts'

export const beacons: Noun = {
  summary: 'Send beacons, check a file of them, list and follow those that arrive, with their verdict',
  commands: [
    endpointCommand('beacons.send', {
      details:
        'Unless they are given, asset_token is that of the last fill that this command line got, beacon_id a new one, and occurred_at_ms now.',
      examples: [
        'beacons send --event render',
        'beacons send --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=1000',
      ],
      defaults,
      text: (answer, meta, style) =>
        alignPairs(
          [
            ['verdict', answer.duplicate ? 'duplicate: it was there already' : 'accepted'],
            ['reason', answer.reason_code],
            ['billable', answer.billable ? 'yes' : 'no'],
            ['would bill', meta.would_bill === null ? null : formatValue(meta.would_bill)],
            ['request', answer.request_id],
          ],
          style,
        ),
    }),
    endpointCommand('beacons.list', {
      examples: ['beacons list', 'beacons list --verdict rejected --since 10m -o jsonl'],
      columns: ['received_at_ms', 'event', 'format', 'slot_id', 'verdict', 'reason_code', 'would_bill', 'metric'],
    }),
    lint,
    tail,
  ],
}

/** None for a body from --data, which is sent as it is. */
async function defaults(session: Session, options: CommandInput['options']): Promise<Body> {
  if (options.data !== undefined) return {}
  const { host } = session
  const isSet = (name: string) =>
    (options.set as string[] | undefined)?.some((set) => set.startsWith(`${name}=`)) === true
  const hasToken = options.assetToken !== undefined || isSet('asset_token')
  const hasTime = options.occurredAt !== undefined || isSet('occurred_at')
  return {
    beacon_id: `bcn_${host.randomText(16)}`,
    ...(hasToken ? {} : { asset_token: await recallPlacement(session, 'asset_token') }),
    ...(hasTime ? {} : { occurred_at_ms: await serviceTime(session) }),
  }
}

/** A sandbox may be at another time than this machine, and judges a beacon by its own. */
async function serviceTime({ host, settings, signal, client }: Session): Promise<number> {
  return settings.sandbox === null ? host.now() : (await client().clock.show({}, { signal })).now_ms
}
