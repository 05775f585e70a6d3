/** `svc bundles`: what was imported since the start. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { paintDim } from '#cli/output/table.ts'
import type { Noun } from '#cli/run/command.ts'

export const bundles: Noun = {
  summary: 'List and show the bundles that were imported',
  commands: [
    endpointCommand('bundles.list', {
      empty: 'No bundle was imported since the start. Import one: svc import FILE',
      examples: ['bundles list', 'bundles list -o json'],
      columns: [
        { name: 'when', field: 'imported_at_ms', kind: 'time', paint: paintDim },
        { name: 'bundle', field: 'bundle_id', kind: 'id' },
        { name: 'session', field: 'session_id', rank: 3 },
        { name: 'slots', field: 'slot_ids', rank: 2 },
        { name: 'changed', field: 'problem', kind: 'prose' },
      ],
    }),
    endpointCommand('bundles.show', {
      examples: ['bundles show bun_038k9tmm000', 'bundles show bun_038k9tmm000 --jq .text'],
    }),
  ],
}
