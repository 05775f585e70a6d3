/** `svc bundle create`: a turn as one signed file, and those that were imported since the start. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'
import { paintDim } from '#text/table.ts'
import { create, importBundle } from './files.ts'

export const bundle: Noun = {
  summary: 'Write a turn as one signed file, and look at such files',
  commands: [
    create,
    importBundle,
    endpointCommand('bundles.list', {
      empty: 'No bundle was imported since the start. Import one: svc bundle import FILE',
      details: 'To look at one: svc open BUNDLE_ID',
      examples: ['bundle list', 'bundle list -o json'],
      columns: [
        { name: 'when', field: 'imported_at_ms', kind: 'time', paint: paintDim },
        { name: 'bundle', field: 'bundle_id', kind: 'id' },
        { name: 'session', field: 'session_id', rank: 3 },
        { name: 'slots', field: 'slot_ids', rank: 2 },
        { name: 'changed', field: 'problem', kind: 'prose' },
      ],
    }),
  ],
}
