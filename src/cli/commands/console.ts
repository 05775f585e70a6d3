/** `svc sandbox console`: the pages that may steer the sandbox from their console. */
import { endpointCommand } from '#cli/endpoint/endpoint-command.ts'
import type { Noun } from '#cli/run/command.ts'
import { paintDim, paintReason } from '#text/table.ts'

const consoleGrants: Noun = {
  summary: 'List, confirm and revoke the grants of pages that steer the sandbox',
  commands: [
    endpointCommand('console.list', {
      empty: 'No page has asked to steer this sandbox. Open a console: svc open console',
      examples: ['sandbox console list', 'sandbox console list -o jsonl'],
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
      examples: ['sandbox console confirm grant_00000000009', 'sandbox console confirm grant_00000000009 -o json'],
    }),
    endpointCommand('console.revoke', {
      details: 'Takes a grant_id from svc sandbox console list.',
      examples: ['sandbox console revoke grant_00000000009', 'sandbox console revoke grant_00000000009 -o json'],
    }),
  ],
}

export { consoleGrants as console }
