import type { CommandGroup } from '../cli/command.ts'
import { endpointCommand } from '../cli/endpoint-command.ts'
import { alignPairs, formatValue } from '../cli/text.ts'

export const beacons: CommandGroup = {
  name: 'beacons',
  summary: 'Send beacons, and list those that arrived with their verdict',
  commands: [
    endpointCommand('beacons.send', {
      details: 'beacon_id is a new one and occurred_at_ms is now, unless they are given.',
      examples: [
        'beacons send --asset-token ast_00000000001 --event render',
        'beacons send --asset-token ast_00000000001 --event visible --set measurements.visible_ratio=1 --set measurements.visible_ms=1000',
      ],
      defaults: ({ host }) => ({ beacon_id: `bcn_${host.randomText(16)}`, occurred_at_ms: host.now() }),
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
  ],
}
