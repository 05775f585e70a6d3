/** `svc console`: the pages that may steer the sandbox from their console. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import { paintDim, paintReason } from '#cli/output/table.ts'
import type { Noun } from '#cli/run/command.ts'

export const consoleGrants: Noun = {
  summary: 'List, confirm and revoke the grants of pages that steer the sandbox',
  commands: [
    endpointCommand('console.list', {
      empty: 'No page has asked to steer this sandbox. Open a console: svc open console',
      examples: ['console list', 'console list -o jsonl'],
      columns: [
        { name: 'grant', field: 'grant_id', kind: 'id' },
        { name: 'code' },
        { name: 'status', paint: paintReason },
        { name: 'origin', least: 20 },
        { name: 'ends', field: 'expires_at_ms', kind: 'time', paint: paintDim },
      ],
    }),
    endpointCommand('console.confirm', {
      details: 'The inspector has a page for it too, which the console on the page opens.',
      examples: ['console confirm grant_00000000009', 'console confirm grant_00000000009 -o json'],
    }),
    endpointCommand('console.revoke', {
      details: 'Takes a grant_id from svc console list.',
      examples: ['console revoke grant_00000000009', 'console revoke grant_00000000009 -o json'],
    }),
  ],
}
